"""The execution kinds of the plan grammar as values (order-engine 1.5); `pieces/` works out how they cut a quantity.

Quantities in units, times in seconds unless named otherwise, prices in rupees.
"""

from datetime import time
from decimal import Decimal
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.reference_values import PriceReference


@attrs.frozen
class AllAtOnce:
    """The whole quantity in one leg."""


@attrs.frozen(kw_only=True)
class Iceberg:
    """One piece rests; the next piece is sent when it is filled."""

    slice_quantity: int
    randomise_percent: Decimal = Decimal(0)


@attrs.frozen(kw_only=True)
class Twap:
    """Piece k is sent at k x over_minutes / slices; the first piece is sent at once."""

    slices: int
    over_minutes: Decimal


@attrs.frozen(kw_only=True)
class Vwap:
    """Like twap, but the pieces are weighted by a volume profile."""

    slices: int
    over_minutes: Decimal
    volume_profile: tuple[Decimal, ...]


@attrs.frozen(kw_only=True)
class FrontLoaded:
    """Pieces that shrink over time: the Almgren-Chriss shape."""

    slices: int
    over_minutes: Decimal
    urgency: Decimal = Decimal("0.5")


@attrs.frozen(kw_only=True)
class Participation:
    """Follows a share of the market's volume since the start."""

    percent: Decimal
    most_slices: int = 60


@attrs.frozen(kw_only=True)
class BookDepth:
    """Sends an IOC at `limit_price` whenever the other side shows enough units at that price or better."""

    limit_price: Decimal
    minimum_quantity: int


@attrs.frozen(kw_only=True)
class TopUp:
    """Keeps the sent quantity equal to a target that grows."""

    piece_quantity: int
    every_seconds: Decimal = Decimal(60)
    randomise_percent: Decimal = Decimal(0)
    wait_for_fill: bool = True
    catch_up: bool = False
    standing: bool = False
    """The target is always the filled quantity plus one more piece, without end (two_sided_quote)."""


@attrs.frozen(kw_only=True)
class Daily:
    """Each trading day a fresh leg is sent for the unfilled quantity."""

    arm_at: time = time(9, 20)
    valid_days: int = 30


@attrs.frozen(kw_only=True)
class Ladder:
    """Rungs at even distances between two prices."""

    from_price: Decimal
    to_price: Decimal
    steps: int
    one_at_a_time: bool = False
    restore: bool = False
    """A rung is sent again when the order that its fill made has filled."""
    from_middle: bool = False
    """The two prices are distances from the middle of the market at the time the part starts (grid)."""
    around: PriceReference | None = None
    """The two prices are distances from the price of this reference, which is worked out again for every order (grid)."""


@attrs.frozen
class FreezeLimit:
    """Sends all pieces at once; each has the largest whole-lot size not above the freeze quantity."""


Execution: TypeAlias = (
    AllAtOnce | Iceberg | Twap | Vwap | FrontLoaded | Participation | BookDepth | TopUp | Daily | Ladder | FreezeLimit
)
TIMED = (Twap, Vwap, FrontLoaded)
ONE_AFTER_ANOTHER = (Iceberg, Participation, TopUp)
"""Each piece waits for the piece before it. A piece that the market left behind would hold back all later pieces for ever."""
