"""A broker of whose order book a row cannot be read: what that says of orders of ours, and what it does not. A row that is certainly none of
ours holds nothing up; one that may be ours keeps the order unknown, and that is said. Judged on the exchange's ledger."""

from types import SimpleNamespace

import attrs
import pytest
import trio

from onebroker.actors.engine.orders.odd_rows import may_be
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.orders.parent_records import LegEntry, LegRecord
from onebroker.actors.sessions.session_view import OddOrder
from onebroker.brokers.codec.contained import OddName, OddRows
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.changes.test_cancels_go_on import killed_while_a_bracket_is_cancelled
from tests.actors.engine.days.plans.test_exits_never_give_up import exits, problems, resting_bracket
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.support.every_case import every_case

BOTH_REST = [("LIMIT", "open", 0), ("SL", "trigger_pending", 0)]
UNKNOWN = "the order book of zerodha has rows that cannot be read, so it is not known what became of 1 order there"
BY_HAND = OddName(order_id="240000000001", tag="")
NAMELESS = OddName()
ELSEWHERE = OddName(order_id="240000000001")


class Book:
    """zerodha's order book, with rows that cannot be read: `names` of others', and those of ours that `hides` names."""

    def __init__(self, day):
        broker = day.registry["zerodha"]
        self.names, self.hides = [], lambda row: False
        self._parse = broker.books.parse_orders
        rest = {one: getattr(broker.books, one) for one in ("order_requests", "trade_requests", "parse_trades")}
        books = SimpleNamespace(**rest, parse_orders=self._read)
        day.registry = {**day.registry, "zerodha": attrs.evolve(broker, books=books)}

    def _read(self, answers, listings):
        rows = self._parse(answers, listings)
        hidden = [row for row in rows if self.hides(row)]
        names = [*self.names, *(OddName(order_id=row.order_id, tag=row.tag or "") for row in hidden)]
        if not names:
            return rows
        readable = [row for row in rows if row not in hidden]
        raise OddRows(["a quantity of 1.5"] * len(names), len(names) + len(readable), readable, names)


async def entry_at_zerodha(trading):
    answer = await trading.place(attrs.evolve(resting_bracket(trading), broker="zerodha"))
    assert (answer.body["broker"], answer.body["outcome"]) == ("zerodha", "accepted")
    await trio.sleep(5)
    return answer


async def exits_of_unknown_outcome(trading):
    """A bracket at zerodha whose stop was answered 500, and never was there. Its target waits for it."""
    answer = await entry_at_zerodha(trading)
    trading.day.simulator.fault("zerodha", FaultKind.HTTP_500, seconds=10)
    trading.moved(-2)
    await trading.day.until(lambda: _unsettled(trading) == 1)
    return answer


def _unsettled(trading):
    return sum(one.state.unsettled for one in trading.day.engine_context.legs.unfinished)


@pytest.mark.parametrize("name", [BY_HAND, ELSEWHERE], ids=["no tag", "shown before"])
async def test_a_row_of_somebody_else_all_day_holds_up_no_exit(day, name, autojump_clock):
    book = Book(day)
    async with day.market(), traded(day) as trading:
        book.names.append(name)
        await trading.send(quantity=1, broker="zerodha")  # an answer with the same bytes is not read again
        await trio.sleep(60)
        await exits_of_unknown_outcome(trading)
        await trio.sleep(120)
        assert exits(trading) == BOTH_REST


async def test_a_row_that_may_be_ours_keeps_them_unknown_which_is_said_until_it_can_be_read(day, autojump_clock):
    book = Book(day)
    async with day.market(), traded(day) as trading:
        await trio.sleep(30)
        book.names.append(NAMELESS)
        answer = await exits_of_unknown_outcome(trading)
        await trio.sleep(300)
        assert exits(trading) == []
        assert UNKNOWN in (await trading.parent(answer))["status_message"]
        assert (answer.body["parent_id"], trading.share.instrument_id, UNKNOWN) in problems(trading)
        book.names.clear()
        await trio.sleep(150)
        assert exits(trading) == BOTH_REST
        assert problems(trading) == []


async def test_an_exit_of_ours_whose_own_row_cannot_be_read_is_never_sent_twice(day, autojump_clock):
    book = Book(day)
    async with day.market(), traded(day) as trading:
        book.hides = lambda row: row.transaction_type == "SELL"
        answer = await entry_at_zerodha(trading)
        day.simulator.fault("zerodha", FaultKind.STALL_STREAM, seconds=400)
        day.simulator.fault("zerodha", FaultKind.DROP_AFTER_ACCEPT, count=2)
        trading.moved(-2)
        await trading.day.until(lambda: _unsettled(trading) == 1)
        await trio.sleep(300)
        assert exits(trading) == [("SL", "trigger_pending", 0)]
        book.hides = lambda row: False
        await trio.sleep(120)
        assert exits(trading) == BOTH_REST
        trading.moved(4)
        await trading.until(answer, "completed")
        assert exits(trading) == [("LIMIT", "complete", 100), ("SL", "cancelled", 0)]


async def test_a_parent_found_cancelling_cancels_what_the_readable_rows_show(day, autojump_clock):
    async with day.market():
        answer = await killed_while_a_bracket_is_cancelled(day)
        book = Book(day)
        book.names.append(NAMELESS)
        async with traded(day, log_in=False) as trading:
            await trading.until(answer, "cancelled", seconds=180)
            assert [m[0] for m in trading.messages()] == ["place"] * 3 + ["cancel"] * 2


# --- whose a row may be -----------------------------------------------------------------------------------------------------

TOKEN = "ob0123456789ab"


def leg(**changes):
    fields = {
        "leg_id": "p.1", "part": "root", "token": TOKEN, "broker": "zerodha", "segment": "nse_equities", "instrument_token": "1",
        "tradingsymbol": "A", "transaction_type": "SELL", "product": "MIS", "order_type": "LIMIT", "validity": "DAY", "quantity": 1,
        "price": None, "trigger_price": None, "session_day": "2026-11-24", **changes,
    }  # fmt: skip
    return LegRecord(**fields)


@every_case(
    ("order_id", "tag", "since", "tagging", "may"),
    [
        (None, None, 0.0, True, True),
        ("7", "", 99.0, True, False),  # it has no tag, and ours would
        ("7", "mine", 99.0, True, False),
        (None, "mine", 99.0, True, False),
        (None, TOKEN, 0.0, True, True),
        ("7", TOKEN.upper(), 0.0, True, True),
        ("7", TOKEN[:9], 0.0, True, True),
        ("7", "ob0123456789ac", 0.0, True, False),
        ("7", "", 99.0, False, True),  # a broker that may not give our tokens back
        ("7", "mine", 99.0, False, True),
        ("7", "", 9.9, False, False),  # it was there before ours left
        ("7", None, 9.9, True, False),
        ("7", None, 10.0, True, True),
        ("8", None, 99.0, True, False),  # another leg's
        ("9", None, 0.0, True, True),  # its own
    ],
)
def test_only_a_row_that_is_certainly_none_of_a_legs_is_passed_over(order_id, tag, since, tagging, may):
    legs = Legs(lambda: "2026-11-24")
    legs.begin_day("2026-11-24")
    for number, name in (("8", "p.2"), ("9", "p.1")):
        entry = LegEntry(
            parent_id="p", leg_id=name, synthetic_type="plan", intent_id="i", leg_role="root", tag=None, broker="zerodha",
            session_day="2026-11-24",
        )  # fmt: skip
        legs.shown(entry, number)
    if tagging:
        legs.note_tagging(("zerodha",))
    odd = OddOrder(order_id=order_id, tag=tag, since=since)
    assert may_be(leg(), odd, legs, today="2026-11-24", sent_after=10.0) is may


@every_case(("sent_after", "order_id", "may"), [(None, "7", True), (10.0, "7", False)])
def test_of_a_leg_of_before_a_restart_it_is_not_known_when_it_left(sent_after, order_id, may):
    odd = OddOrder(order_id=order_id, tag=None, since=1.0)
    assert may_be(leg(), odd, Legs(lambda: "2026-11-24"), today="2026-11-24", sent_after=sent_after) is may


@every_case(("order_id", "may"), [("7", False), ("5", True), (None, True)])
def test_a_leg_whose_order_id_is_known_is_only_that(order_id, may):
    odd = OddOrder(order_id=order_id, tag=None, since=99.0)
    assert may_be(leg(order_id="5"), odd, Legs(lambda: "2026-11-24"), today="2026-11-24", sent_after=10.0) is may
