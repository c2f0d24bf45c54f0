"""Before the engine sends anything: fresh books, and the owners of the orders in them (order-engine 2.5). Part of the engine's actor, which uses
the same steps later to route rows."""

import logging
from collections.abc import Collection, Iterable

import trio

from onebroker.actors.engine.books.fresh_reads import orders_read_after
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.context.troubles import Found
from onebroker.actors.engine.orders.leg_tokens import looks_like_token
from onebroker.actors.engine.placing.write_ahead import RETRY_SECONDS, broking_day, session_day
from onebroker.actors.engine.shown.stored_parents import Unreadable, stored_record
from onebroker.actors.sessions.messages import ReadSoon
from onebroker.actors.sessions.session_view import LoginState
from onebroker.actors.store import keys
from onebroker.actors.store.interface import SetAdd, SetRemove
from onebroker.brokers.records import OrderRow

RECONCILE_SECONDS = 30.0
"""How long a start waits for the books of brokers with unfinished legs."""
STRANGERS_SECONDS = 10.0
"""How long a start waits for the books of the other brokers: they may show an order that the store has forgotten (K19)."""

_log = logging.getLogger("onebroker.engine")


async def await_books(context: EngineContext, unfinished: Iterable[str], began: float) -> None:
    """Wait until brokers show a book that was begun after `began` (monotonic seconds). Brokers with unfinished legs are waited for at most 30 s.
    Other brokers that have a login, or are about to have one, are waited for at most 10 s."""
    sessions = context.sessions
    for handle in sessions.values():
        handle.address.replace("orders soon", ReadSoon("orders"))
    async with trio.open_nursery() as nursery:
        for code in sessions.keys() & set(unfinished):
            nursery.start_soon(_await_book, sessions[code], began, RECONCILE_SECONDS, False)
        for code in sessions.keys() - set(unfinished):
            nursery.start_soon(_await_book, sessions[code], began, STRANGERS_SECONDS, True)


async def await_settled_books(
    context: EngineContext, began: float, first: dict[str, float], codes: Collection[str] | None = None
) -> frozenset[str]:
    """Wait until the brokers of `codes` (None: all) have shown books for as long as an order may be late; return the brokers that have not. Each
    broker is waited for half a minute at a time. As with an order of unknown outcome, a book begun `unknown_settle_seconds` after the first shows
    what was sent.

    The first book must have begun after `began` (monotonic seconds). `first` keeps its time, by broker.
    """
    left = set(context.sessions if codes is None else codes)

    async def read(code: str) -> None:
        handle = context.sessions[code]
        if code not in first:
            if not await orders_read_after(handle, began, RECONCILE_SECONDS):
                return
            first[code] = handle.view.value.orders_read_started or began
        settled = first[code] + context.settings.unknown_settle_seconds
        await trio.sleep_until(settled)
        if await orders_read_after(handle, settled, RECONCILE_SECONDS):
            left.discard(code)

    async with trio.open_nursery() as nursery:
        for code in tuple(left):
            if codes is not None or context.sessions[code].view.value.login is not LoginState.NEEDED:
                nursery.start_soon(read, code)
    return frozenset(left)


async def _await_book(handle: SessionHandle, began: float, seconds: float, unless_logged_out: bool) -> None:
    view = handle.view
    with trio.move_on_after(seconds):
        while (view.value.orders_read_started or float("-inf")) < began:
            if unless_logged_out and view.value.login is LoginState.NEEDED:
                return
            await view.wait_newer(view.version)


async def take_up_troubles(context: EngineContext) -> None:
    """Report again the troubles of parents that ended on this broking day. Raises StoreError."""
    today = session_day(context.clock)
    begin_day(context, today)
    open_ids = await context.store.members(keys.OPEN_PARENTS)
    for parent_id in await context.store.members(keys.TROUBLED_PARENTS):
        try:
            record = await stored_record(context.store, parent_id)
        except Unreadable:
            continue  # named by GET parents
        if record is None or broking_day(record.updated_at) < today:
            context.store.post(SetRemove(keys.TROUBLED_PARENTS, parent_id))
        elif parent_id not in open_ids and record.state.final:
            found = [Found(record.instrument_id, sentence) for sentence in record.troubles]
            context.troubles.note(parent_id, found, record.updated_at, is_ended=True)


def begin_day(context: EngineContext, day: str) -> None:
    """Forget the facts of earlier broking days; `day` is YYYY-MM-DD."""
    context.legs.begin_day(day)
    for parent_id in context.troubles.begin_day(day):
        context.store.post(SetRemove(keys.TROUBLED_PARENTS, parent_id))


async def know_all(context: EngineContext) -> None:
    """Find the owner of every order that the books show now, however long the store is away."""
    context.legs.note_tagging(await context.store.members(keys.TAGGING))
    for code, handle in context.sessions.items():
        for row in handle.view.value.orders.values():
            await _surely_know(context, code, row)


async def _surely_know(context: EngineContext, code: str, row: OrderRow) -> None:
    while True:
        if await know(context, code, row):
            return
        await trio.sleep(RETRY_SECONDS)


async def know(context: EngineContext, code: str, row: OrderRow) -> bool:
    """Find the owner of an order, and note if its broker returns our tokens. False: the store could not be asked."""
    legs = context.legs
    if not legs.knows(row, code):
        if not await legs.learn(context.store, row, code):
            return False
        if row.tag is not None and (code, row.tag.lower()) in legs.strangers:
            _log.warning("order %s at %s has a token that the store does not know: %s", row.order_id, code, row.tag)
    if code not in legs.tagging and looks_like_token(row.tag):
        legs.note_tagging((code,))
        context.store.post(SetAdd(keys.TAGGING, code))
    return True
