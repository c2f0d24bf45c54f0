"""Turns a price reference into the price to send (rules 2.6). Pure; exact arithmetic, rounded to a tick twice: the value read, and the result.

With `s` +1 for BUY and -1 for SELL, towards filling:

    value = the figure read, on its nearest tick (half way between two: the passive one)
    price = value x (1 + s x buffer_percent / 100) x (1 + s x offset_percent / 100) + s x offset_ticks ticks

rounded to the passive side (BUY down, SELL up); `marketable` towards the market.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from onebroker.actors.engine.orders.reference_values import PriceKind, PriceReference
from onebroker.config.messages import references as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Side


class _Offered(Protocol):
    @property
    def price(self) -> float | Decimal: ...


class Quoted(Protocol):
    """The fields of a live quote that a reference reads: of the quote as received, or as the rules of a plan see it."""

    @property
    def last_price(self) -> float | Decimal | None: ...

    @property
    def average_price(self) -> float | Decimal | None: ...

    @property
    def buy(self) -> Sequence[_Offered] | None:
        """Best first; None = the feed carries no levels."""

    @property
    def sell(self) -> Sequence[_Offered] | None: ...


LARGEST_PRICE = 10**12
"""Rupees; no instrument costs that much."""


def resolve_price(reference: PriceReference, side: Side, quote: Quoted | None, tick: Decimal) -> Decimal:
    """Return the price in rupees, a whole number of `tick`; `quote` may be None for kinds that need no quote.

    Raises Refusal 400 (not a price that an order can carry), 503 (a value is missing in the quote).
    """
    size, sign = Fraction(tick), side.sign
    up = (side is Side.BUY) is (reference.kind is PriceKind.MARKETABLE)
    ticks = Fraction(_nearest(_value(reference, side, quote) / size, up=up))
    for percent in (reference.buffer_percent, reference.offset_percent):
        ticks *= 1 + sign * Fraction(percent) / 100
    ticks += sign * reference.offset_ticks
    count = math.ceil(ticks) if up else math.floor(ticks)
    if not 0 < count * size < LARGEST_PRICE:
        raise Refusal(400, texts.not_a_price(reference.kind, Decimal(count) * tick))
    return count * tick


def is_told(reference: PriceReference, quote: Quoted) -> bool:
    """Tell whether a quote has the field that the reference reads; an empty book counts as present."""
    match reference.kind:
        case PriceKind.LAST:
            return quote.last_price is not None
        case PriceKind.VWAP:
            return quote.average_price is not None
    return quote.buy is not None and quote.sell is not None


def _nearest(value: Fraction, *, up: bool) -> int:
    """Round to the nearest whole number; a value half way between two goes `up` or down."""
    half = Fraction(1, 2)
    return math.floor(value + half) if up else math.ceil(value - half)


def _value(reference: PriceReference, side: Side, quote: Quoted | None) -> Fraction:
    """Return the figure that the reference starts from, in rupees."""
    kind = reference.kind
    if kind is PriceKind.ABSOLUTE:
        assert reference.price is not None
        return Fraction(reference.price)
    if quote is None:
        raise Refusal(503, texts.NO_QUOTE)
    match kind:
        case PriceKind.LAST:
            return _figure(kind, "last_price", quote.last_price)
        case PriceKind.VWAP:
            return _figure(kind, "average_price", quote.average_price)
        case PriceKind.MID:
            return (_level(kind, "buy", quote.buy, 1) + _level(kind, "sell", quote.sell, 1)) / 2
        case PriceKind.BID_LEVEL:
            return _level(kind, "buy", quote.buy, reference.level)
        case PriceKind.OFFER_LEVEL:
            return _level(kind, "sell", quote.sell, reference.level)
        case PriceKind.MARKETABLE if side is Side.BUY:
            return _level(kind, "sell", quote.sell, 1)
        case PriceKind.MARKETABLE:
            return _level(kind, "buy", quote.buy, 1)


def _figure(kind: PriceKind, name: str, value: float | Decimal | None) -> Fraction:
    if value is None or not _is_price(value):
        raise Refusal(503, texts.field_missing(kind, name))
    return _exact(value)


def _level(kind: PriceKind, side: str, levels: Sequence[_Offered] | None, level: int) -> Fraction:
    if levels is None or not all(_is_price(offered.price) for offered in levels[:level]):
        raise Refusal(503, texts.side_unreadable(kind, side))
    if len(levels) < level:
        raise Refusal(503, texts.too_few_levels(kind, level, side, len(levels)))
    return _exact(levels[level - 1].price)


def _is_price(value: float | Decimal) -> bool:
    return math.isfinite(value) and value > 0


def _exact(value: float | Decimal) -> Fraction:
    """Return the number as written, not as a double stores it."""
    return Fraction(value if isinstance(value, Decimal) else Decimal(repr(value)))
