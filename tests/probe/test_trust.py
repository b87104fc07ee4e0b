import pytest

from edgeinf.core.errors import UsageError
from edgeinf.probe.trust import Tls, ca_in_use, context_for


def test_the_authorities_in_use_are_named():
    assert ca_in_use("/etc/own.pem") == "/etc/own.pem"
    assert ca_in_use(None)


def test_a_file_without_authorities_is_wrong_usage(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        context_for(str(tmp_path / "none.pem"))


def test_the_first_flight_offers_http_1_1_and_waits_for_the_server():
    session = Tls("api.example.com", None)
    assert session.handshake() is False
    assert b"http/1.1" in session.pending()
