"""One look at a whole plan: what stands now, and what is to be done (order-engine 2). Pure.

The same inputs give the same answer, however often: what was handed out and has no leg yet is given back in `placing`, and
legs with an unanswered message are `busy`, so nothing is asked for twice.
"""

from collections.abc import Mapping

import attrs

from onebroker.actors.engine.plan.machine.context import Context
from onebroker.actors.engine.plan.machine.groups import work
from onebroker.actors.engine.plan.machine.legs import Action, ChangeLeg, EndLeg
from onebroker.actors.engine.plan.machine.look import Inputs, Look, Refused
from onebroker.actors.engine.plan.parts import OrderPart, Part, own_orders_of, walk
from onebroker.actors.engine.plan.state import PartRecord, PartState

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
    reasons: Mapping[str, Refused]
    """Part path -> why it could not be priced, or its condition not be looked at."""
    over_filled: int
    """Units that exits have filled beyond their entries (1.7)."""


def advance(root: Part, inputs: Inputs) -> Outcome:
    """Look at the plan until nothing more follows from what is known now."""
    look = Look(root, inputs)
    for _ in range(MOST_ROUNDS):
        before = look.parts.copy()
        look.actions.clear()
        look.wake_at = float("inf")
        work(look, root, Context())
        if look.parts == before:
            break
    else:
        raise AssertionError("a plan that never settles")
    return Outcome(
        parts=look.parts,
        actions=tuple(sorted(look.actions, key=_urgency)),
        state=look.record(root).state,
        wake_at=look.wake_at,
        watched=frozenset(look.watched),
        reasons=look.reasons,
        over_filled=sum(_over_filled(look, part) for part in walk(root)),
    )


def _urgency(action: Action) -> int:
    match action:
        case ChangeLeg(reduces=True) | EndLeg():
            return 0
        case ChangeLeg():
            return 1
    return 2


def _over_filled(look: Look, part: Part) -> int:
    """Return by how much the exits that hang on an order part have filled more than it did."""
    if not isinstance(part, OrderPart) or part.each_fill is None:
        return 0
    exits = [
        order
        for order in own_orders_of(part.each_fill)
        if order.instrument_id == part.instrument_id and order.transaction_type != part.transaction_type
    ]
    return max(0, sum(look.filled(order) for order in exits) - look.filled(part)) if exits else 0
