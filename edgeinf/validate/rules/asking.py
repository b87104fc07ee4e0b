"""The pages of what ``--online`` finds by asking each region."""

from __future__ import annotations

from edgeinf.core.config.rule import Rule

__all__ = ["RULES"]


def _page(code: str, title: str, why: str) -> Rule:
    severity = "unknown" if code[0] == "U" else "error"
    return Rule(code=code, severity=severity, title=title, why=why, example="", instead="version: 1")  # type: ignore[arg-type]


RULES = (
    _page("O101", "a region's name does not resolve", "No call can reach it; often the host is misspelt."),
    _page("O102", "a region's certificate is refused", "Calls fail, or somebody else answers."),
    _page("O103", "a region refuses the credential", "Every call is answered 401 or 403."),
    _page("O104", "a region does not serve a model of its group", "Failing over to it answers 404, or another model."),
    _page("O105", "a region does not have a model's adapter", "It would answer without the adapter, or not at all."),
    _page("U101", "a region could not be asked", "It refused the connection, or did not answer in time."),
    _page(
        "U102", "a region's models are not known", "It has no list of models, or asks for the client's own credential."
    ),
)
