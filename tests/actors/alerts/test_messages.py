"""Which message each event makes: its words, ids and instrument; and which events make none."""

from decimal import Decimal

import pytest
import trio

from onebroker.actors.alerts.inbox import HEARD
from onebroker.actors.health.problem import ProblemKind
from onebroker.config import events
from onebroker.config.alert_kinds import CHOOSABLE, KINDS, USUAL, AlertKind, kind_of_problem
from onebroker.config.events import (
    ALL,
    CalendarEnds,
    ExposureProtected,
    ExposureUnprotected,
    HaltOff,
    HaltOn,
    LoginNeeded,
    LoginRefused,
    LossLevel,
    LossLock,
    OrderAnswered,
    OrderFilled,
    OrderRejected,
    OrderSent,
    OrderSettled,
    OrderUnknown,
    ParentMoved,
    ProblemBegan,
    ProblemOver,
)
from tests.actors.alerts.conftest import INFY
from tests.support.every_case import every_case

SENT = OrderSent(
    broker="zerodha", verb="place", parent="P1", leg="P1.1", instrument=INFY.instrument_id, side="BUY", quantity=50
)
UNKNOWN = OrderUnknown(broker="zerodha", parent="P1", leg="P1.1", words="no answer within 10 s")
SETTLED = OrderSettled(broker="zerodha", parent="P1", leg="P1.1", state="open", order_id="A9")


def problem(kind, broker=None, subject=None):
    return ProblemBegan(kind=kind, broker=broker, subject=subject, words=f"{kind} words", do="do this")


def over(kind, broker=None, subject=None):
    return ProblemOver(kind=kind, broker=broker, subject=subject, words=f"{kind} words", seconds=63.0)


BEGINS = {
    "rejected": (OrderRejected(broker="zerodha", parent="P1", leg="P1.1", order_id="A9", words="RMS: margin exceeds"),
                 "order rejected at zerodha", ["zerodha: RMS: margin exceeds", "BUY 50 INFY (nse)", "order A9", "parent P1, leg P1.1"]),
    "failed": (ParentMoved(parent="P1", type="bracket", before="working", state="failed", words="the entry was rejected"),
               "bracket order failed", ["reason: the entry was rejected", "BUY 50 INFY (nse)", "parent P1"]),
    "unprotected": (ExposureUnprotected(parent="P1", instrument=INFY.instrument_id, units=50),
                    "position without its stop: 50 INFY (nse)", ["parent P1"]),
    "fill": (OrderFilled(broker="zerodha", parent="P1", leg="P1.1", instrument=INFY.instrument_id, side="BUY", added=20, filled=30,
                         quantity=50, order_id="A9", average_price=1512.35),
             "filled at zerodha: BUY 20 INFY (nse)", ["30 of 50 units are filled at ₹1512.35 on average", "order A9"]),
    "loss": (LossLevel(percent=80, loss=Decimal("41000.00"), limit=Decimal(50000)),
             "day's loss at 80 % of its limit", ["loss ₹41,000.00, limit ₹50,000.00"]),
    "halt": (HaltOn(mode="reduce_only", reason="the strategy is wrong"), "trading is halted", ["reason: the strategy is wrong", "onebroker resume"]),
    "login": (LoginNeeded(broker="zerodha", why="Invalid token", by_person=True), "login needed at zerodha",
              ["zerodha: Invalid token", "onebroker login zerodha"]),
    "broker": (problem("data", "zerodha", "orders"), "broker away: zerodha orders", ["data words", "What to do: do this"]),
    "feed": (problem("feed", "zerodha", "market"), "feed silent: zerodha market", ["feed words"]),
    "store": (problem("store"), "store away", ["store words"]),
    "disk": (problem("disk"), "room runs out", ["disk words"]),
    "calendar": (CalendarEnds(exchanges=("nse", "bse"), last_day="2026-12-31"), "the trading calendar ends soon", ["nse, bse: the holidays are known until 2026-12-31"]),
    "crash": (problem("actor", None, "engine"), "part down: engine", ["actor words"]),
    "problem": (problem("clock"), "clock", ["clock words"]),
}  # fmt: skip
"""Kind -> its event, the title of its message, and parts of its text. `unknown` has tests of its own."""


@every_case("kind", BEGINS)
async def test_the_event_of_a_kind_makes_its_message_with_words_ids_and_instrument(kind, make_house, autojump_clock):
    event, title, parts = BEGINS[kind]
    house = make_house(kinds=CHOOSABLE)
    async with house.run():
        await house.hear(SENT, event)
        assert house.first.titles == [title]
        body = house.first.bodies[0]
        assert [part for part in (*parts, "at 23 Nov 10:00:00 IST", "message ") if part not in body] == []


def test_every_kind_has_a_case():
    assert {*BEGINS, "unknown"} == {*CHOOSABLE}


@every_case("kind", BEGINS)
async def test_a_kind_that_is_off_makes_none(kind, make_house, autojump_clock):
    house = make_house(kinds={*CHOOSABLE} - {kind})
    async with house.run():
        await house.hear(SENT, BEGINS[kind][0])
        assert house.first.taken == []


ENDS = {
    "unprotected": (BEGINS["unprotected"][0], ExposureProtected(parent="P1", instrument=INFY.instrument_id, units=50),
                    "protected again: 50 INFY (nse)"),
    "halt": (BEGINS["halt"][0], HaltOff(), "trading goes on"),
    "broker": (problem("data", "dhan"), over("data", "dhan"), "broker back: dhan"),
    "feed": (problem("feed", "dhan"), over("feed", "dhan"), "feed back: dhan"),
    "store": (problem("store"), over("store"), "store back"),
    "disk": (problem("files"), over("files"), "room again"),
    "crash": (problem("crash", None, "engine"), over("crash", None, "engine"), "part up again: engine"),
    "problem": (problem("stranger", "dhan", "x"), over("stranger", "dhan", "x"), "over: stranger: dhan"),
}  # fmt: skip


@every_case("kind", ENDS)
async def test_the_end_is_told_at_once_though_the_begin_was_told_just_before(kind, make_house, autojump_clock):
    house = make_house()
    began, ended, title = ENDS[kind]
    async with house.run():
        await house.hear(began)
        await house.hear(ended)
        assert house.first.titles[1:] == [title]


async def test_an_order_is_told_when_it_is_unknown_for_ten_seconds_and_when_it_is_settled(house, autojump_clock):
    async with house.run():
        await house.hear(SENT, UNKNOWN, wait=9)
        assert house.first.taken == []
        await trio.sleep(3)
        assert house.first.titles == ["order unknown at zerodha"]
        body = house.first.bodies[0]
        assert "zerodha: no answer within 10 s" in body
        assert "BUY 50 INFY (nse)" in body
        assert "parent P1, leg P1.1" in body
        await house.hear(SETTLED)
        assert house.first.titles[1:] == ["order known again at zerodha: open"]
        assert "order A9" in house.first.bodies[1]


async def test_an_order_that_is_settled_within_ten_seconds_is_not_told(house, autojump_clock):
    async with house.run():
        await house.hear(UNKNOWN, wait=5)
        await house.hear(SETTLED, wait=60)
        assert house.first.taken == []


async def test_after_a_restart_the_end_of_an_unknown_order_is_told(house, autojump_clock):
    async with house.run():
        await house.hear(SETTLED)
        assert house.first.titles == ["order known again at zerodha: open"]


async def test_a_broker_is_away_once_and_back_when_all_its_reads_are_good(house, autojump_clock):
    async with house.run():
        await house.hear(problem("data", "dhan", "orders"), problem("data", "dhan", "funds"))
        await house.hear(over("data", "dhan", "orders"))
        assert house.first.titles == ["broker away: dhan orders"]
        await house.hear(over("data", "dhan", "funds"))
        assert house.first.titles == ["broker away: dhan orders", "broker back: dhan"]
        await trio.sleep(900)
        assert len(house.first.taken) == 2


async def test_each_parent_in_trouble_is_told_not_only_the_first(house, autojump_clock):
    async with house.run():
        await house.hear(problem("trouble", None, "P1"))
        await house.hear(problem("trouble", None, "P2"), problem("trouble", None, "P3"), wait=400)
        assert house.first.titles == ["trouble: P1", "2 times problem, last: trouble: P3"]


COVERED = [problem for row in KINDS for problem in row.told_by_events]


@every_case("kind", COVERED)
async def test_a_problem_that_an_event_tells_is_not_told_again(kind, house, autojump_clock):
    async with house.run():
        await house.hear(problem(kind, "zerodha"), over(kind, "zerodha"), wait=900)
        assert house.first.taken == []


async def test_what_is_no_evidence_of_a_broker_makes_none(house, autojump_clock):
    """An order that left and was answered, a state that is no failure, a loss lock (the level tells it)."""
    async with house.run():
        await house.hear(
            SENT,
            OrderAnswered(broker="zerodha", verb="place", outcome="rejected", broker_ms=5, words="not sent"),
            ParentMoved(parent="P1", type="simple", before="armed", state="rejected"),
            LossLock(locked=True, loss=Decimal(6000), limit=Decimal(5000)),
            wait=900,
        )
        assert house.first.taken == []


def test_the_table_names_events_and_problems_that_exist():
    names = {kind.name for kind in ALL}
    assert {name for row in KINDS for name in (*row.begins, *row.ends)} <= names
    assert {row.kind for row in KINDS} == {*AlertKind}
    problems = [name for row in KINDS for name in (*row.problems, *row.told_by_events)]
    assert len(problems) == len({*problems})
    assert kind_of_problem(ProblemKind.STORE) is AlertKind.STORE
    assert kind_of_problem("something new") is AlertKind.PROBLEM
    assert AlertKind.FILL not in USUAL


def test_the_events_of_the_table_are_those_that_are_heard():
    named = {name for row in KINDS for name in (*row.begins, *row.ends)}
    assert {kind.name for kind in HEARD} == named | {events.OrderSent.name}


async def test_words_of_any_length_and_form_fit_into_a_message(house, autojump_clock):
    async with house.run():
        await house.hear(
            OrderRejected(broker="zerodha", parent=None, leg=None, words="x\n" * 5000),
            LoginRefused(broker="dhan", words="<b>no</b> \x00"),
        )
        assert max(map(len, house.first.bodies)) < 1500
        assert any("<b>no</b>" in body for body in house.first.bodies)


@pytest.mark.parametrize(("hour", "told"), [(6, False), (8, False), (9, True), (16, True)])
async def test_a_login_is_told_at_once_in_the_trading_day_only(make_house, hour, told, autojump_clock):
    house = make_house()
    house.clock = house.clock.following_trio(house.clock.now().replace(hour=hour, minute=15))
    async with house.run():
        await house.hear(LoginNeeded(broker="zerodha", why="the login has ended", by_person=True))
        assert bool(house.first.taken) is told


async def test_at_half_past_eight_one_message_lists_all_logins_that_are_needed(make_house, autojump_clock):
    house = make_house()
    house.clock = house.clock.following_trio(house.clock.now().replace(hour=7))
    house.needed = (("zerodha", True), ("groww", False))
    async with house.run():
        for broker, by_person in house.needed:
            await house.hear(LoginNeeded(broker=broker, why="the login has ended", by_person=by_person))
        await house.sleep_until(8, 29)
        assert house.first.taken == []
        await house.sleep_until(8, 31)
        assert house.first.titles == ["logins needed: zerodha, groww"]
        assert "a person must log in: onebroker login zerodha" in house.first.bodies[0]
        house.needed = ()
        await house.sleep_until(23)
        house.needed = (("dhan", True),)
        await house.sleep_until(9, days=1)
        assert house.first.titles[1:] == ["logins needed: dhan"]


async def test_on_a_day_without_trading_no_logins_are_listed(make_house, autojump_clock):
    house = make_house()
    sunday = house.clock.now().replace(day=22, hour=8)
    house.clock = house.clock.following_trio(sunday)
    house.needed = (("zerodha", True),)
    async with house.run():
        await house.sleep_until(12)
        assert house.first.taken == []
