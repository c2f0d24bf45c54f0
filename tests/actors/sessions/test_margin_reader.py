"""Asking brokers what an order needs (order-engine 4.1), at every broker that tells it; the exchange's own sums are the truth."""

from decimal import Decimal

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.sessions.margin_reader import MOST_KEPT
from onebroker.actors.sessions.messages import AskMargin
from onebroker.actors.sessions.session_view import MarginKey
from onebroker.brokers.broker import OrderTicket
from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.host.inprocess import InProcessTransport
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

REGISTRY = build_registry()
TELLING = [code for code, broker in REGISTRY.items() if broker.margins is not None]
SEGMENTS = (
    "nse_equity_index_futures", "nse_equity_futures", "nse_equity_options", "bse_equity_index_options", "nse_currency_futures",
    "mcx_commodity_futures", "mcx_commodity_options",
)  # fmt: skip


UNTOLD = {"dhan": {"nse_currency_futures"}}
"""Of what a broker takes orders, but works out no margin."""


def wanted(day, code):
    """One instrument of each kind that the broker takes orders of and tells the margin of."""
    taken = REGISTRY[code].capabilities.segments - UNTOLD.get(code, set())
    for segment in SEGMENTS:
        one = next((one for one in day.listed(segment) if one.listings[code].contract_units), None)
        if segment in taken and one is not None:
            yield one


def market_of(day, one):
    return day.exchange.account(day.codes[0]).market(one.instrument_id)


def ticket(day, code, one, *, price=None, side="SELL"):
    contract = day.exchange.account(code).contract(one.instrument_id)
    return OrderTicket(
        listing=one.listings[code], segment=one.identity.segment, transaction_type=side, product="NRML",
        order_type="MARKET" if price is None else "LIMIT", validity="DAY", quantity=2 * contract.lot_size, price=price,
    )  # fmt: skip


async def figure(day, code, asked, price):
    session = day.sessions[code]
    await session.address.ask(lambda reply: AskMargin(ticket=asked, price=price, reply=reply), 60)
    key = MarginKey(asked.listing.broker_token, asked.transaction_type, asked.product)
    return session.view.value.margins[key].per_unit


def needed(day, code, one, asked):
    new = NewOrder(
        instrument_id=one.instrument_id, side=Side(asked.transaction_type), product=Product.NRML, order_type=OrderType.LIMIT,
        validity=Validity.DAY, quantity=asked.quantity, price=asked.price,
    )  # fmt: skip
    return day.exchange.account(code).margin(new).total / asked.quantity


@pytest.mark.parametrize("code", TELLING)
async def test_the_figure_is_what_the_exchange_would_block_for_a_unit(day, code, autojump_clock):
    day.__init__(brokers=(code,))
    async with day.market(), day.service():
        kinds = list(wanted(day, code))
        assert kinds
        await trio.sleep(30)  # what is read first at the start takes up the budget
        for one in kinds:
            await trio.sleep(2)
            price = market_of(day, one).last_price
            asked = ticket(day, code, one, price=price)
            told = await figure(day, code, asked, price)
            assert told is not None, one.identity
            assert float(told) == pytest.approx(float(needed(day, code, one, asked)), rel=1e-3), one.identity
        assert day.ledger()["messages"] == []


@pytest.mark.parametrize("code", TELLING)
async def test_an_order_without_a_price_has_a_figure_too(day, code, autojump_clock):
    day.__init__(brokers=(code,))
    async with day.market(), day.service():
        one = next(wanted(day, code))
        await trio.sleep(30)
        price = market_of(day, one).last_price
        told = await figure(day, code, ticket(day, code, one), price)
        priced = needed(day, code, one, ticket(day, code, one, price=price))
        assert float(told) == pytest.approx(float(priced), rel=0.02)  # the market moves


@pytest.mark.parametrize("code", TELLING)
@pytest.mark.parametrize("kind", [FaultKind.HTTP_500, FaultKind.GARBAGE_BODY, FaultKind.REFUSAL_IN_200])
async def test_a_broker_that_does_not_say_has_no_figure(day, code, kind, autojump_clock):
    day.__init__(brokers=(code,))
    async with day.market(), day.service():
        one = next(wanted(day, code))
        await trio.sleep(30)
        day.simulator.fault("all", kind, seconds=60)
        assert await figure(day, code, ticket(day, code, one), Decimal(100)) is None


class Slow(InProcessTransport):
    """Every answer takes its time, as brokers' do."""

    seconds = 0.0

    async def send(self, request, timeout_seconds):
        await trio.sleep(self.seconds / 2)
        answer = await super().send(request, timeout_seconds)
        await trio.sleep(self.seconds / 2)
        return answer


@pytest.mark.parametrize("seconds", [0.0, 0.15])
@pytest.mark.parametrize("code", TELLING)
async def test_what_is_read_first_leaves_room_for_the_first_questions(day, code, seconds, autojump_clock):
    day.__init__(brokers=(code,))
    day.open_transport = lambda: Slow(day.simulator)
    Slow.seconds = seconds
    async with day.market(), day.service():
        kinds = [one for segment in SEGMENTS[:2] for one in day.listed(segment) if one.listings[code].contract_units]
        for one in kinds[:6]:
            asked, began = ticket(day, code, one, price=market_of(day, one).last_price), trio.current_time()
            assert await figure(day, code, asked, asked.price) is not None, began
            await trio.sleep(max(0.0, began + 0.4 - trio.current_time()))


async def test_only_so_many_figures_are_kept(day, autojump_clock):
    day.__init__(brokers=("zerodha",), number=900)
    async with day.market(), day.service():
        session = day.sessions["zerodha"]
        one = next(wanted(day, "zerodha"))
        day.simulator.fault("all", FaultKind.HTTP_500, seconds=86_000)
        asked = ticket(day, "zerodha", one)
        for number in range(MOST_KEPT + 2):
            listing = msgspec.structs.replace(one.listings["zerodha"], broker_token=str(number))
            await figure(day, "zerodha", attrs.evolve(asked, listing=listing), Decimal(100))
        kept = [key.instrument_token for key in session.view.value.margins]
        assert (len(kept), kept[0], kept[-1]) == (MOST_KEPT, "2", str(MOST_KEPT + 1))
