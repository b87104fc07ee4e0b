"""The pages of what the loader itself finds: form, schema and variables."""

from __future__ import annotations

from edgeinf.core.config.diagnostic import Severity
from edgeinf.core.config.rule import Rule

__all__ = ["RULES"]


def _page(code: str, title: str, why: str, example: str, instead: str) -> Rule:
    severity: Severity = "error" if code[0] == "E" else "warning"
    return Rule(code=code, severity=severity, title=title, why=why, example=example, instead=instead)


RULES = (
    _page(
        "E001",
        "not a text file",
        "A config is UTF-8 text of at most 10 MiB without control characters.",
        "listen: {host: a\x07}",
        "listen: {host: localhost}",
    ),
    _page(
        "E002",
        "not YAML",
        "Nothing can be said about the content before the form is right.",
        "regions: [{name: a, url: https://a.example.com, api_key: ${A_KEY}}]",
        "regions: [{name: a, url: https://a.example.com, api_key: '${A_KEY}'}]",
    ),
    _page(
        "E003",
        "a key is written twice",
        "Most readers take the last one in silence, so the first is a setting that is not set.",
        "listen: {port: 1, port: 2}",
        "listen: {port: 2}",
    ),
    _page(
        "E005",
        "a tag that is not allowed",
        "Tags make readers build objects; a config holds text, numbers, lists and mappings.",
        "listen: !!python/name:os.system {}",
        "listen: {}",
    ),
    _page(
        "E006",
        "an alias or merge that cannot be followed",
        "An alias repeats an earlier value; one of itself, or of too many, has no end.",
        "limits: &a [*a]",
        "limits: []",
    ),
    _page("E007", "a second document", "Only one could hold, and which would be a guess.", "{}\n---\n{}", "version: 1"),
    _page("E008", "not a mapping", "A config is keys with values.", "- listen", "listen: {}"),
    _page("E009", "a key that is not text", "Names of the config are plain words.", "? [a]\n: 1", "version: 1"),
    _page(
        "E010",
        "too deep",
        "No config nests this deep, and readers that follow it run out of stack.",
        "a: " + "[" * 70 + "]" * 70,
        "version: 1",
    ),
    _page("W001", "an empty file", "It is valid and sets nothing.", "", "version: 1"),
    _page(
        "W004",
        "a word that readers take differently",
        "YAML 1.1 reads yes, on, 017 and 12:30 as something else than they look like; this file is YAML 1.2.",
        "listen: {allowed_hosts: [no]}",
        "listen: {allowed_hosts: ['no']}",
    ),
    _page(
        "W005",
        "a key without a value",
        "With all keys below it commented out, an optional section is off, not at its defaults.",
        "auth:",
        "auth: null",
    ),
    _page(
        "E101",
        "a value of the wrong kind",
        "Nothing is converted silently: text in quotes is text, and yes is not true.",
        "listen: {port: '8787'}",
        "listen: {port: 8787}",
    ),
    _page(
        "E102",
        "a value that is not a choice",
        "The choices are listed.",
        "routing: {strategy: fast}",
        "routing: {strategy: latency}",
    ),
    _page("E103", "a number out of range", "The range is named.", "listen: {port: 70000}", "listen: {port: 8787}"),
    _page(
        "E104",
        "an unknown key",
        "A misspelt key that is ignored is a setting that is not set.",
        "listen: {prot: 8787}",
        "listen: {port: 8787}",
    ),
    _page(
        "E105",
        "a key is missing",
        "Without it the rest means nothing.",
        "regions: [{name: a}]",
        "regions: [{name: a, url: https://a.example.com}]",
    ),
    _page(
        "E106",
        "a value that cannot be read",
        "Durations, sizes, rates and the like have a form: 10s, 64MiB, 60/min, 20%.",
        "listen: {drain: 20}",
        "listen: {drain: 20s}",
    ),
    _page(
        "E107",
        "not an address",
        "A region's url has a scheme, a host and a path, no query.",
        "regions: [{name: a, url: a.example.com}]",
        "regions: [{name: a, url: https://a.example.com}]",
    ),
    _page(
        "E109",
        "not built yet",
        "The name is known and this version does not act on it; ignoring it would be a lie.",
        "",
        "version: 1",
    ),
    _page(
        "E201",
        "a variable is not set",
        "It would be found at the first request otherwise.",
        "regions: [{name: a, url: https://a.example.com, api_key: '${NO_SUCH_KEY}'}]",
        "regions: [{name: a, url: https://a.example.com, api_key: '${A_KEY}'}]",
    ),
    _page(
        "E202",
        "a credential is empty",
        "An empty credential counts as unset.",
        "regions: [{name: a, url: https://a.example.com, api_key: ''}]",
        "regions: [{name: a, url: https://a.example.com}]",
    ),
    _page(
        "E203",
        "not a form of a variable",
        "Forms are ${NAME}, ${NAME:-default}, ${NAME-default}, ${NAME:?message}; $${ is a literal ${.",
        "listen: {host: '${NAME'}",
        "listen: {host: '${NAME:-localhost}'}",
    ),
    _page("E204", "an override that fits nowhere", "EDGEINF_REGIONS__3__URL needs a fourth region.", "", "version: 1"),
)
