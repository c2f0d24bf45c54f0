"""A market and a broker of values for plans: no time passes, nothing is sent; what the machine asks for is done at once and
written down as the worked examples of order-engine 6 write it."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal as D
from typing import Any, Self, TypeAlias, overload

import attrs

from onebroker.actors.engine.orders.parent_records import LegChange, LegState
from onebroker.actors.engine.orders.part_state import PartRecord, PartState
from onebroker.actors.engine.plan.machine.advance import Outcome, advance
from onebroker.actors.engine.plan.machine.caller_changes import (
    cancel_part,
    check_leg_cancel,
    check_leg_change,
    leg_changed,
    modify_part,
)
from onebroker.actors.engine.plan.machine.leg_actions import Action, ChangeLeg, EndLeg, Leg, NewLeg, ReadRows, Reason
from onebroker.actors.engine.plan.machine.look import Inputs, Rules
from onebroker.actors.engine.plan.market import (
    NO_ACTION,
    AccountFigures,
    FiguresSince,
    JointFigure,
    JointUntold,
    Level,
    Seen,
    Session,
    ShareAction,
    Standing,
    Terms,
)
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.pricing.black76 import Option
from onebroker.config.money import plain
from onebroker.config.vocabulary import Side

Number: TypeAlias = float | str | D

MORNING = 1_795_405_800.0
"""2026-11-23 09:20 IST, a Monday."""
DAY = Session(opens=MORNING - 300, closes=MORNING - 300 + 22_500)


class World:
    """Quotes by instrument; everything else is as one says."""

    now: float
    quotes: dict[str, Seen]
    lots: dict[str, int]
    freezes: dict[str, int]
    figures: AccountFigures | None
    joint: Number | None
    unread: Collection[str]
    holders: Collection[str]
    asked_holders: Collection[str] | None
    locked: str | None
    exit_locks: dict[str | None, str]
    holdings: dict[str, int]
    older: dict[str, int]
    """Broker -> units that older plans guard."""
    doubted: dict[str, int]
    """Broker -> units that it may hold beyond those that are settled."""
    others: dict[str, int]
    """Broker -> units that other plans guard."""
    stopped: dict[str, int]
    """Broker -> units for which other plans' stops rest."""
    sold: dict[str, int]
    """Broker -> shares that were sold in delivery today."""
    closing: dict[str, int]
    """Broker -> units that other plans' closes of positions have out."""
    options: dict[str, Option]
    futures: set[str]
    stale: set[str]
    sessions: list[Session]
    standings: dict[str, Standing]
    actions: dict[str, ShareAction]
    fill_prices: Mapping[str, D | None]
    """Set by a test whose plan asks for it."""

    def __init__(self) -> None:
        self.now = MORNING
        self.quotes = {}
        self.lots, self.freezes = {}, {}
        self.figures = None
        self.joint, self.holders, self.asked_holders = None, ("alpha",), None
        self.unread = ("alpha",)
        self.filled_at: float | None = None
        self.began_at: float | None = None
        self.locked = None
        self.exit_locks = {}
        self.holdings, self.older, self.others, self.stopped, self.closing = {}, {}, {}, {}, {}
        self.sold = {}
        self.doubted = {}
        self.options, self.futures = {}, set()
        self.stale = set()
        self.standings = {}
        self.actions = {}
        self.sessions = [Session(opens=DAY.opens + 86_400 * n, closes=DAY.closes + 86_400 * n) for n in range(30)]

    def seen(self, instrument_id: str) -> Seen | None:
        return self.quotes.get(instrument_id)

    def is_stale(self, instrument_id: str) -> bool:
        return instrument_id in self.stale

    def told_at(self, instrument_id: str) -> float:
        quote = self.quotes.get(instrument_id)
        return -math.inf if quote is None else quote.received_at

    def terms(self, instrument_id: str) -> Terms:
        return Terms(tick=D("0.05"), lot=self.lots.get(instrument_id, 1), freeze=self.freezes.get(instrument_id))

    def standing(self, instrument_id: str) -> Standing:
        return self.standings.get(instrument_id, Standing(name=instrument_id))

    def action(self, instrument_id: str, since: FiguresSince) -> ShareAction:
        """The action of today; a test of other days has its own."""
        return self.actions.get(instrument_id, NO_ACTION)

    def opening(self, instrument_id: str, at: float, within: float) -> float | None:
        openings = [session.opens for session in self.sessions]
        return next((opening for opening in openings if opening <= at < opening + within), None)

    def session(self, instrument_id: str, after: float) -> Session | None:
        return next((one for one in self.sessions if one.closes > after), None)

    def account(self) -> AccountFigures | None:
        return self.figures

    def joint_pnl(
        self,
        instrument_ids: Sequence[str],
        *,
        every_instrument: bool,
        product: str | None,
        today: bool,
        holders: Collection[str] | None,
    ) -> JointFigure | JointUntold:
        self.asked_holders = holders
        if self.joint is None:
            return JointUntold(frozenset(self.unread), self.filled_at, self.began_at)
        return JointFigure(D(str(self.joint)), frozenset(self.holders))

    def fill_price(self, leg_id: str, before: int, after: int) -> D | None:
        return self.fill_prices.get(leg_id)

    def option(self, instrument_id: str) -> Option | None:
        return self.options.get(instrument_id)

    def is_future(self, instrument_id: str) -> bool:
        return instrument_id in self.futures

    def lockout(self) -> str | None:
        return self.locked

    def held(self, broker: str | None, instrument_id: str, product: str, side: Side) -> int | None:
        """Held units by broker, whatever the instrument; nothing is settled where a test says nothing."""
        if broker is None:
            return sum(self.holdings.values()) if self.holdings else None
        return self.holdings.get(broker)

    def held_at_most(self, broker: str | None, instrument_id: str, product: str, side: Side) -> int:
        more = 0 if broker is None else self.doubted.get(broker, 0)
        return more + (sum(self.holdings.values()) if broker is None else self.holdings.get(broker, 0))

    def guarded_by_older(self, broker: str, instrument_id: str, product: str, side: Side) -> int:
        return self.older.get(broker, 0)

    def taken_by_others(
        self, broker: str | None, instrument_id: str, product: str, side: Side, *, stops: bool, anywhere: bool
    ) -> int:
        return sum(self.others.values()) if broker is None else self.others.get(broker, 0)

    def guards_before_growth(
        self, broker: str | None, instrument_id: str, product: str, side: Side, *, stops: bool, is_lone: bool
    ) -> int:
        return self.taken_by_others(broker, instrument_id, product, side, stops=stops, anywhere=True) if is_lone else 0

    def sold_from_holdings(self, broker: str | None, instrument_id: str) -> int:
        return sum(self.sold.values()) if broker is None else self.sold.get(broker, 0)

    def stopped_by_others(self, broker: str | None, instrument_id: str, product: str, side: Side) -> int:
        return sum(self.stopped.values()) if broker is None else self.stopped.get(broker, 0)

    def being_closed(self, broker: str, instrument_id: str, product: str, side: Side) -> int:
        return self.closing.get(broker, 0)

    def exit_lock(self, broker: str | None) -> str | None:
        return self.exit_locks.get(broker)


def number(value: Number) -> int | D:
    return value if isinstance(value, int) else D(str(value))


@overload
def price(value: Number) -> D: ...
@overload
def price(value: None) -> None: ...
def price(value: Number | None) -> D | None:
    return None if value is None else D(str(value))


class Runner:
    """Works one plan: `look()` lets the machine look and does what it asks; `said` is what went to brokers since last asked."""

    parts: dict[str, PartRecord]
    legs: list[Leg]
    log: list[str]
    read: int
    refuse_changes: set[str]
    refuse_cancels: set[str]
    outcome: Outcome | None

    def __init__(
        self,
        root: Part,
        world: World | None = None,
        *,
        brokers: Sequence[str] = ("alpha",),
        rules: Rules = Rules(),  # noqa: B008  # a frozen value
    ) -> None:
        self.root = root
        self.world = world or World()
        self.brokers = brokers
        self.rules = rules
        self.parts, self.legs = {}, []
        self.started = self.world.now
        self.log, self.read = [], 0
        self.refuse_changes, self.refuse_cancels = set(), set()
        self.outcome = None

    # --- the market -------------------------------------------------------------------------------------------------

    def quote(
        self,
        last: Number | None = None,
        bid: Number | None = None,
        offer: Number | None = None,
        *,
        of: str = "I",
        bid_size: int = 1000,
        offer_size: int = 1000,
        sells: Iterable[tuple[Number, int]] | None = None,
        volume: int | None = None,
    ) -> Self:
        before = self.world.quotes.get(of)
        last = price(last) if last is not None else (before.last_price if before else price(bid or offer))
        buy = (Level(price(bid), bid_size),) if bid is not None else ()
        sell = tuple(Level(price(p), q) for p, q in sells) if sells else ()
        if offer is not None:
            sell = (Level(price(offer), offer_size),)
        self.world.quotes[of] = Seen(last_price=last, received_at=self.world.now, buy=buy, sell=sell, volume=volume)
        return self.look()

    def at(self, seconds: float) -> Self:
        """Come to so many seconds after the start, looking whenever the machine asked to."""
        until = self.started + seconds
        while self.outcome is not None and self.outcome.wake_at <= until:
            self.world.now = self.outcome.wake_at
            self.look()
        self.world.now = until
        return self.look()

    # --- the broker -------------------------------------------------------------------------------------------------

    def look(self) -> Self:
        for _ in range(50):
            self.outcome = advance(self.root, self.inputs)
            self.root, self.parts = self.outcome.root, dict(self.outcome.parts)
            if not self.outcome.actions:
                return self
            again = advance(self.root, self.inputs)
            assert again.actions == self.outcome.actions, "a second look at the same asks for something else"
            for action in self.outcome.actions:
                self.do(action)
            if any(isinstance(action, ReadRows) for action in self.outcome.actions):
                return self
        assert self.outcome is not None
        raise AssertionError(f"the machine never rests: {self.outcome.actions}")

    def do(self, action: Action) -> None:
        match action:
            case NewLeg():
                self.place(action)
            case ChangeLeg():
                self.change(action)
            case EndLeg():
                self.cancel(action)

    def place(self, order: NewLeg) -> None:
        broker = order.broker or self.brokers[0]
        number = sum(leg.broker == broker for leg in self.legs) + 1
        leg_id = f"{broker[0].upper()}{number}"
        self.legs.append(
            Leg(
                leg_id=leg_id, part=order.part, broker=broker, instrument_id=order.instrument_id, side=order.side,
                quantity=order.quantity, order_type=order.order_type, immediate=order.validity == "IOC",
                price=order.price, trigger=order.trigger, piece=order.piece, instance=order.instance,
                sent_at=self.world.now,
            )
        )  # fmt: skip
        self.log.append(f"PLACE {broker} {order.side} {order.quantity} {self.shown(order)} -> {leg_id}")

    def shown(self, order: NewLeg | Leg) -> str:
        instrument = "" if order.instrument_id == "I" else f"{order.instrument_id} "
        prices = "/".join(plain(one) for one in (order.trigger, order.price) if one is not None)
        ioc = " IOC" if getattr(order, "validity", "DAY") == "IOC" else ""
        return f"{instrument}{order.order_type} {prices}".strip() + ioc

    def change(self, action: ChangeLeg) -> None:
        leg = self.leg(action.leg_id)
        changed = []
        if action.quantity != leg.quantity:
            changed.append(f"quantity {action.quantity}")
        if (action.price, action.trigger) != (leg.price, leg.trigger):
            prices = "/".join(plain(one) for one in (action.trigger, action.price) if one is not None)
            changed.append(f"{'SL' if action.trigger is not None else 'price'} {prices}")
        assert changed, "a modify that changes nothing"
        self.log.append(f"MODIFY {leg.leg_id} {' '.join(changed)}")
        moved = self.world.now if (action.price, action.trigger) != (leg.price, leg.trigger) else leg.moved_at
        if leg.leg_id in self.refuse_changes:
            self.put(
                attrs.evolve(
                    leg,
                    refused=(action.quantity, action.price, action.trigger),
                    refused_why="no",
                    refused_at=self.world.now,
                    changes=leg.changes + 1,
                )
            )
            return
        self.put(
            attrs.evolve(
                leg, quantity=action.quantity, price=action.price, trigger=action.trigger, moved_at=moved,
                changes=leg.changes + 1, refused=None,
            )
        )  # fmt: skip

    def cancel(self, action: EndLeg) -> None:
        leg = self.leg(action.leg_id)
        self.log.append(f"CANCEL {leg.leg_id}")
        if leg.leg_id in self.refuse_cancels:
            self.put(attrs.evolve(leg, cancels=leg.cancels + 1, cancelled_at=self.world.now))
        else:
            self.put(attrs.evolve(leg, state=LegState.CANCELLING, cancel_reason=action.reason))

    def leg(self, leg_id: str) -> Leg:
        return next(leg for leg in self.legs if leg.leg_id == leg_id)

    def put(self, leg: Leg) -> None:
        self.legs = [leg if old.leg_id == leg.leg_id else old for old in self.legs]

    # --- the caller -------------------------------------------------------------------------------------------------

    @property
    def inputs(self) -> Inputs:
        return Inputs(parts=self.parts, legs=tuple(self.legs), market=self.world, rules=self.rules)

    def cancel_part(self, path: str) -> Self:
        self.parts = dict(cancel_part(self.root, self.inputs, path))
        return self.look()

    def modify_part(self, path: str | None = None, **values: Number) -> Self:
        changed: dict[str, Any] = {k: number(v) for k, v in values.items()}
        _, parts = modify_part(self.root, self.inputs, path, LegChange(**changed))
        self.parts = dict(parts)
        return self.look()

    def modify_leg(self, leg_id: str, **values: Number) -> Self:
        """What the desk does for a caller: check, send, and tell the plan once the broker has accepted."""
        changed: dict[str, Any] = {k: number(v) for k, v in values.items()}
        leg, change = self.leg(leg_id), LegChange(**changed)
        check_leg_change(self.root, leg, change)
        self.parts = dict(leg_changed(self.root, self.inputs, leg, change))
        new: dict[str, Any] = {"quantity": change.quantity, "price": change.price, "trigger": change.trigger_price}
        self.put(attrs.evolve(leg, **{name: value for name, value in new.items() if value is not None}))
        return self.look()

    def check_cancel(self, leg_id: str) -> None:
        """What the desk asks before it cancels an order for a caller."""
        check_leg_cancel(self.root, self.inputs, self.leg(leg_id))

    def cancel_leg(self, leg_id: str, filled: int = 0) -> Self:
        """A caller's cancel by order id, confirmed by the book."""
        leg = attrs.evolve(self.leg(leg_id), state=LegState.CANCELLED, cancel_reason=Reason.CALLER)
        self.put(attrs.evolve(leg, filled=filled, average=leg.price if filled else None))
        return self.look()

    # --- what books show --------------------------------------------------------------------------------------------

    def book(
        self,
        leg_id: str,
        status: str | None = None,
        *,
        filled: int | None = None,
        average: Number | None = None,
        message: str | None = None,
    ) -> Self:
        leg = self.leg(leg_id)
        state = leg.state if status is None else LegState(status)
        if state is LegState.COMPLETE and filled is None:
            filled = leg.quantity
        filled = leg.filled if filled is None else filled
        at = price(average) if average is not None else (leg.price or leg.trigger)
        assert at is not None, "an order without a price fills at the average that the test gives"
        total = (leg.average or D(0)) * leg.filled + at * (filled - leg.filled)
        self.put(
            attrs.evolve(
                leg, state=state, filled=filled, average=total / filled if filled else None,
                status_message=message or leg.status_message,
            )
        )  # fmt: skip
        return self.look()

    # --- what is asserted -------------------------------------------------------------------------------------------

    def sent(self) -> list[str]:
        """What went out since this was asked last."""
        new, self.read = self.log[self.read :], len(self.log)
        return new

    def state(self, path: str = "root") -> str:
        return self.parts[path].state.value

    @property
    def resting(self) -> list[Leg]:
        return [leg for leg in self.legs if leg.live]

    def over(self) -> bool:
        return PartState(self.state()).final
