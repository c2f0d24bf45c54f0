"""What brokers have refused of one leg's changes and cancels while its plan's actor lives. Pure."""

from decimal import Decimal

import attrs


@attrs.frozen(kw_only=True)
class Refusals:
    """What brokers have refused of one leg, since this actor began."""

    change: tuple[int, Decimal | None, Decimal | None] | None = None
    """(quantity, price, trigger) of the change refused last."""
    cancels: int = 0
    cancelled_at: float = 0.0
    unsent: str | None = None
    """Why its last cancel did not leave; it is sent as soon as it can be."""
