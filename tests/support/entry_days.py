"""Trading days for the types that enter: what was said to brokers, books that have settled, real hours, and service after service over
one day."""

import contextlib
from collections.abc import AsyncIterator
from datetime import datetime
from decimal import Decimal as D
from typing import Any

import trio

from onebroker.brokers.records import Tick
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from tests.support.day import Day
from tests.support.trading import Trading

REAL = calendar_from_documents(exchange_documents())
LIMIT = {"order_type": "LIMIT"}


def said(trading: Trading) -> list[tuple[Any, ...]]:
    """What was said to brokers: verb, side, units, price; of another instrument than the share with its number behind."""
    own = trading.share.instrument_id
    return [
        (m["verb"], m["side"], m["quantity"], None if m["price"] is None else D(m["price"]), *((2,) if m["instrument_id"] != own else ()))
        for m in trading.day.ledger()["messages"]
    ]  # fmt: skip


async def quoted(trading: Trading) -> Tick:
    await trading.day.until(lambda: trading.day.quotes.usable_tick(trading.share.instrument_id) is not None)
    tick = trading.day.quotes.usable_tick(trading.share.instrument_id)
    assert tick is not None
    return tick


async def settled(trading: Trading) -> tuple[D, D]:
    """Let the book of the market come to where its price is."""
    await trio.sleep(1.5)
    tick = await quoted(trading)
    assert tick.buy is not None
    assert tick.sell is not None
    return D(repr(tick.buy[0].price)), D(repr(tick.sell[0].price))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=IST)


@contextlib.asynccontextmanager
async def serving(day: Day, *, funds: bool = False) -> AsyncIterator[Trading]:
    """A trading day whose service ends with the block; day and store live on."""
    async with day.market(), day.service(quotes=True, funds=funds):
        yield Trading(day)
