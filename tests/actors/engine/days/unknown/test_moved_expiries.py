"""Mornings on which an exchange has moved an expiry and one broker still has the old one: what waits over days guards at its broker under the
followed contract. And a morning on which a contract has another lot. Judged on the exchange's ledger."""

import itertools
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta

import attrs
import pytest
import trio

from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.http.health_parts import order_problems
from tests.support.moved_contracts import Mappings, move
from tests.support.trading import Trading

NSE = calendar_from_documents(exchange_documents())
WEDNESDAY, THURSDAY = date(2026, 11, 25), date(2026, 11, 26)
FUTURES, OPTIONS = "nse_equity_index_futures", "nse_equity_index_options"


def at(day, hour, minute):
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=IST)


async def until(day, moment):
    await trio.sleep((moment - day.clock.now()).total_seconds())


class Story:
    """One contract, held at one broker, over a Wednesday and a Thursday."""

    def __init__(self, day, folder, code, segment):
        self.day, self.code, self.segment = day, code, segment
        self.mappings = Mappings(day, folder)

    def choose(self):
        every = sorted(self.day.listed(self.segment), key=lambda one: one.identity.expiry_date)
        self.contract = next(one for one in every if one.identity.expiry_date > "2026-12-01")
        self.trading = Trading(self.day, instrument=self.contract)

    @property
    def lot(self):
        return self.contract.lot_size

    def net(self):
        rows = self.day.ledger()["positions"]
        own = {self.contract.instrument_id, self.trading.share.instrument_id}
        return {
            code: units
            for code, every in rows.items()
            if (units := sum(row["quantity"] for row in every if row["instrument_id"] in own))
        }

    def resting(self):
        return [
            (order.broker, order.new.side, order.quantity - order.filled_quantity, order.new.instrument_id)
            for order in self.day.exchange.all_orders()
            if not order.status.finished
        ]

    async def buy(self, **more):
        await self.trading.move(0)
        bought = await self.trading.send(
            quantity=self.lot, broker=self.code, product="NRML", order_type="LIMIT", price=self.trading.at(1), **more
        )
        assert bought.status in (200, 202), bought
        await self.day.until(lambda: self.net() == {self.code: self.lot}, 60)
        return bought

    async def guard(self, kind):
        """Buy a lot, and have a stop of each day under it: its own order, or one of a written plan."""
        stop = {"stop_price": self.trading.at(-4), "stop_limit_price": self.trading.at(-5)}
        if kind == "plan":
            price = {
                "kind": "native_stop",
                "trigger_price": stop["stop_price"],
                "limit_price": stop["stop_limit_price"],
            }
            daily = {"part": "order", "transaction_type": "SELL", "price": price, "execution": {"kind": "daily"}}
            root = {"part": "order", "each_fill": daily}
            self.answer = await self.buy(synthetic={"type": "plan", "hold_limits": False, "root": root})
        else:
            await self.buy()
            self.answer = await self.trading.send(
                transaction_type="SELL", quantity=self.lot, broker=self.code, product="NRML",
                synthetic={"type": kind, **stop},
            )  # fmt: skip
        await self.day.until(lambda: len(self.resting()) == 1, 60)
        await trio.sleep(5)

    def moved_to(self, days):
        return date.fromisoformat(self.contract.identity.expiry_date) + timedelta(days=days)

    def follow(self, days):
        """The contract of today's list that has the number of the held one."""
        expiry = self.moved_to(days).isoformat()
        same = (
            one
            for one in self.day.listed(self.segment)
            if one.identity.expiry_date == expiry
            and one.identity.strike_price == self.contract.identity.strike_price
            and one.identity.option_type == self.contract.identity.option_type
            and one.identity.underlying_symbol == self.contract.identity.underlying_symbol
        )
        self.now = next(same)
        self.trading.share = self.now
        self.trading.quotes = self.day.quotes.follow([self.now.instrument_id])


@asynccontextmanager
async def evening(day_kind, folder, code, segment, kind):
    """Wednesday: a lot is bought at `code`, and a stop of each day guards it. The night itself needs no market."""
    day = day_kind(brokers=(code, OTHER), start=at(WEDNESDAY, 15, 28), calendar=NSE, number=100)
    story = Story(day, folder, code, segment)
    with trio.fail_after(2 * 86_400):
        async with day.market():
            async with day.service(log_in=False):
                await story.mappings.publish()
            async with day.service(quotes=True):
                story.choose()
                await story.guard(kind)
                await until(day, at(WEDNESDAY, 15, 31))
        story.before = len(story.trading.messages())
        yield story


async def guards(story):
    """At 09:20 the stop goes out at its broker, once and without a complaint, and sells what is held when the market falls."""
    day, trading = story.day, story.trading
    trading.moved(0)
    await until(day, at(THURSDAY, 9, 20))
    await trio.sleep(15)
    parent = await trading.parent(story.answer)
    assert parent["status_message"] is None
    assert story.resting() == [(story.code, "SELL", story.lot, story.now.instrument_id)]
    trading.moved(-4.5)
    await day.until(lambda: story.net() == {}, 60)
    await trio.sleep(15)
    placed = [message for message in trading.messages()[story.before :] if message[0] == "place"]
    assert [message[1:3] for message in placed] == [("SELL", story.lot)]
    assert (story.net(), story.resting()) == ({}, [])


OTHER = "upstox"


HELD = {
    "expiry in the token": ("icicidirect", FUTURES),
    "symbol as token": ("groww", OPTIONS),
    "number as token": ("zerodha", OPTIONS),
}
FIRST = {("expiry in the token", "daily_stop", "other", 2), ("symbol as token", "plan", "other", 2)}
"""Played by both commands; the others take minutes."""


def mornings():
    every = itertools.product(HELD, ("daily_stop", "plan"), ("other", "own"), (-2, 2))
    for held, kind, late, days in every:
        marks = () if (held, kind, late, days) in FIRST else pytest.mark.long
        name = f"{held}-{kind}-{late} late-{'later' if days > 0 else 'earlier'}"
        yield pytest.param(*HELD[held], kind, late, days, marks=marks, id=name)


@pytest.mark.parametrize(("code", "segment", "kind", "late", "days"), [*mornings()])
async def test_a_service_that_starts_before_the_build_guards_what_is_held(
    code, segment, kind, late, days, day_kind, tmp_path, autojump_clock
):
    """Its list is yesterday's, and a broker that has the new terms shows the position under a token that this list does not know."""
    async with evening(day_kind, tmp_path, code, segment, kind) as story:
        day = story.day
        await until(day, at(THURSDAY, 9, 16))
        move(day, story.contract.identity, story.moved_to(days), [OTHER if late == "other" else code])
        async with day.market(), day.service(quotes=True):
            await until(day, at(THURSDAY, 9, 18))
            await story.mappings.publish()
            story.follow(days)
            await guards(story)


@pytest.mark.long
@pytest.mark.parametrize("start", [(9, 17), (9, 19)], ids=["before the stop is due", "a minute before"])
@pytest.mark.parametrize("late", ["other", "own"])
async def test_a_service_that_starts_after_the_build_guards_what_is_held(
    late, start, day_kind, tmp_path, autojump_clock
):
    async with evening(day_kind, tmp_path, "icicidirect", FUTURES, "daily_stop") as story:
        day = story.day
        await until(day, at(THURSDAY, 9, 16))
        move(day, story.contract.identity, story.moved_to(2), [OTHER if late == "other" else "icicidirect"])
        await story.mappings.publish()
        await until(day, at(THURSDAY, *start))
        async with day.market(), day.service(quotes=True):
            story.follow(2)
            await guards(story)


async def test_a_close_before_the_build_is_not_over_while_the_position_has_a_new_name(
    day_kind, tmp_path, autojump_clock
):
    async with evening(day_kind, tmp_path, "icicidirect", FUTURES, "daily_stop") as story:
        day, trading = story.day, story.trading
        await until(day, at(THURSDAY, 9, 16))
        move(day, story.contract.identity, story.moved_to(2), [OTHER])
        async with day.market(), day.service(quotes=True):
            await until(day, at(THURSDAY, 9, 17))
            close = {
                "part": "order", "transaction_type": "SELL", "quantity": {"position": {"product": "carry", "ratio": 1}},
                "price": {"kind": "marketable"}, "when": {"time": "09:17:20"}, "closes": True,
            }  # fmt: skip
            answer = await trading.send(product="NRML", quantity=None, synthetic={"type": "plan", "root": close})
            assert answer.status == 202, answer
            await until(day, at(THURSDAY, 9, 17) + timedelta(seconds=50))
            parent = await trading.parent(answer)
            assert parent["state"] == "armed"
            assert "icicidirect shows a position that may be in" in str(parent["status_message"])


FRIDAY = THURSDAY + timedelta(days=1)


def change_lot(day, contract, units):
    """From the next building of the exchange's list on a contract has so many units in a lot."""
    build, exchange = day.exchange._build_world, day.exchange

    def built(listed_on):
        world = build(listed_on)
        contracts = tuple(
            attrs.evolve(one, lot_size=units) if one.instrument_id == contract.instrument_id else one
            for one in world.universe.contracts
        )
        world.universe = attrs.evolve(world.universe, contracts=contracts)
        return world

    exchange._build_world = built


@asynccontextmanager
async def morning_of(story, day_of_month, lot):
    """A morning up to the minute after the stop is due, with so many units in a lot of the contract."""
    day, trading = story.day, story.trading
    change_lot(day, story.contract, lot)
    await until(day, at(day_of_month, 9, 18))
    async with day.market(), day.service(quotes=True):
        await trio.sleep(5)
        await story.mappings.publish()
        assert day.snapshot.instrument(story.contract.instrument_id).lot_size == lot
        trading.quotes = day.quotes.follow([story.contract.instrument_id])
        trading.moved(0)
        await until(day, at(day_of_month, 9, 20))
        await trio.sleep(15)
        yield [row["message"] for row in order_problems(day.engine_context.troubles.rows)]


async def test_a_stop_whose_contract_has_another_lot_is_told_at_its_time_and_not_lost(
    day_kind, tmp_path, autojump_clock
):
    async with evening(day_kind, tmp_path, "zerodha", FUTURES, "daily_stop") as story:
        async with morning_of(story, THURSDAY, story.lot - 10) as told:
            sentence = f"zerodha cannot take this order: quantity is not a whole number of lots of {story.lot - 10}"
            assert told == [f"{story.lot} units are open without a stop", f"what is due waits: {sentence}"]
            parent = await story.trading.parent(story.answer)
            assert (parent["state"], story.resting()) == ("working", [])
            assert sentence in parent["status_message"]
        async with morning_of(story, FRIDAY, story.lot) as told:
            parent = await story.trading.parent(story.answer)
            assert told == []
            assert parent["status_message"] is None, "the refusal of an earlier morning"
            assert story.resting() == [("zerodha", "SELL", story.lot, story.contract.instrument_id)]
