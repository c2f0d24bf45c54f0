"""`onebroker orders`: today's orders at all brokers, and the unfinished parents of the order engine. It works without the API's access token.

Exit code 0 when both could be read, 1 when orders or parents could not be read, 4 when no service runs.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from onebroker.http.commands.exit_codes import DONE
from onebroker.http.commands.running_service import NOT_ALL_DONE, ask
from onebroker.http.commands.screen import Bar, Block, Table, write, write_json
from onebroker.http.control.reading_commands import ORDERS

_ORDER = {
    "time": "order_timestamp",
    "broker": "broker",
    "order": "order_id",
    "symbol": "tradingsymbol",
    "side": "transaction_type",
    "product": "product",
    "type": "order_type",
    "quantity": "quantity",
    "filled": "filled_quantity",
    "price": "price",
    "trigger": "trigger_price",
    "average": "average_price",
    "status": "status",
    "message": "status_message",
}
"""Column -> key of an order."""
_PARENT = {
    "parent": "parent_order_id",
    "type": "synthetic_type",
    "state": "state",
    "instrument": "instrument_id",
    "message": "status_message",
}
_NUMBERS = frozenset({"quantity", "filled", "price", "trigger", "average", "legs"})


def run(parsed: argparse.Namespace) -> int:
    request = {"command": ORDERS} | ({} if parsed.parent is None else {"parent": parsed.parent})
    answer = ask(parsed, request, without="")
    if parsed.json:
        write_json(sys.stdout, answer)
    else:
        write(sys.stdout, shown(answer))
    return NOT_ALL_DONE if "error" in answer["orders"] or "error" in answer["parents"] else DONE


def shown(answer: Mapping[str, Any]) -> Block:
    """Return the tables of an answer of the service; a part that could not be read is its sentence."""
    return [*_orders(answer["orders"]), "", *_parents(answer["parents"])]


def _orders(book: Mapping[str, Any]) -> list[str | Table | Bar]:
    if "error" in book:
        return [f"orders: {book['error']}"]
    if not book["orders"]:
        return [f"no orders (as of {book['as_of']})"]
    rows = [[_text(order.get(key)) for key in _ORDER.values()] for order in book["orders"]]
    return [Table(head=tuple(_ORDER), rows=rows, right=_NUMBERS), f"{len(rows)} orders (as of {book['as_of']})"]


def _parents(parents: Mapping[str, Any]) -> list[str | Table | Bar]:
    if "error" in parents:
        return [f"parents: {parents['error']}"]
    block: list[str | Table | Bar] = [
        f"parent {parent_id} cannot be read" for parent_id in parents.get("unreadable_parents", ())
    ]
    if not parents["parents"]:
        return [*block, "no open parents"]
    rows = [
        [*(_text(parent.get(key)) for key in _PARENT.values()), str(len(parent["legs"]))]
        for parent in parents["parents"]
    ]
    return [Table(head=(*_PARENT, "legs"), rows=rows, right=_NUMBERS), *block]


def _text(value: object) -> str:
    return "-" if value is None or value == "" else str(value)
