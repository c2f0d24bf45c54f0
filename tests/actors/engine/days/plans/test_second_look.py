"""Before an order leaves, the plan is looked at again. Where nothing has changed since the last look, its result stands (order-engine 2.4, b)."""

import pytest

from onebroker.actors.engine.plan.machine.advance import advance
from onebroker.actors.engine.plan_parent.looks import Looks
from tests.actors.engine.days.restarts.test_plan_crash_points import DAYS, ENDS, histories, net, pass_day


@pytest.mark.parametrize("plan", DAYS)
async def test_the_result_that_stands_is_the_result_of_another_look(plan, day_kind, monkeypatch, autojump_clock):
    whole, stood = Looks._standing, []

    def compared(looks, inputs):
        standing = whole(looks, inputs)
        if standing is not None:
            again = advance(looks._plan.root, inputs)
            assert (standing.parts, standing.excess) == (again.parts, again.excess)
            stood.append(plan)
        return standing

    monkeypatch.setattr(Looks, "_standing", compared)
    day = day_kind(brokers=("zerodha",))
    await pass_day(day, plan, "never")
    ((*_, record),) = histories(day).values()
    assert (record.state, net(day, record)) == ENDS[plan]
    assert [one for one in day.crashes.records() if "Lock" not in one.error] == []
    assert stood, "no order left by the result of its own look"
