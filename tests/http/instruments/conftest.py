"""The instrument routes over real snapshots of merged frames, with a catalogue actor that has older mappings.

def test_it(office): office.map(DAY, rows(...)); status, body = await office.get("segments")
"""

import functools
from datetime import date, datetime
from functools import partial
from pathlib import Path

import attrs
import polars as pl
import pytest
import trio
import trio.testing

from onebroker.actors.catalogue.interface import NOT_MAPPED, CatalogueState
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.messages import GetSnapshot
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.token.state import NO_TOKEN, connected, hold
from onebroker.brokers.listings.frame import listing_frame
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.sections import ServiceSettings
from onebroker.http.app import build_app
from onebroker.http.services import InstrumentServices, Services
from tests.support.patience import PATIENCE_SECONDS
from tests.support.steady_clock import steady_run

DAY = date(2026, 11, 20)
EXPIRY = "2026-11-26"


def share(symbol, exchange="nse", segment="equities", **more):
    return {"exchange": exchange, "segment": segment, "symbol": symbol, **more}


def future(underlying, exchange="nse", segment="equity_futures", expiry_date=EXPIRY):
    return {"exchange": exchange, "segment": segment, "underlying_symbol": underlying, "expiry_date": expiry_date}


def call(underlying, strike, exchange="nse", segment="equity_options", option_type="CE", expiry_date=EXPIRY):
    return {
        **future(underlying, exchange, segment, expiry_date), "strike_price": float(strike), "option_type": option_type,
    }  # fmt: skip


def snapshot_of(day, **brokers):
    """A mapping of what each broker lists."""
    frames = {}
    for code, rows in brokers.items():
        full = [{"broker_token": str(number), "tradingsymbol": f"T{number}", **row} for number, row in enumerate(rows)]
        frame = listing_frame(pl.DataFrame(full, infer_schema_length=None))
        frames[code] = frame.with_columns(pl.lit("EQ").alias("raw.series"))
    return TableSnapshot(merge(frames)[0], day)


SHARES = (
    share("INFY", isin="INE009A01021", name="INFOSYS", lot_size=1, tick_size=0.05),
    share("INFY", "bse", isin="INE009A01021"),
    share("TCS"), share("M&M"), share("NIFTY 50", segment="equity_indices"), share("NIFTY NEXT 50", segment="equity_indices"),
    share("ODD", "unknown", "uncategorised"),
    share("NIFTYBEES", segment="exchange_traded_funds"),
    future("INFY"), future("GOLD", "mcx", "commodity_futures"), future("GUAR", "ncdex", "commodity_futures"),
    call("INFY", 1500), call("INFY", 1500.5), call("INFY", 1500, option_type="PE"), call("TCS", 3000),
)  # fmt: skip


@attrs.define
class Office:
    """The routes, what is mapped, and what was asked of the catalogue actor."""

    app: object
    headers: dict
    published: Published
    instruments: InstrumentServices
    older: object = None
    heard: list = attrs.field(factory=list)
    share, future, call, snapshot_of = (
        staticmethod(share),
        staticmethod(future),
        staticmethod(call),
        staticmethod(snapshot_of),
    )
    DAY = DAY

    def map(self, snapshot):
        state = NOT_MAPPED if snapshot is None else CatalogueState(latest=snapshot, published_today=True, reason="")
        self.published.set(state)

    async def get(self, path, headers=None, **query):
        client = self.app.test_client()
        return await client.get(
            f"/api/instruments/{path}", query_string=query, headers=self.headers if headers is None else headers
        )

    async def post(self, path, body, headers=None):
        headers = self.headers if headers is None else headers
        client = self.app.test_client()
        sent = {"data": body, "headers": {**headers, "content-type": "application/json"}}
        return await client.post(
            f"/api/instruments/{path}", **(sent if isinstance(body, bytes) else {"json": body, "headers": headers})
        )

    async def serve(self, mailbox):
        mailbox.running = True
        async for message in mailbox:
            assert isinstance(message, GetSnapshot)
            self.heard.append(message.day)
            if isinstance(self.older, Exception):
                message.reply.refuse(self.older)
            else:
                message.reply.answer(self.older)


def office_over(services, token, actor):
    """An office over the listing above; `actor` is the catalogue actor's mailbox."""
    published = Published(NOT_MAPPED)
    book = open_mailbox("the quote book", capacity=8).address
    quotes = Quotes(
        book=Published(QuoteBook(())), address=book, catalogue=published, calendar=always_open(), clock=services.clock
    )
    context = InstrumentServices(catalogue=published, catalogue_actor=actor.address, quotes=quotes, quote_book=book)
    office = Office(build_app(attrs.evolve(services, instruments=context)), {"access-token": token}, published, context)
    office.map(listed())
    return office


@functools.cache
def listed():
    snapshot = snapshot_of(DAY, zerodha=SHARES, upstox=SHARES[:3])
    snapshot.build_finder()
    return snapshot


@pytest.fixture
async def office(services, token, nursery):
    """The listing above is mapped; `map` changes that."""
    actor = open_mailbox("the catalogue", capacity=8)
    office = office_over(services, token, actor)
    nursery.start_soon(office.serve, actor)
    await trio.testing.wait_all_tasks_blocked()
    return office


@pytest.fixture
def visit():
    """Return `visit(call)`: runs `await call(office)` in an office and a run of its own, for a test that is not async."""

    def visit(call):
        return steady_run(partial(_visit, call))

    return visit


async def _visit(call):
    clock = Clock.following_trio(datetime(2026, 11, 20, 9, 0, tzinfo=IST))
    services = Services(
        clock=clock, settings=ServiceSettings(data_dir=Path("/nonexistent")),
        token=Published(hold(connected(NO_TOKEN, clock.now(), 86_400, lambda: "token"))),
        token_actor=open_mailbox("the token actor", capacity=1).address, actors=dict, crashes=tuple,
        store_reachable=lambda: True,
    )  # fmt: skip
    actor = open_mailbox("the catalogue", capacity=8)
    office = office_over(services, "token", actor)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(office.serve, actor)
        await trio.testing.wait_all_tasks_blocked()
        with trio.fail_after(PATIENCE_SECONDS):
            answer = await call(office)
        nursery.cancel_scope.cancel()
    return answer
