"""Rows become numbers, and only the columns that hold something are sent on."""

from __future__ import annotations

from array import array

from edgeinf.analyze.columns import ANSWERED, ELIGIBLE, FAILED, SERVED, STORABLE, Builder
from edgeinf.analyze.meaning import Context, Meaning
from edgeinf.analyze.record import Damaged, NotARequest, Record

PLAIN = Meaning(Context(dialect="d", path="/p", model="m"), ((1,),))


def test_absent_values_leave_no_column() -> None:
    builder = Builder(("exact",))
    builder.add(Record(), PLAIN, 0)
    assert {"at", "latency", "input", "user", "parts", "block"}.isdisjoint(builder.batch(9).columns)


def test_flags_say_what_became_of_a_request() -> None:
    builder = Builder(("exact",))
    for record in (Record(status=200, answer="a"), Record(status=503), Record(cache="hit")):
        builder.add(record, PLAIN, 0)
    flags = list(builder.batch(0).columns["flags"])
    assert flags == [ELIGIBLE | STORABLE | ANSWERED, ELIGIBLE | FAILED, ELIGIBLE | STORABLE | SERVED]


def test_parts_of_several_keys_stand_in_a_row() -> None:
    builder = Builder(("exact", "loose"))
    builder.add(Record(), Meaning(Context(), ((1, 2, 1), (5, 5, 5))), 0)
    batch = builder.batch(0)
    assert array("H", batch.columns["parts"]).tolist() == [2]
    assert array("Q", batch.columns["key:exact"]).tolist() == [1, 2]
    assert array("Q", batch.columns["key:loose"]).tolist() == [5, 5]


def test_faults_are_counted_by_reason_and_damage_apart() -> None:
    builder = Builder(())
    for fault in (Damaged("cut off"), Damaged("cut off"), NotARequest("a span")):
        builder.skip(fault)
    batch = builder.batch(0)
    assert (batch.skipped, batch.damaged) == ({"cut off": 2, "a span": 1}, 2)


def test_what_many_rows_share_is_kept_once() -> None:
    builder = Builder(("exact",))
    for tenant in ("a", "b", "a", "a"):
        builder.add(Record(tenant=tenant), PLAIN, 0)
    batch = builder.batch(0)
    assert ([g.tenant for g in batch.groups], array("I", batch.columns["group"]).tolist()) == (["a", "b"], [0, 1, 0, 0])
