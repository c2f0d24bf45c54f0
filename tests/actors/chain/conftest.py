"""A small option market: a mapping, a quote book that tests fill, day candles in memory, and hours of the equity market."""

import itertools
from datetime import date, datetime

import attrs
import polars as pl
import pytest

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.chain.chains import Chains
from onebroker.actors.chain.contracts import ChainName
from onebroker.actors.chain.greeks import premium
from onebroker.actors.history.interface import CANDLE_SCHEMA
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.reader import Quotes
from onebroker.brokers.listings.frame import listing_frame
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import future, option
from tests.support.equity_hours import EQUITY_HOURS

NOON = datetime(2026, 11, 25, 12, 0, tzinfo=IST)
MONTHLY, WEEKLY = date(2026, 12, 29), date(2026, 12, 1)
STRIKES = [float(strike) for strike in range(25_000, 27_001, 50)]
VOLATILITY = 0.13


def rows():
    of = {"exchange": "nse", "underlying_symbol": "NIFTY"}
    yield {**of, "segment": "equity_index_futures", "expiry_date": MONTHLY.isoformat()}
    for expiry, strike, kind in itertools.product((WEEKLY, MONTHLY), STRIKES, ("CE", "PE")):
        yield {
            **of, "segment": "equity_index_options", "expiry_date": expiry.isoformat(), "strike_price": strike, "option_type": kind,
        }  # fmt: skip


@attrs.define
class Desk:
    chains: Chains
    book: QuoteBook
    clock: Clock
    history: MemoryHistory
    mailbox: object
    folder: object
    future = future("nse", "equity_index_futures", "NIFTY", MONTHLY)

    def option(self, strike, kind, expiry=MONTHLY):
        return option("nse", "equity_index_options", "NIFTY", expiry, strike, kind)

    def name(self, expiry=MONTHLY, **more):
        return ChainName(exchange="nse", underlying_symbol="NIFTY", expiry_date=expiry.isoformat(), **more)

    def tick(self, identity, price, *, width=0.05, at=None, **more):
        if width is not None:
            buy, sell = (((DepthLevel(round(price + side, 2), 75),)) for side in (-width, width))
            more = {"buy": buy, "sell": sell, **more}
        tick = Tick(broker_token=identity.instrument_id, last_price=price, **more)
        assert self.book.take(identity.instrument_id, "zerodha", tick, self.clock.epoch() if at is None else at)

    def tick_chain(self, forward, expiry=MONTHLY, strikes=STRIKES, **more):
        """Give every option the premium of one volatility."""
        years = (
            datetime.combine(expiry, NOON.time().replace(hour=15, minute=30), IST) - self.clock.now()
        ).total_seconds()
        for strike, kind in itertools.product(strikes, ("CE", "PE")):
            price = premium(kind == "CE", forward, strike, years / 86_400 / 365, 0.0, VOLATILITY)
            self.tick(self.option(strike, kind, expiry), max(0.1, round(price, 2)), **more)

    async def put_day_candle(self, identity, day, close, oi):
        at = int(datetime.combine(day, NOON.time().replace(hour=0), IST).timestamp()) * 1_000_000
        row = {"instrument_id": identity.instrument_id, "minutes": 1440, "time": at, "volume": 5, "oi": oi}
        row |= dict.fromkeys(("open", "high", "low", "close"), close)
        file = self.folder / f"{identity.instrument_id}.parquet"
        pl.DataFrame([row], schema=CANDLE_SCHEMA).write_parquet(file)
        await self.history.put_candles(file)

    def asked(self):
        """What was sent to the quote book."""
        return self.mailbox.take_replaced()


@pytest.fixture(scope="session")
def mapped():
    full = [{"broker_token": str(number), "tradingsymbol": f"T{number}", **row} for number, row in enumerate(rows())]
    return TableSnapshot(
        merge({"zerodha": listing_frame(pl.DataFrame(full, infer_schema_length=None))})[0], NOON.date()
    )


@pytest.fixture
async def desk(mapped, tmp_path):
    clock = Clock.following_trio(NOON)
    catalogue = Published(CatalogueState(latest=mapped, published_today=True, reason=""))
    mailbox = open_mailbox("the quote book", capacity=8)
    mailbox.running = True
    book, history = QuoteBook(("zerodha",)), MemoryHistory()
    quotes = Quotes(
        book=Published(book), address=mailbox.address, catalogue=catalogue, calendar=EQUITY_HOURS, clock=clock
    )
    chains = Chains(quotes=quotes, catalogue=catalogue, calendar=EQUITY_HOURS, clock=clock, history=history)
    return Desk(chains, book, clock, history, mailbox, tmp_path)
