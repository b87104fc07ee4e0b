import re

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.core.places import places
from edgeinf.probe.address import parse_url
from edgeinf.probe.catalogue import NAMES, expand, read_catalogue


@pytest.mark.parametrize("name", NAMES)
def test_every_list_is_dated_and_names_https_hosts_at_known_places(name):
    catalogue = read_catalogue(name)
    assert re.fullmatch(r"20\d\d-\d\d", catalogue.dated)
    assert catalogue.source.startswith("https://")
    assert len({e.name for e in catalogue.targets}) == len(catalogue.targets) > 5
    for entry in catalogue.targets:
        assert parse_url(entry.url).secure
        assert entry.location is None or entry.location in places()


def test_a_pattern_picks_from_a_list():
    assert {e.name for e in expand("aws:sa-*")} == {"aws:sa-east-1"}
    assert len(expand("gcp")) > 30


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("aws", "https://dynamodb.{}.amazonaws.com/"),
        ("bedrock", "https://bedrock-runtime.{}.amazonaws.com/"),
        ("azure", "https://{}.api.cognitive.microsoft.com/"),
        ("gcp", "https://{}-aiplatform.googleapis.com/"),
    ],
)
def test_every_region_of_a_cloud_has_the_form_that_its_vendor_gives(name, form):
    for entry in read_catalogue(name).targets:
        assert (entry.url, entry.location) == (form.format(entry.name), entry.name)


def test_an_api_is_known_by_its_name():
    assert expand("openai")[0].url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("word", "hint"), [("opnai", "'openai'"), ("aws:eu-wset-1", "'eu-west-1'"), ("nothing at all", "NAME=URL")]
)
def test_what_is_not_known_offers_what_is_near(word, hint):
    with pytest.raises(UsageError) as caught:
        expand(word)
    assert hint in caught.value.hint
