"""Trading days for the types that enter: what was said to brokers, books that have settled, real hours, and service after service over
one day."""

import contextlib
from datetime import datetime
from decimal import Decimal as D

import trio

from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from tests.support.trading import Trading

REAL = calendar_from_documents(exchange_documents())
LIMIT = {"order_type": "LIMIT"}


def said(trading):
    """What was said to brokers: verb, side, units, price; of another instrument than the share with its number behind."""
    own = trading.share.instrument_id
    return [
        (m["verb"], m["side"], m["quantity"], None if m["price"] is None else D(m["price"]), *((2,) if m["instrument_id"] != own else ()))
        for m in trading.day.ledger()["messages"]
    ]  # fmt: skip


async def quoted(trading):
    await trading.day.until(lambda: trading.day.quotes.usable_tick(trading.share.instrument_id) is not None)
    return trading.day.quotes.usable_tick(trading.share.instrument_id)


async def settled(trading):
    """Let the book of the market come to where its price is."""
    await trio.sleep(1.5)
    tick = await quoted(trading)
    return D(repr(tick.buy[0].price)), D(repr(tick.sell[0].price))


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=IST)


@contextlib.asynccontextmanager
async def serving(day, *, funds=False):
    """A trading day whose service ends with the block; day and store live on."""
    async with day.market(), day.service(quotes=True, funds=funds):
        yield Trading(day)
