"""The exchange's own truth, as `GET /ledger` shows it: order messages with request and answer, orders, fills, positions.

Tests and benchmarks judge by it. A message is every place, modify and cancel that reached an account. Its row is written in one transaction with its
effects, before the answer leaves.
"""

from collections.abc import Mapping
from decimal import Decimal

import msgspec

from onebroker.brokers.simulator.exchange.journal import Journal, Row
from onebroker.config.vocabulary import Side

_MESSAGE, _FILL, _ACT = "message", "fill", "act"


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One place, modify or cancel as a dialect handed it to its account."""

    verb: str
    """`place`, `modify` or `cancel`."""
    order_id: str | None
    """None if the order was refused before it had an id."""
    tag: str | None = None
    instrument_id: str | None = None
    side: str | None = None
    quantity: int | None = None
    """Units."""
    price: Decimal | None = None
    trigger_price: Decimal | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One order message of the ledger."""

    n: int
    """Counted from 1, across brokers and restarts."""
    at: str
    broker: str
    verb: str
    order_id: str | None
    tag: str | None
    instrument_id: str | None
    side: str | None
    quantity: int | None
    price: Decimal | None
    trigger_price: Decimal | None
    raw: Mapping[str, str]
    """The request's method, path, query and body, its source address, and the header that names an algo."""
    answer: Mapping[str, str]
    """status and body."""
    delivered: bool
    """False if the answer was cut or spoiled on its way."""


class LedgerFill(msgspec.Struct, frozen=True, kw_only=True):
    """One account's side of a trade."""

    trade_id: str
    broker: str
    order_id: str
    instrument_id: str
    side: Side
    product: str
    quantity: int
    price: Decimal
    at: str
    counterparty: str
    """`market`, or the other order as `broker:order_id`."""


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """An act that no order message of the broker's API caused. It did happen: refused acts are not entered."""

    n: int
    """Counted from 1, across brokers and restarts."""
    at: str
    hand: str
    """`person`: somebody in the broker's own app. `broker`: the broker itself. `exchange`: the exchange."""
    verb: str
    broker: str
    instrument_id: str
    order_id: str | None = None
    """The order that the act placed, changed or ended."""
    product: str | None = None
    to_product: str | None = None
    side: str | None = None
    quantity: int | None = None
    """Units."""
    price: Decimal | None = None
    trigger_price: Decimal | None = None


class Ledger:
    """Messages, fills and acts since the data directory was made."""

    def __init__(self, journal: Journal) -> None:
        self._messages = [msgspec.json.decode(value, type=Message) for _, value in journal.load(_MESSAGE)]
        self._fills = [msgspec.json.decode(value, type=LedgerFill) for _, value in journal.load(_FILL)]
        self._acts = [msgspec.json.decode(value, type=Act) for _, value in journal.load(_ACT)]

    @property
    def next(self) -> int:
        """The number that the next message will have."""
        return len(self._messages) + 1

    def messages(self, since: int) -> list[Message]:
        """Return the messages numbered `since` and later."""
        return self._messages[max(0, since - 1) :]

    def fills(self) -> list[LedgerFill]:
        """Return all fills, oldest first."""
        return self._fills

    def add_message(
        self,
        action: Action,
        *,
        at: str,
        broker: str,
        raw: Mapping[str, str],
        answer: Mapping[str, str],
        delivered: bool,
    ) -> Row:
        """Enter a message and return its row."""
        message = Message(
            n=self.next, at=at, broker=broker, verb=action.verb, order_id=action.order_id, tag=action.tag,
            instrument_id=action.instrument_id, side=action.side, quantity=action.quantity, price=action.price,
            trigger_price=action.trigger_price, raw=raw, answer=answer, delivered=delivered,
        )  # fmt: skip
        self._messages.append(message)
        return _row(message)

    def not_delivered(self, numbers: list[int]) -> list[Row]:
        """Mark messages whose answer did not reach the client and return their rows."""
        rows = []
        for number in numbers:
            message = msgspec.structs.replace(self._messages[number - 1], delivered=False)
            self._messages[number - 1] = message
            rows.append(_row(message))
        return rows

    def add_fill(self, fill: LedgerFill) -> Row:
        """Enter one side of a trade and return its row."""
        self._fills.append(fill)
        return Row(_FILL, f"{fill.trade_id}|{fill.broker}|{fill.order_id}|{fill.side}", msgspec.json.encode(fill))

    def remove_fill(self, trade_id: str, broker: str, order_id: str, side: Side) -> Row:
        """Take one side of an annulled trade out and return its row."""
        key = (trade_id, broker, order_id, side)
        self._fills = [each for each in self._fills if (each.trade_id, each.broker, each.order_id, each.side) != key]
        return Row(_FILL, f"{trade_id}|{broker}|{order_id}|{side}", None)

    def acts(self) -> list[Act]:
        """Return the acts of other hands, oldest first."""
        return self._acts

    def add_act(self, at: str, hand: str, verb: str, broker: str, instrument_id: str, **more: object) -> Row:
        """Enter an act and return its row. `more` has the other fields of `Act`."""
        fields = {"at": at, "hand": hand, "verb": verb, "broker": broker, "instrument_id": instrument_id, **more}
        act = msgspec.convert({"n": len(self._acts) + 1, **fields}, Act)
        self._acts.append(act)
        return Row(_ACT, str(act.n), msgspec.json.encode(act))


def _row(message: Message) -> Row:
    return Row(_MESSAGE, str(message.n), msgspec.json.encode(message))
