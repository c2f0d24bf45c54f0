"""Judges a day at its end, when everything is healed and at rest: by the exchange's ledger and by every version of every parent.

Rules: nothing is sent twice; each order has its leg, and both say the same; nothing rests under a parent that has ended; states follow the tables; what a
person took off stays off; an exit sells no more than is held; a trail never loosens; no actor crashed.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from bench.model.story import ENTRIES, GUARDED, GUARDS, Story, Theme
from bench.model.watching import TAKEN_BACK_SECONDS, TRAILS, Place, Watch, booked, follows, place_of
from onebroker.actors.engine.orders.parent_records import ParentRecord
from onebroker.actors.engine.plan.machine.held_units import ARM_SECONDS
from onebroker.brokers.simulator.exchange.ledger import Act
from onebroker.brokers.simulator.world.model import SimOrder
from tests.support.day import Day
from tests.support.plan_judge import histories, judge_book, judge_sends, judge_steps

JUMP_SECONDS = 1.0
STORM, STORM_SECONDS = 14, 25.0
"""More orders than the rungs of a ladder, or than an exit's tries in such a time."""
TURNS = 4
"""How often an order may become larger after it became smaller, or smaller after larger, in such a time: a person and late positions do that too."""
REACT_SECONDS = 20.0
"""In so long a time after an act of the person, resting exits are made smaller. The market may be faster."""
WHOLE = (
    *GUARDED,
    "oto",
    "time_stop",
    "iceberg",
    "twap",
    "ladder",
    "post_only",
    "discretionary",
    "good_till_time",
    "freeze_slicer",
    "chaser",
    "peg",
)
"""The types whose root sends no more than the body's quantity."""


def judge(day: Day, watch: Watch) -> list[str]:
    """Return the violated rules."""
    told = histories(day)
    found: list[str] = []
    for name, rule in {
        "sends": lambda: judge_sends(day, told),
        "book": lambda: judge_book(day, told),
        "steps": lambda: [judge_steps(versions) for versions in told.values()],
    }.items():
        if watch.annulled and name != "sends":
            continue  # fills shrink, and a parent may keep the fill that it was told of
        if name == "steps" and _loses_writes(watch.story):
            continue  # a write that took effect unseen is in the history, but never was what the engine knew
        try:
            rule()
        except AssertionError as error:
            found.append(f"{name}: {str(error)[:600]}")
    # An engine that starts while the store is away is started again by its supervisor.
    excused = ("Lock", "StoreError") if _loses_writes(watch.story) else ("Lock",)
    errors = [one.error for one in day.crashes.records()]
    found += [f"crash: {error}" for error in errors if not any(word in error for word in excused)]
    parents = watch.parents()
    found += _twice(watch, parents)
    found += _stale(watch, parents)
    found += _taken_off(watch, parents)
    found += _too_many(watch, parents)
    if watch.story.theme is Theme.LONG:
        found += _shorts(day, watch)
    found += _loosened(day, watch, parents)
    found += _storms(told.values())
    found += _flickers(day)
    found += _given_up(watch, parents)
    return found


def _loses_writes(story: Story) -> bool:
    return any(step.verb in ("lose_store", "lose_answer") for life in story.lives for step in life.steps)


def _twice(watch: Watch, parents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A place that its caller repeats is one order."""
    for intent, count in Counter(parent["intent_id"] for parent in parents if parent["legs"]).items():
        if count > 1:
            yield f"twice: {count} parents for {intent}"


def _stale(watch: Watch, parents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A parent of which nothing is open says of no units that they are open, but for the time until an annulled trade is believed."""
    if any(watch.now - at <= TAKEN_BACK_SECONDS for at in watch.annulled_at):
        return
    orders = watch.orders()
    for parent in parents:
        if parent["routed_from"] not in GUARDED or "open without a stop" not in (parent["status_message"] or ""):
            continue
        sides = Counter[str]()
        for leg in parent["legs"]:
            order = orders.get((leg["broker"], leg["order_id"]))
            if order is not None:
                sides[order.new.side] += order.filled_quantity
        if sides["BUY"] == sides["SELL"]:
            yield f"stale: {parent['routed_from']} has nothing open and says {parent['status_message']}"


def _storms(told: Iterable[Sequence[ParentRecord]]) -> Iterator[str]:
    """No part of a plan sends order after order that comes to nothing. (The slices of an iceberg are many, and they fill.)"""
    for versions in told:
        sent: defaultdict[str, list[float]] = defaultdict(list)
        for leg in versions[-1].legs:
            if leg.state.final and not leg.filled_quantity:
                sent[leg.part].append(leg.sent_at)
        for part, times in sent.items():
            times.sort()
            if any(later - first < STORM_SECONDS for first, later in zip(times, times[STORM:], strict=False)):
                yield f"storm: {part} of {versions[-1].synthetic_type} has sent more than {STORM} orders in {STORM_SECONDS} s"


def _flickers(day: Day) -> Iterator[str]:
    """No order is made smaller and larger again and again."""
    sizes: defaultdict[tuple[str, str | None], list[tuple[float, int]]] = defaultdict(list)
    for message in day.exchange.ledger.messages(1):
        if message.verb == "modify" and message.quantity is not None:
            sizes[message.broker, message.order_id].append((_monotonic(day, message.at), message.quantity))
    for name, told in sizes.items():
        changed = [later for before, later in itertools.pairwise(told) if later[1] != before[1]]
        turns = [
            at
            for (_, first), (_, second), (at, third) in zip(changed, changed[1:], changed[2:], strict=False)
            if (second - first) * (third - second) < 0
        ]
        if any(later - first < STORM_SECONDS for first, later in zip(turns, turns[TURNS:], strict=False)):
            yield f"flickers: order {name[1]} of {name[0]} was made smaller and larger more than {TURNS} times in {STORM_SECONDS} s"


def _taken_off(watch: Watch, parents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What the person took off an entry is not sent again."""
    orders = watch.orders()
    for parent in parents:
        quantity = parent["body"].get("quantity")
        side = parent["body"].get("transaction_type")
        own = [leg for leg in parent["legs"] if leg["part"] == "root" and leg["order_id"]]
        own = [leg for leg in own if leg["transaction_type"] == side]  # not what closes its fills
        taken = sum(watch.taken[leg["broker"], leg["order_id"]] for leg in own)
        is_changed = any(
            (leg["broker"], leg["order_id"]) in watch.changed
            for leg in own
            if not watch.taken[leg["broker"], leg["order_id"]]
        )
        if (
            not taken
            or parent["routed_from"] not in WHOLE
            or not isinstance(quantity, int)
            or is_changed
            or parent["parent_order_id"] in watch.resized
        ):
            continue
        legs = [orders[leg["broker"], leg["order_id"]] for leg in own if (leg["broker"], leg["order_id"]) in orders]
        out = sum(order.filled_quantity + order.pending_quantity for order in legs if order.new.side == side)
        if out > quantity - taken:
            yield f"taken off: {parent['routed_from']} has {out} of {quantity} out after a person took {taken} off"


def _too_many(watch: Watch, parents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """An entry never fills for more than was asked."""
    orders = watch.orders()
    for parent in parents:
        quantity = parent["body"].get("quantity")
        if (
            parent["routed_from"] not in (*ENTRIES, *GUARDED, None)
            or not isinstance(quantity, int)
            or parent["parent_order_id"] in watch.resized
        ):
            continue
        own = [
            (leg["broker"], leg["order_id"])
            for leg in parent["legs"]
            if leg["part"] in ("root", "") and leg["order_id"]
        ]
        if any(name in watch.changed for name in own):
            continue
        side = parent["body"].get("transaction_type")
        filled = sum(orders[name].filled_quantity for name in own if name in orders and orders[name].new.side == side)
        if filled > quantity:
            yield f"too many: {parent['routed_from']} filled {filled} of {quantity}"


def _shorts(day: Day, watch: Watch) -> Iterator[str]:
    """On a day of purchases and their exits nothing is ever short, but for a moment after an act of the person."""
    if watch.annulled:
        return
    ours = {(message["broker"], message["order_id"]) for message in day.messages("place")}
    left_alone, entries = _left_alone(watch), _placed_over_nothing(day) & _of_guards(watch)
    net, sold_at = Counter[Place](), dict[Place, float]()
    for event in booked(day):
        if isinstance(event, Act):
            net[event.broker, event.instrument_id, event.product] -= event.quantity
            net[event.broker, event.instrument_id, event.to_product] += event.quantity
            continue
        place = (event.broker, event.instrument_id, str(event.product))
        before, last = net[place], sold_at.get(place, -math.inf)
        if event.side.sign < 0:
            sold_at[place] = _monotonic(day, event.at)
        net[place] += event.side.sign * event.quantity
        covered = watch.story.held if place[2] == "CNC" and event.broker == day.codes[0] else 0
        lowest = min(before, 0) if event.side.sign < 0 else net[place]
        if (
            event.side.sign > 0
            or net[place] + covered >= 0
            or net[place] >= lowest
            or (event.broker, event.order_id) not in ours
            or place in left_alone
            or (event.broker, event.order_id) in entries
        ):
            continue
        moment = _monotonic(day, event.at)
        excused = watch.was_blind(moment) or any(0 <= moment - acted <= REACT_SECONDS for acted in watch.person_at)
        # A jump of the market that fills the stop and the target, both at the exchange, is faster than any cancel.
        excused = excused or (moment - last <= JUMP_SECONDS and watch.rests_beside)
        if not excused:
            yield f"short: order {event.order_id} made {place} {net[place]} at {event.at}"


def _placed_over_nothing(day: Day) -> set[tuple[str, str]]:
    """Return the sales that were placed where nothing was held, nor came for ARM_SECONDS: they are their caller's entries."""
    course: defaultdict[Place, list[tuple[float, int]]] = defaultdict(lambda: [(-math.inf, 0)])
    for event in booked(day):
        moment = _monotonic(day, event.at)
        if isinstance(event, Act):
            moved = [(event.product, -event.quantity), (event.to_product, event.quantity)]
        else:
            moved = [(event.product, event.side.sign * event.quantity)]
        for product, units in moved:
            at = course[event.broker, event.instrument_id, str(product)]
            at.append((moment, at[-1][1] + units))
    found = set[tuple[str, str]]()
    for order in day.exchange.all_orders():
        began = _monotonic(day, order.placed_at.isoformat())
        at = course[place_of(order)]
        before = [units for moment, units in at if moment <= began][-1]
        since = [units for moment, units in at if began < moment <= began + ARM_SECONDS]
        if order.new.side == "SELL" and max(before, *since, 0) == 0:
            found.add((order.broker, order.order_id))
    return found


def _of_guards(watch: Watch) -> set[tuple[str, str]]:
    """Return the orders of plans that guard without an entry: by their type, or as their caller has written them."""
    guards = (
        one for one in watch.parents() if one["synthetic_type"] == "plan" and one["routed_from"] in (None, *GUARDS)
    )
    return {(leg["broker"], leg["order_id"]) for parent in guards for leg in parent["legs"]}


def _left_alone(watch: Watch) -> set[Place]:
    """Return where a caller wants exits that stay as they are when their position becomes smaller."""
    orders = watch.orders()
    own = [leg for parent in watch.parents() if not follows(parent) for leg in parent["legs"]]
    found = [orders[leg["broker"], leg["order_id"]] for leg in own if (leg["broker"], leg["order_id"]) in orders]
    return {place_of(order) for order in found}


def _monotonic(day: Day, at: str) -> float:
    return day.clock.monotonic() - (day.clock.now() - datetime.fromisoformat(at)).total_seconds()


def _given_up(watch: Watch, parents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """An exit whose last order never reached its broker is not given up, unless a caller has ended its plan."""
    for parent in parents:
        if parent["routed_from"] not in GUARDED or parent["state"] not in ("working", "failed", "rejected"):
            continue
        last = {leg["part"]: leg for leg in parent["legs"] if leg["part"] != "root"}
        for path, leg in last.items():
            state = parent["parameters"]["parts"].get(path, {}).get("state")
            if leg["state"] == "not_sent" and state in ("failed", "rejected"):
                yield f"given up: {path} of {parent['routed_from']} {parent['parent_order_id']} never reached {leg['broker']}"


def _loosened(day: Day, watch: Watch, parents: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The engine never moves a trailing stop away from the market, nor below where the person put it."""
    orders = watch.orders()
    messages = day.exchange.ledger.messages(1)
    for parent in parents:
        if parent["routed_from"] not in TRAILS or parent["parent_order_id"] in watch.resized:
            continue
        for leg in parent["legs"]:
            name = (leg["broker"], leg["order_id"])
            moved = watch.triggers.get(name, [])
            if (name in watch.changed and not moved) or name not in orders or orders[name].new.trigger_price is None:
                continue
            own = [one for one in messages if (one.broker, one.order_id) == name and one.trigger_price is not None]
            taken = [one for one in own if one.answer.get("status", "200").startswith("200")]
            yield from _moved_back(day, orders[name], taken, moved)


def _moved_back(
    day: Day, order: SimOrder, messages: Iterable[Any], moved: Sequence[tuple[float, Decimal]]
) -> Iterator[str]:
    """`moved`: when the person moved the trigger, and to which price. The engine has seen that REACT_SECONDS later."""
    sign, best, settled = -order.new.side.sign, None, -math.inf
    own = [(_monotonic(day, message.at), message.trigger_price, True) for message in messages]
    for at, trigger, ours in sorted([*own, *((at, trigger, False) for at, trigger in moved)]):
        if not ours:
            settled = at + REACT_SECONDS
        elif best is not None and at > settled and sign * (trigger - best) < 0:
            yield f"loosened: {order.order_id} from {best} to {trigger}"
            return
        best = trigger
