"""Instruments and rows of candles and ticks for the tests of the history routes."""

from datetime import date, datetime

from onebroker.actors.history.interface import TICK_SCHEMA
from onebroker.config.clock import IST
from onebroker.config.instruments import future, security

SHARE = security("nse", "equities", "INFY")
INDEX = security("nse", "equity_indices", "NIFTY 50")
RUPEE = security("nse", "currencies", "USDINR")
GONE = future("nse", "equity_index_futures", "NIFTY", date(2024, 1, 25))


def at(*moment):
    return int(datetime(*moment, tzinfo=IST).timestamp() * 1_000_000)


def tick(identity, time, last_price=100.0, **given):
    empty = dict.fromkeys(TICK_SCHEMA)
    known = {
        "instrument_id": identity.instrument_id,
        "sequence": 0,
        "time": time,
        "broker": "zerodha",
        "last_price": last_price,
    }
    return empty | known | given


NAMED = {"instrument_id": SHARE.instrument_id}
