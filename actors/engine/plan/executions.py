"""The execution kinds of the plan grammar as values (order-engine 1.5); what they send when is worked out in `pieces/`.

Quantities in units, times in seconds unless named otherwise, prices in rupees.
"""

from datetime import time
from decimal import Decimal
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.references import PriceReference


@attrs.frozen
class AllAtOnce:
    """One leg."""


@attrs.frozen(kw_only=True)
class Iceberg:
    """One piece resting, the next when it is filled."""

    slice_quantity: int
    randomise_percent: Decimal = Decimal(0)


@attrs.frozen(kw_only=True)
class Twap:
    """Piece k at k x over_minutes / slices, the first at once."""

    slices: int
    over_minutes: Decimal


@attrs.frozen(kw_only=True)
class Vwap:
    """As twap, weighted by a profile."""

    slices: int
    over_minutes: Decimal
    volume_profile: tuple[Decimal, ...]


@attrs.frozen(kw_only=True)
class FrontLoaded:
    """Shrinking pieces: the Almgren-Chriss shape."""

    slices: int
    over_minutes: Decimal
    urgency: Decimal = Decimal("0.5")


@attrs.frozen(kw_only=True)
class Participation:
    """A share of the market's volume since the start."""

    percent: Decimal
    most_slices: int = 60


@attrs.frozen(kw_only=True)
class BookDepth:
    """An IOC at `limit_price` whenever the other side shows enough at or better than it."""

    limit_price: Decimal
    minimum_quantity: int


@attrs.frozen(kw_only=True)
class TopUp:
    """Keeps what was sent equal to a target that grows."""

    piece_quantity: int
    every_seconds: Decimal = Decimal(60)
    randomise_percent: Decimal = Decimal(0)
    wait_for_fill: bool = True
    catch_up: bool = False
    standing: bool = False
    """The target is what has filled and one piece more, without end (two_sided_quote)."""


@attrs.frozen(kw_only=True)
class Daily:
    """A fresh leg for what is unfilled each trading day."""

    arm_at: time = time(9, 20)
    valid_days: int = 30


@attrs.frozen(kw_only=True)
class Ladder:
    """Rungs evenly between two prices."""

    from_price: Decimal
    to_price: Decimal
    steps: int
    one_at_a_time: bool = False
    restore: bool = False
    """A rung is sent again when the order made by its fill has filled."""
    from_middle: bool = False
    """The two prices are distances from the middle of the market as it is when the part starts (grid)."""
    around: PriceReference | None = None
    """The two prices are distances from what this comes to, worked out anew for every order (grid)."""


@attrs.frozen
class FreezeLimit:
    """Pieces of the largest whole-lot size not above the freeze quantity, all at once."""


Execution: TypeAlias = (
    AllAtOnce | Iceberg | Twap | Vwap | FrontLoaded | Participation | BookDepth | TopUp | Daily | Ladder | FreezeLimit
)
TIMED = (Twap, Vwap, FrontLoaded)
ONE_AFTER_ANOTHER = (Iceberg, Participation, TopUp)
"""The next piece waits for the one before: one that the market left behind would keep all others back for ever."""
