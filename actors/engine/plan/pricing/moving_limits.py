"""Limits that move by a rule of their own: chase, follow_instrument, option_model, from_parent_fill (order-engine 1.4). Pure."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import Memory
from onebroker.actors.engine.plan.market import Seen, Terms
from onebroker.actors.engine.plan.price_kinds import (
    Anchor,
    Chase,
    ExitOrder,
    FollowInstrument,
    FromFillPrice,
    FromParentFill,
    OptionModel,
    WatchField,
)
from onebroker.actors.engine.plan.pricing.black76 import Option, forward_of_spot, premium, years_left
from onebroker.actors.engine.plan.pricing.touch import beyond, clip
from onebroker.config.vocabulary import Side

CROSS_TICKS = 2
"""How far past the opposite touch a chase goes once it may cross."""
MODEL_DIGITS = 6
"""Decimals of a rupee to which a model's premium is rounded: far below a tick, far above the noise of binary fractions."""


def chased(
    chase: Chase, memory: Memory, side: Side, quote: Seen, terms: Terms, now: float
) -> tuple[Decimal | None, Memory]:
    """Return the present limit of a chase and its memory; the limit is None while there is no price to begin at.

    Each whole `step_seconds` since `memory.since` is one step towards the other side. The limit does not pass the opposite touch
    before `cross_after_seconds`, and never passes the cap.
    """
    base = memory.base if memory.base is not None else chase.start_price or quote.own(side)
    if base is None:
        return None, memory
    began = now if memory.began is None else memory.began
    since = now if memory.since is None else memory.since
    memory = attrs.evolve(memory, base=base, began=began, since=since)
    steps = int((now - since) // float(chase.step_seconds))
    wanted = base + side.sign * steps * chase.step_ticks * (terms.tick or Decimal(0))
    opposite = quote.opposite(side)
    if chase.cross_after_seconds is not None and now - began >= float(chase.cross_after_seconds):
        if opposite is not None:
            wanted = beyond(opposite, side, CROSS_TICKS, terms)
    elif opposite is not None and (base - opposite) * side.sign <= 0:
        wanted = clip(wanted, side, opposite)
    if chase.cap_price is not None:
        wanted = clip(wanted, side, chase.cap_price)
    return terms.passive(wanted, side), memory


def followed(
    follow: FollowInstrument, memory: Memory, side: Side, watched: Seen | None, terms: Terms
) -> tuple[Decimal | None, Memory]:
    """Return the limit that follows another instrument, and the memory; the limit is None while that instrument has no price."""
    now = None if watched is None else _watched(follow.watch_field, watched)
    if now is None:
        return None, memory
    base = memory.base if memory.base is not None else now
    level = follow.base_price + follow.delta * (now if follow.anchor is Anchor.ZERO else now - base)
    memory = at_distance(attrs.evolve(memory, base=base), level)
    wanted = level + memory.shift
    return terms.passive(_within(wanted, follow.lowest_price, follow.highest_price), side), memory


def at_distance(memory: Memory, level: Decimal | None) -> Memory:
    """Return the memory with the distance of a caller's own price from the rule's price; from then on the rule keeps that distance
    (rules 2.4.4).

    `level` is the rule's price without its bounds; None = not known now. Nothing changes then, or when no own price is pending.
    """
    if memory.own_price is None or level is None:
        return memory
    return attrs.evolve(memory, shift=memory.own_price - level, own_price=None)


def _watched(field: WatchField, quote: Seen) -> Decimal | None:
    match field:
        case WatchField.BID:
            return quote.bid
        case WatchField.OFFER:
            return quote.offer
    return quote.last_price


def _within(price: Decimal, lowest: Decimal | None, highest: Decimal | None) -> Decimal:
    if lowest is not None:
        price = max(price, lowest)
    return price if highest is None else min(price, highest)


def modelled(
    model: OptionModel,
    option: Option,
    memory: Memory,
    side: Side,
    watched: Seen | None,
    terms: Terms,
    now: float,
    *,
    future: bool,
) -> tuple[Decimal | None, Memory]:
    """Return the option's limit, worked out from the watched price, and the memory. With `future` the watched price is the forward itself."""
    if watched is None or watched.last_price is None:
        return None, memory
    rate, years = float(model.interest_rate) / 100, years_left(option, now)
    spot = float(watched.last_price)
    forward = spot if future else forward_of_spot(spot, rate, years)
    worth = premium(option, forward, volatility=float(model.volatility) / 100, rate=rate, years=years)
    # The rounding noise of floats must not snap a price that is on the tick to the next tick.
    modelled_price = Decimal(repr(round(worth, MODEL_DIGITS)))
    memory = at_distance(memory, modelled_price)
    wanted = _within(modelled_price + memory.shift, model.lowest_price, model.highest_price)
    if model.worst_price is not None:
        wanted = clip(wanted, side, model.worst_price)
    return terms.passive(wanted, side), memory


def from_fill(price: FromParentFill | FromFillPrice, filled_at: Decimal, side: Side) -> Decimal:
    """Return the price of an exit of `side`, measured from the fill price: a limit on the profit side, a stop on the losing side.
    The price is not snapped."""
    away = price.distance if price.distance is not None else filled_at * (price.percent or Decimal(0)) / 100
    # The exit's side shows the position: a SELL exit closes a long position, which gains upwards.
    gains = -side.sign
    return filled_at + (gains if price.order is ExitOrder.LIMIT else -gains) * away
