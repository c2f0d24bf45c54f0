"""A list that is longer than the rate budgets have room for: every entry is answered in time, and what was refused is never sent
(order-engine 4.5, 5.1)."""

from collections import Counter
from decimal import Decimal

import trio

from onebroker.actors.engine.orders.leg_tokens import leg_token

RATE_FULL = "the order rate budget is full, so this order was not sent; try again in a moment"
COUNT = 500
WAIT_SECONDS = 5.0


async def hand_over(day, orders):
    """Place all at once, in their order, as the route does; return the answers."""
    answers, late = {}, []

    async def place(index, order):
        began = trio.current_time()
        answers[index] = await day.place(order, intent_id=f"i-{index}", wait=WAIT_SECONDS)
        if trio.current_time() - began > WAIT_SECONDS - 0.5:
            late.append(index)

    async with trio.open_nursery() as nursery:
        for index, order in enumerate(orders):
            nursery.start_soon(place, index, order)
            await trio.lowlevel.checkpoint()
    assert late == []
    return [answers[index] for index in range(len(orders))]


async def test_of_500_orders_those_without_room_within_the_wait_are_refused_and_never_sent(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        tick = Decimal(repr(share.tick_size))
        price = (day.exchange.market(share.instrument_id).last_price * Decimal("0.97") / tick).quantize(
            Decimal(1)
        ) * tick
        answers = await hand_over(day, [day.body(share, price=price, quantity=1)] * COUNT)
        statuses = Counter(answer.status for answer in answers)
        assert set(statuses) == {200, 503}, statuses
        assert {answer.body["error"] for answer in answers if answer.status == 503} == {RATE_FULL}
        # Two brokers take ten messages a second, a fifth of it kept for exits; room is waited for until a second before the end.
        assert 2 * 8 * 3 <= statuses[200] <= 2 * 8 * 5
        assert {answer.status for answer in answers[:16]} == {200}  # the first of the list had the first room
        await trio.sleep(60)
        sent = Counter(message["tag"] for message in day.messages("place"))
        placed = {leg_token(f"i-{index}", "entry", 0) for index, answer in enumerate(answers) if answer.status == 200}
        assert sent == Counter(placed)
        assert day.engine_context.in_hand == set()
        assert day.crashes.records() == ()
