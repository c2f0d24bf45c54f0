"""A plan looks in the step in which the quote book takes the quote that breaks its bounds (order-engine 2.7): its order leaves sooner, and its
faults stay its own."""

import trio

from onebroker.actors.engine.plan_parent.looks import Looks
from onebroker.actors.engine.plan_parent.work import PlanWork
from tests.support.mortal import mortal
from tests.support.plan_judge import judge
from tests.support.trading import Trading


def stop(trading, percent=-2):
    return {"type": "hidden_stop", "trigger_price": trading.at(percent)}


async def send(trading, percent=-2):
    answer = await trading.send(transaction_type="SELL", synthetic=stop(trading, percent))
    assert answer.status == 202, answer
    return answer


async def test_a_fault_of_a_look_within_a_quote_is_the_plan_s_and_other_plans_and_quotes_go_on(
    day_kind, monkeypatch, autojump_clock
):
    day = day_kind(brokers=("zerodha",))
    within, faults = [], []
    whole_step, whole_look = PlanWork._look_within_the_quote, Looks.look

    def step(work):
        within.append(work)
        whole_step(work)
        within.pop()

    def look(looks, start):
        if within and not faults:
            faults.append(looks)
            raise RuntimeError("a fault of this look")
        return whole_look(looks, start)

    monkeypatch.setattr(PlanWork, "_look_within_the_quote", step)
    monkeypatch.setattr(Looks, "look", look)
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        for _ in range(2):
            await send(trading)
        await trio.sleep(5)
        await trading.move(-3)
        await trading.until_messages(2)
        await trio.sleep(10)
        assert [one[:3] for one in trading.messages()] == [("place", "SELL", 10)] * 2
        (crash,) = day.crashes.records()
        assert crash.actor.startswith("parent")
        assert "a fault of this look" in crash.error
        await trading.move(1)  # the quote book has gone on
    judge(day)


async def test_no_plan_looks_again_for_a_quote_that_it_has_looked_at_within_the_quote(
    day_kind, monkeypatch, autojump_clock
):
    day, looks = day_kind(brokers=("zerodha",)), []
    whole = Looks.look

    def look(looks_of_plan, start):
        looks.append(looks_of_plan)
        return whole(looks_of_plan, start)

    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        trail = {"type": "trailing_stop", "trail_percent": 2, "stop_limit_offset": 1}
        answer = await trading.send(transaction_type="SELL", synthetic=trail)
        await trading.until(answer, "working")
        await send(trading)
        await trio.sleep(30)
        monkeypatch.setattr(Looks, "look", look)
        await trading.move(0.001)
        await trio.sleep(0.5)
        assert len(looks) <= 1, "the calm stop does not look, and the trail looks once, if its price moved"


async def test_killed_between_the_look_within_a_quote_and_its_write_an_order_leaves_once(day_kind, autojump_clock):
    for death in ("leg 1 before", "leg 1 after", "send before", "send after"):
        day = day_kind(brokers=("zerodha",))
        async with day.market():
            with mortal(day, None) as life:
                async with trio.open_nursery() as nursery:

                    async def serve(day=day, life=life, death=death, nursery=nursery):
                        async with day.service(quotes=True):
                            trading = Trading(day)
                            await trading.move(0)
                            await send(trading)
                            await trio.sleep(5)
                            life.death = death
                            nursery.start_soon(trading.move, -3)
                            await trio.sleep_forever()

                    nursery.start_soon(serve)
                    with trio.fail_after(120):
                        await life.dead.wait()
                    nursery.cancel_scope.cancel()
            async with day.service(log_in=False, quotes=True):
                await day.until(lambda day=day: day.status.value.running)
                await trio.sleep(120)
        placed = day.messages("place")
        assert [(one["side"], one["quantity"]) for one in placed] == [("SELL", 10)], death
        judge(day)
