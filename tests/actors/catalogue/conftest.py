"""The simulator's instrument files, a transport that serves them, and makers of normalized frames."""

from collections.abc import Mapping
from datetime import date
from types import SimpleNamespace

import polars as pl
import pytest
import trio

from onebroker.actors.catalogue.download import Source
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.view import SessionView
from onebroker.brokers.broker import Access
from onebroker.brokers.listings import listing_frame
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.upstox import naming as upstox
from onebroker.brokers.simulator.dialects.zerodha import naming as zerodha
from onebroker.brokers.simulator.universe import build_universe

DAY = date(2026, 11, 23)
"""A Monday."""


class FileServer:
    """A transport that answers every broker's file request; `status` and `raising` break it."""

    def __init__(self, bodies: Mapping[str, bytes]) -> None:
        self.bodies = dict(bodies)
        self.status: dict[str, int] = {}
        self.raising: dict[str, Exception] = {}
        self.requests: list[str] = []

    async def send(self, request, timeout_seconds):
        await trio.lowlevel.checkpoint()
        code = next(code for code in self.bodies if code in request.url or SITES[code] in request.url)
        self.requests.append(code)
        if code in self.raising:
            raise self.raising[code]
        return WireResponse(status=self.status.get(code, 200), body=self.bodies[code])


SITES = {"zerodha": "kite", "upstox": "upstox"}


def frame(*rows: Mapping[str, object]) -> pl.DataFrame:
    """A normalized frame; each row an equity of NSE unless it says otherwise."""
    usual = {"exchange": "nse", "segment": "equities", "symbol": "INFY", "broker_token": "1", "tradingsymbol": "INFY"}
    return listing_frame(pl.DataFrame([usual | dict(row) for row in rows], infer_schema_length=None))


def sources(registry) -> dict[str, Source]:
    return {
        code: Source(
            broker=broker,
            access=Access(endpoints=broker.endpoints, credentials={}, login=None),
            view=Published(SessionView(broker=code)),
        )
        for code, broker in registry.items()
    }


@pytest.fixture(scope="session")
def market() -> SimpleNamespace:
    universe = build_universe(400, 1, DAY)
    names = {
        "zerodha": [name for name in map(zerodha.name_of, universe.contracts) if name is not None],
        "upstox": [name for name in map(upstox.name_of, universe.contracts) if name is not None],
    }
    return SimpleNamespace(
        DAY=DAY,
        universe=universe,
        names=names,
        bodies={
            "zerodha": zerodha.instrument_file(names["zerodha"]),
            "upstox": upstox.instrument_file(names["upstox"]),
        },
        registry={code: broker for code, broker in build_registry().items() if code in names},
        FileServer=FileServer,
        frame=frame,
        sources=sources,
    )
