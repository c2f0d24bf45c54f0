"""What may be asked of the history actor."""

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Literal, TypeAlias

import attrs

from onebroker.actors.history.checking import Checked
from onebroker.actors.history.trading_days import Market
from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.store.durable_history import Factor, Rename
from onebroker.actors.store.merged import Merged

Basis = Literal["adjusted", "unadjusted", "as_served"]
"""Rules 1.3.2."""
Source = Literal["cache", "database"]

# From routes.


@attrs.frozen(kw_only=True)
class CandleQuery:
    """One series and a range of it."""

    instrument_id: str
    market: Market
    """Its exchange and calendar: where candles are anchored that are made of minutes."""
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
    """Take a staged Parquet file in; it may be removed after the answer. Refused with HistoryError."""

    kind: Literal["candles", "ticks"]
    file: Path
    reply: Reply[Merged]


@attrs.frozen
class TakeFactors:
    """Keep adjustment factors; series adjusted without them are not served again. Refused with DurableError."""

    factors: Sequence[Factor]
    reply: Reply[Merged]


@attrs.frozen
class TakeRename:
    """Keep that an instrument has another id from a day on, or `forget` it. Answered with whether anything changed; refused with
    DurableError, and ValueError for one that would lead an id back to itself."""

    rename: Rename
    forget: bool
    reply: Reply[bool]


@attrs.frozen
class CheckStore:
    """Look through the store for what looks wrong. Refused with HistoryError, DurableError."""

    reply: Reply[Checked]


# What is published.


@attrs.frozen(kw_only=True)
class LastLoad:
    """What was loaded last since the service started."""

    kind: Literal["candles", "ticks", "factors"]
    at: float
    """Epoch seconds."""
    merged: Merged


HistoryMessage: TypeAlias = GetCandles | TakeFile | TakeFactors | TakeRename | CheckStore
