"""The tables of the history file, and the columns of a staged file that fill them."""

import attrs

_LEVELS = "STRUCT(price DOUBLE, quantity BIGINT, orders BIGINT)[]"

FORMAT = 1
"""Raised with every change of the file that an older release cannot read (`http.commands.stored_formats`)."""

SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS candles (
        instrument UUID NOT NULL, minutes SMALLINT NOT NULL, time BIGINT NOT NULL,
        open DOUBLE NOT NULL, high DOUBLE NOT NULL, low DOUBLE NOT NULL, close DOUBLE NOT NULL,
        volume BIGINT, oi BIGINT
    )
    """,
    f"""
    CREATE TABLE IF NOT EXISTS ticks (
        instrument UUID NOT NULL, time BIGINT NOT NULL, broker VARCHAR NOT NULL, sequence INTEGER NOT NULL DEFAULT 0,
        last_price DOUBLE NOT NULL,
        average_price DOUBLE, open DOUBLE, high DOUBLE, low DOUBLE, close DOUBLE,
        last_quantity BIGINT, volume BIGINT, buy_quantity BIGINT, sell_quantity BIGINT, oi BIGINT,
        buy {_LEVELS}, sell {_LEVELS}
    )
    """,
    # A file made before ticks had a sequence kept one tick per moment and broker: it gets the first number.
    "ALTER TABLE ticks ADD COLUMN IF NOT EXISTS sequence INTEGER DEFAULT 0",
)
"""Run in one transaction at each opening: creates the tables, or brings an older file's tables up to date.

Times are microseconds UTC. There is no index: rows are merged by key, and row groups know the range of their values.
"""


@attrs.frozen
class Table:
    name: str
    key: tuple[str, ...]
    values: tuple[str, ...]
    """The other columns."""


CANDLES = Table("candles", ("instrument", "minutes", "time"), ("open", "high", "low", "close", "volume", "oi"))
TICKS = Table(
    "ticks",
    ("instrument", "time", "broker", "sequence"),
    (
        "last_price", "average_price", "open", "high", "low", "close", "last_quantity", "volume", "buy_quantity",
        "sell_quantity", "oi", "buy", "sell",
    ),
)  # fmt: skip
