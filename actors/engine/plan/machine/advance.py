"""One look at a whole plan: its present state, and the actions to take (order-engine 2). Pure.

The same inputs always give the same answer. Nothing is asked for twice: orders that were asked for and have no leg yet come back in
`placing`, and legs with an unanswered message are `busy`.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import PartRecord, PartState
from onebroker.actors.engine.plan.machine.groups import left_uncovered, work
from onebroker.actors.engine.plan.machine.held_units import note_gone, say_gone
from onebroker.actors.engine.plan.machine.larger_exits import larger_than_open
from onebroker.actors.engine.plan.machine.leg_actions import Action, ChangeLeg, EndLeg
from onebroker.actors.engine.plan.machine.look import Inputs, Look, Refused
from onebroker.actors.engine.plan.machine.over_fills import over_filled
from onebroker.actors.engine.plan.machine.overdue import cannot_leave_yet, note_waiting, unanswered
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.machine.position_closes import left_unclosed
from onebroker.actors.engine.plan.machine.share_actions import ended_today, with_known_actions
from onebroker.actors.engine.plan.machine.unprotected_units import ended_by_hand, lost_targets, unprotected
from onebroker.actors.engine.plan.market import Calm, Seen
from onebroker.actors.engine.plan.parts import Part, walk
from onebroker.config.messages import plan_life as texts

MOST_ROUNDS = 200
"""A look is repeated until nothing changes. A plan has at most 60 parts."""


@attrs.frozen(kw_only=True)
class Outcome:
    """The result of a look."""

    root: Part
    """The tree: another one where figures were scaled for a corporate action."""
    parts: Mapping[str, PartRecord]
    actions: tuple[Action, ...]
    """Reductions and cancels come first."""
    state: PartState
    """The state of the root."""
    wake_at: float
    """Epoch seconds at which to look again, even if nothing happens before; infinite = never."""
    watched: frozenset[str]
    """Instruments whose quotes matter now."""
    bookless: frozenset[str]
    """The watched instruments whose book was needed but is missing."""
    calm: Mapping[str, Sequence[Calm] | None]
    """Watched instrument -> bounds within which a quote changes nothing; None = any change may matter; absent = no change matters."""
    held_back: Mapping[str, tuple[Decimal, ...]]
    """Part path -> the limits of the orders that the virtual book holds back, in the order in which they would be sent."""
    reasons: Mapping[str, Refused]
    """Part path -> why the part could not be priced, or its condition could not be judged."""
    excess: Mapping[str, int]
    """Part path -> units sent or on the way for the part, beyond its present target."""
    over_filled: int
    """Units filled beyond what was asked for (1.7)."""
    unprotected: Mapping[str, int]
    """Instrument -> units that are open without a stop."""
    ended_by_hand: Mapping[str, int]
    """Instrument -> units that are open and whose stop a caller has ended."""
    lasting: tuple[str, ...]
    """Sentences that stay true after the plan's end: parts that ended today because of a corporate action, units without their hedge,
    positions that a close has left open."""
    untold: tuple[str, ...]
    """Sentences on what waits, or does not hold, and why: figures that no broker reports, exits that are overdue, orders that cannot be cancelled,
    instruments that are not listed, exits that another hand made larger than what is open."""
    blind: frozenset[str]
    """Instruments without whose quote a part that guards cannot act."""
    guarded: frozenset[str] = frozenset()
    """Instruments of which an exit is open, at a broker or in the engine, or by whose price one waits."""


def advance(root: Part, inputs: Inputs) -> Outcome:
    """Look at the plan again and again, until nothing more follows from the inputs."""
    root, parts = with_known_actions(root, inputs)
    if parts is not inputs.parts:
        inputs = attrs.evolve(inputs, parts=parts)
    look = Look(root, inputs)
    for _ in range(MOST_ROUNDS):
        before = look.parts.copy()
        look.actions.clear()
        look.held_back.clear()
        look.excess.clear()
        look.calm.clear()
        look.untold.clear()
        look.blocked.clear()
        look.blind.clear()
        look.guarded.clear()
        look.still_waits.clear()
        look.wake_at = float("inf")
        note_gone(look)
        work(look, root, Context())
        if look.parts == before:
            break
    else:
        raise AssertionError("a plan that never settles")
    say_gone(look)
    overdue = note_waiting(look)
    look.held_up = {**overdue, **look.held_up}
    for part in walk(root):
        if look.record(part).held_up != look.held_up.get(part.path):
            look.note(part, held_up=look.held_up.get(part.path))
    without_stop = unprotected(look)  # it may ask to be looked at again, so before the result is made
    waits = {*overdue.values(), *cannot_leave_yet(look, said=overdue.values(), without_stop=without_stop)}
    untold = {
        *look.untold,
        *map(texts.waits_because, waits),
        *unanswered(look),
        *larger_than_open(look),
        *lost_targets(look),
    }
    excess = over_filled(look)
    if excess:
        look.note(root, status_message=texts.over_filled(excess))
    return Outcome(
        root=root,
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
        unprotected=without_stop,
        ended_by_hand=ended_by_hand(look),
        untold=tuple(sorted(untold)),
        lasting=(*ended_today(look), *left_unclosed(look), *left_uncovered(look)),
        blind=frozenset(look.blind),
        guarded=frozenset(look.guarded),
    )


def _urgency(action: Action) -> int:
    match action:
        case ChangeLeg(reduces=True) | EndLeg():
            return 0
        case ChangeLeg():
            return 1
    return 2


def is_calm(calm: Mapping[str, Sequence[Calm] | None], instrument_id: str, quote: Seen) -> bool:
    """Whether a look with this quote would give the same result as the last look."""
    bounds = calm.get(instrument_id, ())
    return bounds is not None and all(bound.holds(quote) for bound in bounds)
