"""Polls: at their cadence with the market open and closed, at once when something of ours moved, parsed only when changed."""

import math
from datetime import datetime
from itertools import pairwise

import pytest
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.sessions.messages import ReadSoon
from onebroker.actors.sessions.pollers import period_seconds
from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.host.gateway import Answer
from onebroker.brokers.zerodha import portfolio
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.events import ReadFailing, ReadOk
from onebroker.config.exchange_documents import exchange_documents

CODES = ["zerodha", "upstox"]
RESOURCES = ["orders", "trades", "positions", "funds", "holdings"]
OPEN = {
    code: dict(zip(RESOURCES, seconds, strict=True))
    for code, seconds in {
        "zerodha": (1, 2, 2, 5, 60), "upstox": (4, 12, 12, 30, 60), "dhan": (1, 2, 2, 5, 60), "angelone": (2, 3, 3, 5, 60),
        "fyers": (2, 4, 4, 15, 60), "kotakneo": (2, 4, 4, 10, 60), "fivepaisa": (3, 6, 6, 15, 60),
        "groww": (2, 4, 4, 10, 60), "icicidirect": (55, math.inf, 55, 55, 170), "shoonya": (2, 4, 4, 10, 60),
    }.items()
}  # fmt: skip
"""Architecture 13's table."""
CLOSED = {"orders": 30, "trades": 30, "positions": 30, "funds": 30, "holdings": 170}
SLOWLY_CLOSED = dict.fromkeys(RESOURCES, 600) | {"holdings": 1800}
REAL = calendar_from_documents(exchange_documents())


def gaps(times):
    return [round(after - before, 3) for before, after in pairwise(times)]


def at(day, hour, minute=0, second=0, *, date=23):
    """Let the day begin at that time of November 2026 under the real calendar."""
    day.__init__(start=datetime(2026, 11, date, hour, minute, second, tzinfo=IST), calendar=REAL)


@pytest.mark.parametrize("code", CODES)
async def test_while_a_session_is_open_each_resource_is_read_at_its_cadence(day, world, code, autojump_clock):
    at(day, 10)
    async with day.market(), day.service():
        await trio.sleep(30)
        since = day.clock.monotonic()
        await trio.sleep(240)
        for resource in RESOURCES:
            assert set(gaps(world.calls.times(code, resource, since))) == {float(OPEN[code][resource])}, resource


@pytest.mark.parametrize(("hour", "date"), [(7, 23), (8, 25), (12, 22)])
async def test_while_all_is_closed_it_is_read_at_the_slow_cadence(day, world, hour, date, autojump_clock):
    at(day, hour, date=date)
    async with day.service():
        await trio.sleep(200)
        since = day.clock.monotonic()
        await trio.sleep(400)
        for resource in RESOURCES:
            assert set(gaps(world.calls.times("upstox", resource, since))) == {float(CLOSED[resource])}, resource


async def test_the_commodity_evening_counts_as_open_for_a_broker_that_trades_it(day, world, autojump_clock):
    at(day, 20)
    async with day.service():
        await trio.sleep(5)
        since = day.clock.monotonic()
        await trio.sleep(60)
        assert set(gaps(world.calls.times("zerodha", "orders", since))) == {1.0}


async def test_when_the_market_opens_the_reads_quicken_within_a_second(day, world, autojump_clock):
    at(day, 8, 50, 13)  # so that no slow read falls on the opening by chance
    async with day.service():
        await trio.sleep(9 * 60)
        before = day.clock.now()
        assert before.hour == 8
        opening = day.clock.monotonic() + (datetime(2026, 11, 23, 9, 0, tzinfo=IST) - before).total_seconds()
        await trio.sleep(120)  # commodities open at nine
        for resource in ("orders", "positions"):
            first = min(world.calls.times("zerodha", resource, opening))
            assert first - opening <= 1.0 + 1e-6


@pytest.mark.parametrize("code", CODES)
async def test_an_own_order_message_has_the_books_read_at_once_and_at_most_once_a_second(
    day, world, code, autojump_clock
):
    async with day.market(), day.service():
        await trio.sleep(20)
        since = day.clock.monotonic()
        await world.place(code)
        answered = day.clock.monotonic()
        await trio.sleep(1.1)
        for resource in ("orders", "funds"):
            times = world.calls.times(code, resource, answered)
            assert times, resource
            assert times[0] - answered <= 1.0
        for _ in range(40):
            await day.sessions[code].address.tell(ReadSoon(resource="orders"))
            await trio.sleep(0.1)
        for resource in RESOURCES:
            assert all(gap >= 1.0 for gap in gaps(world.calls.times(code, resource, since)))
        assert len(world.calls.times(code, "orders", answered + 1.1)) >= 3
        view = day.sessions[code].view.value
        assert view.orders_read_started > answered


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("code", CODES)
async def test_a_fill_has_trades_and_positions_read_at_once_whoever_tells_of_it(
    day, world, code, stream, autojump_clock
):
    async with day.market(), day.service():
        if not stream:
            day.simulator.fault(code, FaultKind.STALL_STREAM)
        sent = await world.place(code)
        await day.until(lambda: sent.answer.order_id in day.sessions[code].view.value.orders)
        await trio.sleep(20)
        day.simulator.set_price(day.equity().instrument_id, world.low(day.equity()) - 1)
        await day.until(lambda: day.sessions[code].view.value.orders[sent.answer.order_id].status == "COMPLETE")
        seen = day.clock.monotonic()
        await trio.sleep(1.2)
        for resource in ("trades", "positions", "funds"):
            assert [when for when in world.calls.times(code, resource, seen - 0.1) if when <= seen + 1.05], resource


@pytest.mark.parametrize("code", CODES)
async def test_what_could_not_be_read_is_read_as_soon_as_the_broker_answers_again(day, world, code, autojump_clock):
    at(day, 10)
    async with day.market(), day.service():
        await trio.sleep(20)
        day.simulator.fault(code, FaultKind.REFUSE_CONNECTIONS)
        await day.until(lambda: set(day.sessions[code].view.value.read_errors) == set(RESOURCES))
        day.simulator.faults.heal(code)
        await trio.sleep(OPEN[code]["orders"] + 3)
        assert day.sessions[code].view.value.read_errors == {}


async def test_unchanged_bodies_are_not_parsed_again_until_the_catalogue_changes(
    day, world, slices, autojump_clock, monkeypatch
):
    at(day, 7)  # closed: nothing moves
    parsed = []

    def parse(answers, listings):
        parsed.append(listings)
        return zerodha_portfolio(answers, listings)

    zerodha_portfolio = portfolio.parse_positions
    monkeypatch.setattr(portfolio, "parse_positions", parse)
    async with day.service():
        told = slices(day)
        await trio.sleep(200)
        since = day.clock.monotonic()
        await trio.sleep(400)
        for resource in ("trades", "positions", "holdings"):
            rows = [slice_.rows for slice_ in told.since("zerodha", resource, since)]
            assert rows
            assert all(one is rows[0] for one in rows), resource
        before = told.last("zerodha", "positions").rows
        parsed.clear()
        await trio.sleep(40)
        assert parsed == []
        snapshot = type(day.snapshot).__new__(type(day.snapshot))
        snapshot.__dict__.update(day.snapshot.__dict__)
        snapshot._listings = {code: dict(listings) for code, listings in day.snapshot._listings.items()}
        day.catalogue.set(CatalogueState(latest=snapshot, published_today=True, reason=""))
        await trio.sleep(40)
        assert len(parsed) == 1
        assert parsed[0] is snapshot.listings("zerodha")
        assert told.last("zerodha", "positions").rows is before  # equal rows: nothing is built again


@pytest.mark.parametrize("code", CODES)
async def test_a_lost_read_is_repeated_once_and_not_more(day, world, code, autojump_clock):
    async with day.market(), day.service():
        await trio.sleep(62)
        gateway = day.simulator.gateways[code]
        handle = gateway.handle

        async def cut(request):
            await trio.lowlevel.checkpoint()
            return Answer(None)

        gateway.handle = cut
        since = day.clock.monotonic()
        await day.sessions[code].address.tell(ReadSoon(resource="funds"))
        await trio.sleep(1.05)
        first = world.calls.times(code, "funds", since)[0]
        assert world.calls.times(code, "funds", since)[:2] == [first, first]
        assert len([at for at in world.calls.times(code, "funds", since) if at < first + 1]) == 2
        assert "funds" in day.sessions[code].view.value.read_errors
        gateway.handle = handle
        await trio.sleep(70)
        assert day.sessions[code].view.value.read_errors == {}


@pytest.mark.parametrize(
    ("kind", "unreadable"),
    [
        (FaultKind.HTTP_500, False),
        (FaultKind.REFUSE_CONNECTIONS, False),
        (FaultKind.GARBAGE_BODY, True),
        (FaultKind.REFUSAL_IN_200, True),
    ],
)
@pytest.mark.parametrize("code", CODES)
async def test_an_unreadable_answer_is_shown_as_that_while_a_broker_that_is_away_just_grows_old(
    day, world, slices, code, kind, unreadable, autojump_clock
):
    async with day.market(), day.service():
        told = slices(day)
        await trio.sleep(70)
        held = {resource: told.last(code, resource) for resource in RESOURCES}
        positions = day.sessions[code].view.value.positions
        assert positions
        day.simulator.fault(code, kind)
        await trio.sleep(70)
        for resource in ("positions", "funds", "holdings"):
            now = told.last(code, resource)
            if unreadable:
                assert now.rows is None
                assert now.error
            else:
                assert now.rows is not None
                assert now.received_at <= held[resource].received_at + 60
        # What an order is chosen by does not become an empty portfolio.
        assert day.sessions[code].view.value.positions
        day.simulator.faults.heal(code)
        await trio.sleep(70)
        assert all(told.last(code, resource).error is None for resource in RESOURCES)
        assert day.sessions[code].view.value.read_errors == {}


def test_the_cadence_of_every_broker_is_that_of_the_table():
    assert list(OPEN) == list(build_registry())
    for broker in build_registry().values():
        closed = SLOWLY_CLOSED if broker.code == "icicidirect" else CLOSED
        for resource in RESOURCES:
            assert period_seconds(broker.cadence, resource, market_open=True) == OPEN[broker.code][resource]
            assert period_seconds(broker.cadence, resource, market_open=False) == closed[resource]


@pytest.mark.parametrize("kind", [FaultKind.HTTP_500, FaultKind.REFUSE_CONNECTIONS, FaultKind.GARBAGE_BODY])
async def test_reads_that_fail_are_told_once_and_once_when_they_are_good_again(day, told, kind, autojump_clock):
    at(day, 10)
    every = sorted([*RESOURCES, "profile"])
    async with day.market(), day.service():
        await trio.sleep(20)
        assert told("zerodha", ReadFailing, ReadOk) == []
        for number in (1, 2):
            day.simulator.fault("zerodha", kind)
            await trio.sleep(130)
            assert set(day.sessions["zerodha"].view.value.read_errors) == set(RESOURCES)
            failing = told("zerodha", ReadFailing)
            assert sorted(event.read for event in failing) == sorted(every * number)
            assert all(event.words for event in failing)
            assert len(told("zerodha", ReadOk)) == len(every) * (number - 1)
            day.simulator.faults.heal("zerodha")
            await trio.sleep(70)
            good = told("zerodha", ReadOk)
            assert sorted(event.read for event in good) == sorted(every * number)
            orders = [event for event in good if event.read == "orders"][-1]
            assert orders.failed > 50
            assert 100 < orders.seconds < 140
            assert len(told("zerodha", ReadFailing)) == len(every) * number
        assert told("upstox", ReadFailing, ReadOk) == []
