"""The history routes over a real history actor and its file: `history` is everything."""

from datetime import date
from types import SimpleNamespace

import attrs
import polars as pl
import pytest
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Found, Instrument
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.interface import CANDLE_SCHEMA, TICK_SCHEMA
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.exchange_documents import exchange_documents
from onebroker.http.app import build_app
from onebroker.http.services import HistoryServices
from tests.http.routes.history.rows import GONE, INDEX, RUPEE, SHARE, at, tick

DAY = date(2026, 11, 20)
LISTED = (SHARE, INDEX, RUPEE)


def instrument(identity):
    return Instrument(
        instrument_id=identity.instrument_id, identity=identity, name=None, isin=None, lot_size=None, tick_size=None,
        freeze_quantity=None, listings={},
    )  # fmt: skip


def snapshot():
    known = {one.instrument_id: instrument(one) for one in LISTED}
    return SimpleNamespace(mapping_date=DAY, instrument=known.get)


def unlisted():
    known = {GONE.instrument_id: Found(instrument=instrument(GONE), mapping_date=date(2024, 1, 25))}
    return SimpleNamespace(count=1, find=known.get)


@attrs.define
class HistoryHouse:
    client: object
    headers: dict
    store: DuckHistory
    durable: MemoryDurable
    catalogue: Published
    folder: object
    clock: object
    actor: object
    put: int = 0

    def staged(self, rows, schema):
        self.put += 1
        path = self.folder / f"{self.put}.parquet"
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(path)
        return path

    async def candles(self, *rows):
        await self.store.put_candles(self.staged(list(rows), CANDLE_SCHEMA))

    async def ticks(self, *rows):
        await self.store.put_ticks(self.staged(list(rows), TICK_SCHEMA))

    async def many_ticks(self, identity, count):
        times = pl.Series("time", range(at(2026, 11, 20, 9, 15), at(2026, 11, 20, 9, 15) + count))
        one = pl.DataFrame([tick(identity, 0)], schema=TICK_SCHEMA, orient="row")
        path = self.folder / "many.parquet"
        pl.concat([one] * count).with_columns(times).write_parquet(path)
        await self.store.put_ticks(path)

    async def get(self, kind, **query):
        query = {name.rstrip("_"): value for name, value in query.items()}
        response = await self.client.get(f"/api/instruments/{kind}", query_string=query, headers=self.headers)
        return response.status_code, await response.get_json()

    async def post(self, kind, **body):
        body = {name.rstrip("_"): value for name, value in body.items()}
        response = await self.client.post(f"/api/instruments/{kind}", json=body, headers=self.headers)
        return response.status_code, await response.get_json()


@pytest.fixture
async def history(house, token, nursery, tmp_path):
    store, durable = DuckHistory(tmp_path / "h" / "history.duckdb", memory_limit="256MB"), MemoryDurable()
    mailbox = open_mailbox("history", capacity=8)
    mailbox.running = True
    catalogue = Published(CatalogueState(latest=snapshot(), published_today=True, reason="", unlisted=unlisted()))
    actor = HistoryActor(
        mailbox=mailbox, store=store, durable=durable, catalogue=catalogue, clock=house.services.clock,
        calendar=calendar_from_documents(exchange_documents()),
    )  # fmt: skip
    await nursery.start(actor.run)
    context = HistoryServices(actor=mailbox.address, store=store, durable=durable, catalogue=catalogue)
    app = build_app(attrs.evolve(house.services, history=context))
    yield HistoryHouse(app.test_client(), {"access-token": token}, store, durable, catalogue, tmp_path,
                       house.services.clock, mailbox.address)  # fmt: skip
    nursery.cancel_scope.cancel()
    with trio.CancelScope(shield=True):
        await store.close()
