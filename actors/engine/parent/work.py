"""The seam between a parent's actor and its kind of parent: what a simple order and a plan do differently.

The actor (`parent.py`) hears messages, follows legs and cancels them. Its `Work` decides what is placed, what a change of a leg means
for the parent, and what callers may do. `simple.py` holds the work of a simple order, `plan_parent/work.py` the work of a plan.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

import attrs

from onebroker.actors.engine.context.messages import (
    CancelLeg,
    CancelPart,
    CheckCancel,
    EndExits,
    ModifyLeg,
    ModifyPart,
    Place,
)
from onebroker.actors.engine.orders.parent_records import LegChange, LegRecord, ParentRecord
from onebroker.actors.engine.parent.clock_corrections import ClockPut


@attrs.frozen(kw_only=True)
class WorkTroubles:
    """What only the kind of parent knows to be wrong now. A simple order has none of these troubles."""

    unprotected: Mapping[str, int] = attrs.field(factory=dict)
    """Units that are open without a stop, by instrument id."""
    why: Mapping[str, str] = attrs.field(factory=dict)
    """Why, by instrument id, where an exit of theirs says it."""
    ended_by_hand: Mapping[str, int] = attrs.field(factory=dict)
    """Units that were open when a caller ended their stop, and are not closed since, by instrument id."""
    untold: Collection[str] = ()
    """As sentences: figures that conditions wait for and that brokers do not give; instruments that are not in the list."""
    unsent_cancels: frozenset[str] = frozenset()
    """Ids of legs whose cancel is wanted by the work and has not reached the broker."""


class Work(Protocol):
    """The work of one parent. Only the parent's actor calls it."""

    # --- the beginning ----------------------------------------------------------------------------------------------

    def begin(self, place: Place | None) -> None:
        """Start the tasks that run next to the mailbox. `place`: the request that began the parent; None after a restart."""

    async def place(self, place: Place) -> None:
        """Place what the parent begins with, and give the caller the first answer."""

    def take_up_again(self, record: ParentRecord) -> None:
        """Continue after a restart, with the record as it was stored and lost orders taken up."""

    # --- what the actor hears ---------------------------------------------------------------------------------------

    def needs_books(self, record: ParentRecord) -> bool:
        """Whether an order that the store has lost could change what the parent does next."""

    def lost_found(self) -> None:
        """Lost orders of the parent were put into its record."""

    def put_times_right(self, clock: ClockPut) -> None:
        """The wall clock was set: correct the times that the work keeps outside the legs."""

    def book_arrived(self) -> None:
        """A book has arrived, and the legs have not been compared with it yet."""

    def followed(self, leg: LegRecord, began: float | None) -> None:
        """A row of the leg was taken over. `began`: monotonic seconds at which the book that shows it began; None for a stream."""

    def leg_changed(self, leg: LegRecord) -> None:
        """Put a changed leg into the parent's record, and draw the consequences."""

    def changed_elsewhere(self, leg: LegRecord, changed: LegRecord, change: LegChange) -> None:
        """Another hand has changed an order at its broker (row 24b): put the changed leg into the parent's record, and go on from it as from a
        caller's change. `leg`: as it was before."""

    # --- what the actor asks ----------------------------------------------------------------------------------------

    def newest(self) -> ParentRecord:
        """Return the newest record. A plan keeps newer state outside the record."""

    def is_exit(self, leg: LegRecord) -> bool:
        """Whether a leg closes what the parent, or its caller, has open."""

    def adopts(self, leg: LegRecord) -> bool:
        """Whether an order that counted as not sent continues when it turns up (row 13c)."""

    def say(self, sentence: str) -> None:
        """Put a sentence about a leg into the parent's `status_message`."""

    def troubles(self) -> WorkTroubles | None:
        """Return what the work knows to be wrong now; None while it cannot tell."""

    # --- for callers ------------------------------------------------------------------------------------------------

    async def cancel_leg(self, message: CancelLeg, leg: LegRecord | None) -> None:
        """Cancel a leg for a caller, and answer. `leg` None: an order of this parent that the parent does not know as a leg."""

    async def check_cancel(self, message: CheckCancel, leg: LegRecord | None) -> None:
        """Answer whether that cancel would be sent; nothing is sent."""

    async def modify_leg(self, message: ModifyLeg, leg: LegRecord | None) -> None:
        """Change a leg for a caller, and answer."""

    async def for_part(self, message: ModifyPart | CancelPart) -> None:
        """Change or cancel a part for a caller, and answer."""

    async def end_exits(self, message: EndExits) -> None:
        """End the exits that wait at positions which another plan closes, and answer."""
