"""`onebroker flatten`: the running service cancels every order and closes every position at every broker (rules 2.4.7). It works without the
API's access token.

On a terminal it asks for the word FLATTEN; without a terminal it needs `--yes FLATTEN`. `--dry-run` needs neither, and sends nothing. Exit
code 0 when all is flat, or for a dry run, 1 when something is not flat, 2 for wrong use, 4 when no service runs or the service refuses.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onebroker.actors.engine.intake.desk_fields import FLATTEN_WORD
from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.running_service import NOT_ALL_DONE, ask, say
from onebroker.http.control import desk_commands


def run(parsed: argparse.Namespace) -> int:
    request = {"command": desk_commands.FLATTEN, "confirm": FLATTEN_WORD}
    if parsed.dry_run:
        answer = ask(parsed, {**request, "dry_run": "true"})
        say(parsed, answer, *_would(answer))
        return DONE
    if _word(parsed) != FLATTEN_WORD:
        raise CommandFailed(f"the word {FLATTEN_WORD} was not given, so nothing was done", WRONG_USE)
    answer = ask(parsed, request)
    say(parsed, answer, *_did(answer))
    return DONE if answer["flat"] else NOT_ALL_DONE


def _word(parsed: argparse.Namespace) -> str | None:
    """Return the word that was given with `--yes`, or else typed on a terminal; None without either."""
    given: str | None = parsed.yes
    if given is not None or not sys.stdin.isatty():
        return given
    sys.stderr.write(
        f"This cancels every order and closes every position at every broker. Type {FLATTEN_WORD} to do it: "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _would(answer: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines of a dry run."""
    for order in answer["would_cancel"]:
        yield f"would cancel {order['broker']} {order['order_id']} ({order['status']})"
    for close in answer["would_close"]:
        yield f"would close {_position(close)}"
    yield from _unread(answer)
    orders, positions = _count(answer["would_cancel"], "order"), _count(answer["would_close"], "position")
    yield f"a flatten would cancel {orders} and close {positions}; nothing was sent"


def _did(answer: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines of a flatten: each cancel and close, what is left, and whether all is flat."""
    for order in answer["cancelled"]:
        yield f"cancel {order['broker']} {order['order_id']}: {_outcome(order)}"
    for close in answer["closed"]:
        yield f"close {_position(close)}: {_outcome(close)}"
    if "error" in answer["halted"]:
        yield f"parents were not halted: {answer['halted']['error']}"
    for name in answer["still_open_after_waiting"]:
        yield f"order {name} is still open"
    for order in answer["not_shown_after_waiting"]:
        yield f"an order at {order['broker']} is not shown yet: {order['status_message']}"
    for name in answer["positions_still_open_after_waiting"]:
        yield f"position {name} is still open"
    yield from _unread(answer)
    yield "all is flat" if answer["flat"] else "NOT all is flat: look at the lines above, and flatten again"


def _unread(answer: Mapping[str, Any]) -> Iterator[str]:
    for broker in answer["brokers_not_read"]:
        yield f"{broker} could not be read"
    for unread in answer["positions_not_readable"]:
        yield f"positions of {unread['broker']} could not be read: {unread['status_message']}"
    for doubted in answer.get("positions_doubted", ()):
        yield str(doubted["status_message"])
    for name in answer.get("trades_not_read", ()):
        yield f"not all trades of {name} are known: look whether the units of the tag are closed"


def _position(close: Mapping[str, Any]) -> str:
    side, quantity = close["transaction_type"], close["close_quantity"]
    return f"{close['broker']} {close['tradingsymbol']} {close['product']} by {side} {quantity}"


def _outcome(entry: Mapping[str, Any]) -> str:
    said = entry["outcome"] or ("sent" if entry["sent"] else "not sent")
    return f"{said} ({entry['status_message']})" if entry["status_message"] else str(said)


def _count(entries: Sequence[object], noun: str) -> str:
    return f"{len(entries)} {noun}{'' if len(entries) == 1 else 's'}"
