"""TLS over memory buffers, so that the socket's bytes can be stamped before they are decrypted."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from functools import cache

from edgeinf.core.errors import UsageError
from edgeinf.probe.values import Failure

__all__ = ["Tls", "ca_in_use", "context_for"]

_CHUNK = 1 << 18


@cache
def context_for(ca: str | None) -> ssl.SSLContext:
    """Return a verifying context with the system's authorities or with those of one file."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"the certificate authorities cannot be read ({ca}): {error}") from None
    context.set_alpn_protocols(["http/1.1"])
    return context


def ca_in_use(ca: str | None) -> str:
    """Return which certificate authorities are trusted, to be shown."""
    if ca:
        return ca
    paths = ssl.get_default_verify_paths()
    return paths.cafile or paths.capath or "the system's"


class Tls:
    """One TLS session whose records the caller moves to and from a socket."""

    def __init__(self, host: str, ca: str | None) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._session = context_for(ca).wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    def handshake(self) -> bool:
        """Go on with the handshake; return whether it is complete. Raise Failure ``tls``."""
        try:
            self._session.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLCertVerificationError as error:
            raise Failure("tls", f"certificate not trusted: {error.verify_message}") from None
        except ssl.SSLError as error:
            raise Failure("tls", f"handshake failed: {error.reason or error}") from None
        return True

    def pending(self) -> bytes:
        """Return what must be sent now."""
        return self._outgoing.read()

    def seal(self, data: bytes) -> bytes:
        """Return the records that carry ``data``."""
        self._session.write(data)
        return self._outgoing.read()

    def feed(self, raw: bytes) -> None:
        """Take bytes from the socket; an empty read is its end."""
        if raw:
            self._incoming.write(raw)
        else:
            self._incoming.write_eof()

    def open(self) -> tuple[bytes, bool]:
        """Return what can be decrypted and whether the peer has ended. Raise Failure ``protocol``."""
        out: list[bytes] = []
        while True:
            try:
                data = self._session.read(_CHUNK)
            except ssl.SSLWantReadError:
                return b"".join(out), False
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b"".join(out), True
            except ssl.SSLError as error:
                raise Failure("protocol", f"TLS record: {error.reason or error}") from None
            if not data:
                return b"".join(out), True
            out.append(data)

    def certificate_expires(self) -> str | None:
        """Return when the peer's certificate ends, as ISO 8601 in UTC."""
        certificate = self._session.getpeercert()
        until = certificate.get("notAfter") if certificate else None
        if not isinstance(until, str):
            return None
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(until), UTC).isoformat()
