"""Problems of orders: unknown orders, strangers, parents in trouble, halt, loss, engine."""

from decimal import Decimal
from types import SimpleNamespace

from onebroker.actors.engine.context.day_loss import DayLoss, Locked
from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.actors.engine.context.troubles import Found, Trouble
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState
from onebroker.actors.health.order_problems import (
    engine_stopped,
    loss_limit,
    parents_in_trouble,
    stranger_orders,
    trading_halted,
    unknown_orders,
)
from onebroker.actors.store.durable import Halt, HaltMode

NOW = 10_000.0


def leg(state: LegState, sent_at: float, **more: object) -> LegRecord:
    return LegRecord(
        leg_id="p.1", part="entry", token="ob1", broker="zerodha", segment="equities", instrument_token="1",
        tradingsymbol="INFY", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY", quantity=5,
        price=Decimal(10), trigger_price=None, session_day="2026-11-25", state=state, sent_at=sent_at, **more,
    )  # fmt: skip


def test_an_order_that_is_unknown_for_a_minute_is_a_problem_also_when_it_was_given_up():
    for state in (LegState.UNKNOWN, LegState.SENDING):
        (found,) = unknown_orders([leg(state, NOW - 60, given_up=True)], NOW)
        assert (found.kind, found.broker, found.subject, found.since) == ("order_unknown", "zerodha", "p.1", NOW - 60)
        assert list(unknown_orders([leg(state, NOW - 59)], NOW)) == []
    assert list(unknown_orders([leg(LegState.OPEN, NOW - 600)], NOW)) == []


def test_an_order_of_nobody_is_a_problem():
    (found,) = stranger_orders({("upstox", "ob9"): SimpleNamespace(order_id="77", status="OPEN")})
    assert (found.kind, found.broker, found.subject) == ("stranger", "upstox", "77")


def test_a_parent_has_one_problem_of_each_kind_and_an_ended_parent_has_none():
    def row(parent: str, sentence: str, since: float, units: int | None = None, *, ended: bool = False) -> Trouble:
        return Trouble(parent_id=parent, found=Found("i-1", sentence, units), since=since, is_ended=ended)

    found = list(
        parents_in_trouble(
            [
                row("p", "5 units are open without a stop", 20.0, 5),
                row("p", "1 order is still to be cancelled", 10.0),
                row("p", "the book is waited for", 30.0),
                row("q", "2 units are open without a stop", 5.0, 2, ended=True),
            ]
        )
    )
    assert [(one.kind, one.subject, one.since) for one in found] == [("unprotected", "p", 20.0), ("trouble", "p", 10.0)]
    assert "i-1" in found[0].what
    assert "cancelled; the book" in found[1].what


def test_a_halt_is_a_problem_with_its_reason_and_so_is_a_halt_that_is_not_known():
    halt = Halt(mode=HaltMode.NOTHING, reason="the feed is wrong", since="1970-01-01T05:30:07+05:30")
    (found,) = trading_halted(halt, known=True)
    assert (found.kind, found.do, found.since) == ("halt", "onebroker resume", 7.0)
    assert "the feed is wrong" in found.what
    assert [one.kind for one in trading_halted(None, known=False)] == ["halt"]
    assert list(trading_halted(None, known=True)) == []


def test_the_loss_limit_is_a_problem_when_it_is_reached_or_when_the_loss_is_not_known():
    limit = Decimal(1000)
    assert list(loss_limit(DayLoss(), NOW, 60.0)) == []
    assert list(loss_limit(DayLoss(limit=limit, loss=Decimal(5), figure_at=NOW), NOW, 60.0)) == []
    assert [one.kind for one in loss_limit(DayLoss(limit=limit), NOW, 60.0)] == ["loss"]
    assert list(loss_limit(DayLoss(limit=limit), NOW, 9.0)) == [], "the first figure is on its way"
    locked = DayLoss(limit=limit, locked=Locked(loss=Decimal(1200), limit=limit))
    assert [one.kind for one in loss_limit(locked, NOW, 0.0)] == ["loss"]


def test_an_engine_that_does_not_run_is_a_problem_unless_it_starts_or_the_store_is_away():
    starting = EngineStatus(running=False, reason="the order engine is starting", starting=True)
    assert list(engine_stopped(starting, reachable=True, uptime=9.0)) == []
    assert [one.kind for one in engine_stopped(starting, reachable=True, uptime=10.0)] == ["engine"]
    lost = EngineStatus(running=False, reason="another process holds the lock")
    assert "holds the lock" in next(engine_stopped(lost, reachable=True, uptime=0.0)).what
    assert list(engine_stopped(lost, reachable=False, uptime=0.0)) == []
    held_up = EngineStatus(running=True, reason="", trouble="no open order acts until zerodha has a login")
    assert [one.subject for one in engine_stopped(held_up, reachable=True, uptime=0.0)] == ["orders"]
