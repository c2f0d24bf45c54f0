"""When a clock moves a waiting part next, as callers are shown it."""

from datetime import time
from decimal import Decimal as D

from onebroker.actors.engine.plan.execution_kinds import Daily
from onebroker.actors.engine.plan.price_kinds import NativeStop
from onebroker.actors.engine.shown.plan_answers import next_at
from tests.actors.engine.plan.trees import order
from tests.actors.engine.plan.world import MORNING, Runner


def test_a_daily_part_says_when_it_sends_its_next_order():
    part = order(
        side="SELL",
        price=NativeStop(trigger_price=D(95), limit_price=D(94)),
        execution=Daily(arm_at=time(9, 25), valid_days=1),
    )
    run, day = Runner(part).quote(100, 99.95, 100.05).at(1), 86_400

    def at():
        return next_at(part, run.parts["root"], run.world.now)

    assert (at(), run.sent()) == (MORNING + 300, [])
    run.at(300)
    assert (at(), len(run.sent())) == (None, 1)
    run.book("A1", "expired")
    assert at() == MORNING + 300 + day
    run.at(day)
    assert at() == MORNING + 300 + day
    run.at(day + 300)
    assert (at(), len(run.sent())) == (None, 1)
    run.book("A2", "expired")
    assert at() is None  # its days are over
