"""A day on which plans close the position of one share, whose price is held by hand (order-engine 1.3)."""

from collections.abc import Sequence
from datetime import time
from decimal import Decimal as D
from typing import Any

import attrs
import trio

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.plan.parts import FromFill, FromPosition, OrderPart, Part, TimeOfDay
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable, NativeStop
from onebroker.actors.engine.shown.stored_parents import stored_parent
from tests.actors.engine.plan.trees import oco, order
from tests.support.day import Day

AT = TimeOfDay(time(10, 1))


class Closing:
    """A day on which one share's price is held by hand, with a position of it at both brokers."""

    def __init__(self, day: Day, number: int = 3) -> None:
        self.day = day
        self.share = day.equity(number)
        self.tick = D(repr(self.share.tick_size))
        self.start = self.snap(day.exchange.market(self.share.instrument_id).last_price)
        self.moved(0)
        self.since = 0
        self.count = 0

    def snap(self, price: D) -> D:
        return (price / self.tick).quantize(D(1)) * self.tick

    def at(self, percent: float) -> D:
        return self.snap(self.start * (100 + D(str(percent))) / 100)

    def moved(self, percent: float) -> None:
        self.day.simulator.set_price(self.share.instrument_id, self.at(percent), 86_400)

    async def quoted(self) -> None:
        """Watch the share, so that its quote is there."""
        self.quotes = self.day.quotes.follow([self.share.instrument_id])
        await self.day.until(lambda: self.day.quotes.usable_tick(self.share.instrument_id) is not None)

    async def holds(self, code: str, units: int, product: str = "MIS") -> None:
        """Open a position (signed units) at a broker, and wait until it shows it."""
        before = self.net(code, product)
        side, percent = ("BUY", 2) if units > 0 else ("SELL", -2)
        body = self.day.body(
            self.share, product=product, quantity=abs(units), broker=code, price=self.at(percent), transaction_type=side
        )
        self.count += 1
        answer = await self.day.place(body, intent_id=f"h-{self.count}")
        assert answer.status == 200, answer.body
        await self.day.until(lambda: self.shown(code, product) == before + units, 120)
        self.since = len(self.day.ledger()["messages"])

    def net(self, code: str, product: str = "MIS") -> int:
        """Net units as the exchange has them."""
        rows = self.day.ledger()["positions"].get(code, [])
        return sum(
            row["quantity"]
            for row in rows
            if (row["instrument_id"], row["product"]) == (self.share.instrument_id, product)
        )

    def shown(self, code: str, product: str = "MIS") -> int:
        token = self.share.listings[code].broker_token
        rows = self.day.sessions[code].view.value.positions
        return sum(
            row.quantity or 0
            for row in rows
            if (row.view, row.instrument_token, row.product) == ("net", token, product)
        )

    def form(self, **more: Any) -> FromPosition:
        fields = {"product": "intraday", "instrument_ids": (self.share.instrument_id,), **more}
        return FromPosition(**fields)

    def close(self, path: str = "root", **more: Any) -> OrderPart:
        form = self.form(**{name: more.pop(name) for name in ("ratio", "most", "cancel_resting_first") if name in more})
        price = more.pop("price", Marketable(follow=True))
        return order(path, "SELL", form, price, is_exit=True, known_exit=True, **more)

    def on_share(self, root: Part) -> Part:
        """Return the tree with every part on the day's share."""
        changes: dict[str, Any] = {}
        if isinstance(root, OrderPart) and root.each_fill is not None:
            changes["each_fill"] = self.on_share(root.each_fill)
        if hasattr(root, "children"):
            changes["children"] = tuple(map(self.on_share, root.children))
        if hasattr(root, "instrument_id"):
            changes["instrument_id"] = self.share.instrument_id
        return attrs.evolve(root, **changes)

    async def place(self, root: Part, *, intent_id: str = "p-1", wait: float = 5.0, **more: Any) -> EngineAnswer:
        body = self.day.body(self.share, product="MIS", price=self.at(0), plan=self.on_share(root), **more)
        return await self.day.place(body, intent_id=intent_id, wait=wait)

    async def parent(self, answer: EngineAnswer) -> dict[str, Any]:
        found = await stored_parent(self.day.store, answer.body["parent_id"])
        assert found is not None
        return found

    async def until(
        self, answer: EngineAnswer, state: str, seconds: float = 400, path: str | None = None
    ) -> dict[str, Any]:
        with trio.fail_after(seconds):
            while True:
                parent = await self.parent(answer)
                now = parent["state"] if path is None else parent["parameters"]["parts"][path]["state"]
                if now == state:
                    return parent
                await trio.sleep(0.1)

    async def until_over(self, answers: Sequence[EngineAnswer], seconds: float = 400) -> None:
        """Wait until no parent of these answers is open."""
        with trio.fail_after(seconds):
            for answer in answers:
                while (await self.parent(answer))["state"] in ("armed", "working"):
                    await trio.sleep(0.1)

    def sent(self) -> list[tuple[str, str, str, int | None]]:
        """(verb, broker, side, quantity) of every order message since the positions were opened."""
        return [(one["verb"], one["broker"], one["side"], one["quantity"]) for one in self.day.ledger()["messages"]][
            self.since :
        ]


def bracket(closing: Closing, path: str = "root") -> OrderPart:
    """Thirty units at zerodha with a stop and a held target."""
    exits = oco(
        f"{path}.each_fill",
        order(
            f"{path}.each_fill.children.0", "SELL", FromFill(),
            NativeStop(trigger_price=closing.at(-2), limit_price=closing.at(-3)), is_exit=True, known_exit=True,
        ),
        order(
            f"{path}.each_fill.children.1", "SELL", FromFill(), Fixed(closing.at(2)), hold=True, is_exit=True,
            known_exit=True,
        ),
    )  # fmt: skip
    return order(path, quantity=30, price=Fixed(closing.at(1)), broker="zerodha", each_fill=exits)
