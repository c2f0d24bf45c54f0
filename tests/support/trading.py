"""A trading day with one share whose price is held by hand: orders sent to the engine as the API would, and what became of them.

The whole way in one process: the checks of a place body, the engine, the sessions, the brokers' dialects and the exchange, whose
ledger is the judge.
"""

from decimal import Decimal as D
from typing import Any

import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.intake.intake_context import Today
from onebroker.actors.engine.intake.place_body import check_body, with_instrument
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.config.refusal import Refusal
from tests.support.day import Day


class Trading:
    """`day` runs its market and its service with quotes. The share's price stands still at `at(0)` unless it is moved."""

    def __init__(self, day: Day, number: int = 0, instrument: Instrument | None = None) -> None:
        self.day = day
        self.share = day.equity(number) if instrument is None else instrument
        self.tick = D(repr(self.share.tick_size))
        self.start = self.snap(day.exchange.market(self.share.instrument_id).last_price)
        self.moved(0)
        self.quotes = day.quotes.follow([self.share.instrument_id])
        self.sent = 0

    # --- the market -------------------------------------------------------------------------------------------------

    def snap(self, price: D) -> D:
        return (price / self.tick).quantize(D(1)) * self.tick

    def at(self, percent: float | str) -> D:
        """The price so many percent from the first one, on the tick."""
        return self.snap(self.start * (100 + D(str(percent))) / 100)

    def moved(self, percent: float | str) -> None:
        self.day.simulator.set_price(self.share.instrument_id, self.at(percent), 86_400)

    async def move(self, percent: float | str) -> None:
        """Move the market and wait until the engine can see it."""
        self.moved(percent)
        wanted = float(self.at(percent))

        def there() -> bool:
            tick = self.day.quotes.usable_tick(self.share.instrument_id)
            return tick is not None and abs(tick.last_price - wanted) < 1e-9

        await self.day.until(there)

    # --- orders -----------------------------------------------------------------------------------------------------

    def world(self) -> Today:
        context = self.day.engine_context
        return Today(
            now=self.day.clock.now(), snapshot=self.day.snapshot, brokers=tuple(self.day.codes), calendar=self.day.calendar,
            settings=context.settings,
        )  # fmt: skip

    async def send(
        self, *, dry_run: bool = False, wait: float = 5.0, intent_id: str | None = None, **body: Any
    ) -> EngineAnswer:
        """Place a body as the API does; the share's BUY of 10 MIS at market unless `body` says otherwise. Prices may be Decimal."""
        self.sent += 1
        fields = {
            "instrument_id": self.share.instrument_id, "transaction_type": "BUY", "product": "MIS", "order_type": "MARKET",
            "quantity": 10, **body,
        }  # fmt: skip
        sent = plain({name: value for name, value in fields.items() if value is not None})
        try:
            checked = check_body(sent, brokers=tuple(self.day.codes))
            instrument = self.day.snapshot.instrument(checked.name.instrument_id)
            assert instrument is not None, checked.name
            order = with_instrument(checked, sent, instrument, self.world())
        except Refusal as refusal:
            return EngineAnswer(status=refusal.status, body=refusal.body())
        return await self.day.place(order, intent_id=intent_id or f"sent-{self.sent}", dry_run=dry_run, wait=wait)

    async def parent(self, answer: EngineAnswer) -> dict[str, Any]:
        parent = await stored_parent(self.day.store, answer.body["parent_id"])
        assert parent is not None, answer
        return parent

    async def until(
        self, answer: EngineAnswer, state: str, path: str | None = None, seconds: float = 120
    ) -> dict[str, Any]:
        """Wait until the parent, or a part of it, is in a state; returns the parent."""
        with trio.fail_after(seconds):
            while True:
                parent = await self.parent(answer)
                now = parent["state"] if path is None else parent["parameters"]["parts"][path]["state"]
                if now == state:
                    return parent
                await trio.sleep(0.1)

    # --- the ledger -------------------------------------------------------------------------------------------------

    def messages(self) -> list[tuple[str, str, int, str | None]]:
        """The order messages so far: what was said, side, quantity and type of the order (as it stands now)."""
        ledger = self.day.ledger()
        types = {one["order_id"]: one["order_type"] for one in ledger["orders"]}
        return [(m["verb"], m["side"], m["quantity"], types.get(m["order_id"])) for m in ledger["messages"]]

    async def until_messages(self, count: int, seconds: float = 60) -> list[tuple[str, str, int, str | None]]:
        await self.day.until(lambda: len(self.day.ledger()["messages"]) >= count, seconds)
        return self.messages()


def plain(value: Any) -> Any:
    """JSON values as they come from a request: decimals as numbers."""
    if isinstance(value, D):
        return float(value)
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value
