from __future__ import annotations

from edgeinf.mock import ThreadedOrigin
from edgeinf.validate.detect import Local, local_servers, providers


def test_providers_are_found_by_their_variables_and_empty_ones_are_not() -> None:
    found = providers({"OPENAI_API_KEY": "x", "GOOGLE_API_KEY": "y", "GROQ_API_KEY": " ", "PATH": "/bin"})
    assert [(provider.name, variable) for provider, variable in found] == [
        ("openai", "OPENAI_API_KEY"),
        ("gemini", "GOOGLE_API_KEY"),
    ]


def test_a_server_that_lists_models_is_found_with_them() -> None:
    with ThreadedOrigin({"name": "local"}) as origin:
        found = local_servers([Local(name="vllm", port=origin.port), Local(name="nobody", port=1)])
    assert [(server.name, server.port) for server in found] == [("vllm", origin.port)]
    assert found[0].models


def test_a_server_of_something_else_is_not_taken_for_one() -> None:
    with ThreadedOrigin({"rules": [{"fault": "503"}]}) as origin:
        assert local_servers([Local(name="vllm", port=origin.port)]) in (
            [],
            [Local(name="vllm", port=origin.port, models=())],
        )
    assert local_servers([]) == []
