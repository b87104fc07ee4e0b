import pytest

from edgeinf.core.errors import UsageError
from edgeinf.probe.address import call_path, origin_of, parse_url, resolve
from edgeinf.probe.values import Failure


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://api.example.com/v1", "api.example.com"),
        ("http://127.0.0.1:8787", "127.0.0.1:8787"),
        ("https://[::1]:8443/v1/", "[::1]:8443"),
        ("http://h:80", "h"),
    ],
)
def test_the_host_header_names_what_the_url_names(url, authority):
    assert parse_url(url).authority == authority


@pytest.mark.parametrize(
    "url", ["ftp://h", "h", "https://", "http://h:99999", "https://u:p@h/v1", "https://h/v1?x=1", "https://h/#x"]
)
def test_what_is_no_plain_url_is_refused(url):
    with pytest.raises(UsageError):
        parse_url(url)


@pytest.mark.parametrize(
    ("base", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/openai/v1", "/openai/v1/chat/completions"),
        ("/v1beta/openai", "/v1beta/openai/chat/completions"),
        ("/gateway", "/gateway/v1/chat/completions"),
    ],
)
def test_a_base_that_names_a_version_is_complete(base, path):
    assert call_path(base, "/v1/chat/completions") == path


def test_the_origin_tells_hosts_and_ports_apart():
    assert origin_of("https://a.example/v1") == origin_of("https://a.example:443/v2")
    assert origin_of("https://a.example") != origin_of("http://a.example")


def test_only_addresses_of_the_asked_family_count():
    assert resolve("127.0.0.1", 80, 4).family == 4
    assert resolve("::1", 80, None).family == 6
    with pytest.raises(Failure, match="no address for IPv6"):
        resolve("127.0.0.1", 80, 6)
