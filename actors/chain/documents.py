"""The answer of an option chain as values. A null always has a reason in `missing`, and 0 always means 0."""

from typing import Literal

import msgspec


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One option. Prices in rupees, quantities in units; null = not known."""

    instrument_id: str
    last_price: float | None = None
    bid: float | None = None
    ask: float | None = None
    volume: int | None = None
    oi: int | None = None
    oi_change: int | None = None
    """Open interest less that of the last stored day candle before today."""
    priced_by: Literal["mid", "last"] | None = None
    """The price behind the volatility: the middle of bid and ask, else the last price."""
    implied_volatility: float | None = None
    """Fraction a year."""
    delta: float | None = None
    gamma: float | None = None
    theta: float | None = None
    """Rupees a calendar day."""
    vega: float | None = None
    """Rupees for one percentage point of volatility."""
    rho: float | None = None
    """Rupees for one percentage point of the rate."""
    source: Literal["quote", "candle"] | None = None
    """`candle`: outside market hours, the close of the last stored day candle."""
    received_at: float | None = None
    """Epoch seconds of the quote's receipt, or of the candle."""
    age_seconds: float | None = None
    missing: dict[str, str] = {}
    """Name of a null field -> why. `quote` stands for all figures, `greeks` for volatility and greeks."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One strike."""

    strike_price: float
    ce: Cell | None
    """The call; null when none is listed."""
    pe: Cell | None


class Forward(msgspec.Struct, frozen=True, kw_only=True):
    """The forward price of the underlying for the expiry."""

    price: float | None
    source: Literal["future", "parity"] | None
    instrument_id: str | None
    """The future, when the price is from it."""
    reason: str | None
    """Why there is none."""


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Figures over the strikes shown. Put-call ratios and max pain count only strikes whose call and put are both known."""

    pcr_oi: float | None
    pcr_volume: float | None
    max_pain: float | None
    """The strike at which all open options together are worth the least at expiry."""
    strikes_with_oi: int
    strikes_with_volume: int
    atm_strike: float | None
    straddle_price: float | None
    """Price of call and put of the strike at the money."""
    missing: dict[str, str]


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    mapping_date: str
    exchange: str
    segment: str
    underlying_symbol: str
    expiry_date: str
    strikes_listed: int
    as_of: float
    """Epoch seconds."""
    market_open: bool
    expires_at: float
    """Epoch seconds: the exchange's close on the expiry day."""
    days_to_expiry: float
    """Calendar days until then; 0 afterwards."""
    rate: float
    """The setting `chain.rate`, a fraction a year."""
    forward: Forward
    totals: Totals
    rows: list[Row]
    """By rising strike."""
