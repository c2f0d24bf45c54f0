"""One share and one option, known to two brokers, and makers of ticks and quotes."""

from datetime import date, datetime
from types import SimpleNamespace

import pytest

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.quotes.fold import Quote
from onebroker.brokers.records import Listing, Tick
from onebroker.config.clock import IST
from onebroker.config.instruments import future, security

SHARE = security("nse", "equities", "INFY")
DOLLAR = future("nse", "currency_futures", "USDINR", date(2026, 11, 26))


def instrument(identity, **tokens):
    return Instrument(
        instrument_id=identity.instrument_id, identity=identity, name="N", isin=None, lot_size=1, tick_size=0.05,
        freeze_quantity=None,
        listings={code: Listing(broker_token=token, tradingsymbol="T", exchange="NSE") for code, token in tokens.items()},
    )  # fmt: skip


class Snapshot:
    mapping_date = date(2026, 11, 23)

    def __init__(self, *instruments):
        self.held = {one.instrument_id: one for one in instruments}

    def instrument(self, instrument_id):
        return self.held.get(instrument_id)

    def by_token(self, broker, broker_token):
        for one in self.held.values():
            listing = one.listings.get(broker)
            if listing is not None and listing.broker_token == broker_token:
                return one.instrument_id
        return None


def tick(last_price=100.0, *, broker_token="1", **more):
    return Tick(broker_token=broker_token, last_price=last_price, **more)


def quote(received_at, *, broker="zerodha", last_price=100.0, stale_since=None, **more):
    return Quote(broker=broker, tick=tick(last_price, **more), received_at=received_at, stale_since=stale_since)


@pytest.fixture(scope="session")
def world():
    return SimpleNamespace(
        SHARE=instrument(SHARE, zerodha="1", upstox="NSE_EQ|1"), DOLLAR=instrument(DOLLAR, zerodha="2"),
        START=datetime(2026, 11, 23, 10, 0, tzinfo=IST), Snapshot=Snapshot, tick=tick, quote=quote, instrument=instrument,
        mapped=lambda *known: CatalogueState(latest=Snapshot(*known), published_today=True, reason=""),
    )  # fmt: skip
