"""brokers[].status: limits of rules 1.4.10 and rules 2.2.4."""

from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from onebroker.actors.portfolio.read_status import read_broker, read_brokers
from onebroker.config.clock import IST

LIMITS = [("funds", 60), ("holdings", 180), ("positions", 60), ("orders", 60), ("trades", 60)]


@pytest.mark.parametrize(("resource", "limit"), LIMITS)
def test_a_slice_is_ok_up_to_its_documents_limit_and_stale_after_it(
    world: SimpleNamespace, resource: str, limit: int
) -> None:
    statuses = [
        read_broker(resource, "dhan", world.slice_of("dhan", resource, world.order(), age=age), world.NOW).status
        for age in (0, limit, limit + 0.001)
    ]
    assert statuses == ["ok", "ok", "stale"]


@pytest.mark.parametrize(("resource", "limit"), LIMITS)
def test_only_ok_and_stale_slices_are_in_the_document(world: SimpleNamespace, resource: str, limit: int) -> None:
    fresh = world.slice_of("a", resource, world.order())
    old = world.slice_of("b", resource, world.order(), age=limit + 1)
    refused = world.slice_of("c", resource, error="Invalid token")
    reads = read_brokers(resource, ("d", "c", "b", "a"), world.by_broker(fresh, old, refused), world.NOW)
    assert [(read.broker, read.status, read.usable) for read in reads] == [
        ("a", "ok", True),
        ("b", "stale", True),
        ("c", "unreadable", False),
        ("d", "missing", False),
    ]


def test_as_of_is_the_local_time_of_the_brokers_last_read_and_null_when_nothing_is_stored(
    world: SimpleNamespace,
) -> None:
    held = world.by_broker(world.slice_of("a", "funds", world.order(), age=40))
    entries = [read.entry() for read in read_brokers("funds", ("a", "b"), held, world.NOW)]
    assert entries == [
        {"broker": "a", "status": "ok", "as_of": "2026-11-18T16:36:00"},
        {"broker": "b", "status": "missing", "as_of": None},
    ]


def test_a_time_of_receipt_in_the_future_does_not_make_a_slice_fresh(world: SimpleNamespace) -> None:
    held = world.slice_of("a", "funds", world.order(), age=-3600)
    assert read_broker("funds", "a", held, world.NOW).status == "stale"


@pytest.mark.parametrize(
    ("resource", "status"), [("orders", "missing"), ("trades", "missing"), ("positions", "stale"), ("funds", "stale")]
)
def test_a_book_of_the_day_before_is_no_book_of_today(world: SimpleNamespace, resource: str, status: str) -> None:
    boundary = datetime(2026, 11, 18, 7, 0, tzinfo=IST)
    before = (boundary - timedelta(seconds=61)).timestamp()
    held = world.slice_of("a", resource, world.order(), age=world.NOW - before)
    assert read_broker(resource, "a", held, boundary.timestamp()).status == status
    assert read_broker(resource, "a", held, boundary.timestamp() - 1).status == "ok"
