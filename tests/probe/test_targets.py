from pathlib import Path

import pytest

from edgeinf.core.config.load import load
from edgeinf.core.errors import UsageError
from edgeinf.probe.targets import from_arguments, from_config, key_variables, location_of, unique
from tests.probe.made import target_of

_CONFIG = """
version: 1
regions:
  - name: east
    url: "http://127.0.0.1:9001/v1"
    api_key: ${EAST_KEY}
    location: us-east-1
    headers: {X-Team: search}
  - {name: claude, url: "http://127.0.0.1:9002", api_key_file: key.txt, serves: [anthropic]}
  - {name: ranks, url: "http://127.0.0.1:9003", passthrough: true, serves: [rerank]}
models:
  - {name: bot, upstream: {east: llama-east, claude: claude-x}}
"""


def _arguments(*words: str, keys: tuple[str, ...] = (), **environment: str):
    return from_arguments(words, dialect=None, model="m", keys=keys, environment=environment)


def test_a_url_is_a_target_named_by_its_host_or_by_the_user():
    one, two = _arguments("https://api.example.com/v1", "mine=http://127.0.0.1:8787")
    assert (one.name, one.url) == ("api.example.com", "https://api.example.com/v1")
    assert (two.name, two.url) == ("mine", "http://127.0.0.1:8787")


def test_equal_names_get_numbers():
    assert [t.name for t in unique([target_of("http://h"), target_of("http://h/x")])] == ["origin", "origin-2"]


def test_anthropics_host_speaks_its_dialect():
    assert _arguments("anthropic")[0].dialect == "anthropic-messages"


def test_a_key_goes_to_one_origin():
    found = _arguments("https://a.example/v1", "https://a.example/v2", keys=("KEY",), KEY="sk-1")
    assert [t.key for t in found] == ["sk-1", "sk-1"]


def test_a_key_for_several_hosts_must_say_which():
    with pytest.raises(UsageError, match="would go to 2 hosts"):
        _arguments("https://a.example", "https://b.example", keys=("KEY",), KEY="sk-1")
    found = _arguments("a=https://a.example", "b=https://b.example", keys=("b=KEY",), KEY="sk-1")
    assert [t.key for t in found] == [None, "sk-1"]


def test_a_key_that_is_not_set_or_for_nobody_is_wrong_usage():
    with pytest.raises(UsageError, match="KEY is not set"):
        _arguments("https://a.example", keys=("KEY",))
    with pytest.raises(UsageError, match="cannot be a key"):
        _arguments("https://a.example", keys=("KEY",), KEY="sk-1\r\nX-Evil: 1")
    with pytest.raises(UsageError, match="names 'c'"):
        _arguments("a=https://a.example", keys=("c=KEY",), KEY="sk-1")


def test_regions_of_a_config_bring_their_own_key_model_and_headers(tmp_path: Path):
    (tmp_path / "key.txt").write_text("sk-file-key\n")
    (tmp_path / "edgeinf.yaml").write_text(_CONFIG)
    config = load(tmp_path / "edgeinf.yaml", env={"EAST_KEY": "sk-east-key"})
    east, claude = from_config(config, dialect=None, model="bot", variables=key_variables(_CONFIG.encode()))
    assert (east.key, east.key_env, east.model) == ("sk-east-key", "EAST_KEY", "llama-east")
    assert east.headers == (("X-Team", "search"),)
    assert east.location == "us-east-1"
    assert (claude.key, claude.dialect, claude.model) == ("sk-file-key", "anthropic-messages", "claude-x")


def test_without_a_model_the_only_one_of_the_config_is_meant(tmp_path: Path):
    (tmp_path / "key.txt").write_text("k")
    (tmp_path / "edgeinf.yaml").write_text(_CONFIG)
    config = load(tmp_path / "edgeinf.yaml", env={"EAST_KEY": "sk-east-key"})
    assert [t.model for t in from_config(config, dialect=None, model="")] == ["llama-east", "claude-x"]


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://bedrock-runtime.us-east-1.amazonaws.com", "us-east-1"),
        ("https://europe-west4-aiplatform.googleapis.com", "europe-west4"),
        ("https://westus2.api.cognitive.microsoft.com", "westus2"),
        ("https://api.openai.com", None),
    ],
)
def test_a_host_name_may_say_where_it_is(url, place):
    assert location_of(url) == place
