"""One look at a whole plan: what stands now, and what is to be done (order-engine 2). Pure.

The same inputs give the same answer, however often: what was handed out and has no leg yet is given back in `placing`, and
legs with an unanswered message are `busy`, so nothing is asked for twice.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import PartRecord, PartState
from onebroker.actors.engine.plan.machine.context import Context
from onebroker.actors.engine.plan.machine.excess import over_filled
from onebroker.actors.engine.plan.machine.groups import work
from onebroker.actors.engine.plan.machine.legs import Action, ChangeLeg, EndLeg
from onebroker.actors.engine.plan.machine.look import Inputs, Look, Refused
from onebroker.actors.engine.plan.machine.protection import unprotected
from onebroker.actors.engine.plan.market import Calm, Seen
from onebroker.actors.engine.plan.parts import Part, walk
from onebroker.config.messages import plan_life as texts

MOST_ROUNDS = 200
"""A look is repeated until nothing changes any more; a plan holds at most 60 parts."""


@attrs.frozen(kw_only=True)
class Outcome:
    """What a look came to."""

    parts: Mapping[str, PartRecord]
    actions: tuple[Action, ...]
    """Reductions and cancels first."""
    state: PartState
    """Of the root."""
    wake_at: float
    """Epoch seconds at which to look again, whatever happens before; infinite = never."""
    watched: frozenset[str]
    """Instruments whose quotes matter now."""
    bookless: frozenset[str]
    """Of these: those whose book was needed and is not told."""
    calm: Mapping[str, Sequence[Calm] | None]
    """Of these: instrument -> bounds within which a quote changes nothing; None = any change may matter; absent = none does."""
    held_back: Mapping[str, tuple[Decimal, ...]]
    """Part path -> the limits of the orders that it holds back, in the order in which they would be sent."""
    reasons: Mapping[str, Refused]
    """Part path -> why it could not be priced, or its condition not be looked at."""
    excess: Mapping[str, int]
    """Part path -> units that stand for it, sent or on the way, beyond what it wants now."""
    over_filled: int
    """Units filled beyond what was asked for (1.7)."""
    unprotected: Mapping[str, int]
    """Units that are open without a stop, by instrument."""
    untold: tuple[str, ...]
    """Sentences on figures of the account that a condition waits for and a broker does not tell."""


def advance(root: Part, inputs: Inputs) -> Outcome:
    """Look at the plan until nothing more follows from what is known now."""
    look = Look(root, inputs)
    for _ in range(MOST_ROUNDS):
        before = look.parts.copy()
        look.actions.clear()
        look.held_back.clear()
        look.excess.clear()
        look.calm.clear()
        look.untold.clear()
        look.wake_at = float("inf")
        work(look, root, Context())
        if look.parts == before:
            break
    else:
        raise AssertionError("a plan that never settles")
    for part in walk(root):
        if look.record(part).held_up != look.held_up.get(part.path):
            look.note(part, held_up=look.held_up.get(part.path))
    excess = over_filled(look)
    if excess:
        look.note(root, status_message=texts.over_filled(excess))
    return Outcome(
        parts=look.parts,
        actions=tuple(sorted(look.actions, key=_urgency)),
        state=look.record(root).state,
        wake_at=look.wake_at,
        watched=frozenset(look.watched),
        bookless=frozenset(look.bookless),
        calm=look.calm,
        held_back={path: tuple(limits) for path, limits in look.held_back.items()},
        reasons=look.reasons,
        excess=look.excess,
        over_filled=excess,
        unprotected=unprotected(look),
        untold=tuple(sorted(look.untold)),
    )


def _urgency(action: Action) -> int:
    match action:
        case ChangeLeg(reduces=True) | EndLeg():
            return 0
        case ChangeLeg():
            return 1
    return 2


def is_calm(calm: Mapping[str, Sequence[Calm] | None], instrument_id: str, quote: Seen) -> bool:
    """Whether a look would come to the same with this quote as it came to with the last one."""
    bounds = calm.get(instrument_id, ())
    return bounds is not None and all(one.holds(quote) for one in bounds)
