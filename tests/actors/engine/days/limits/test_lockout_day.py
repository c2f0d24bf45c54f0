"""A day that is locked for its loss, in the whole tree: from the broker's figures to the refusal (order-engine 4.7, 6.13)."""

from decimal import Decimal

import attrs
import pytest
import trio

from onebroker.actors.engine.context.messages import Place
from tests.actors.test_tree import Service, document
from tests.support.day import Day

MARGIN = 2000
"""Rupees by which the day may get worse."""


class LimitedDay(Day):
    """`limit` None: no limit."""

    limit = None

    def settings(self):
        settings = super().settings()
        return attrs.evolve(settings, engine=attrs.evolve(settings.engine, daily_loss_limit=self.limit))


@pytest.fixture
async def day(autojump_clock):
    with trio.fail_after(86_400):
        yield LimitedDay(brokers=("zerodha", "upstox"), number=120)


async def place(day, tree, share, side, number, **more):
    now = day.clock.monotonic()
    order = day.body(share, transaction_type=side, product="MIS", quantity=200, **more)
    return await tree.engine.ask(
        lambda reply: Place(
            intent_id=f"i{number}", order=order, dry_run=False, routed=now, deadline=now + 5, reply=reply
        ),
        5,
    )


def pnl(tree):
    return sum(document(tree, "funds")["pnl"].values())


async def test_a_locked_day_takes_no_entry_and_lets_positions_be_closed_even_after_a_restart(
    day, tmp_path, autojump_clock
):
    service = Service(day, tmp_path)
    async with day.market():
        async with service.start() as tree:
            await day.until(lambda: {one["status"] for one in document(tree, "funds")["brokers"]} == {"ok"}, 120)
            day.limit = Decimal(str(round(MARGIN - min(0.0, pnl(tree)), 2)))
        async with service.start() as tree:
            await day.until(lambda: tree.loss.value.refusal(day.clock.monotonic()) is None, 120)
            snapshot = tree.catalogue.value.latest
            share = next(
                one
                for one in map(snapshot.at, range(snapshot.count))
                if one.identity.segment == "nse_equities"
                and set(day.codes) <= set(one.listings)
                and 300 < day.exchange.market(one.instrument_id).last_price < 3000
            )
            bought = await place(day, tree, share, "BUY", 0)
            assert bought.status == 200, bought.body
            last = day.exchange.market(share.instrument_id).last_price
            tick = Decimal(repr(share.tick_size))
            fallen = (last * Decimal("0.94") / tick).quantize(Decimal(1)) * tick
            day.simulator.set_price(share.instrument_id, fallen, hold_seconds=36_000)
            await day.until(lambda: tree.loss.value.locked is not None, 300)
            before = len(day.messages("place"))
            answer = await place(day, tree, share, "BUY", 1)
            assert answer.status == 403, answer.body
            loss = tree.loss.value.loss
            assert answer.body["error"] == (
                f"the day is down {loss:.2f}, which is past the {day.limit:.2f} limit, so no new order is being placed"
            )
            assert answer.body["intent_id"] == "i1"
            assert len(day.messages("place")) == before
        day.simulator.set_price(share.instrument_id, last, hold_seconds=36_000)
        async with service.start() as tree:
            await day.until(lambda: tree.loss.value.locked is not None, 120)
            held = lambda: tree.sessions[bought.body["broker"]].view.value.positions  # noqa: E731
            token = share.listings[bought.body["broker"]].broker_token
            await day.until(lambda: any(row.instrument_token == token for row in held()), 60)
            assert (await place(day, tree, share, "BUY", 2)).status == 403
            assert (await place(day, tree, share, "SELL", 3, broker=other(day, bought))).status == 403
            sold = await place(day, tree, share, "SELL", 4)
            assert (sold.status, sold.body["broker"]) == (200, bought.body["broker"])


def other(day, answer):
    return next(code for code in day.codes if code != answer.body["broker"])
