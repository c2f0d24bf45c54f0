"""Conditions on the account's profit and loss go by every broker's, as the limit on the day's loss does: or they wait, and say why."""

from datetime import datetime
from decimal import Decimal
from types import SimpleNamespace

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.context.day_loss import Figure
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.plan_parent.plan_market import PlanMarket
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import Content, DocumentState
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.sessions.session_view import SessionView
from onebroker.actors.sessions.slices import Slice
from onebroker.brokers.records import FundsRow
from onebroker.brokers.registry import build_registry
from onebroker.config.clock import IST, Clock
from onebroker.config.messages import plan_life as texts
from onebroker.config.settings import build_settings
from onebroker.config.vocabulary import ReadStatus
from tests.support.every_case import every_case
from tests.support.trading import Trading

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)


def read(code, clock, *, ago=0.0, status=ReadStatus.OK, **funds):
    row = FundsRow(available_balance=100.0, **funds)
    return BrokerRead(
        broker=code,
        status=status,
        slice=Slice(broker=code, resource="funds", rows=row, received_at=clock.epoch() - ago),
    )


def figures(reads, results, clock):
    """What the engine sees of the account: `results` by broker are what its positions come to."""
    document = DocumentState(
        resource="funds", body=b"", as_of="", as_of_epoch=clock.epoch(), published_monotonic=clock.monotonic(), brokers=b"",
        reads=tuple(reads), usable_brokers=True, content=Content(pieces=(), rows=(), summary=b""), build_seconds=0.0,
        gap_seconds=None,
    )  # fmt: skip
    registry = build_registry()
    sessions = {
        one.broker: SessionHandle(
            broker=registry[one.broker], address=None, view=Published(SessionView(broker=one.broker))
        )
        for one in reads
    }
    context = EngineContext(
        store=None, clock=clock, settings=build_settings({}, known_brokers={}).engine, sessions=sessions,
        catalogue=Published(None), calendar=None, quotes=None, legs=Legs(lambda: "2026-11-24"), owner="owner", funds=Published(document),
        day_results=SimpleNamespace(of=results.get),
    )  # fmt: skip
    return PlanMarket(context, ()).account()


def told(clock, paise, realized=None, *, ago=0.0):
    return Figure(paise, clock.epoch() - ago, realized, None if realized is None else paise - realized)


@every_case(
    ("dhan", "result", "expected"),
    [
        # (day, realized, unrealized, without a result, without its parts), beside Zerodha's 10 realized and -30 unrealized
        ({}, (-50_000, None), ("-520", None, None, (), ("dhan",))),
        ({}, (-50_000, -20_000), ("-520", "-190", "-330", (), ())),
        ({}, None, (None, None, None, ("dhan",), ("dhan",))),
        ({"realized": 7.5}, (-50_000, None), ("-520", "17.5", None, (), ("dhan",))),
        ({"realized": 7.5}, None, (None, "17.5", None, ("dhan",), ("dhan",))),
        ({"realized": 7.5, "unrealized": 1.0}, None, ("-11.5", "17.5", "-29", (), ())),
        ({"ago": 14_400.0}, None, (None, None, None, ("dhan",), ("dhan",))),
        (
            {"ago": 14_400.0, "realized": 7.5, "unrealized": 1.0},
            None,
            (None, None, None, ("dhan",), ("dhan",)),
        ),  # yesterday's
        ({"status": ReadStatus.UNREADABLE}, None, ("-20", "10", "-30", (), ())),  # it does not answer
    ],
)
async def test_every_broker_that_answers_counts_or_there_is_no_figure(dhan, result, expected, autojump_clock):
    clock = Clock.following_trio(NOW)
    zerodha = read("zerodha", clock, realized=10.0, unrealized=-30.0)
    results = {} if result is None else {"dhan": told(clock, *result)}
    seen = figures([zerodha, read("dhan", clock, **dhan)], results, clock)
    sums = [None if one is None else Decimal(one) for one in expected[:3]]
    assert [seen.day_pnl, seen.realized_pnl, seen.unrealized_pnl] == sums
    assert (seen.without_result, seen.without_parts) == expected[3:]
    assert seen.available_balance == (100 if dhan.get("status") else 200)


@pytest.mark.parametrize("code", ["icicidirect", "groww"])
async def test_a_condition_sees_a_loss_at_a_broker_whose_funds_tell_none(day, autojump_clock, code):
    day.__init__(brokers=("zerodha", code))
    async with day.market(), day.service(quotes=True, funds=True):
        future = min(day.listed("nse_equity_index_futures"), key=lambda one: one.identity.fields()["expiry_date"])
        trading, lot = Trading(day, instrument=future), future.lot_size
        opened = await trading.send(transaction_type="SELL", quantity=lot, product="NRML", broker=code)
        assert opened.status == 200, opened
        results = day.engine_context.day_results.of
        await day.until(lambda: any(row.quantity == -lot for row in day.sessions[code].view.value.positions), 180)
        await day.until(lambda: results(code) is not None, 180)
        limit = float(round(results(code).paise / 100 - float(trading.start) * lot * 2 / 100))
        settings = {
            "type": "account_conditional",
            "watch_field": "day_pnl",
            "trigger_level": limit,
            "trigger_direction": "below",
        }
        closes = {"transaction_type": "BUY", "quantity": lot, "product": "NRML", "broker": code}
        answer = await trading.send(synthetic=settings, **closes)
        assert (answer.status, answer.body["outcome"]) == (202, "armed")
        await trading.move(1)
        await trio.sleep(60)
        assert len(trading.messages()) == 1, "half of it"
        await trading.move(4)
        await trading.until(answer, "completed", seconds=180)
        assert [message[:3] for message in trading.messages()[1:]] == [("place", "BUY", lot)]


class CarriedUntold:
    """Dhan's portfolio, whose rows do not say what was carried in while `on`."""

    def __init__(self, day):
        self.on = True
        broker = day.registry["dhan"]
        own = broker.portfolio
        names = ("position_requests", "holding_requests", "parse_holdings", "fund_requests", "parse_funds")
        portfolio = SimpleNamespace(
            **{name: getattr(own, name) for name in names},
            parse_positions=lambda answers, listings: [
                self._lacking(row) for row in own.parse_positions(answers, listings)
            ],
        )
        day.registry = {**day.registry, "dhan": attrs.evolve(broker, portfolio=portfolio)}

    def _lacking(self, row):
        return msgspec.structs.replace(row, overnight_quantity=None) if self.on and row.view == "net" else row


async def test_a_condition_on_what_is_not_told_waits_and_says_so(day, autojump_clock):
    day.__init__(brokers=("zerodha", "dhan"))
    untold = CarriedUntold(day)
    async with day.market(), day.service(quotes=True, funds=True):
        trading, troubles = Trading(day), day.engine_context.troubles
        await trading.move(0)
        await day.until(lambda: day.funds.value is not None and day.funds.value.usable_brokers)
        day_pnl = {"type": "account_conditional", "watch_field": "day_pnl", "trigger_level": 1_000_000_000}
        undirected = await trading.send(synthetic=day_pnl)
        assert undirected.status == 503, undirected
        answer = await trading.send(synthetic={**day_pnl, "trigger_direction": "below"})
        assert answer.status == 202, answer
        balance = {**day_pnl, "watch_field": "available_balance", "trigger_direction": "above"}
        other = await trading.send(synthetic=balance)
        await day.until(lambda: troubles.rows, 60)
        await trio.sleep(60)
        sentence = "no profit or loss of the day is told at dhan, so a condition on it waits"
        assert [(one.parent_id, one.sentence) for one in troubles.rows] == [(answer.body["parent_id"], sentence)]
        shown = await trading.parent(answer)
        assert (shown["status_message"], trading.messages()) == (sentence, [])
        untold.on = False
        await trading.until(answer, "completed", seconds=180)
        assert troubles.rows == ()
        assert (await trading.parent(answer))["status_message"] is None
        assert (await trading.parent(other))["status_message"] is None


def test_what_is_untold_is_said_by_broker():
    assert texts.result_untold(("dhan", "groww")).startswith("no profit or loss of the day is told at dhan, groww, ")
    assert texts.parts_untold(("dhan",)) == (
        "how much of the day's profit and loss is realized is not told at dhan, so a condition on it waits"
    )
