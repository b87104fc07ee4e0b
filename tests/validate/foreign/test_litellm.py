from __future__ import annotations

from pathlib import Path

import pytest

from tests.validate.kit import codes, examined

CLEAN = """\
model_list:
  - model_name: chat
    litellm_params: {model: openai/gpt-4o-mini, api_key: os.environ/A_KEY, rpm: 60}
    model_info: {mode: chat}
  - model_name: "claude-*"
    litellm_params: {model: "anthropic/*", api_key: os.environ/A_KEY}
litellm_settings: {drop_params: true, fallbacks: [{chat: [claude-sonnet]}], some_new_name: 1}
router_settings: {routing_strategy: least-busy, model_group_alias: {gpt: chat}}
general_settings: {master_key: os.environ/KEY_SHA256}
environment_variables: {X: y}
"""


def test_a_good_config_has_no_finding(tmp_path: Path) -> None:
    assert codes(examined(CLEAN, tmp_path)) == []


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("model_list:", "modle_list:", "L101", 1),
        ("  - model_name: chat", "  - model_nam: chat", "L105", 2),
        ("    model_info: {mode: chat}", "    api_base: http://h/v1", "L105", 4),
        ("rpm: 60", "rpm: '60'", "L107", 3),
        ("openai/gpt-4o-mini", "my-llama", "L201", 3),
        ("os.environ/A_KEY, rpm", "os.environ/NOT_SET, rpm", "L401", 3),
        ("os.environ/A_KEY, rpm", "'${A_KEY}', rpm", "L402", 3),
        ("os.environ/A_KEY, rpm", "Bearer os.environ/A_KEY, rpm", "L402", 3),
        ("os.environ/A_KEY, rpm", "not-a-real-key, rpm", "L403", 3),
        ("[claude-sonnet]", "[gpt-5-nano]", "L502", 7),
        ("{chat: [claude-sonnet]}", "{chta: [claude-sonnet]}", "L502", 7),
        ("{chat: [claude-sonnet]}", "{chat: claude-sonnet}", "L501", 7),
        ("least-busy", "least-bussy", "L301", 8),
        ("{gpt: chat}", "{gpt: chatt}", "L502", 8),
        ("drop_params: true", "master_key: os.environ/A_KEY", "L102", 7),
        ("drop_params", "drop_parms", "L102", 7),
        ("os.environ/KEY_SHA256", "hunter2", "L302", 9),
        ("{master_key: os.environ/KEY_SHA256}", "{}", "L303", 9),
    ],
)
def test_what_their_users_report_is_found_where_it_is(old: str, new: str, code: str, line: int, tmp_path: Path) -> None:
    assert old in CLEAN
    report = examined(CLEAN.replace(old, new, 1), tmp_path, kind="litellm")
    found = [(d.code, d.span.line if d.span else 0) for d in report.diagnostics]
    assert (code, line) in found
    assert len(found) <= 2


@pytest.mark.parametrize(
    ("old", "new", "code", "label"),
    [
        ("    model_info: {mode: chat}", "    access_groups: [beta]", "L105", "access_groups belongs under model_info"),
        ("drop_params: true", "model_group_alias: {}", "L102", "model_group_alias belongs under router_settings"),
        ("drop_params: true", "service_callbacks: [otel]", "L102", 'did you mean "service_callback"?'),
        ("drop_params: true", "public_routes: [/x]", "L102", "public_routes belongs under general_settings"),
        ("least-busy", "least-busy, health_check_interval: 9", "L102",
         "health_check_interval belongs under general_settings"),
        ("least-busy", "least-busy, enable_pre_call_check: true", "L102", 'did you mean "enable_pre_call_checks"?'),
        ("environment_variables", "default_team_settings", "L101",
         "default_team_settings belongs under litellm_settings"),
    ],
    ids=["access groups", "an alias", "a plural", "public routes", "health", "as their table has it", "teams"],
)  # fmt: skip
def test_where_a_key_belongs_is_said(old: str, new: str, code: str, label: str, tmp_path: Path) -> None:
    report = examined(CLEAN.replace(old, new, 1), tmp_path, kind="litellm")
    assert [(d.code, d.label) for d in report.diagnostics if d.code == code] == [(code, label)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    model_info: {mode: chat}", "    rpm: 60\n    tpm: 100000"),
        ("least-busy", "provider-budget-routing"),
        ("least-busy", "lar1"),
        ("drop_params: true", "max_user_budget: 5, default_soft_budget: 1, service_callback: [otel]"),
        ("least-busy", "least-busy, redis_db: 1, ttft_timeout: 5, routing_groups: []"),
        ("environment_variables: {X: y}", "policies: {}\npolicy_attachments: []\ndefault_vertex_config: {}"),
        ("{master_key: os.environ/KEY_SHA256}", "{master_key: os.environ/KEY_SHA256, database_socket_timeout: 5}"),
    ],
    ids=["rates beside the name", "by budget", "lar1", "settings", "router", "top", "general"],
)
def test_what_they_read_is_no_finding(old: str, new: str, tmp_path: Path) -> None:
    assert old in CLEAN
    assert codes(examined(CLEAN.replace(old, new, 1), tmp_path, kind="litellm")) == []


def test_yaml_itself_is_checked_as_ours_is(tmp_path: Path) -> None:
    text = "model_list: []\nmodel_list: []\ngeneral_settings: {master_key: os.environ/A_KEY}\n"
    assert codes(examined(text, tmp_path)) == ["L103", "E003"]
    assert codes(examined("model_list: [", tmp_path, kind="litellm")) == ["E002"]


def test_without_an_environment_no_variable_is_asked_for(tmp_path: Path) -> None:
    assert codes(examined(CLEAN.replace("A_KEY", "NOT_SET"), tmp_path, env=None)) == []


def test_a_comment_silences_here_too(tmp_path: Path) -> None:
    text = CLEAN.replace("{master_key: os.environ/KEY_SHA256}", "{}  # edgeinf: ignore[L303]")
    assert codes(examined(text, tmp_path)) == []
