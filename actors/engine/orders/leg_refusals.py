"""The refused changes and cancels of one leg, kept while its plan's actor lives. Pure."""

from decimal import Decimal

import attrs


@attrs.frozen(kw_only=True)
class Refusals:
    """The refused changes and cancels of one leg since this actor began."""

    change: tuple[int, Decimal | None, Decimal | None] | None = None
    """(quantity, price, trigger) of the last change, where the broker has refused it."""
    why: str | None = None
    """The broker's words for that."""
    changed_at: float = 0.0
    """When that was (epoch seconds)."""
    beyond_limits: bool = False
    """Whether the broker has ever refused a change because its price was outside of the exchange's limits."""
    cancels: int = 0
    cancelled_at: float = 0.0
    unsent: str | None = None
    """Why the leg's last cancel did not leave; the cancel is sent as soon as possible."""
    wanted_since: float = 0.0
    """Since when (epoch seconds) a change or cancel that the plan wants has not been answered by the broker; 0 = nothing is wanted."""
    not_left: str | None = None
    """Why it did not leave when it was tried last."""
