"""Where an exit without a broker goes: to the brokers that hold what it closes, and to each with no more than is there (order-engine 1.13).

At any other broker its order would open a short beside the units of the holder. So the exit is split over its holders, order by order: each look sends
one order to the holder with the most units left, and the next look sends the rest. Units that another plan has bought and guards come last: that plan's
exit would sell them a second time. A holder without a login, or out of reach, is waited for, by what it showed last.
"""

from collections.abc import Mapping, Sequence

import attrs

from onebroker.actors.engine.books.guarded_places import taken_by_others
from onebroker.actors.engine.books.settled_positions import held_at_most, held_for, judged, shown_for
from onebroker.actors.engine.books.unlisted_positions import shown_unlisted
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.placing.write_ahead import Recorder
from onebroker.actors.engine.plan.machine.free_units import kinds_of
from onebroker.actors.engine.plan.machine.leg_actions import NewLeg
from onebroker.actors.engine.plan_parent.open_plan import OpenPlan
from onebroker.actors.engine.plan_parent.waiting_exits import WaitingExits
from onebroker.actors.portfolio.position_view import position_product
from onebroker.brokers.records import Listing
from onebroker.config.messages import plan_life as texts

LEAVING_SECONDS = 10.0
"""An order without a trigger that was sent so lately may still be on its way to be filled. One that rests for longer waits for its price."""


class ExitHolders:
    """The holders of what a plan's exits close. `sized`: the plan's orders whose broker and quantity are decided, and that have no leg yet."""

    def __init__(
        self, plan: OpenPlan, context: EngineContext, recorder: Recorder, waiting: WaitingExits, sized: Sequence[NewLeg]
    ) -> None:
        self._plan = plan
        self._context = context
        self._recorder = recorder
        self._waiting = waiting
        self._sized = sized

    def placed(self, new: NewLeg) -> NewLeg | str:
        """Return the exit at the holder that has most, with no more than is there; as it is where several brokers have all its units, since the choice
        prefers holders. Return why it waits where no holder has units left that are known: for those brokers that have shown nothing since the start
        (each morning before a login), or for its other orders. A holder that could not take its order a moment ago comes after the others."""
        left = self._takable(new)
        most = max(left, key=lambda code: (left[code] > 0 and self._may_take(new, code), left[code]), default=None)
        if most is None or left[most] <= 0:
            unread = self._unread(new)
            if not unread and held_for(self._context, None, new.instrument_id, new.product, new.side) == 0:
                return new  # nothing is held any more
            return unread[0] if unread else texts.NOTHING_LEFT_YET
        if sum(units >= new.quantity for units in left.values()) > 1 and left == self._left(new):
            return new
        return attrs.evolve(new, broker=most, quantity=min(new.quantity, left[most]))

    def others_hold(self, meant: NewLeg) -> bool:
        """Whether a broker other than an exit's own has units for it, and may be tried at once."""
        left = self._takable(meant)
        return any(units > 0 and code != meant.broker and self._may_take(meant, code) for code, units in left.items())

    def _may_take(self, new: NewLeg, code: str) -> bool:
        """Whether a holder has not just refused the part's order, and has not just been out of reach."""
        legs = [leg for leg in self._recorder.record.legs if (leg.broker, leg.part) == (code, new.part)]
        refused = bool(legs) and legs[-1].state is LegState.REJECTED
        return not refused and self._waiting.aside_seconds(attrs.evolve(new, broker=code)) <= 0

    def _takable(self, new: NewLeg) -> Mapping[str, int]:
        """Return broker -> units that an exit may take there: those that no other plan guards. Units that another plan guards come last, and only where the
        caller wanted a second exit over them."""
        left, own = self._left(new), self._armed_beside(new)
        if own is None:
            return left
        free = {code: units - self._taken(new, code, anywhere=False) for code, units in left.items()}
        return free if own == 0 or any(units > 0 for units in free.values()) else left

    def bound(self, new: NewLeg, held: int) -> int:
        """Return how many of the units that are held at its broker, or at all brokers together, an exit without an entry may take
        (`plan/machine/free_units.py`)."""
        if new.known_exit:
            return held
        own = self._armed_beside(new)
        free = held - self.leaving(new)
        if own is not None:
            free = min(free, held - self._taken(new, new.broker, anywhere=True) + own)
        # A part that got less than it wants asks for the rest at once, while its first order rests.
        return max(0, min(held, free) - self._still_to_fill(new.part, new.broker))

    def _still_to_fill(self, part: str, broker: str | None) -> int:
        """Return the units that a part's orders at a broker (None: at all) may still fill."""
        return sum(
            leg.quantity - leg.filled_quantity
            for leg in self._recorder.record.legs
            if leg.part == part and broker in (None, leg.broker) and not (leg.state.final or leg.given_up)
        )

    def at_most(self, new: NewLeg) -> int:
        """Return the most that is held of what an exit closes, by rows or fills."""
        return held_at_most(self._context, new.broker, new.instrument_id, new.product, new.side)

    def leaving(self, new: NewLeg) -> int:
        """Return the units of other plans' orders that go to be filled at once: two exits over one position may fire by one tick. Not of an order that
        rests as a stop."""
        if new.trigger is not None:
            return 0
        parent_id, since = self._recorder.record.parent_order_id, self._context.clock.epoch() - LEAVING_SECONDS
        place = (new.instrument_id, new.product, new.side)
        sized = sum(
            order.quantity
            for other, order in self._context.leaving
            if other != parent_id
            and (order.instrument_id, order.product, order.side) == place
            and (None in (new.broker, order.broker) or order.broker == new.broker)
        )
        own = {leg.leg_id for leg in self._recorder.record.legs}
        return sized + sum(
            leg.quantity - leg.filled_quantity
            for leg in self._context.legs.unfinished
            if (leg.instrument_id, leg.product, leg.transaction_type) == place
            and new.broker in (None, leg.broker)
            and leg.leg_id not in own
            and leg.trigger_price is None
            and leg.sent_at >= since
            and not leg.given_up
        )

    def _armed_beside(self, new: NewLeg) -> int | None:
        return self._plan.parts[new.part].armed_beside

    def _taken(self, new: NewLeg, broker: str | None, *, anywhere: bool) -> int:
        part, parent_id = self._plan.part_at(new.part), self._recorder.record.parent_order_id
        kinds = kinds_of(part, self._plan.parts[new.part])
        where = (broker, new.instrument_id, new.product, new.side)
        return max(taken_by_others(self._context, parent_id, *where, stops=one, anywhere=anywhere) for one in kinds)

    def _left(self, new: NewLeg) -> Mapping[str, int]:
        """Return the units that each broker holds of what an exit closes, less what its part has out there."""
        listings = self._listings(new)
        left: dict[str, int] = {}
        for code in sorted(self._context.sessions.keys() & set(listings)):
            held = held_for(self._context, code, new.instrument_id, new.product, new.side)
            if held is None:
                held = shown_for(self._context, code, listings[code].broker_token, new.product, new.side)
                held = held or held_at_most(self._context, code, new.instrument_id, new.product, new.side)
            left[code] = held - self._out(code, new)
        return left

    def _out(self, code: str, new: NewLeg) -> int:
        """Return the units of the part's orders at a broker that may still fill, also of those that have no leg yet: the orders of one look are sized at
        the same moment, and some wait."""
        others = (*self._sized, *self._waiting.orders)
        unsent = sum(order.quantity for order in others if (order.broker, order.part) == (code, new.part))
        return unsent + self._still_to_fill(new.part, code)

    def _unread(self, new: NewLeg) -> list[str]:
        """Return what to say of the brokers that list an exit's instrument and have shown no positions since the start, of those that hold something
        which their list does not name, and of those that the settings leave out."""
        codes = sorted(self._context.sessions.keys() & set(self._listings(new)))
        unread = [texts.holder_unread(code) for code in codes if judged(self._context, code) is None]
        unlisted = shown_unlisted(
            self._context, [new.instrument_id], position_product(new.product), self._context.sessions
        )
        unread += map(texts.holder_without_listing, unlisted)
        return [*unread, *map(texts.holder_left_out, sorted(self._context.left_out))]

    def _listings(self, new: NewLeg) -> Mapping[str, Listing]:
        latest = self._context.catalogue.value.latest
        instrument = None if latest is None else latest.instrument(new.instrument_id)
        return {} if instrument is None else instrument.listings
