"""Halting a trading day, and the judge of a halt: the exchange's ledger says whether an order message after the halt's answer may have opened or
enlarged a position (order-engine 4.10)."""

from collections.abc import Sequence
from typing import Any

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import HaltTrading, ResumeTrading
from onebroker.actors.store.durable import HaltMode
from onebroker.brokers.simulator.exchange.ledger import LedgerFill, Message
from onebroker.brokers.simulator.world.model import SimOrder
from onebroker.config.vocabulary import Product, Side
from tests.support.day import Day

REASON = "the strategy is wrong"
SENTENCE = f"trading is halted: {REASON}"


async def halt(day: Day, mode: HaltMode = HaltMode.REDUCE_ONLY) -> EngineAnswer:
    return await day.desk.ask(lambda reply: HaltTrading(mode=mode, reason=REASON, reply=reply), 30)


async def resume(day: Day) -> EngineAnswer:
    return await day.desk.ask(lambda reply: ResumeTrading(reply=reply), 30)


class Halted:
    """What the ledger held when a halt was answered; made right after the answer. `slipped` compares with it."""

    def __init__(self, day: Day) -> None:
        self._day = day
        self.since = day.exchange.ledger.next
        self._before = {key: (order.quantity, order.price, order.trigger_price) for key, order in _orders(day).items()}
        self._fills: dict[int, int] = {}
        """Message number -> how many fills there were when the message arrived."""
        ledger: Any = day.exchange.ledger  # whose method is replaced
        add_message = ledger.add_message

        def noted(*given: Any, **more: Any) -> Any:
            self._fills[ledger.next] = len(ledger.fills())
            return add_message(*given, **more)

        ledger.add_message = noted

    def messages(self) -> list[Message]:
        """The order messages since the halt's answer."""
        return self._day.exchange.ledger.messages(self.since)

    def left(self) -> list[tuple[str, str]]:
        """(verb, side) of these messages."""
        orders = _orders(self._day)
        return [
            (message.verb, message.side or orders[message.broker, str(message.order_id)].new.side)
            for message in self.messages()
        ]

    def slipped(self) -> list[str]:
        """Return the messages after the halt that may open or enlarge a position.

        An order that was placed, or changed to another price or a larger quantity, is held against the position of its broker, instrument and
        product at that moment, without what its siblings have filled in the very same instant, which nobody can know yet. Its own fills are left out of that position, so its
        whole quantity must be against it and not larger.
        """
        orders = _orders(self._day)
        told: list[str] = []
        for message in self.messages():
            order = orders.get((message.broker, str(message.order_id)))
            if order is None or message.verb == "cancel" or not self._may_fill_more(message, order):
                continue
            side = Side(order.new.side)
            fills = self._day.exchange.ledger.fills()[: self._fills[message.n]]
            against = -side.sign * self._net(
                order, [fill for fill in fills if fill.at < message.at or fill.side != side]
            )
            quantity = message.quantity or order.quantity
            if quantity > against:
                told.append(f"{message.broker} {message.verb} {order.new.side} {quantity}, of which {against} reduce")
        return told

    def _may_fill_more(self, message: Message, order: SimOrder) -> bool:
        """Whether a message is a new order, a larger one, or another price."""
        before = self._before.get((order.broker, order.order_id))
        if message.verb == "place" or before is None:
            return True
        quantity, price, trigger = before
        larger = message.quantity is not None and message.quantity > quantity
        return larger or message.price not in (None, price) or message.trigger_price not in (None, trigger)

    def _net(self, order: SimOrder, fills: Sequence[LedgerFill]) -> int:
        """The net units of an order's position after these fills of the day, without the order's own. A delivery sale may take holdings too."""
        of = (order.broker, order.new.instrument_id, order.new.product.value)
        delivers = order.new.product is Product.CNC and order.new.side is Side.SELL
        holdings = self._day.exchange.account(order.broker).holdings() if delivers else ()
        held = sum(one.settled_quantity for one in holdings if one.instrument_id == of[1])
        carried = sum(
            position.overnight_quantity
            for position in self._day.exchange.account(order.broker).positions()
            if (position.instrument_id, position.product.value) == of[1:]
        )
        return (
            held
            + carried
            + sum(
                fill.side.sign * fill.quantity
                for fill in fills
                if (fill.broker, fill.instrument_id, fill.product) == of and fill.order_id != order.order_id
            )
        )


def _orders(day: Day) -> dict[tuple[str, str], SimOrder]:
    return {(order.broker, order.order_id): order for order in day.exchange.all_orders()}
