"""When the lifetime of a part ends, and what happens to the part then (order-engine 1.8).

Ends are closes of sessions. Where no session is known (no list of instruments ever had the part's instrument, or the calendar knows no
further day), a part must still end: then days are counted by the calendar, and a part of one day ends UNKNOWN_DAYS later. That is longer than
any market is closed, so no part ends for want of a fact that is only late.
"""

from datetime import datetime, time, timedelta

import attrs

from onebroker.actors.engine.orders.part_state import Ending, PartState
from onebroker.actors.engine.plan.execution_kinds import Daily
from onebroker.actors.engine.plan.machine.close_filled import units_to_close
from onebroker.actors.engine.plan.machine.conditions import fired, instant, instant_of
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.overdue import block_due, cannot_leave, has_no_price, in_session
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.parts import AppliesTo, Lifetime, OnEnd, OrderPart, Part, TimeOfDay, own_orders_of
from onebroker.config.clock import IST, from_epoch

IN_LIFETIME = "lifetime."
"""The prefix under which a record keeps the conditions of a lifetime, next to those of `when`."""


UNKNOWN_DAYS = 7
"""Days after which a part of one day is over when no session is known."""


def over(look: Look, part: Part) -> bool:
    """Whether the part's own lifetime has ended."""
    lifetime, due_at = part.lifetime, look.record(part).due_at
    if lifetime is None or due_at is None:
        return False
    ends = [at for at in _instants(look, part, lifetime, due_at) if at is not None]
    for at in ends:
        look.wake(at)
    passed = any(look.now >= at for at in ends)
    ended = passed or (lifetime.when is not None and fired(look, part, lifetime.when, IN_LIFETIME))
    return ended and not (lifetime.on_end is OnEnd.CLOSE_FILLED and _waits(look, part))


def _waits(look: Look, part: Part) -> bool:
    """Whether a lifetime that closes fills waits, because a close could not leave now (1.11). The exits then stay, which the end would cancel."""
    waits = False
    for order in own_orders_of(part):
        record = look.record(order)
        if record.ending is not None or look.closing_legs(order) or units_to_close(look, order) <= 0:
            continue
        side = side_of(order).opposite
        brokers = {leg.broker for leg in look.legs(order) if leg.filled}
        why = cannot_leave(look, brokers) or has_no_price(look, order, order.instrument_id, side)
        if why is not None and in_session(look, order.instrument_id):
            block_due(look, order, why, blind=order.instrument_id)
            waits = True
    return waits


def _instants(look: Look, part: Part, lifetime: Lifetime, due_at: float) -> tuple[float | None, ...]:
    return (
        None if lifetime.at_time is None else instant(_own_day(part, due_at), lifetime.at_time),
        None if lifetime.after_minutes is None else due_at + float(lifetime.after_minutes) * 60,
        None if lifetime.after_days is None else _close_after(look, part, due_at, lifetime.after_days),
    )


def _close_after(look: Look, part: Part, due_at: float, days: int) -> float | None:
    """Return the close of the trading day `days` calendar days later, or of the last trading day before it.

    If no session is known, return the end of that calendar day. None for a group without orders.
    """
    order = next(own_orders_of(part), None)
    if order is None:
        return None
    first = look.session(order, due_at)
    if first is None:
        return _day_after(due_at, days)
    # Searched backwards: a plan may live a year, and each of its looks asks.
    day, first_day = from_epoch(due_at).date() + timedelta(days=days), from_epoch(first.opens).date()
    last_day = day
    while day > first_day:
        found = look.session(order, datetime.combine(day, time(), IST).timestamp())
        if found is not None and from_epoch(found.opens).date() <= last_day:
            return found.closes
        day -= timedelta(days=1)
    return first.closes


def ending_of(lifetime: Lifetime) -> Ending:
    """Return how the end of a lifetime ends the order parts that it covers."""
    match lifetime.on_end:
        case OnEnd.CANCEL:
            return Ending(state=PartState.EXPIRED)
        case OnEnd.MARKETABLE:
            return Ending(state=PartState.EXPIRED, marketable=True)
        case OnEnd.CLOSE_FILLED:
            return Ending(state=PartState.COMPLETED, close=True)


def applies(lifetime: Lifetime, *, has_sent: bool) -> bool:
    """Whether the end of the lifetime applies to the part: `has_sent` says whether the part has sent orders."""
    return lifetime.applies_to is AppliesTo.BOTH or (lifetime.applies_to is AppliesTo.WORKING) == has_sent


def lives_on(look: Look, part: OrderPart, context: Context) -> bool:
    """Whether the part outlives its session: its own lifetime or one above counts days, or the part is daily.

    Days of waiting end once the part has fired; the order is then an order of that day (3.19).
    """
    if isinstance(part.execution, Daily) or context.lives_on or (counts_days(part) and not waits_days(part)):
        return True
    return (context.waits_on or waits_days(part)) and look.record(part).fired_at is None


def days_are_over(look: Look, part: OrderPart, execution: Daily) -> bool:
    """Whether the days of a daily part have passed: the next session is on a day after the part's last day (3.13)."""
    due_at, session = look.record(part).due_at, look.session(part, look.now)
    if due_at is None:
        return False
    if session is None:
        end = _day_after(due_at, execution.valid_days)
        look.wake(end)
        return look.now >= end
    look.wake(session.closes)
    return (from_epoch(session.opens).date() - from_epoch(due_at).date()).days > execution.valid_days


def _own_day(part: Part, due_at: float) -> float:
    """Return an instant (epoch seconds) of the day to which the part's times belong. This is the day it became due, or a later day that
    its `when`, or the `when` of all its orders, names."""
    waits = (
        [part.when]
        if isinstance(part, OrderPart) or part.when is not None
        else [order.when for order in own_orders_of(part)]
    )
    days = [wait for wait in waits if isinstance(wait, TimeOfDay) and wait.day is not None]
    if not days or len(days) < len(waits):
        return due_at
    return max(due_at, min(instant_of(attrs.evolve(time_of_day, at=time()), due_at) for time_of_day in days))


def counts_days(part: Part) -> bool:
    return part.lifetime is not None and part.lifetime.after_days is not None


def waits_days(part: Part) -> bool:
    """Whether the part's lifetime counts only days of waiting."""
    return counts_days(part) and part.lifetime is not None and part.lifetime.applies_to is AppliesTo.WAITING


def day_is_over(look: Look, part: OrderPart, context: Context) -> bool:
    """Whether the session of the part's day has closed. That is the day on which it became due, unless it waits for a later day."""
    due_at, fired_at = look.record(part).due_at, look.record(part).fired_at
    if due_at is None:
        return False
    waited = fired_at is not None and (context.waits_on or waits_days(part))
    return session_closed(look, part, fired_at if waited and fired_at is not None else _own_day(part, due_at))


def session_closed(look: Look, part: OrderPart, since: float) -> bool:
    """Whether the session that was open at `since` (epoch seconds), or came next after it, has closed."""
    session = look.session(part, since)
    closes = _day_after(since, UNKNOWN_DAYS) if session is None else session.closes
    look.wake(closes)
    return look.now >= closes


def _day_after(since: float, days: int) -> float:
    """Return the end of the day (India) that is `days` days after the day of `since`; epoch seconds."""
    last_day = from_epoch(since).date() + timedelta(days=days)
    return datetime.combine(last_day + timedelta(days=1), time(), IST).timestamp()
