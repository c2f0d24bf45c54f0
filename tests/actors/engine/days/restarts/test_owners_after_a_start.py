"""Right after a start, the books name the owner of every order of ours, also in a row that shows no token.

The engine may still wait for its lock then, and it reads only the parents that have not ended.
"""

from decimal import Decimal
from functools import partial

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.actors.portfolio.assembler import run_steps
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.actors.store.interface import Delete, Set
from onebroker.brokers.records import OrderRow
from tests.support.day import Day

CODE = "icicidirect"
"""Its book, which shows our tokens, is read once in 55 s; until then its orders are known by the reports of its stream, which do not."""


@pytest.fixture
async def market(autojump_clock):
    day = Day(brokers=(CODE,))
    with trio.fail_after(86_400):
        async with day.market():
            yield day


async def newest(day, resource, order_id):
    """Return the newest slice of a book, once it has a row of this order."""
    with trio.fail_after(300):
        while True:
            held = await day.documents[resource].receive()
            if any(row.order_id == order_id for row in held.rows or ()):
                return attrs.evolve(held, rows=tuple(untagged(row) for row in held.rows))


def untagged(row):
    """Return a row as a broker shows it that keeps no tags."""
    return msgspec.structs.replace(row, tag=None) if isinstance(row, OrderRow) else row


async def shown(day, assembler, held):
    """Build a book from one broker's slice; return the parents that its rows name. Its other rows are orders placed elsewhere."""
    assert await assembler.prepare({CODE: held}, day.store)
    content = await run_steps(assembler.assemble({CODE: held}), day.clock)
    return {row.order_id: row.engine_parent_id for row in content.rows if row.engine_parent_id is not None}


def books(day, legs):
    return OrderBookAssembler(day.catalogue, legs), TradeBookAssembler(day.catalogue, legs)


def unread(day):
    """The index of a process whose engine has not got its lock."""
    return Legs(partial(session_day, day.clock))


async def filled(day):
    """Place an order that the market fills; return {its order id: its parent's id}, and the broker's books with it."""
    share = day.equity()
    price = (day.exchange.market(share.instrument_id).last_price * Decimal("0.97")).quantize(Decimal(1))
    answer = await day.place(day.body(share, price=price))
    parent = answer.body["parent_id"]
    day.simulator.set_price(share.instrument_id, price - 1)
    with trio.fail_after(120):
        while (await stored_parent(day.store, parent))["state"] != "completed":
            await trio.sleep(0.1)
    order_id = answer.body["order_id"]
    return {order_id: parent}, await newest(day, "orders", order_id), await newest(day, "trades", order_id)


async def test_while_the_engine_waits_for_its_lock_both_books_name_the_parent(market, autojump_clock):
    async with market.service():
        ours, orders, trades = await filled(market)
    order_book, trade_book = books(market, unread(market))
    assert await shown(market, trade_book, trades) == ours
    assert await shown(market, order_book, orders) == ours


async def test_an_engine_without_open_parents_names_the_parent_of_a_row_without_its_token(market, autojump_clock):
    async with market.service():
        ours, orders, trades = await filled(market)
    legs = unread(market)
    legs.note_tagging((CODE,))
    legs.lead()
    order_book, trade_book = books(market, legs)
    assert await shown(market, trade_book, trades) == ours
    assert await shown(market, order_book, orders) == ours


async def test_an_owner_that_another_process_wrote_later_is_found_when_this_engine_has_the_lock(market, autojump_clock):
    async with market.service():
        ours, orders, trades = await filled(market)
    [key] = [key for key in sorted(market.store.keys()) if key.startswith(f"orders:leg:{CODE}:")]
    body = await market.store.get(key)
    await market.store.write(Delete(key))
    legs = unread(market)
    order_book, trade_book = books(market, legs)
    assert await shown(market, order_book, orders) == await shown(market, trade_book, trades) == {}
    await market.store.write(Set(key, body))
    legs.lead()
    assert await shown(market, order_book, orders) == await shown(market, trade_book, trades) == ours
