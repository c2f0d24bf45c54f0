"""Moments, messages and runs that the tests of the rate budget share."""

import math
from datetime import datetime, timedelta
from types import MappingProxyType

from hypothesis import strategies as st

from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import Budget, Moment
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import IST

MORNING = datetime(2026, 11, 23, 9, 15, tzinfo=IST)
ORDER, READ, QUOTE, HISTORY = CallKind.ORDER, CallKind.READ, CallKind.QUOTE, CallKind.HISTORY


def at(seconds, start=MORNING):
    return Moment(monotonic=1000.0 + seconds, wall=start + timedelta(seconds=seconds))


def take(budget, count, seconds, kind=ORDER, priority=Priority.EXIT):
    return [budget.take(kind, priority, at(seconds)) for _ in range(count)]


limits = st.none() | st.integers(1, 12)
windows = st.builds(Windows, second=limits, minute=limits, half_hour=limits, hour=limits)
steps = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.01, 0.25, 0.5, 0.999, 1.0, 7.3, 59.0, 60.0, 299.9, 1700.0, 1800.0]),
        st.sampled_from([ORDER, ORDER, READ, QUOTE, HISTORY, CallKind.FILE]),
        st.sampled_from(list(Priority)),
        st.sampled_from(["send", "send", "send", "wait", "give back", "close", "restart"]),
    ),
    max_size=120,
)


def restarted(budget, order_windows, call_windows, now, kind_windows=MappingProxyType({})):
    fresh = Budget(order_windows, call_windows, kind_windows=kind_windows)
    fresh.load(budget.dump(now), now)
    return fresh


def run(script, order_windows, call_windows, kind_windows=MappingProxyType({}), *, restarts=True):
    """Play a script; return the (time, kind, priority) of every message that was let through and not given back."""
    budget = Budget(order_windows, call_windows, kind_windows=kind_windows)
    seconds = 0.0
    sent = []
    for pause, kind, priority, action in script:
        seconds += pause
        if action == "wait":
            wait = budget.wait_seconds(kind, priority, at(seconds))
            if math.isinf(wait):
                continue
            seconds += wait
            assert budget.room(kind, priority, at(seconds)), "a wait must end with room"
        if action == "close":
            budget.close_for(1.0, at(seconds))
        if action == "restart" and restarts:
            budget = restarted(budget, order_windows, call_windows, at(seconds), kind_windows)
            sent = [(when, what, why, None) for when, what, why, _ in sent]  # their places died with the process
        if action == "give back" and sent and sent[-1][3] is not None:
            budget.give_back(sent.pop()[3])
        elif action in {"send", "wait"} and budget.room(kind, priority, at(seconds)):
            sent.append((at(seconds).monotonic, kind, priority, budget.take(kind, priority, at(seconds))))
    return [row[:3] for row in sent]
