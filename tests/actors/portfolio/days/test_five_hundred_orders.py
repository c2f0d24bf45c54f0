"""Five hundred orders in ten minutes through the default choice, changed and cancelled in between: what a broker has acknowledged stands in
the order document within a second at every one of the ten, and none is called more often than it publishes."""

from collections import defaultdict
from decimal import Decimal

import attrs
import pytest
import trio

from onebroker.brokers.registry import build_registry
from onebroker.config.vocabulary import is_finished
from tests.support.engine_orders import ticks
from tests.support.order_document import order_document
from tests.support.order_mix import ORDERS, PINNED_EACH, ROOM_PERCENT, SHARES, order_mix
from tests.support.published_limits import worst_windows

pytestmark = pytest.mark.long

TEN = tuple(build_registry())
WITHIN_SECONDS = 1.0
LOOK_SECONDS = 0.05


@attrs.define
class Load:
    """Sends the orders of a mix and notes how long each acknowledged message took to stand in the order document."""

    day: object
    orders: object
    shares: list
    took: dict = attrs.field(factory=lambda: defaultdict(list))
    """(broker, verb) -> seconds, infinity for what never stood there."""
    refused: list = attrs.field(factory=list)

    async def run(self, mix):
        began = self.day.clock.monotonic()
        async with trio.open_nursery() as nursery:
            for ordered in mix:
                await trio.sleep(max(0.0, began + ordered.at - self.day.clock.monotonic()))
                nursery.start_soon(self._life, ordered)

    async def _life(self, ordered):
        share = self.shares[ordered.share]
        answer = await self.day.place(self._body(share, ordered), intent_id=f"mix-{ordered.number}", wait=30.0)
        if answer.status != 200 or answer.body["outcome"] != "accepted":
            self.refused.append((ordered, answer))
            return
        code, order_id = answer.body["broker"], answer.body["order_id"]
        await self._stands(code, "place", order_id, lambda row: row.quantity == ordered.quantity)
        for step in ordered.steps:
            await trio.sleep(step.after)
            if is_finished(self.orders()[order_id].status):
                return
            await self._step(code, share, order_id, ordered, step)

    def _body(self, share, ordered):
        price = ticks(self.day, share, ordered.percent)
        own = {"price": price} if ordered.order_type != "MARKET" else {}
        if ordered.order_type == "SL":
            own = {"trigger_price": price, "price": ticks(self.day, share, ordered.percent * 1.1)}
        fields = {
            "transaction_type": ordered.side,
            "product": ordered.product,
            "quantity": ordered.quantity,
            "broker": ordered.broker,
        }
        return self.day.body(share, **fields, **own, order_type=ordered.order_type)

    async def _step(self, code, share, order_id, ordered, step):
        if step.verb == "cancel":
            answer, shown = await self.day.cancel(order_id), lambda row: row.status == "CANCELLED"
        else:
            price = ticks(self.day, share, step.percent)
            values = {"quantity": step.quantity} if step.verb == "quantity" else {"price": price}
            if step.verb == "trigger":
                values = {"trigger_price": price, "price": ticks(self.day, share, step.percent * 1.1)}
            answer = await self.day.modify(order_id, **values)
            shown = lambda row: all(getattr(row, name) == float(value) for name, value in values.items())  # noqa: E731
        if answer.status != 200 or answer.body["outcome"] != "accepted":
            self.refused.append((ordered, step, answer))
            return
        await self._stands(code, step.verb, order_id, shown)

    async def _stands(self, code, verb, order_id, shown):
        """Note how long it takes until the document shows a message, or that the order has ended at the exchange."""
        began = self.day.clock.monotonic()
        with trio.move_on_after(10):
            while True:
                row = self.orders().get(order_id)
                if row is not None and (shown(row) or (verb != "cancel" and is_finished(row.status))):
                    self.took[code, verb].append(self.day.clock.monotonic() - began)
                    return
                await trio.sleep(LOOK_SECONDS)
        self.took[code, verb].append(float("inf"))


async def test_five_hundred_orders_in_ten_minutes(day_kind, autojump_clock):
    with trio.fail_after(86_400):
        day = day_kind(brokers=TEN, number=600)
        async with day.market(), day.service(quotes=True, funds=True), order_document(day) as orders:
            await trio.sleep(90)  # the files of the start are no part of it
            began, load = day.clock.monotonic(), Load(day, orders, with_room(day))
            await load.run(order_mix())
            await trio.sleep(30)
            assert load.refused == []
            assert not {at: seconds for at, took in load.took.items() if (seconds := max(took)) > WITHIN_SECONDS}
            placed = {code: len(load.took[code, "place"]) for code in TEN}
            assert sum(placed.values()) == ORDERS
            assert min(placed.values()) >= PINNED_EACH, placed
            assert {
                (code, verb) for code in TEN for verb in ("place", "price", "quantity", "cancel")
            } <= load.took.keys()
            limits = {code: day.simulator.gateways[code].limits for code in TEN}
            for code, broker in build_registry().items():
                arrived = {"calls": limits[code].calls, "orders": limits[code].orders}
                since = {what: [at for at in times if at >= began] for what, times in arrived.items()}
                assert [worst for worst in worst_windows(broker, since) if not worst.kept] == [], code
                assert limits[code].refused == 0, code
            assert {row.status for row in orders().values() if row.engine_parent_id} <= {
                "OPEN",
                "PENDING",
                "COMPLETE",
                "CANCELLED",
            }
            tags = [message["tag"] for message in day.messages("place")]
            assert len(tags) == len(set(tags)), "an order was sent twice"


def with_room(day):
    """Shares that can go some percent either way before their price bands."""
    chosen = []
    for share in sorted(day.listed("nse_equities"), key=lambda one: one.identity.symbol):
        market = day.exchange.market(share.instrument_id)
        room = market.last_price * Decimal(repr(ROOM_PERCENT)) / 100
        if market.lower_circuit < market.last_price - room and market.last_price + room < market.upper_circuit:
            chosen.append(share)
    assert len(chosen) >= SHARES, len(chosen)
    return chosen[:SHARES]
