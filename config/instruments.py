"""Instrument identity: exchanges, segments, shapes, the nine identity fields and the instrument_id (rules 1.2.1, 1.2.2)."""

import functools
import uuid
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from enum import StrEnum

import attrs

NAMESPACE = uuid.UUID("6f1a52c8-0d0b-5b7e-9c55-2f2d6a3b1e90")
"""The project's fixed namespace of instrument ids. It never changes, because every stored id depends on it."""


class Exchange(StrEnum):
    NSE = "nse"
    BSE = "bse"
    MCX = "mcx"
    NCDEX = "ncdex"
    UNKNOWN = "unknown"
    """Holds only the segment `uncategorised`."""


EXCHANGES = tuple(Exchange)
TRADING_EXCHANGES = (Exchange.NSE, Exchange.BSE, Exchange.MCX, Exchange.NCDEX)


class Shape(StrEnum):
    SECURITY = "security"
    FUTURE = "future"
    OPTION = "option"


IDENTITY_FIELDS: dict[Shape, tuple[str, ...]] = {
    Shape.SECURITY: ("symbol",),
    Shape.FUTURE: ("underlying_symbol", "expiry_date"),
    Shape.OPTION: ("underlying_symbol", "expiry_date", "strike_price", "option_type"),
}

UNCATEGORISED = "uncategorised"

_SECURITIES = (
    "fixed_income", "fixed_income_indices", "equities", "equity_indices", "currencies", "currency_indices",
    "commodities", "commodity_indices", "mutual_funds", "exchange_traded_funds", "investment_trusts", UNCATEGORISED,
)  # fmt: skip
_DERIVED = (
    "fixed_income", "fixed_income_index", "equity", "equity_index",
    "currency", "currency_index", "commodity", "commodity_index",
)  # fmt: skip

SEGMENT_SHAPES: dict[str, Shape] = {
    **dict.fromkeys(_SECURITIES, Shape.SECURITY),
    **{f"{name}_futures": Shape.FUTURE for name in _DERIVED},
    **{f"{name}_options": Shape.OPTION for name in _DERIVED},
}
"""The 28 bare segments in the service's fixed order, with their shapes."""

SEGMENTS = tuple(SEGMENT_SHAPES)

ADJUSTABLE_SEGMENTS = frozenset({"equities", "exchange_traded_funds", "investment_trusts"})
"""Segments whose candles are adjusted for corporate actions (rules 1.3.2)."""

ORDERABLE_SEGMENTS = frozenset(name for name in SEGMENTS if name != UNCATEGORISED and not name.endswith("_indices"))
"""Rules 2.2.1: an index cannot be traded; `uncategorised` does not say whether the instrument is cash or a derivative."""

_CALENDARS: dict[str, str] = {
    "currency": "currency",
    "currencies": "currency",
    "commodity": "commodity",
    "commodities": "commodity",
}


def prefixed_segment(exchange: str, bare: str) -> str:
    """Return the stored form of a bare segment, such as `nse_equities`; `uncategorised` stays bare."""
    return bare if bare == UNCATEGORISED else f"{exchange}_{bare}"


@functools.lru_cache(maxsize=256)
def bare_segment(segment: str) -> str:
    """Return the bare name of a stored segment."""
    head, _, tail = segment.partition("_")
    return tail if head in EXCHANGES and tail in SEGMENT_SHAPES else segment


@functools.lru_cache(maxsize=256)
def calendar_of(segment: str) -> str:
    """Return the calendar of a segment (bare or stored): `equity`, `currency` or `commodity` (rules 1.4.3)."""
    return _CALENDARS.get(bare_segment(segment).partition("_")[0], "equity")


def segments_of(exchange: str) -> tuple[str, ...]:
    """Return the bare segments that an exchange can list, in the fixed order, by the calendars it trades (rules 1.4.3).

    NSE and BSE list every kind, MCX and NCDEX list commodities. An instrument that fits no segment is `uncategorised`
    under the exchange `unknown`, which holds nothing else (rules 1.2.1).
    """
    if exchange == Exchange.UNKNOWN:
        return (UNCATEGORISED,)
    every_kind = exchange in (Exchange.NSE, Exchange.BSE)
    return tuple(
        name for name in SEGMENTS if name != UNCATEGORISED and (every_kind or calendar_of(name) == "commodity")
    )


def price_places(segment: str) -> int:
    """Return the decimals of a price: 4 for currency instruments, 2 for everything else (rules 1.2.3)."""
    return 4 if bare_segment(segment).startswith("currenc") else 2


@attrs.frozen
class Identity:
    """The eight fields that make an instrument's natural key; with its id, the nine identity fields (rules 1.2.1)."""

    exchange: str
    segment: str
    """Stored form, such as `nse_equities`."""
    shape: Shape
    symbol: str | None = None
    underlying_symbol: str | None = None
    expiry_date: str | None = None
    """YYYY-MM-DD."""
    strike_price: float | None = None
    option_type: str | None = None
    """CE or PE."""

    @property
    def natural_key(self) -> str:
        """Exchange, segment, shape and the identity-field values joined by `|`."""
        return "|".join([self.exchange, self.segment, self.shape, *map(self._text, IDENTITY_FIELDS[self.shape])])

    def _text(self, field: str) -> str:
        value = getattr(self, field)
        return strike_text(value) if field == "strike_price" else str(value)

    @property
    def instrument_id(self) -> str:
        """Version-5 UUID of the natural key under NAMESPACE, as text."""
        return str(uuid.uuid5(NAMESPACE, self.natural_key))

    def fields(self) -> dict[str, str | float | None]:
        """Return the nine identity fields in the order of the rules."""
        return {
            "instrument_id": self.instrument_id,
            "exchange": self.exchange,
            "segment": self.segment,
            "shape": self.shape.value,
            "symbol": self.symbol,
            "underlying_symbol": self.underlying_symbol,
            "expiry_date": self.expiry_date,
            "strike_price": self.strike_price,
            "option_type": self.option_type,
        }


def security(exchange: str, bare: str, symbol: str) -> Identity:
    """Return the identity of a security; the symbol is upper-cased."""
    return Identity(exchange, prefixed_segment(exchange, bare), Shape.SECURITY, symbol=symbol.strip().upper())


def future(exchange: str, bare: str, underlying: str, expiry: date) -> Identity:
    """Return the identity of a future; the underlying is upper-cased."""
    return Identity(
        exchange, prefixed_segment(exchange, bare), Shape.FUTURE,
        underlying_symbol=underlying.strip().upper(), expiry_date=expiry.isoformat(),
    )  # fmt: skip


def option(exchange: str, bare: str, underlying: str, expiry: date, strike: float, option_type: str) -> Identity:
    """Return the identity of an option; strike in ₹, option_type CE or PE."""
    return Identity(
        exchange, prefixed_segment(exchange, bare), Shape.OPTION,
        underlying_symbol=underlying.strip().upper(), expiry_date=expiry.isoformat(),
        strike_price=float(strike), option_type=option_type.upper(),
    )  # fmt: skip


def strike_text(strike: float) -> str:
    """Write a strike as the shortest plain decimal: `100`, `100.5` (architecture 8)."""
    plain = f"{Decimal(repr(float(strike))):f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def identity_from_fields(values: Mapping[str, object]) -> Identity:
    """Rebuild an identity from the identity fields of a stored row. Nothing is checked, because onebroker wrote the rows."""
    strike = values.get("strike_price")
    return Identity(
        exchange=str(values["exchange"]),
        segment=str(values["segment"]),
        shape=Shape(str(values["shape"])),
        symbol=_optional(values.get("symbol")),
        underlying_symbol=_optional(values.get("underlying_symbol")),
        expiry_date=_optional(values.get("expiry_date")),
        strike_price=float(strike) if isinstance(strike, (int, float)) else None,
        option_type=_optional(values.get("option_type")),
    )


def _optional(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


@attrs.frozen
class InstrumentName:
    """One instrument, with the name under which it was asked for."""

    instrument_id: str
    text: str
    """The id or the fields, for the 404 sentence."""
    identity: Identity | None = None
    """None when the instrument was named by its id."""


def fields_text(identity: Identity) -> str:
    """Return exchange, segment and the identity fields, as a look-up uses them, such as `nse nse_equities INFY`."""
    values = (getattr(identity, name) for name in IDENTITY_FIELDS[identity.shape])
    words = [strike_text(value) if isinstance(value, float) else str(value) for value in values]
    return " ".join([identity.exchange, identity.segment, *words])
