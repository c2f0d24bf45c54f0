"""The references that a caller may give instead of a price or a quantity (rules 2.6), checked. Prices in rupees."""

from decimal import Decimal
from enum import StrEnum

import attrs

MOST_LEVEL = 5
"""How many levels of the market's book the unified quote carries."""


class PriceKind(StrEnum):
    ABSOLUTE = "absolute"
    LAST = "last"
    MID = "mid"
    VWAP = "vwap"
    BID_LEVEL = "bid_level"
    OFFER_LEVEL = "offer_level"
    MARKETABLE = "marketable"


class QuantityKind(StrEnum):
    ABSOLUTE = "absolute"
    ADD = "add_to_position"
    REDUCE = "reduce_position"
    LIQUIDATE = "liquidate_position"

    @property
    def closes(self) -> bool:
        """Whether the position sets the size. The position's side then overrides the caller's side."""
        return self in (QuantityKind.REDUCE, QuantityKind.LIQUIDATE)


@attrs.frozen(kw_only=True)
class PriceReference:
    kind: PriceKind
    price: Decimal | None = None
    """Only of `absolute`; above zero."""
    level: int = 1
    """Of `bid_level` and `offer_level`: 1 is the best."""
    buffer_percent: Decimal = Decimal(0)
    """This and the other offsets move the price towards a fill; negative values improve the price."""
    offset_percent: Decimal = Decimal(0)
    offset_ticks: int = 0

    @property
    def needs_quote(self) -> bool:
        return self.kind is not PriceKind.ABSOLUTE


@attrs.frozen(kw_only=True)
class QuantityReference:
    kind: QuantityKind
    product: str | None = None
    """A position's product word; None = all products added up."""


@attrs.frozen(kw_only=True)
class References:
    """The references of an order that are not resolved yet; at least one is present."""

    price: PriceReference | None = None
    quantity: QuantityReference | None = None
    typed_quantity: int | None = None
    """The quantity that the caller gives with a quantity reference; None when it was left out."""
