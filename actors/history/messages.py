"""The messages of the history actor and of the candle collector."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Literal, TypeAlias

import attrs

from onebroker.actors.history.backfill_job import BackfillOrder, Summary
from onebroker.actors.history.store_check import Checked
from onebroker.actors.history.trading_days import Market
from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.store.durable_history import Factor, Rename
from onebroker.actors.store.merge_result import Merged

Basis = Literal["adjusted", "unadjusted", "as_served"]
"""Rules 1.3.2."""
Source = Literal["cache", "database"]

# From routes.


@attrs.frozen(kw_only=True)
class CandleQuery:
    """A range of one series."""

    instrument_id: str
    market: Market
    """Exchange and calendar; they decide where candles made from minutes are anchored."""
    interval: str
    first: date
    """India calendar day."""
    last: date
    """Inclusive."""
    basis: Basis
    known_as_of: date | None = None
    """None = all factors; always None unless the basis is adjusted."""
    places: int
    """Decimals of prices that are not adjusted (config.instruments.price_places)."""


@attrs.frozen(kw_only=True)
class CandleAnswer:
    rows: bytes = attrs.field(repr=False)
    """JSON arrays joined by commas, oldest first."""
    source: Source


@attrs.frozen
class GetCandles:
    """Refused with Refusal 503 when the stores cannot be read."""

    query: CandleQuery
    reply: Reply[CandleAnswer]


# From commands, and from the candle collector.


@attrs.frozen
class TakeFile:
    """Store a staged Parquet file; it may be removed after the answer. Refused with HistoryError."""

    kind: Literal["candles", "ticks"]
    file: Path
    reply: Reply[Merged]


@attrs.frozen
class TakeFactors:
    """Keep adjustment factors; series adjusted without them are no longer served. Refused with DurableError."""

    factors: Sequence[Factor]
    reply: Reply[Merged]


@attrs.frozen
class TakeRename:
    """Keep the rename of an instrument from a day on, or `forget` it. The answer tells whether anything changed.

    Refused with DurableError, and with ValueError for a rename that would lead an id back to itself.
    """

    rename: Rename
    forget: bool
    reply: Reply[bool]


@attrs.frozen
class CheckStore:
    """Check the store for suspicious data. Refused with HistoryError, DurableError."""

    reply: Reply[Checked]


@attrs.frozen
class HoldStore:
    """Write nothing more to the store, so that another process can copy its files, until `ReleaseStore` or for `seconds` at most.

    The answer comes when nothing is being written. Refused with HistoryError.
    """

    hold: str
    """Name of the hold, chosen by the asker."""
    seconds: float
    reply: Reply[None]


@attrs.frozen
class ReleaseStore:
    """End a hold. The answer tells whether nothing was written from the answer to `HoldStore` until now."""

    hold: str
    reply: Reply[bool]


# What is published.


@attrs.frozen(kw_only=True)
class LastLoad:
    """The latest load since the service started."""

    kind: Literal["candles", "ticks", "factors"]
    at: float
    """Epoch seconds."""
    merged: Merged


HistoryMessage: TypeAlias = GetCandles | TakeFile | TakeFactors | TakeRename | CheckStore | HoldStore | ReleaseStore


# To the candle collector, from commands.


@attrs.frozen
class Backfill:
    """Read candles into the store. Refused with BackfillRefused, TooMany, or one of `candle_run.BROKEN`."""

    order: BackfillOrder
    reply: Reply[Summary]


@attrs.frozen
class StopBackfill:
    """The client of this order has gone: end the backfill. Stored candles are kept; an equal order resumes after them."""

    order: BackfillOrder


CollectorMessage: TypeAlias = Backfill | StopBackfill
