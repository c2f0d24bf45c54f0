"""Stops that move: trails (fixed, in percent, by average true range) and stages (order-engine 1.4). Pure.

A stop protects a position when the market moves against it. The watermark is the highest last price for a SELL stop and the
lowest for a BUY stop. The trigger follows the watermark and never moves back.
"""

from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import Memory
from onebroker.actors.engine.plan.market import Seen, Terms
from onebroker.actors.engine.plan.price_kinds import Milestone, Stages, Trail
from onebroker.actors.engine.plan.pricing.bars import BarRule, fold_bars
from onebroker.config.vocabulary import Side


@attrs.frozen
class StopPrice:
    trigger: Decimal
    limit: Decimal | None
    """None = SL-M."""


def stop_at(trigger: Decimal, limit_offset: Decimal | None, side: Side, terms: Terms) -> StopPrice:
    """Return a stop whose limit is `limit_offset` past its trigger. Both prices are snapped away from the market."""
    snapped = terms.towards(trigger, side)
    limit = None if limit_offset is None else terms.towards(snapped + side.sign * limit_offset, side)
    return StopPrice(snapped, limit)


def better(trigger: Decimal, other: Decimal, side: Side) -> bool:
    """Whether `trigger` protects more than trigger `other` for a stop of this side: a higher one for a SELL stop."""
    return (trigger - other) * side.sign < 0


def watch(memory: Memory, last: Decimal | None, side: Side, activate_at: Decimal | None) -> Memory:
    """Return the memory after a last price. First the stop is activated; the watermark starts at the price that activated it."""
    if last is None:
        return memory
    if not memory.active:
        if activate_at is not None and (last - activate_at) * side.sign > 0:
            return memory  # a sell stop waits until the price rises to it, a buy stop until it falls to it
        return attrs.evolve(memory, active=True, watermark=last)
    mark = memory.watermark
    return memory if mark is not None and (last - mark) * side.sign >= 0 else attrs.evolve(memory, watermark=last)


def trail_memory(trail: Trail, memory: Memory, quote: Seen | None, side: Side, now: float, opened: float) -> Memory:
    """Return the memory after a look at `now` that saw `quote`; None = there is no quote.

    `opened` is the session's opening, to which bars are aligned. Both times in epoch seconds.
    """
    memory = watch(memory, None if quote is None else quote.last_price, side, trail.activate_at)
    if trail.atr is None or not memory.active:
        return memory
    began = now if memory.began is None else memory.began
    rule = BarRule(seconds=float(trail.atr.bar_minutes * 60), opened=opened, armed_at=began, periods=trail.atr.periods)
    return attrs.evolve(memory, began=began, bars=fold_bars(memory.bars, quote, now, rule))


def distance(trail: Trail, memory: Memory, mark: Decimal) -> Decimal:
    """Return the trigger's present distance behind the watermark, in rupees."""
    if trail.atr is not None and memory.bars.atr is not None:
        return memory.bars.atr * trail.atr.multiple
    if trail.percent is not None:
        return mark * trail.percent / 100
    assert trail.points is not None
    return trail.points


def trailed(trail: Trail, memory: Memory, side: Side, terms: Terms) -> tuple[StopPrice | None, Memory]:
    """Return the wanted stop, and the memory that keeps it; None before the trail is active.

    The stop moves when the new trigger is at least `step_ticks` better, and it never moves back.
    """
    if not memory.active or memory.watermark is None:
        return None, memory
    wanted = memory.watermark + side.sign * distance(trail, memory, memory.watermark) + memory.shift
    return _moved(wanted, trail.limit_offset, trail.step_ticks, memory, side, terms)


def staged(stages: Stages, entry: Decimal, memory: Memory, side: Side, terms: Terms) -> tuple[StopPrice | None, Memory]:
    """Return the stop that the milestones want, and the memory that keeps it. A trigger that a caller has put further away is in force until the next
    milestone, and follows a milestone that trails from where it was put."""
    wanted, mark, passed = stages.stop_price, memory.watermark, 0
    if mark is not None:
        gain = -side.sign * (mark - entry)
        reached = [rule for rule in stages.rules if gain >= rule.gain]
        passed = len(reached)
        if reached:
            wanted = _milestone(reached[-1], entry, mark, side)
    if memory.own_price is not None:
        own = memory.own_price
        shift = own - wanted if better(wanted, own, side) else Decimal(0)
        memory = attrs.evolve(memory, own_price=None, stop=own, shift=shift, passed=passed)
    if passed == memory.passed:
        wanted += memory.shift
    return _moved(wanted, stages.limit_offset, stages.step_ticks, memory, side, terms)


def _milestone(rule: Milestone, entry: Decimal, mark: Decimal, side: Side) -> Decimal:
    if rule.stop_at_gain is not None:
        return entry - side.sign * rule.stop_at_gain
    assert rule.trail_points is not None
    return mark + side.sign * rule.trail_points


def _moved(
    wanted: Decimal, limit_offset: Decimal, step_ticks: int, memory: Memory, side: Side, terms: Terms
) -> tuple[StopPrice, Memory]:
    stop = stop_at(wanted, limit_offset, side, terms)
    held = memory.stop
    step = step_ticks * (terms.tick or Decimal(0))
    if held is not None and not (better(stop.trigger, held, side) and abs(stop.trigger - held) >= step):
        stop = stop_at(held, limit_offset, side, terms)
    return stop, attrs.evolve(memory, stop=stop.trigger)


def continue_from(trail: Trail, memory: Memory, trigger: Decimal, side: Side) -> Memory:
    """Return the memory after a caller, or the holder in the broker's app, set the trigger. The trail goes on from there (2.6), and a market that stands
    still moves nothing.

    A nearer trigger is that of a better watermark: the trail waits until the market gets there. A trigger that is further away stands for a longer
    distance: the difference is kept (`shift`), and each new watermark moves the stop from where it was put.
    """
    mark = _mark_of(trail, memory, trigger, side)
    best = memory.watermark
    if best is None or (mark - best) * side.sign < 0:
        return attrs.evolve(memory, watermark=mark, stop=trigger, shift=Decimal(0), active=True)
    shift = trigger - (best + side.sign * distance(trail, memory, best))
    return attrs.evolve(memory, stop=trigger, shift=shift, active=True)


def _mark_of(trail: Trail, memory: Memory, trigger: Decimal, side: Side) -> Decimal:
    """Return the watermark for which the rule gives a trigger. A distance in percent counts from the watermark, so it is a division."""
    if trail.percent is not None and (trail.atr is None or memory.bars.atr is None):
        return trigger / (1 + side.sign * trail.percent / 100)
    return trigger - side.sign * distance(trail, memory, trigger)
