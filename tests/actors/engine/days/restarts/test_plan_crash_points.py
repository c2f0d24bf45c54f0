"""Killing the process at every write and every order message of a plan (order-engine 2.5, K1-K14): a bracket, a twap and a stop kept
in the engine with a real one behind it. The market goes its way meanwhile, and the next service comes up at once. Judged on the
exchange's ledger: it ends as it would have ended, or as a row of the table says."""

from collections import Counter

import pytest
import trio

from onebroker.actors.engine.orders.parent_records import LegState, ParentState
from tests.actors.engine.days.unknown.test_orders_turned_away import MANY, Door, turning_away
from tests.support.further import split
from tests.support.mortal import mortal
from tests.support.plan_days import UNTIL_HEALED_SECONDS, Script, beating_market, quiet, trade
from tests.support.plan_judge import histories, judge, unprotected

BRACKET = {
    "transaction_type": "BUY", "quantity": 60, "price": {"kind": "fixed", "price": {"at": -1}},
    "each_fill": {"part": "one_cancels_others", "rule": "shrink", "children": [
        {"transaction_type": "SELL", "price": {"kind": "native_stop", "trigger_price": {"at": -4}, "limit_price": {"at": -5}}},
        {"transaction_type": "SELL", "price": {"kind": "fixed", "price": {"at": 3}}, "hold": True},
    ]},
}  # fmt: skip
TWAP = {
    "transaction_type": "BUY", "quantity": 40, "price": {"kind": "marketable"},
    "execution": {"kind": "twap", "slices": 4, "over_minutes": 0.8},
}  # fmt: skip
TRIGGER = {
    "part": "one_cancels_others", "rule": "trigger", "children": [
        {"transaction_type": "SELL", "quantity": 50, "price": {"kind": "marketable", "follow": True},
         "when": {"price": {"level": {"at": -1}, "direction": "below"}}, "closes": True},
        {"transaction_type": "SELL", "quantity": 50, "closes": True,
         "price": {"kind": "native_stop", "trigger_price": {"at": -4}, "limit_price": {"at": -5}}},
    ],
}  # fmt: skip
DAYS = {
    "bracket": (BRACKET, [(3, "fill", 25), (6, "fill", 35), (12, "move", 3.5)]),
    "twap": (TWAP, []),
    "trigger": (TRIGGER, [(6, "move", -2)]),
    "turned away": (BRACKET, [(2, "turn away", 2), (3, "fill", 25), (9, "fill", 35), (15, "move", 3.5)]),
}
"""Plan -> what happens at which second after it was placed."""
TURNED_AWAY = {"turned away": 2}
"""Plan -> how many orders the broker turns away (too many calls): they go again."""
LASTS_SECONDS = 45
COMMITS = {"bracket": 22, "twap": 19, "trigger": 15, "turned away": 31}
"""More than any run has made (20, 17, 13, 28): how updates and answers interleave is left to chance."""
SENDS = {"bracket": 5, "twap": 4, "trigger": 3, "turned away": 7}
STEPS = [
    (name, f"{word} {number} {when}")
    for word, most in (("commit", COMMITS), ("send", SENDS))
    for name in DAYS
    for number in range(1, most[name] + 1)
    for when in ("before", "after")
]


def in_the_first(position):
    """Every death around a message, and every seventh around a write, before and after, of the plans whose messages are all taken; the
    further command plays all, and the model (`bench/model`) dies at any write of any plan."""
    plan, death = STEPS[position]
    word, number, when = death.split()
    return word == "send" or (plan not in TURNED_AWAY and int(number) % 7 == (0 if when == "before" else 1))


class Market(Script):
    """What happens at the exchange, whoever lives."""

    door: Door
    """What the broker does with orders."""

    async def happen(self, events):
        began = trio.current_time()
        for second, what, value in events:
            await trio.sleep_until(began + second)
            if what == "move":
                await self.move(value, False)
                continue
            if what == "turn away":
                self.door.left = value
                continue
            entry = next((one for one in self.day.exchange.all_orders() if self._is_entry(one)), None)
            if entry is not None and entry.status.value == "open":
                trade(self.day, entry, min(value, entry.pending_quantity))

    def _is_entry(self, order):
        mine = {(one["broker"], one["order_id"]) for one in self.day.messages("place")}
        return (order.broker, order.order_id) in mine and order.new.side.value == "BUY"


async def pass_day(day, plan, death):
    """Place the plan, kill the service at `death`, start the next at once, and wait for the end; return whether it died and whether the
    caller was answered."""
    synthetic, events = DAYS[plan]
    market, answered = Market(day), []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(beating_market, market)
        with turning_away(day, MANY, "POST", times=0) as market.door, mortal(day, death) as life:
            life.death = None
            async with trio.open_nursery() as outer:

                async def ask():
                    await market.step("place", {"type": "plan", "root": synthetic}, None)
                    answered.append(True)

                async def serve():
                    async with day.service(quotes=True):
                        market.begin()
                        with day.quotes.follow(market.instruments):
                            await day.until(market.can_trade)
                        await trio.sleep(2)
                        life.count()
                        life.death = death
                        outer.start_soon(ask)
                        nursery.start_soon(market.happen, events)
                        await trio.sleep(LASTS_SECONDS)
                    outer.cancel_scope.cancel()

                outer.start_soon(serve)
                await life.dead.wait()
                outer.cancel_scope.cancel()
        async with day.service(log_in=False, quotes=True):
            await day.until(lambda: day.status.value.running)
            await trio.sleep(LASTS_SECONDS if life.dead.is_set() else 1)
            market.slow = True
            await trio.sleep(UNTIL_HEALED_SECONDS)
            await quiet(day)
            nursery.cancel_scope.cancel()
    return life.dead.is_set(), bool(answered)


@pytest.mark.parametrize("plan", DAYS)
async def test_no_step_is_left_out(plan, day_kind, autojump_clock):
    day = day_kind(brokers=("zerodha",))
    died, _ = await pass_day(day, plan, "never")
    ((*_, record),) = histories(day).values()
    assert (died, record.state, net(day, record)) == (False, *ENDS[plan])
    assert len(day.ledger()["messages"]) == SENDS[plan] - TURNED_AWAY.get(plan, 0)
    assert (
        sum(any(getattr(op, "key", "").startswith("orders:") for op in ops) for ops in day.store.commits)
        <= COMMITS[plan]
    )


def net(day, record):
    """Return what the plan's orders have bought less sold, by the ledger."""
    mine = {(leg.broker, leg.order_id) for leg in record.legs}
    fills = [fill for fill in day.exchange.ledger.fills() if (fill.broker, fill.order_id) in mine]
    return sum(fill.side.sign * fill.quantity for fill in fills)


ENDS = {
    "bracket": (ParentState.COMPLETED, 0),
    "twap": (ParentState.COMPLETED, 40),
    "trigger": (ParentState.COMPLETED, -50),
    "turned away": (ParentState.COMPLETED, 0),
}
"""Plan -> state and net units it ends with when nobody is killed."""


@pytest.mark.parametrize(("plan", "death"), split(STEPS, in_the_first))
async def test_killed_there_a_plan_ends_as_it_would_have_or_says_what_is_missing(plan, death, day_kind, autojump_clock):
    day = day_kind(brokers=("zerodha",))
    died, answered = await pass_day(day, plan, death)
    assert [one for one in day.crashes.records() if "Lock" not in one.error] == []
    judge(day)
    told = histories(day)
    assert died or death.startswith("commit"), "a step that never comes is not a crash point"
    if not told:
        assert (day.messages("place"), answered) == ([], False)  # K1, K2
        return
    ((*_, record),) = told.values()
    never_sent = [leg for leg in record.legs if leg.state is LegState.NOT_SENT]
    if not record.legs:
        assert record.state is ParentState.REJECTED  # K4: the caller was told of nothing
        assert "restarted" in record.status_message
    elif never_sent:
        _judge_never_sent(day, plan, record, never_sent)
    else:
        assert (record.state, net(day, record)) == ENDS[plan], record
        assert [leg for leg in record.legs if not leg.state.final] == []


def _judge_never_sent(day, plan, record, never_sent):
    """K5: what was written and did not leave is not sent again; the plan stops there, and what it has opened is kept in bounds."""
    tags = Counter(message["tag"] for message in day.messages("place"))
    assert [leg.token for leg in never_sent if tags[leg.token]] == []
    state, whole = ENDS[plan]
    assert abs(net(day, record)) <= max(abs(whole), 60)
    resting = [leg for leg in record.legs if not leg.state.final]
    if resting:  # a target that never left: the stop goes on guarding all of it
        assert (record.state, unprotected(record)) == (ParentState.WORKING, {}), record
    else:
        assert record.state in (ParentState.REJECTED, ParentState.FAILED, state), record
