"""The pages of what is found in other tools' configs."""

from __future__ import annotations

from edgeinf.core.config.diagnostic import Severity
from edgeinf.core.config.rule import Rule

__all__ = ["RULES"]

_OK = (
    "model_list: [{model_name: a, litellm_params: {model: openai/a}}]\n"
    "general_settings: {master_key: os.environ/MASTER}\n"
)


def _page(code: str, title: str, why: str, example: str, severity: Severity = "error") -> Rule:
    return Rule(code=code, severity=severity, title=f"LiteLLM: {title}", why=why, example=example, instead=_OK)


def _entry(text: str) -> str:
    return f"model_list: [{text}]\ngeneral_settings: {{master_key: os.environ/MASTER}}\n"


_NAMED = "{model_name: a, litellm_params: {model: %s}}"

RULES = (
    _page("L101", "an unknown section", "It is ignored in silence.", _OK + "router_setings: {}"),
    _page(
        "L102",
        "a key in the wrong section, or misspelt",
        "It is ignored in silence.",
        _OK + "litellm_settings: {routing_strategy: least-busy}",
    ),
    _page(
        "L103",
        "no models",
        "Every call is answered with an unknown model.",
        "model_list: []\ngeneral_settings: {master_key: os.environ/MASTER}",
    ),
    _page(
        "L104",
        "a deployment is incomplete",
        "The proxy does not start, or the model cannot be called.",
        _entry("{model_name: a}"),
    ),
    _page(
        "L105",
        "a key at the wrong level",
        "Beside model_name an api_key or api_base is ignored, and calls go elsewhere.",
        _entry("{model_name: a, litellm_params: {model: openai/a}, api_base: http://h/v1}"),
    ),
    _page(
        "L106",
        "a misspelt parameter",
        "What is not known is passed on to the provider, which refuses or ignores it.",
        _entry("{model_name: a, litellm_params: {model: openai/a, api_bas: http://h/v1}}"),
    ),
    _page(
        "L107",
        "a rate that is not a number",
        "Text in quotes is not counted with.",
        _entry("{model_name: a, litellm_params: {model: openai/a, rpm: '60'}}"),
    ),
    _page("L201", "no provider in the model's name", "Calls fail: the provider is unknown.", _entry(_NAMED % "llama3")),
    _page(
        "L202",
        "an api_base with too much path",
        "The path of each call is added to it, so calls are answered 404.",
        _entry("{model_name: a, litellm_params: {model: openai/a, api_base: http://h/v1/chat/completions}}"),
    ),
    _page(
        "L203",
        "an api_base with too little path",
        "OpenAI-compatible servers answer below /v1.",
        _entry("{model_name: a, litellm_params: {model: openai/a, api_base: 'http://h:8000'}}"),
        "warning",
    ),
    _page(
        "L301",
        "an unknown routing strategy",
        "It is ignored, or the proxy does not start.",
        _OK + "router_settings: {routing_strategy: least-bussy}",
    ),
    _page(
        "L302",
        "a master key without sk-",
        "Keys that do not start with sk- are refused.",
        "model_list: [{model_name: a, litellm_params: {model: openai/a}}]\ngeneral_settings: {master_key: ''}",
    ),
    _page(
        "L303",
        "no master key",
        "The proxy asks nobody for a credential.",
        "model_list: [{model_name: a, litellm_params: {model: openai/a}}]",
        "warning",
    ),
    _page(
        "L304",
        "a cache that is not on",
        "cache_params alone turn nothing on.",
        _OK + "litellm_settings: {cache_params: {type: local}}",
        "warning",
    ),
    _page(
        "L401",
        "a variable is not set",
        "The credential is then missing at the first request.",
        _entry("{model_name: a, litellm_params: {model: openai/a, api_key: os.environ/NO_SUCH_KEY}}"),
    ),
    _page(
        "L402",
        "a variable in another tool's form",
        "The text itself is sent as the credential.",
        _entry("{model_name: a, litellm_params: {model: openai/a, api_key: '${A_KEY}'}}"),
    ),
    _page(
        "L403",
        "a credential in the clear",
        "A config is copied, committed and shared.",
        _entry("{model_name: a, litellm_params: {model: openai/a, api_key: not-a-real-key}}"),
        "warning",
    ),
    _page(
        "L501",
        "fallbacks in the wrong form",
        "They are ignored, or the proxy does not start.",
        _OK + "router_settings: {fallbacks: {a: [a]}}",
    ),
    _page(
        "L502",
        "a fallback or alias to an unknown model",
        "It fails exactly when it is needed.",
        _OK + "router_settings: {fallbacks: [{a: [zzz]}]}",
    ),
    _page(
        "L503",
        "a fallback to itself",
        "The model that has just failed is asked again.",
        _OK + "router_settings: {fallbacks: [{a: [a]}]}",
    ),
    _page(
        "L504",
        "fallbacks go in a circle",
        "A call that fails everywhere goes round until a limit ends it.",
        "model_list: [{model_name: a, litellm_params: {model: openai/a}}, "
        "{model_name: b, litellm_params: {model: openai/b}}]\n"
        "general_settings: {master_key: os.environ/MASTER}\n"
        "router_settings: {fallbacks: [{a: [b]}, {b: [a]}]}",
        "warning",
    ),
    _page(
        "L505",
        "an alias that hides a model",
        "Clients that ask for the model get the alias's target.",
        _OK + "router_settings: {model_group_alias: {a: a}}",
        "warning",
    ),
    _page(
        "L506",
        "one deployment twice",
        "Balancing between a server and itself brings nothing.",
        _entry(
            "{model_name: a, litellm_params: {model: openai/a}}, {model_name: a, litellm_params: {model: openai/a}}"
        ),
        "warning",
    ),
)
