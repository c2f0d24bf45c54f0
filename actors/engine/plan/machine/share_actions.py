"""Parts that wait over days in a share with a corporate action today (order-engine 1.8). Pure.

On the ex-date of a split, a bonus or a large dividend a share begins at a fraction of yesterday's price, and nothing was lost. Prices, levels and
units from before that day then mean something else: a stop would sell everything at the opening, a limit would buy five times the value.
Exchanges and brokers cancel such orders. The fact comes from outside (`Market.action`): factors of the history store, or prices that no factor
explains. The service may have been away on the ex-date. So every ex-date counts that is later than the day of the part's figures.

Which parts: those that were placed on an earlier day and outlive it (days of lifetime, `daily`), and groups and links of such parts. An order
that was placed in the evening for the next day is not among them. A part is concerned by its own share and by every share that its conditions
watch.

What becomes of a part, once for each action (`figures_days` of its record: a share -> the day whose prices its figures mean):
- The factors are known, and all figures of the part are plain prices and units: they are scaled by the product. Prices go to a whole tick away
  from the market, units must come out whole. The tree itself is changed, because callers and documents read it too (`Outcome.root`).
- Otherwise it ends `cancelled` and says why. That are: no factor; units with a rest; a price that moves, because its memory is of other prices;
  units that have filled, where the units change; figures of which some were given before the action and some after it (`changed_day`).
- It is not known yet: what would fire or be sent waits, WAIT_SECONDS after the opening at most (or after a restart). A guard cannot wait for a
  feed that never tells a previous close.

A record of an earlier version has no such days. Its figures are of the day of its last scaling (`action_day`), or else of the placement.

Invariant: no condition of such a part is judged, and none of its orders leaves, before its action of the day is decided or the wait is over.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import Ending, Memory, PartRecord, PartState
from onebroker.actors.engine.plan.execution_kinds import AllAtOnce, Daily, FreezeLimit
from onebroker.actors.engine.plan.machine.lifetimes import counts_days, waits_days
from onebroker.actors.engine.plan.machine.look import Inputs, Look
from onebroker.actors.engine.plan.market import NO_ACTION, FiguresSince, Market, ShareAction, Terms
from onebroker.actors.engine.plan.parts import (
    AllOf,
    AnyOf,
    BarClosed,
    Condition,
    Direction,
    FromFill,
    FromPosition,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    PriceAt,
    Quantity,
    QuoteField,
    SequencePart,
    Share,
    TogetherPart,
    Units,
    children_of,
    orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable, NativeStop, Price
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side

WAIT_SECONDS = 30.0
"""How long after the opening a part waits at most for the fact. Feeds send a previous close with their first quotes."""

INDIA_AHEAD_SECONDS, DAY_SECONDS = 19_800, 86_400
EPOCH_DAY = date(1970, 1, 1).toordinal()

_PRICES = (QuoteField.LAST_PRICE, QuoteField.BID, QuoteField.OFFER, QuoteField.MID, QuoteField.AVERAGE_PRICE)
_UNITS = (QuoteField.VOLUME, QuoteField.BUY_QUANTITY, QuoteField.SELL_QUANTITY, QuoteField.LAST_QUANTITY)


class _CannotScale(Exception):
    """A figure of a part that a factor cannot be applied to."""


# --- which parts -----------------------------------------------------------------------------------------------------------


def outlives_day(part: Part, above: bool) -> bool:
    """Whether a part, or a part above it (`above`), counts days."""
    return above or counts_days(part) or (isinstance(part, OrderPart) and isinstance(part.execution, Daily))


def _asked_for(root: PartRecord, part: Part, record: PartRecord, now: float) -> Mapping[str, FiguresSince]:
    """Return the shares of an open part of an earlier day whose actions are not all in its figures yet. `root`: the record of the plan's root."""
    if root.due_at is None or _india_day(root.due_at) >= _india_day(now):
        return {}
    if record.ending is not None or record.own is not None or record.state.final:
        return {}
    # Days of waiting end once a part has fired: its order is one of that day, and ends with it.
    if waits_days(part) and record.fired_at is not None:
        return {}
    placed, today = day_of(root.due_at), day_of(now)
    found = {share: _since(record, share, placed) for share in _instruments(part, record)}
    return {share: since for share, since in found.items() if since.given < today}


def _since(record: PartRecord, share: str, placed: date) -> FiguresSince:
    """Return from when on the actions of a share count; `placed`: the day of the plan."""
    known = record.figures_days.get(share, record.action_day)
    given = placed if known is None else max(placed, date.fromisoformat(known))
    seen = given if record.actions_seen is None else date.fromisoformat(record.actions_seen)
    return FiguresSince(given, max(given, seen))


def day_of(moment: float) -> date:
    """Return the day in India; `moment` in epoch seconds."""
    return date.fromordinal(EPOCH_DAY + _india_day(moment))


def _india_day(moment: float) -> int:
    """Return the number of the day in India; `moment` in epoch seconds. Every look asks, so no date is made."""
    return int((moment + INDIA_AHEAD_SECONDS) // DAY_SECONDS)


def _watched(condition: Condition | None) -> Iterator[str]:
    match condition:
        case PriceAt() | BarClosed():
            yield condition.instrument_id
        case AllOf() | AnyOf():
            for inner in condition.conditions:
                yield from _watched(inner)


def _instruments(part: Part, record: PartRecord | None = None) -> tuple[str, ...]:
    """Return the instruments whose action concerns a part: its own, and those that its conditions watch. A group with a quantity of its own, as
    its record tells, also has those of its orders."""
    own: tuple[str, ...] = (part.instrument_id,) if isinstance(part, OrderPart) else ()
    has_units = record is not None and (record.quantity is not None or record.taken_by_caller)
    if has_units and isinstance(part, OneCancelsOthersPart):
        own = tuple(order.instrument_id for order in orders_of(part))
    until = None if part.lifetime is None else part.lifetime.when
    return tuple(dict.fromkeys((*own, *_watched(part.when), *_watched(until))))


def shares_over_days(root: Part) -> frozenset[str]:
    """Return the instruments whose action can concern the plan on a later day."""

    def found(part: Part, above: bool) -> Iterator[str]:
        over_days = outlives_day(part, above)
        if over_days:
            yield from _instruments(part)
        for child in children_of(part):
            yield from found(child, over_days)

    return frozenset(found(root, False))


def looked_until(root: Part, parts: Mapping[str, PartRecord], now: float) -> date:
    """Return the earliest day from which on actions are asked for in a look at the plan; today if none are."""
    first = parts.get(root.path, PartRecord())
    records = ((part, parts.get(part.path, PartRecord())) for part in walk(root))
    asked = (since.seen for part, record in records for since in _asked_for(first, part, record, now).values())
    return min(asked, default=day_of(now))


# --- in a look -------------------------------------------------------------------------------------------------------------


def judge_action(look: Look, part: Part, *, above: bool) -> None:
    """End a part whose share has a corporate action that could not be followed. `above`: whether a part above counts days."""
    asked = _asked(look, part, above=above)
    happened = [share for share, since in asked.items() if look.market.action(share, since).happened]
    if happened:
        message = texts.corporate_action(look.market.standing(happened[0]).name)
        ending = Ending(state=PartState.CANCELLED, message=message, lost=True)
        look.note(part, ending=ending, action_day=day_of(look.now).isoformat())
        if look.record(look.root).status_message is None:
            look.note(look.root, status_message=message)


def ended_today(look: Look) -> tuple[str, ...]:
    """Return a sentence for each share because of whose action parts ended today. The owner must look: nobody asked for these ends."""
    today = day_of(look.now).isoformat()
    records = [record for record in look.parts.values() if record.ending is not None and record.ending.lost]
    said = {record.ending.message for record in records if record.ending is not None and record.action_day == today}
    return tuple(sorted(message for message in said if message is not None))


def waits_for_action(look: Look, part: Part, *, above: bool) -> bool:
    """Whether nothing of a part may be judged or sent yet, because it is not known whether its share has a corporate action today."""
    waits = False
    for share, since in _asked(look, part, above=above).items():
        action, session = look.market.action(share, since), look.market.session(share, look.now)
        if action.is_known:
            continue
        until = max(action.asked_at, look.now if session is None else session.opens) + WAIT_SECONDS
        if look.now < until:
            look.seen(share)  # its next quote may tell
            look.wake(until)
            waits = True
    return waits


def _asked(look: Look, part: Part, *, above: bool) -> Mapping[str, FiguresSince]:
    if not outlives_day(part, above):
        return {}
    return _asked_for(look.record(look.root), part, look.record(part), look.now)


# --- scaling ---------------------------------------------------------------------------------------------------------------


def with_known_actions(root: Part, inputs: Inputs) -> tuple[Part, Mapping[str, PartRecord]]:
    """Return the tree and the records with the known factors applied, each once. The same objects where there are none.

    It is also noted that a part goes through a session without an action: the closes of before are not compared on later days. Parts whose figures cannot be scaled stay as they are; the look ends them (`judge_action`).
    """
    first = inputs.parts.get(root.path, PartRecord())
    if first.due_at is None or _india_day(first.due_at) >= _india_day(inputs.market.now):
        return root, inputs.parts
    scaling = _Scaling(root, inputs)
    scaled = scaling.visited(root, above=False)
    return scaled if scaling.said else root, scaling.parts if scaling.said or scaling.noted else inputs.parts


class _Scaling:
    """One walk over a tree."""

    def __init__(self, root: Part, inputs: Inputs) -> None:
        self._market: Market = inputs.market
        self._root = root
        self._first = inputs.parts.get(root.path, PartRecord())
        parts = {order.path: order.instrument_id for order in orders_of(root)}
        self._filled = {parts[leg.part] for leg in inputs.legs if leg.filled}
        self.parts = dict(inputs.parts)
        self.said = False
        """Whether a part was scaled."""
        self.noted = False

    def visited(self, part: Part, *, above: bool) -> Part:
        over_days = outlives_day(part, above)
        if over_days:
            part = self._followed(part)
            self._note_seen(part)
        match part:
            case OrderPart(each_fill=link) if link is not None:
                changed: Part = attrs.evolve(part, each_fill=self.visited(link, above=over_days))
            case SequencePart():
                first, then = (self.visited(child, above=over_days) for child in (part.first, part.then))
                changed = attrs.evolve(part, first=first, then=then)
            case TogetherPart() | OneCancelsOthersPart():
                children = tuple(self.visited(child, above=over_days) for child in part.children)
                changed = attrs.evolve(part, children=children)
            case _:
                changed = part
        return changed

    def _asked(self, part: Part) -> Mapping[str, FiguresSince]:
        return _asked_for(self._first, part, self.parts.get(part.path, PartRecord()), self._market.now)

    def _followed(self, part: Part) -> Part:
        """Return a part scaled by the factors of its shares; the same part when there are none, or when it cannot be scaled."""
        asked = self._asked(part)
        actions = {share: self._market.action(share, since) for share, since in asked.items()}
        happened = {share: action for share, action in actions.items() if action.happened}
        if not happened:
            return part
        record = self.parts.get(part.path, PartRecord())
        try:
            self._check_one_day(record, asked, happened)
            changed, noted = self._scaled(part, record, happened)
        except _CannotScale:
            return part
        share = next(iter(happened))
        message = texts.scaled(self._market.standing(share).name)
        today = day_of(self._market.now)
        days = {share: since.given for share, since in asked.items()}
        days |= {share: action.until or today for share, action in happened.items()}
        self.parts[part.path] = attrs.evolve(
            noted,
            action_day=today.isoformat(),
            figures_days={**record.figures_days, **{share: day.isoformat() for share, day in days.items()}},
            status_message=message,
        )
        if part is not self._root and self.parts.get(self._root.path, PartRecord()).status_message is None:
            self.parts[self._root.path] = attrs.evolve(self.parts[self._root.path], status_message=message)
        self.said = True
        return changed

    def _check_one_day(
        self, record: PartRecord, asked: Mapping[str, FiguresSince], happened: Mapping[str, ShareAction]
    ) -> None:
        """Refuse to scale figures of which some were given before an action and some on its ex-date or later."""
        if record.changed_day is None:
            return
        changed = date.fromisoformat(record.changed_day)
        for share, action in happened.items():
            given, seen = asked[share]
            if self._market.action(share, FiguresSince(max(given, changed), max(seen, changed))) != action:
                raise _CannotScale

    def _note_seen(self, part: Part) -> None:
        """Note that a part goes through a session without an action of its shares."""
        asked = self._asked(part)
        if not asked or not all(self._passes(share, since) for share, since in asked.items()):
            return
        record, today = self.parts.get(part.path, PartRecord()), day_of(self._market.now).isoformat()
        if record.actions_seen != today:
            self.parts[part.path] = attrs.evolve(record, actions_seen=today)
            self.noted = True

    def _passes(self, share: str, since: FiguresSince) -> bool:
        """Whether a share is in a session, and known to have no action."""
        session, now = self._market.session(share, self._market.now), self._market.now
        action = self._market.action(share, since)
        return session is not None and session.opens <= now and action.is_known and not action.happened

    def _scaled(self, part: Part, record: PartRecord, actions: Mapping[str, ShareAction]) -> tuple[Part, PartRecord]:
        if any(action.price_factor is None for action in actions.values()):
            raise _CannotScale
        part = attrs.evolve(part, when=self._condition(part.when, actions))
        if part.lifetime is not None:
            until = self._condition(part.lifetime.when, actions)
            part = attrs.evolve(part, lifetime=attrs.evolve(part.lifetime, when=until))
        record = attrs.evolve(record, condition_bars={})
        if isinstance(part, OrderPart):
            own = actions.get(part.instrument_id)
            return (part, record) if own is None else self._order(part, record, own)
        units = {_units(action) for action in actions.values()}
        if isinstance(part, OneCancelsOthersPart) and (record.quantity is not None or record.taken_by_caller):
            own_units = {_units(actions.get(order.instrument_id, NO_ACTION)) for order in orders_of(part)}
            if len(own_units) != 1:
                raise _CannotScale
            scale = own_units.pop()
            quantity = None if record.quantity is None else _whole(record.quantity, scale)
            record = attrs.evolve(record, quantity=quantity, taken_by_caller=_whole(record.taken_by_caller, scale))
        if isinstance(part, TogetherPart) and part.most_inventory is not None and units != {Decimal(1)}:
            raise _CannotScale
        return part, record

    def _order(self, part: OrderPart, record: PartRecord, action: ShareAction) -> tuple[OrderPart, PartRecord]:
        price, units, terms = _price(action), _units(action), self._market.terms(part.instrument_id)
        if units != 1 and part.instrument_id in self._filled:
            raise _CannotScale
        if (
            not isinstance(part.execution, AllAtOnce | Daily | FreezeLimit)
            or record.made
            or not _is_plain(record.memory)
        ):
            raise _CannotScale
        side = Side(part.transaction_type)

        def limit(value: Decimal) -> Decimal:
            return _positive(terms.passive(value * price, side))

        def trigger(value: Decimal) -> Decimal:
            return _positive(terms.towards(value * price, side))

        part = attrs.evolve(
            part,
            price=_scaled_price(part.price, limit, trigger, price, terms),
            quantity=_scaled_quantity(part.quantity, units),
            disclosed_quantity=_whole(part.disclosed_quantity, units),
        )
        of_stop = isinstance(part.price, NativeStop)
        record = attrs.evolve(
            record,
            quantity=None if record.quantity is None else _whole(record.quantity, units),
            taken_by_caller=_whole(record.taken_by_caller, units),
            price=None if record.price is None else (trigger if of_stop else limit)(record.price),
            trigger_price=None if record.trigger_price is None else trigger(record.trigger_price),
        )
        return part, record

    def _condition(self, condition: Condition | None, actions: Mapping[str, ShareAction]) -> Condition | None:
        match condition:
            case PriceAt(field=field) if condition.instrument_id in actions:
                action = actions[condition.instrument_id]
                if field in _PRICES:
                    return attrs.evolve(condition, level=self._level(condition, action))
                if field in _UNITS:
                    return attrs.evolve(condition, level=condition.level * _units(action))
                return condition
            case BarClosed() if condition.instrument_id in actions:
                return attrs.evolve(condition, level=self._level(condition, actions[condition.instrument_id]))
            case AllOf() | AnyOf():
                inner = tuple(self._condition(one, actions) for one in condition.conditions)
                return type(condition)(tuple(one for one in inner if one is not None))
        return condition

    def _level(self, condition: PriceAt | BarClosed, action: ShareAction) -> Decimal:
        """Return a level on a whole tick, on the side on which it is reached later."""
        side = Side.BUY if condition.direction is Direction.ABOVE else Side.SELL
        return _positive(self._market.terms(condition.instrument_id).towards(condition.level * _price(action), side))


def _scaled_price(
    price: Price,
    limit: Callable[[Decimal], Decimal],
    trigger: Callable[[Decimal], Decimal],
    factor: Decimal,
    terms: Terms,
) -> Price:
    match price:
        case Fixed():
            return attrs.evolve(price, price=limit(price.price))
        case NativeStop(limit_reference=None):
            offset = None if price.limit_offset is None else terms.towards(price.limit_offset * factor, Side.BUY)
            return attrs.evolve(
                price,
                trigger_price=trigger(price.trigger_price),
                limit_price=None if price.limit_price is None else trigger(price.limit_price),
                limit_offset=offset,
            )
        case Marketable():
            return price
    raise _CannotScale


def _scaled_quantity(quantity: Quantity, units: Decimal) -> Quantity:
    match quantity:
        case Units():
            return Units(_whole(quantity.quantity, units))
        case Share(of=of):
            return attrs.evolve(quantity, of=None if of is None else _whole(of, units))
        case FromFill(most=most) | FromPosition(most=most):
            return attrs.evolve(quantity, most=None if most is None else _whole(most, units))
    raise _CannotScale


def _is_plain(memory: Memory) -> bool:
    """Whether the memory of a price rule holds no prices of before."""
    figures = (memory.watermark, memory.stop, memory.base, memory.own_price)
    return not memory.resolved and not memory.bars.ranges and all(figure is None for figure in figures)


def _price(action: ShareAction) -> Decimal:
    if action.price_factor is None:
        raise _CannotScale
    return action.price_factor


def _units(action: ShareAction) -> Decimal:
    return Decimal(1) if action.units_factor is None else action.units_factor


def _whole(units: int, factor: Decimal) -> int:
    """Return units times a factor. A factor such as 1.0909 has lost digits: a product within a thousandth of a whole number is that number."""
    product = units * factor
    nearest = product.to_integral_value()
    if abs(product - nearest) > Decimal("0.001") or (units and not nearest):
        raise _CannotScale
    return int(nearest)


def _positive(price: Decimal) -> Decimal:
    if price <= 0:
        raise _CannotScale
    return price
