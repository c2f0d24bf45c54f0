"""What the brokers show of the positions that a flatten, or a close within limits, closes (rules 2.4.7-4; order-engine 5.7).

Before the closes: which positions are doubted, because row and fills do not agree; which rows cannot be read; of which positions a close by tag lacks
trades. After them: whether the positions show what the closes leave.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import trio

from onebroker.actors.engine.books.fresh_reads import read_soon
from onebroker.actors.engine.books.settled_positions import judged, named_doubts
from onebroker.actors.engine.books.shown_positions import shown_since
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.position_days import Judged, key_of
from onebroker.actors.engine.desk.flatten_closes import Close
from onebroker.actors.engine.desk.scope import Scope

POLL_SECONDS = 0.25
"""How often the books are looked at while they are waited for."""

_LOG = logging.getLogger("onebroker.engine")


# --- before the closes ------------------------------------------------------------------------------------------------------


def doubted(context: EngineContext, shown: Mapping[str, Judged], scope: Scope) -> dict[str, Any]:
    """Return `positions_doubted` of the answer, where there are such positions."""
    entries = [
        {
            "broker": code,
            "position_key": shown[code].row_of(named.doubt.key).position_key,
            "instrument_id": named.instrument_id,
            "tradingsymbol": named.doubt.tradingsymbol,
            "product": named.doubt.key.product,
            "shown": named.doubt.shown,
            "by_fills": named.doubt.by_fills,
            "since": named.since_text(context.clock),
            "status_message": named.sentence(context.clock),
        }
        for code in sorted(shown)
        for named in named_doubts(context, code, shown[code])
        if scope.takes_position(code, named.doubt.key.token, named.doubt.key.product)
    ]
    return {"positions_doubted": entries} if entries else {}


def not_readable(context: EngineContext, shown: Mapping[str, Judged]) -> list[dict[str, str]]:
    """Return `positions_not_readable` of the answer: the brokers with unreadable rows, and which rows these are."""
    views = {code: context.session(code).view.value for code, found in shown.items() if not found.read.whole}
    return [
        {"broker": code, "status_message": view.read_errors.get("positions", "")}
        for code, view in sorted(views.items())
    ]


def lacking_trades(context: EngineContext, shown: Mapping[str, Judged], scope: Scope) -> list[str]:
    """Return `broker:position_key` of the positions whose units of the scope's tag are not known for sure, because trades are missing."""
    return [f"{code}:{key}" for code, key in _lacking(context, shown, scope)]


async def wait_for_trades(
    context: EngineContext, shown: Mapping[str, Judged], scope: Scope, seconds: float
) -> list[str]:
    """Read the trade books until no position lacks trades, for at most `seconds`. Return `broker:position_key` of those that lack some then."""
    with trio.move_on_after(seconds):
        while lacking := _lacking(context, shown, scope):
            for code in {code for code, _ in lacking}:
                read_soon(context.session(code), "trades")
            await trio.sleep(POLL_SECONDS)
    names = lacking_trades(context, shown, scope)
    for name in names:
        _LOG.warning("not all trades of %s are known: the units of the tag follow the order book", name)
    return names


def without_trades(names: Iterable[str]) -> dict[str, Any]:
    """Return `trades_not_read` of the answer to a close by tag, where trades are missing."""
    return {"trades_not_read": list(names)} if names else {}


def _lacking(context: EngineContext, shown: Mapping[str, Judged], scope: Scope) -> list[tuple[str, str]]:
    return [
        (code, row.position_key)
        for code in sorted(shown)
        for row in sorted(shown[code].rows, key=lambda row: row.position_key)
        if row.view != "day" and row.quantity
        if scope.lacks_trades(code, row, context.session(code).view.value, context.legs)
    ]


# --- after them -------------------------------------------------------------------------------------------------------------


async def wait_for_zero(context: EngineContext, closes: list[Close], seconds: float) -> list[str]:
    """Read again until all closed positions show what the closes leave of them, for at most `seconds`; return `broker:position_key` of the others."""
    rows = {(close.broker, close.row.position_key): close for close in closes}
    after = context.clock.monotonic()
    with trio.move_on_after(seconds):
        while any(not _shows(context, close, after) for close in rows.values()):
            for code in {code for code, _ in rows}:
                read_soon(context.session(code), "positions")
                read_soon(context.session(code), "orders")  # a close may be refused there
            await trio.sleep(POLL_SECONDS)
    return [f"{code}:{key}" for (code, key), close in sorted(rows.items()) if not _shows(context, close, after)]


def _shows(context: EngineContext, close: Close, after: float) -> bool:
    """Whether a read begun since `after` shows what the close leaves of its position (0 = no open position), and the fills say the same. In a
    partly readable answer, a missing row may be an unreadable one."""
    code, key = close.broker, close.row.position_key
    shown = shown_since(context.session(code).view.value, after)
    found = judged(context, code)
    if shown is None or found is None or key_of(close.row) in found.doubts:
        return False
    units = [row.quantity for row in shown.rows if row.view != "day" and row.position_key == key]
    if close.left:
        return units == [close.left]
    return (shown.whole or bool(units)) and not any(quantity != 0 for quantity in units)
