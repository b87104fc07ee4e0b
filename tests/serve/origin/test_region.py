from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Place, Region
from edgeinf.core.errors import ConfigError
from edgeinf.serve.origin.region import Origin, make_origin


def made(url: str = "https://a.example.com/v1", **more: object) -> Origin:
    return make_origin(Region(name="a", url=url, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["https://a.example.com", "https://a.example.com/v1", "https://a.example.com/v1/"])
def test_a_url_may_end_in_v1_or_not(url: str):
    assert made(url).url("/v1/models", "") == "https://a.example.com/v1/models"


@pytest.mark.parametrize(
    ("path", "query", "target"),
    [
        ("/v1/files/a b", "", "/v1/files/a%20b"),
        ("/v1/files/a\r\nx: 1", "", "/v1/files/a%0D%0Ax%3A%201".replace("%3A", ":")),
        ("/v1/files/ü?#%", "", "/v1/files/%C3%BC%3F%23%25"),
        ("/v1/models", "limit=2&after=a%20b", "/v1/models?limit=2&after=a%20b"),
        ("/v1/models", "q=\xe9", "/v1/models?q=%E9"),
    ],
)
def test_a_path_is_written_so_that_it_stays_one(path: str, query: str, target: str):
    assert made().url(path, query) == "https://a.example.com" + target


def test_accounts_are_told_apart_and_name_no_credential():
    one, same = made(api_key=Secret("key-one")), made("https://b.example.com", api_key=Secret("key-one"))
    two, none = made(api_key=Secret("key-two")), made()
    passed = made(passthrough=True)
    assert one.account("") == same.account("client")
    assert len({one.account(""), two.account(""), none.account(""), passed.account("x"), passed.account("y")}) == 5
    assert "key-one" not in one.account("")


@pytest.mark.parametrize(
    ("location", "place"),
    [("us-east-1", (38.9, -77.4)), (Place(lat=1.0, lon=2.0), (1.0, 2.0)), (None, None), ("nowhere", None)],
)
def test_places(location: object, place: tuple[float, float] | None):
    found = made(location=location).place
    if place is None:
        assert found is None
    else:
        assert found is not None
        assert (found.lat, found.lon) == pytest.approx(place, abs=0.5)


def test_a_credential_may_be_in_a_file(tmp_path: Path):
    file = tmp_path / "key"
    file.write_text("from-a-file\n")
    assert made(api_key_file=file).credential == "from-a-file"
    with pytest.raises(ConfigError, match="cannot read the credential of region 'a'"):
        made(api_key_file=tmp_path / "absent")
