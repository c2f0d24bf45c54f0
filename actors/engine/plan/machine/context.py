"""What a part is told by the parts above it, in one look."""

import attrs

from onebroker.actors.engine.orders.part_state import Ending
from onebroker.actors.engine.plan.parts import Lifetime, Part


@attrs.frozen(kw_only=True)
class Context:
    """From above. Quantities in units."""

    turn: bool = True
    """Whether its turn has come."""
    base: Part | None = None
    """What it hangs on: the part with the link, or all of `first` for `then`."""
    base_done: bool = True
    """Whether what it hangs on can fill no more."""
    guard: int | None = None
    """The most it may have unfilled (rule shrink)."""
    share: int | None = None
    """What its share comes to."""
    held_back: bool = False
    """Its others have to end before it sends (rule trigger)."""
    less: int = 0
    """What its others have filled in its place (rule trigger)."""
    ending: Ending | None = None
    """A part above is being ended."""
    over: tuple[Lifetime, ...] = ()
    """Lifetimes of parts above that have ended."""
    lives_on: bool = False
    """A lifetime above counts in days, so the part outlives its session."""
    waits_on: bool = False
    """Such days of waiting alone: the part outlives its session until it fires."""
    waiting_since: float | None = None
    """Since when a group above waits whose parts have their turn with it (epoch seconds); None = none does."""
    late: bool = False
    """The time of a group above passed while nobody was looking, by more than an entry may be late."""
    base_closes: bool = False
    """What the part hangs on is being closed."""
