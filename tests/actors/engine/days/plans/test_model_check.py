"""Whole plans under fills in any order, races, faults, outages, kills and restarts, judged on the exchange's ledger and on all that
was stored (rules 2.3; order-engine 2). A longer search, which also makes what it finds small:
`MODEL_DAYS=2000 pytest --further --timeout 0 tests/actors/engine/days/plans/test_model_check.py`."""

import os
from datetime import time

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.further import split
from tests.support.plan_days import closing_at, play
from tests.support.plan_judge import judge
from tests.support.plan_shapes import plans

FEW, DAYS = 3, int(os.environ.get("MODEL_DAYS", "40"))
"""So many days the first command plays, and so many the further one: more to search longer."""
PHASES = (Phase.generate, Phase.shrink) if "MODEL_DAYS" in os.environ else (Phase.generate,)  # shrinking takes its time
PERCENTS = st.sampled_from([-6, -4.5, -3, -1.5, -0.5, 0, 0.5, 1.5, 3, 4.5, 6])
WHICH = st.integers(0, 3)
PARTS = st.sampled_from(
    [None, None, "root", "root.each_fill", "root.each_fill.children.0", "root.each_fill.children.1", "root.children.0",
     "root.children.1", "root.first", "root.then"]
)  # fmt: skip
CHANGES = st.sampled_from(
    [{"price": -2}, {"price": 1}, {"quantity": 4}, {"quantity": 90}, {"trigger_price": -3, "price": -4}]
)
FAULTS = st.sampled_from(
    ["drop_after_accept", "garbage_body", "http_500", "refuse_connections", "stall_stream", "drop_stream",
     "duplicate_fill_events", "late_book", "latency", "reject_orders", "reject_cancels"]
)  # fmt: skip
ONCE = st.sampled_from(
    ["drop_after_accept", "garbage_body", "http_500", "refuse_connections", "reject_orders", "reject_cancels"]
)


def step(verb, first=None, second=None):
    return st.tuples(st.just(verb), st.none() if first is None else first, st.none() if second is None else second)


MARKET = st.one_of(
    step("fill", WHICH, st.sampled_from([None, 1, 5, 11])),
    step("move", PERCENTS, st.sampled_from([False, False, False, True])),
)
CALLER = st.one_of(
    step("overtake", st.sampled_from(["cancel", "modify", "stop"]), WHICH),
    step("cancel", WHICH), step("stop", WHICH, PARTS), step("modify", WHICH, CHANGES), step("modify_held", WHICH, CHANGES),
    step("end_outside", WHICH), step("place", plans), step("flatten"),
    step("simple", st.sampled_from(["BUY", "SELL"]), st.sampled_from([-1, 1])),
)  # fmt: skip
TROUBLE = st.one_of(
    step("once", ONCE, st.integers(1, 2)), step("fault", FAULTS, st.sampled_from([0.3, 3, 12])),
    step("outage", st.integers(0, 1), st.sampled_from([3, 20])), step("lose_answer"),
    step("lose_store", st.sampled_from(["not sent: away", "connection lost"]), st.sampled_from([0.5, 5, 25])),
)  # fmt: skip
STEP = st.sampled_from([MARKET, MARKET, MARKET, MARKET, CALLER, TROUBLE]).flatmap(lambda kind: kind)
PAUSES = st.sampled_from([0, 0.01, 0.3, 1, 2, 4, 12])
DEATHS = st.one_of(
    st.none(),
    st.builds(
        lambda word, number, when: f"{word} {number} {when}",
        st.sampled_from(["commit", "commit", "send"]),
        st.integers(1, 9),
        st.sampled_from(["before", "after"]),
    ),
)
FIRST = st.tuples(step("place", plans), st.sampled_from([0, 0.3, 2]))
STEPS = st.lists(st.tuples(STEP, PAUSES), min_size=3, max_size=12)
LIVES = st.builds(
    lambda first, steps, death, more: [([first, *steps], death), *more],
    FIRST, STEPS, DEATHS, st.lists(st.tuples(STEPS, DEATHS), max_size=2),
)  # fmt: skip
CLOSES = st.sampled_from([None, None, None, 2, 5])


@pytest.mark.parametrize("days", split((FEW, DAYS), lambda position: position == 0))
def test_whatever_happens_to_plans_the_ledger_and_the_parents_agree(days, day_kind):
    @settings(
        max_examples=days,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=PHASES,
        database=None,
        print_blob=True,
    )
    @given(lives=LIVES, closes_after=CLOSES)
    def prove(lives, closes_after):
        trio.run(live_once, day_kind, lives, closes_after, clock=trio.testing.MockClock(autojump_threshold=0))

    prove()


async def live_once(day_kind, lives, closes_after):
    calendar = None if closes_after is None else closing_at(time(10, closes_after))
    day = day_kind(calendar=calendar)
    with trio.fail_after(86_400):
        script = await play(day, lives)
    judge(day, resized=script.resized, changed=script.changed)
    assert [one for one in day.crashes.records() if "Lock" not in one.error] == []
