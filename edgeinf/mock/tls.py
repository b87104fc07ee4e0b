"""Certificates for an origin that speaks https: made for the occasion, trusted by nobody else."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Sequence
from pathlib import Path

from edgeinf.core.errors import UsageError

__all__ = ["make_certificate", "server_context"]


def make_certificate(
    directory: Path, names: Sequence[str] = ("localhost", "127.0.0.1"), *, days: int = 2
) -> tuple[Path, Path]:
    """Write a self-signed certificate and its key with the openssl command; return their paths.

    The certificate is its own CA: clients trust it by ``ssl.create_default_context(cafile=…)``.
    """
    openssl = shutil.which("openssl")
    if openssl is None:
        raise UsageError("the openssl command is needed to make a certificate", hint="or give --tls-cert and --tls-key")
    certificate, key = directory / "cert.pem", directory / "key.pem"
    kinds = [("IP" if _is_address(name) else "DNS", name) for name in names]
    alternative = ",".join(f"{kind}:{name}" for kind, name in kinds)
    command = [
        *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
        *("-subj", f"/CN={names[0]}", "-addext", f"subjectAltName={alternative}", "-days", str(days)),
        *("-keyout", str(key), "-out", str(certificate)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        raise UsageError(f"openssl cannot make a certificate: {done.stderr.strip().splitlines()[-1]}")
    key.chmod(0o600)
    return certificate, key


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the server's side of TLS, HTTP/1.1 only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"cannot use the certificate ({certificate}): {error}") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def _is_address(name: str) -> bool:
    return ":" in name or name.replace(".", "").isdigit()
