"""Follows the positions of all brokers, so that each read is compared with the fills when it comes (order-engine 4.11). The rules are in
`actors/engine/context/position_days.py`.

Callers judge a position when they need it. They find what the watch has seen before: which units were carried in, which fills came when, and since when
a row is doubted. The carried-in units are kept in the store over the day: a restart in the middle of the day does not learn them from a read that is late
or lacks a row. The store is no part of judging: while it does not answer, positions are judged by what this process has read.
"""

import logging

import msgspec
import trio

from onebroker.actors.engine.books.settled_positions import Books, judged
from onebroker.actors.engine.context.position_days import PositionDay, RowKey
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, Store, StoreError
from onebroker.brokers.broker import logged_in_user
from onebroker.config.clock import latest_boundary

KEPT_SECONDS = 2 * 86_400
RETRY_SECONDS = 1.0
_LOG = logging.getLogger(__name__)


class _Carried(msgspec.Struct, frozen=True):
    """What is stored of a broker's day."""

    account: str | None
    units: list[tuple[str, str, int]]
    """(broker's token, position's product, signed units)."""


def _readable(code: str, body: bytes) -> _Carried | None:
    """Return what is stored; None where it cannot be read, as after an upgrade. The units are then learnt from the next read."""
    try:
        return msgspec.json.decode(body, type=_Carried)
    except msgspec.MsgspecError as error:
        _LOG.error(
            "the carried-in units of %s that are stored cannot be read, so they are learnt again: %s", code, error
        )
        return None


class PositionWatch:
    """One task for each broker."""

    def __init__(self, *, books: Books, store: Store) -> None:
        self._books = books
        self._store = store

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            for code in self._books.sessions:
                nursery.start_soon(self._follow, code)
            task_status.started()

    async def _follow(self, code: str) -> None:
        view, seen = self._books.sessions[code].view, None
        await self._take_stored(code)
        while True:
            version, now = view.version, view.value
            looked_at = (now.positions_read_started, now.readable_positions, now.orders, now.orders_read_started)
            if looked_at != seen:
                seen = looked_at
                judged(self._books, code)
                self._keep(code)
            await view.wait_newer(version)

    def _keep(self, code: str) -> None:
        day = self._books.position_days.get(code)
        if day is None or not day.learnt or not day.dirty:
            return
        day.dirty = False
        units = [(key.token, key.product, units) for key, units in sorted(day.carried.items()) if units]
        body = msgspec.json.encode(_Carried(account=day.account, units=units))
        self._store.post(Set(keys.carried_units(code, day.day.isoformat()), body, KEPT_SECONDS))

    async def _take_stored(self, code: str) -> None:
        """Take up what is stored of today, for the account that is logged in. It waits for the login, and for the store."""
        view = self._books.sessions[code].view
        while (access := view.value.access) is None:
            judged(self._books, code)
            await view.wait_newer(view.version)
        today, account = latest_boundary(self._books.clock.now()).date(), logged_in_user(access)
        while True:
            try:
                body = await self._store.get(keys.carried_units(code, today.isoformat()))
                break
            except StoreError:
                await trio.sleep(RETRY_SECONDS)
        stored = None if body is None else _readable(code, body)
        if stored is None or stored.account not in (None, account):
            return
        known = self._books.position_days.get(code)
        if known is None or known.day != today or known.account not in (None, account):
            known = self._books.position_days[code] = PositionDay(day=today, account=account)
        known.take_carried({RowKey(token, product): units for token, product, units in stored.units})
