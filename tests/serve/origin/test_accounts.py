from __future__ import annotations

from edgeinf.serve.origin.accounts import Accounts, name_digest


def test_what_was_issued_is_found_and_nothing_else():
    accounts = Accounts()
    accounts.remember(["resp_1", "rs_1"], "a", "account-a")
    accounts.remember(["resp_2"], "b", "account-b")
    assert accounts.issuers(["rs_1", "unknown"]) == [("a", "account-a")]
    assert accounts.issuers(["resp_1", "resp_2"]) == [("a", "account-a"), ("b", "account-b")]
    assert accounts.issuers(["unknown"]) == []


def test_the_memory_is_bounded_and_keeps_what_is_used():
    accounts = Accounts(max_known=100)
    accounts.remember(["used"], "a", "x")
    for number in range(1000):
        accounts.remember([f"resp_{number}"], "a", "x")
        accounts.issuers(["used"])
    assert len(accounts) == 100
    assert accounts.issuers(["used"])
    assert not accounts.issuers(["resp_1"])


def test_names_themselves_are_not_kept():
    accounts = Accounts()
    accounts.remember(["a secret of the account"], "a", "x")
    assert b"secret" not in b"".join(accounts._known)


def test_only_what_is_news_is_said_to_be():
    accounts = Accounts()
    assert accounts.remember(["a", "b"], "r", "x") == [name_digest("a"), name_digest("b")]
    assert accounts.remember(["a", "c"], "r", "x") == [name_digest("c")]
    assert accounts.note([name_digest("a")], "r", "y") == [name_digest("a")]
    assert accounts.issuers(["a"]) == [("r", "y")]
