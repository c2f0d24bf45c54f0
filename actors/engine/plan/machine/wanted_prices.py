"""The price that a part wants now, for a new leg or for a resting leg (order-engine 1.4)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import Instance, Memory, PartRecord
from onebroker.actors.engine.orders.reference_values import PriceReference
from onebroker.actors.engine.plan.execution_kinds import ONE_AFTER_ANOTHER
from onebroker.actors.engine.plan.machine.centre_price import centre_of
from onebroker.actors.engine.plan.machine.crossing import uncrossed, unseen
from onebroker.actors.engine.plan.machine.inventory import opposite_levels, skew
from onebroker.actors.engine.plan.machine.leg_actions import Leg
from onebroker.actors.engine.plan.machine.look import Look, average_of, side_of
from onebroker.actors.engine.plan.machine.overdue import block, last_resort
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.machine.refused_exits import keeps_to_touch
from onebroker.actors.engine.plan.market import Calm, Level, Seen
from onebroker.actors.engine.plan.parts import OrderPart, Part, own_orders_of
from onebroker.actors.engine.plan.price_kinds import (
    Cap,
    Chase,
    Discretion,
    Fixed,
    FollowInstrument,
    FromFillPrice,
    FromParentFill,
    Marketable,
    NativeStop,
    OptionModel,
    Peg,
    Price,
    Referenced,
    Stages,
    Trail,
    followed_rest,
    is_stop,
)
from onebroker.actors.engine.plan.pricing.moving_limits import at_distance, chased, followed, from_fill, modelled
from onebroker.actors.engine.plan.pricing.moving_stops import StopPrice, staged, stop_at, trail_memory, trailed, watch
from onebroker.actors.engine.plan.pricing.touch import clip, crossing_cost_bps, past_touch, peg_level, pegged, visible
from onebroker.actors.engine.references.pricing import resolve_price
from onebroker.config.messages import plan_life as texts
from onebroker.config.messages import references as reference_texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OrderType, Side

NEXT_QUOTE_SECONDS = 1.0
LEAST_BAR_SECONDS = 0.5
"""Bars shorter than this are not looked at more often."""
FOLLOWING = Marketable(follow=True)
_MOVING = (Trail, Stages, Peg, Chase, FollowInstrument, OptionModel, FromParentFill, Discretion)


@attrs.frozen
class Wanted:
    """An order's type and prices."""

    order_type: OrderType
    price: Decimal | None
    trigger: Decimal | None = None


@attrs.frozen(kw_only=True)
class Asked:
    """The leg, piece or fill for which a price is wanted."""

    quantity: int
    leg: Leg | None = None
    """The resting leg; None = a new leg."""
    piece: int = 0
    instance: Instance | None = None

    @property
    def key(self) -> str | None:
        """The row, fill or closing that the order is for."""
        if self.leg is not None:
            return self.leg.instance
        return None if self.instance is None else self.instance.key


def price_of(look: Look, part: OrderPart) -> Price:
    """Return the price rule in force: the part's own, or marketable with follow once the part's record says `marketable`."""
    if look.record(part).marketable:
        return FOLLOWING
    return followed_rest(part.price) if isinstance(part.execution, ONE_AFTER_ANOTHER) else part.price


def moves(price: Price) -> bool:
    """Whether a price rule of this kind moves a resting leg."""
    if isinstance(price, Cap):
        return moves(price.of)
    return isinstance(price, _MOVING) or (isinstance(price, Marketable) and price.follow)


def observe(look: Look, part: OrderPart, context: Context) -> None:
    """Show a moving stop the last prices in their order, even if no leg rests: the watermark begins when the part begins."""
    price, side = price_of(look, part), side_of(part)
    if not isinstance(price, Trail | Stages):
        return
    moving_bars = isinstance(price, Trail) and price.atr is not None
    quote = look.seen(part.instrument_id) if moving_bars else look.glimpsed(part.instrument_id)
    for seen in () if quote is None else quote.since(look.record(part).due_at)[:-1]:
        _watch(look, part, price, seen, seen.received_at)
        if look.record(part).memory.stop is not None:  # the stop moved here, even if a later price moves it further
            _stop(look, part, context, price, Asked(quantity=0))
    _watch(look, part, price, quote, look.now)
    memory = look.record(part).memory
    if quote is None:
        block(look, part, texts.TRAIL_BLIND, blind=part.instrument_id)
    if quote is None or quote.last_price is None:
        look.seen(part.instrument_id)  # any new quote matters
    else:
        look.stays(part.instrument_id, _unmoved(price, memory, side))
    if isinstance(price, Trail) and price.atr is not None and memory.bars.open_bar is not None:
        look.wake(memory.bars.open_bar.began + max(float(price.atr.bar_minutes * 60), LEAST_BAR_SECONDS))


def waits_to_activate(look: Look, part: OrderPart) -> bool:
    """Whether a trail has no stop yet because the market has not reached its `activate_at`: nothing is due then."""
    price = price_of(look, part)
    return isinstance(price, Trail) and price.activate_at is not None and not look.record(part).memory.active


def _watch(look: Look, part: OrderPart, price: Trail | Stages, quote: Seen | None, at: float) -> None:
    """Show a stop one quote; `at` is the time of the look (epoch seconds)."""
    memory, side = look.record(part).memory, side_of(part)
    if isinstance(price, Stages):
        memory = watch(memory, None if quote is None else quote.last_price, side, None)
    else:
        session = look.session(part, look.now)
        memory = trail_memory(price, memory, quote, side, at, look.now if session is None else session.opens)
    look.remember(part, memory)


def _unmoved(price: Trail | Stages, memory: Memory, side: Side) -> Calm:
    """Return the bounds within which a last price neither activates a stop nor moves its watermark."""
    if not memory.active:
        assert isinstance(price, Trail)
        return Calm(below=price.activate_at) if side is Side.SELL else Calm(above=price.activate_at)
    return Calm(most=memory.watermark) if side is Side.SELL else Calm(least=memory.watermark)


def wanted(look: Look, part: OrderPart, context: Context, asked: Asked) -> Wanted | None:
    """Return the order that is wanted now; None while a price that it needs is missing (the reason is noted in `look.reasons`)."""
    price, side = price_of(look, part), side_of(part)
    if is_stop(price):
        stop = _stop(look, part, context, price, asked)
        return (
            None if stop is None or not _carries(look, part, stop) else _as_stop(look, part, context, side, stop, asked)
        )
    limit = _limit(look, part, context, price, asked)
    if limit is not None and limit <= 0:
        look.cannot(part, 400, texts.not_a_price(limit))
    if (limit is None or limit <= 0) and asked.leg is None:
        resort = last_resort(look, part, price, at_last=keeps_to_touch(look, part, asked.key))
        return None if resort is None else Wanted(*resort)
    return None if limit is None or limit <= 0 else Wanted(OrderType.LIMIT, limit)


def _limit(look: Look, part: OrderPart, context: Context, price: Price, asked: Asked) -> Decimal | None:
    record, side, terms = look.record(part), side_of(part), look.terms(part)
    match price:
        case Fixed():
            own = record.price if record.price is not None else price.price
            return own if price.on_crossing is None else uncrossed(look, part, price.on_crossing, own)
        case Referenced():
            return _referenced(look, part, price.reference, asked)
        case Discretion():
            own = price.price if record.price is None else record.price
            return own if record.memory.base is None else record.memory.base
        case Cap():
            inner = _limit(look, part, context, price.of, asked)
            return None if inner is None else terms.passive(clip(inner, side, price.worst_price), side)
        case FromParentFill() | FromFillPrice():
            level = _from_fill(look, part, context, price, asked)
            return None if level is None else terms.passive(level + record.memory.shift, side)
        case FollowInstrument():
            limit, memory = followed(price, record.memory, side, look.seen(price.watch_instrument_id), terms)
            look.remember(part, memory)
            return _stepped(limit, price.step_ticks, asked, terms.tick) if limit is not None else _blind(look, part)
        case OptionModel():
            return _modelled(look, part, price, asked)
    quote = look.book(part.instrument_id)
    if quote is None:
        return _blind(look, part)
    return _from_book(look, part, price, quote, asked)


def _referenced(look: Look, part: OrderPart, reference: PriceReference, asked: Asked) -> Decimal | None:
    """Return the limit of a price reference, worked out once for each order. A held order waits at that price (rules 2.6)."""
    if asked.leg is not None:
        return asked.leg.price
    memory, piece = look.record(part).memory, str(asked.piece)
    if piece in memory.resolved:
        return memory.resolved[piece]
    tick = look.terms(part).tick
    quote = look.seen(part.instrument_id) if reference.needs_quote else None
    if tick is None:
        look.cannot(part, 503, reference_texts.NO_TICK)
        return None
    try:
        limit = resolve_price(reference, side_of(part), quote, tick)
    except Refusal as refusal:
        look.cannot(part, refusal.status, refusal.sentence)
        return None
    look.remember(part, attrs.evolve(memory, resolved={**memory.resolved, piece: limit}))
    return limit


def _from_book(look: Look, part: OrderPart, price: Price, quote: Seen, asked: Asked) -> Decimal | None:
    record, side, terms = look.record(part), side_of(part), look.terms(part)
    match price:
        case Marketable():
            limit = _past_touch(look, part, price, quote, asked)
            if limit is None:
                look.cannot(part, 409, texts.nobody(side))
                return None
            return limit if asked.leg is not None or _affordable(look, part, price, quote, asked) else None
        case Peg():
            own = None if asked.leg is None or asked.leg.price is None else Level(asked.leg.price, asked.leg.unfilled)
            skewed = skew(look, part, price, terms.tick)
            across = opposite_levels(look, part)
            centre = None if price.centre is None else centre_of(look, part, price.centre, quote, _levels(own), across)
            if price.centre is not None and centre is None:
                return None
            if record.memory.own_price is not None:
                level = peg_level(price, side, quote, terms, own=own, across=across, centre=centre)
                record = look.remember(part, at_distance(record.memory, None if level is None else level + skewed))
            shift = record.memory.shift + skewed
            limit = pegged(price, side, quote, terms, own=own, across=across, shift=shift, centre=centre)
            return limit if limit is None else _stepped(limit, price.requote_ticks, asked, terms.tick)
        case Chase():
            limit, memory = chased(price, record.memory, side, quote, terms, look.now)
            look.remember(part, memory)
            if memory.since is not None:
                step = float(price.step_seconds)
                look.wake(memory.since + ((look.now - memory.since) // step + 1) * step)
            return limit
    raise AssertionError(price)


def _past_touch(look: Look, part: OrderPart, price: Marketable, quote: Seen, asked: Asked) -> Decimal | None:
    """Return the limit past the opposite touch, or the touch itself where a broker has refused an exit; None = that side is empty."""
    if keeps_to_touch(look, part, asked.key):
        price = attrs.evolve(price, buffer_ticks=0)
    return past_touch(price, side_of(part), asked.quantity, quote, look.terms(part))


def _levels(own: Level | None) -> tuple[Level, ...]:
    return () if own is None else (own,)


def _modelled(look: Look, part: OrderPart, price: OptionModel, asked: Asked) -> Decimal | None:
    option = look.market.option(part.instrument_id)
    watched = look.seen(price.watch_instrument_id)
    if option is None or watched is None:
        return _blind(look, part)
    side, terms = side_of(part), look.terms(part)
    look.wake(look.now + MODEL_SECONDS)
    limit, memory = modelled(
        price, option, look.record(part).memory, side, watched, terms, look.now,
        future=look.market.is_future(price.watch_instrument_id),
    )  # fmt: skip
    look.remember(part, memory)
    return limit if limit is None else _stepped(limit, price.step_ticks, asked, terms.tick)


MODEL_SECONDS = 60.0
"""The seconds after which a modelled price is worked out again, because time itself changes it."""


def _stepped(limit: Decimal, steps: int, asked: Asked, tick: Decimal | None) -> Decimal:
    """Return the wanted limit, but the resting price while the two differ by less than `steps` ticks."""
    leg = asked.leg
    if leg is None or leg.price is None or tick is None or abs(limit - leg.price) >= steps * tick:
        return limit
    return leg.price


def _blind(look: Look, part: OrderPart) -> Decimal | None:
    look.cannot(part, *unseen(look.market, part.instrument_id, side_of(part)))
    return None


def _affordable(look: Look, part: OrderPart, price: Marketable, quote: Seen, asked: Asked) -> bool:
    """Whether crossing costs no more than the part allows (3.29)."""
    if price.maximum_cost_bps is None:
        return True
    side = side_of(part)
    cost = crossing_cost_bps(quote, side, asked.quantity)
    if cost is None:
        look.cannot(part, 409, texts.not_deep_enough(visible(quote, side), asked.quantity))
    elif cost > price.maximum_cost_bps:
        look.cannot(part, 409, texts.crossing_costs(cost, price.maximum_cost_bps))
    else:
        return True
    return False


# --- stops -------------------------------------------------------------------------------------------------------------


def _stop(look: Look, part: OrderPart, context: Context, price: Price, asked: Asked) -> StopPrice | None:
    record, side, terms = look.record(part), side_of(part), look.terms(part)
    match price:
        case NativeStop():
            return _native(look, part, price, asked)
        case Trail():
            stop, memory = trailed(price, record.memory, side, terms)
            look.remember(part, memory)
            return stop
        case Stages():
            entry = price.entry_price if price.entry_price is not None else entry_average(look, part, context.base)
            if entry is None:
                return None
            stop, memory = staged(price, entry, record.memory, side, terms)
            look.remember(part, memory)
            return stop
        case FromParentFill() | FromFillPrice():
            level = _from_fill(look, part, context, price, asked)
            return None if level is None else stop_at(level + record.memory.shift, price.limit_offset, side, terms)
    raise AssertionError(price)


def _carries(look: Look, part: OrderPart, stop: StopPrice) -> bool:
    """Whether an order can carry the stop's prices: they are above zero (1.4)."""
    lowest = stop.trigger if stop.limit is None else min(stop.trigger, stop.limit)
    if lowest <= 0:
        look.cannot(part, 400, texts.not_a_price(lowest))
    return lowest > 0


def _native(look: Look, part: OrderPart, price: NativeStop, asked: Asked) -> StopPrice | None:
    record = look.record(part)
    own = trigger_of(record, price)
    trigger = own if record.memory.stop is None else record.memory.stop  # the plan moved it to break even
    if price.limit_offset is not None:
        return stop_at(trigger, price.limit_offset, side_of(part), look.terms(part))
    if price.limit_reference is not None:
        limit = _referenced(look, part, price.limit_reference, asked)
        return None if limit is None else StopPrice(trigger, limit)
    if price.limit_price is None:
        return StopPrice(trigger, None)
    limit = record.price if record.price is not None else price.limit_price
    return StopPrice(trigger, limit + trigger - own)


def trigger_of(record: PartRecord, price: NativeStop) -> Decimal:
    """Return the given trigger of a stop: the plan's, or the one that a caller has set since."""
    return record.trigger_price if record.trigger_price is not None else price.trigger_price


def _is_past(look: Look, part: OrderPart, context: Context, trigger: Decimal) -> bool | None:
    """Whether the market has reached a stop's trigger; None while that is not known.

    A fill can arrive before the quote of the price that made it. If the entry filled at a price short of the trigger, an unchanged
    quote past the trigger is older than the fill. To act on it would sell at once what was just bought. So the next quote is waited
    for, at most a second; then the fill is believed.
    """
    quote, side, record = look.seen(part.instrument_id), side_of(part), look.record(part)
    if quote is None or not quote.is_past(trigger, side):
        return False
    base = context.base
    linked = isinstance(base, OrderPart) and base.each_fill is not None and base.instrument_id == part.instrument_id
    average = average_below(look, base) if linked else None
    if average is None or (average - trigger) * side.sign >= 0:
        return True
    if record.memory.base is None:
        look.remember(part, attrs.evolve(record.memory, base=quote.last_price))
    elif record.memory.base != quote.last_price:
        return True
    until = (look.now if record.due_at is None else record.due_at) + NEXT_QUOTE_SECONDS
    look.wake(until)
    return None if look.now < until else False


def _as_stop(look: Look, part: OrderPart, context: Context, side: Side, stop: StopPrice, asked: Asked) -> Wanted | None:
    """Return the stop as an order. Where the market is already past the trigger, the order is a plain limit (3.0, already past), or
    marketable where the engine made the trigger itself."""
    if asked.leg is not None:
        if asked.leg.trigger is not None and stop.trigger != asked.leg.trigger:
            return _as_moved(look, part, side, stop, asked.leg)
        jumped = _jumped_over(look, part, asked.leg)
        # Where the trigger stays, the limit stays too: a caller or another hand may have set it.
        return jumped or Wanted(asked.leg.order_type, asked.leg.price or stop.limit, stop.trigger)
    past = _is_past(look, part, context, stop.trigger)
    if past is None:
        return None
    if past and isinstance(price_of(look, part), Trail | Stages):
        return _as_fired(look, part, side, stop, asked.quantity)
    if not past:
        order_type = OrderType.SL if stop.limit is not None else OrderType.SL_M
        return Wanted(order_type, stop.limit, stop.trigger)
    if stop.limit is not None:
        return Wanted(OrderType.LIMIT, stop.limit)
    quote = look.seen(part.instrument_id)
    assert quote is not None
    limit = past_touch(FOLLOWING, side, asked.quantity, quote, look.terms(part))
    return None if limit is None else Wanted(OrderType.LIMIT, limit)


def _as_moved(look: Look, part: OrderPart, side: Side, stop: StopPrice, leg: Leg) -> Wanted | None:
    """Return a resting stop with its new trigger, or the fired stop where the market is already past the new trigger.

    A stop moved there would be refused, or be triggered at once and rest as a limit that nobody trades against.
    """
    quote = look.seen(part.instrument_id)
    if quote is None or quote.last_price is None:
        return None  # the old trigger protects until the market's price is known
    if quote.is_past(stop.trigger, side):
        return _as_fired(look, part, side, stop, leg.unfilled)
    return _jumped_over(look, part, leg) or Wanted(leg.order_type, stop.limit, stop.trigger)


def _as_fired(look: Look, part: OrderPart, side: Side, stop: StopPrice, quantity: int) -> Wanted | None:
    """Return the marketable order that a stop becomes, permanently, because the market passed its trigger between two looks."""
    quote = look.seen(part.instrument_id)
    limit = None if quote is None else past_touch(FOLLOWING, side, quantity, quote, look.terms(part))
    if limit is None:
        return None  # the other side is empty: the resting order stays
    look.note(part, marketable=True, fired=True, status_message=texts.fell_through(stop.trigger, side))
    return Wanted(OrderType.LIMIT, limit)


def gives_up_after(look: Look, price: Price) -> float | None:
    """Return how many seconds the market must be past a stop's limit before the stop becomes marketable; None = never (1.4)."""
    own = getattr(price, "marketable_after_seconds", None)
    return look.rules.marketable_after_seconds if own is None else float(own)


def _jumped_over(look: Look, part: OrderPart, leg: Leg) -> Wanted | None:
    """Return the marketable order that a stop-limit becomes after the market has been past its limit for `gives_up_after` seconds."""
    seconds, side = gives_up_after(look, price_of(look, part)), side_of(part)
    quote = None if seconds is None else look.seen(part.instrument_id)
    if seconds is None or quote is None or quote.last_price is None or leg.price is None:
        return None
    memory = look.record(part).memory
    if memory.past_limit_since is None:
        if (quote.last_price - leg.price) * side.sign <= 0:
            return None
        memory = attrs.evolve(memory, past_limit_since=look.now)
        look.remember(part, memory)
    elif (quote.last_price - leg.price) * side.sign <= 0 and look.now < memory.past_limit_since + seconds:
        look.remember(part, attrs.evolve(memory, past_limit_since=None))
        return None
    assert memory.past_limit_since is not None
    look.wake(memory.past_limit_since + seconds)
    if look.now < memory.past_limit_since + seconds:
        return None
    limit = past_touch(FOLLOWING, side, leg.unfilled, quote, look.terms(part))
    return None if limit is None else Wanted(leg.order_type, limit, leg.trigger)


# --- prices taken from fills -------------------------------------------------------------------------------------------


def _from_fill(
    look: Look, part: OrderPart, context: Context, price: FromParentFill | FromFillPrice, asked: Asked
) -> Decimal | None:
    side = side_of(part)
    if isinstance(price, FromFillPrice):
        return None if asked.instance is None else from_fill(price, asked.instance.price, side)
    average = entry_average(look, part, context.base)
    return None if average is None else from_fill(price, average, side)


def entry_average(look: Look, part: OrderPart, base: Part | None) -> Decimal | None:
    """Return the average price of the fills by which `part` is priced. Where a broker tells none, say what the part waits for."""
    average = average_below(look, base)
    if average is None and base is not None:
        untold = {leg.broker for order in own_orders_of(base) for leg in look.legs(order) if leg.price_untold}
        for broker in sorted(untold):
            sentence = texts.average_untold(broker)
            look.cannot(part, 503, sentence)
            look.untold.add(sentence)
    return average


def average_below(look: Look, base: Part | None) -> Decimal | None:
    """Return the average price of all fills of a part (of a group: of its order parts); None where it is not known."""
    if base is None:
        return None
    return average_of(leg for order in own_orders_of(base) for leg in look.legs(order))
