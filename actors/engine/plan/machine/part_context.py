"""What the parts above a part tell it, in one look."""

import attrs

from onebroker.actors.engine.orders.part_state import Ending
from onebroker.actors.engine.plan.parts import Lifetime, OneCancelsOthersPart, Part, TogetherPart


@attrs.frozen(kw_only=True)
class Context:
    """The facts from the parts above. Quantities in units."""

    turn: bool = True
    """Whether the part's turn has come."""
    base: Part | None = None
    """The part it hangs on: the part with the link, or the whole `first` for a `then`."""
    base_done: bool = True
    """Whether the part it hangs on can fill no more."""
    entry: Part | None = None
    """The part of whose fills a share is: the part with the link, also in a `then` that goes on where its `first` stops."""
    entry_done: bool = True
    """Whether that part can fill no more."""
    guard: int | None = None
    """The most units the part may have unfilled (rule shrink)."""
    share: int | None = None
    """The units of the part's share."""
    held_back: bool = False
    """The part's siblings must end before the part sends (rule trigger)."""
    lent: int = 0
    """The units by which a stop is smaller, because the targets of its group have them out or want them out (`swaps.py`)."""
    room: int | None = None
    """Of a target that is swapped in for a stop: the most units that it may have out now; None = it does not swap."""
    pair: tuple[OneCancelsOthersPart | TogetherPart, int] | None = None
    """A group above whose stops and targets may take units from each other, and the units that it guards (`groups.py`)."""
    less: int = 0
    """The units that the siblings have filled in the part's place (rule trigger)."""
    ending: Ending | None = None
    """How a part above ends this part; None = no part above ends it."""
    over: tuple[Lifetime, ...] = ()
    """Lifetimes of parts above that have ended."""
    lives_on: bool = False
    """A lifetime above counts in days, so the part outlives its session."""
    waits_on: bool = False
    """A lifetime above counts only days of waiting: the part outlives its session until it fires."""
    outlives: bool = False
    """A part above counts days."""
    waiting_since: float | None = None
    """Since when (epoch seconds) a group above waits, with which the part has its turn; None = no such group waits."""
    late: bool = False
    """The time of a group above passed without a look, by more than an entry may be late."""
    base_closes: bool = False
    """The part it hangs on is being closed."""
