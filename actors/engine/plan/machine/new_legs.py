"""Placing the legs of one order part: price, virtual book, brokers, sizes (order-engine 1.5, 1.9)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.execution_kinds import AllAtOnce, BookDepth
from onebroker.actors.engine.plan.machine import swaps
from onebroker.actors.engine.plan.machine.leg_actions import NewLeg, Reason
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.missing_shares import ended_unseen
from onebroker.actors.engine.plan.machine.overdue import block, block_unpriced, cannot_leave
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.machine.refused_exits import again_at
from onebroker.actors.engine.plan.machine.verdicts import goes_again, taken_off
from onebroker.actors.engine.plan.machine.wanted_prices import Asked, Wanted, price_of, waits_to_activate, wanted
from onebroker.actors.engine.plan.market import Calm
from onebroker.actors.engine.plan.parts import FromPosition, OrderPart, QuoteField, Units, own_orders_of
from onebroker.actors.engine.plan.pieces.cutting import freeze_pieces
from onebroker.actors.engine.plan.price_kinds import RESTING, SWAPPED, is_stop
from onebroker.actors.engine.plan.pricing.touch import on_touch
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import OrderType, Side, Validity

UNSEEN_SECONDS = 60.0
"""How long an exit waits when two of its orders never reached a broker; twice as long for each further such order."""
MOST_UNSEEN_SECONDS = 900.0


@attrs.frozen(kw_only=True)
class Sending:
    """One order part in one look, with its target: the units that it wants in all."""

    look: Look
    part: OrderPart
    context: Context
    target: int

    @property
    def side(self) -> Side:
        return side_of(self.part)

    @property
    def missing(self) -> int:
        """Units not yet sent; negative when more units are out than wanted.

        Units that another hand took off are not sent again. But they are not out either: no resting order shrinks because of them.
        """
        missing = self.target - self.committed
        taken = taken_off(self.look.legs(self.part)) - self._not_wanted
        return missing if missing >= 0 else min(0, missing + taken)

    @property
    def committed(self) -> int:
        """Units of the part that need no further order."""
        return self.look.committed(self.part) - self._not_wanted

    @property
    def _not_wanted(self) -> int:
        """Units that another hand took off an exit and that the target does not ask for either: the position is smaller by now, or other exits have
        closed a part of it. They are left out once, not twice."""
        legs = self.look.legs(self.part)
        if not self.part.is_exit or all(leg.former is None for leg in legs):
            return 0
        former = sum(leg.committed if leg.former is None or not leg.live else leg.former for leg in legs)
        return min(taken_off(legs), max(0, former - self.target))

    def place(self, quantity: int, *, piece: int = 0, asked: Asked | None = None, immediate: bool = False) -> bool:
        """Ask for a leg at the price that is wanted now. False if nothing is asked for: there is no price, or the order is held or too soon."""
        if quantity <= 0 or self._is_too_soon(asked) or self._refused_lately():
            return False
        if swaps.stop_is_selling(self.look, self.part):
            return False
        want = self.priced(quantity, asked or Asked(quantity=quantity, piece=piece))
        if want is None or not self._has_room(quantity):
            return False
        self._begin()
        for size, broker in self._brokers(quantity):
            for part_size in self._sizes(size):
                self.look.do(self._order(part_size, want, broker, piece, asked, immediate=immediate))
        return True

    def _has_room(self, quantity: int) -> bool:
        """Whether a target may have `quantity` more units out beside the stop of its group; if not, ask the stop for room (`swaps.py`)."""
        if self.context.room is None:
            return True
        wanted_out = swaps.out(self.look, self.part) + quantity
        if wanted_out <= self.context.room:
            return True
        locked = cannot_leave(self.look, swaps.brokers_of_group(self.look, self.part))
        if locked is not None:
            block(self.look, self.part, locked)  # the stop stays: what takes its place could not leave
        else:
            swaps.note_wish(self.look, self.part, wanted_out)
        return False

    def _is_too_soon(self, asked: Asked | None) -> bool:
        """Whether an exit must wait because several of its orders went unanswered and never reached their broker. Each of them that turns
        up late would be live together with the newest order for a moment (row 13c). Of a close of positions each row counts alone. Say it
        while it waits: nothing of it is at a broker."""
        key = None if asked is None else asked.key
        unseen = [
            leg
            for leg in self.look.legs(self.part)
            if leg.state is LegState.NOT_SENT and goes_again(self.part, leg) and key in (None, leg.instance)
        ]
        if len(unseen) < 2:
            return False
        wait_seconds = min(MOST_UNSEEN_SECONDS, UNSEEN_SECONDS * (1 << (len(unseen) - 2)))
        newest = max(unseen, key=lambda leg: leg.ended_at)
        at = newest.ended_at + wait_seconds
        self.look.wake(at)
        if self.look.now < at:
            block(self.look, self.part, texts.never_shown(newest.broker, len(unseen)))
        return self.look.now < at

    def _refused_lately(self) -> bool:
        """Whether an exit must wait, because a broker has just refused it. Say it, where its price was the reason, or where its stop made room for it."""
        refused = [leg for leg in self.look.legs(self.part) if swaps.tries_again(self.look, self.part, leg)]
        if not refused:
            return False
        newest, at = max(refused, key=lambda leg: leg.ended_at), again_at(refused)
        if self.context.room is not None:
            at = max(at, swaps.swaps_again_at(self.look, self.part))
        self.look.wake(at)
        if self.look.now < at and (newest.beyond_limits or not (is_stop(self.part.price) or newest.shortage)):
            block(self.look, self.part, texts.close_refused(newest.broker, newest.status_message))
        return self.look.now < at

    def priced(self, quantity: int, asked: Asked | None = None) -> Wanted | None:
        """Return the type and prices of the order if it left now; None while there is no price, or the order is held."""
        want = wanted(self.look, self.part, self.context, asked or Asked(quantity=quantity))
        if want is None and not waits_to_activate(self.look, self.part):
            block_unpriced(self.look, self.part)
        if want is not None and want.price is not None and self._held(want):
            self.look.held_back.setdefault(self.part.path, []).append(want.price)
            return None
        return want

    def _held(self, want: Wanted) -> bool:
        """Whether the virtual book keeps the order, because the market has not reached its limit yet (1.9)."""
        is_held = self.part.hold or self.context.room is not None
        if (
            not is_held
            or want.order_type is not OrderType.LIMIT
            or not isinstance(price_of(self.look, self.part), RESTING if self.part.hold else SWAPPED)
        ):
            return False
        quote = self.look.glimpsed(self.part.instrument_id)
        assert want.price is not None
        early = self.part.release_ticks * (self.look.terms(self.part).tick or Decimal(0))
        limit = want.price + self.side.sign * early
        if quote is None:
            return True
        if self.context.room is not None and not swaps.may_swap(self.look, self.part):
            return True
        if swaps.stop_is_selling(self.look, self.part):
            return True
        if any(on_touch(seen, self.side, limit) for seen in quote.since(self.look.record(self.part).due_at)):
            return False
        above, below = (limit, None) if self.side is Side.BUY else (None, limit)
        touch = QuoteField.OFFER if self.side is Side.BUY else QuoteField.BID
        calms = (Calm(field=field, above=above, below=below) for field in (QuoteField.LAST_PRICE, touch))
        self.look.stays(self.part.instrument_id, *calms)
        return True

    def _begin(self) -> None:
        if self.look.record(self.part).started_at is None:
            self.look.note(self.part, started_at=self.look.now)

    def _sizes(self, quantity: int) -> tuple[int, ...]:
        """Cut an order at the freeze quantity (1.5), unless intake has checked it. Cut are quantities known only late, pieces, and stops."""
        whole = isinstance(self.part.quantity, Units) and isinstance(self.part.execution, AllAtOnce)
        if whole and not is_stop(self.part.price):
            return (quantity,)
        return freeze_pieces(quantity, self.look.terms(self.part))

    def _brokers(self, quantity: int) -> list[tuple[int, str | None]]:
        """Share an exit, or a second order that closes what the first has filled, over the brokers that hold the units. Any other order goes to its
        pinned broker, if it has one."""
        base, part = self.context.base, self.part
        if part.broker is not None or not isinstance(base, OrderPart) or base.instrument_id != part.instrument_id:
            return [(quantity, part.broker)]
        follows = part.uncovered is not None and (base.product, side_of(base)) == (part.product, self.side.opposite)
        if not (part.is_exit or follows):
            return [(quantity, None)]
        held: dict[str, int] = {}
        for leg in self.look.legs(base):
            held[leg.broker] = held.get(leg.broker, 0) + leg.filled
        for leg in self.look.legs(self.part):
            held[leg.broker] = held.get(leg.broker, 0) - leg.spoken_for
        for order in self.look.on_the_way(self.part):
            if order.broker is not None:
                held[order.broker] = held.get(order.broker, 0) - order.quantity
        shares: list[tuple[int, str | None]] = []
        for broker, units in sorted(held.items(), key=lambda item: (-item[1], item[0])):
            size = min(quantity, units)
            if size > 0:
                shares.append((size, broker))
                quantity -= size
        return [*shares, (quantity, None)] if quantity > 0 and not part.is_exit else shares

    def _replaces(self) -> bool:
        """Whether the part's newest order that reached a broker was cancelled by the plan, for the sake of this order."""
        sent = [leg for leg in self.look.legs(self.part) if not leg.never_reached]
        newest = max(sent, key=lambda leg: leg.sent_at, default=None)
        return (
            newest is not None
            and newest.state is LegState.CANCELLED
            and newest.unfilled > 0
            and newest.cancel_reason in (Reason.REPLACE, Reason.PIECE)
        )

    def _unseen(self) -> str | None:
        """Return the broker of the part's newest order that ended unseen; None when no order did."""
        ended = ended_unseen(self.look, self.part)
        return max(ended, key=lambda leg: leg.sent_at).broker if ended else None

    def _entry_tag(self) -> str | None:
        entry = self.context.entry
        return None if entry is None or not self.part.is_exit else next(own_orders_of(entry)).tag or ""

    def _order(
        self, quantity: int, want: Wanted, broker: str | None, piece: int, asked: Asked | None, *, immediate: bool
    ) -> NewLeg:
        instance = asked.instance.key if asked is not None and asked.instance is not None else None
        return NewLeg(
            part=self.part.path,
            instrument_id=self.part.instrument_id,
            side=self.side,
            product=self.part.product,
            validity=Validity.IOC if immediate else self.part.validity,
            quantity=quantity,
            order_type=want.order_type,
            price=want.price,
            trigger=want.trigger,
            broker=broker,
            is_exit=self.part.is_exit,
            known_exit=self.part.known_exit or isinstance(self.part.quantity, FromPosition),
            exit_by_type=self.part.exit_by_type,
            replaces=self._replaces() or self.part.uncovered is not None,
            piece=piece,
            instance=instance,
            tag=self.part.tag,
            entry_tag=self._entry_tag(),
            closing=self.part.closing,
            unseen=self._unseen(),
            disclosed_quantity=min(self.part.disclosed_quantity, quantity),
            is_strike=immediate and isinstance(self.part.execution, BookDepth),
        )
