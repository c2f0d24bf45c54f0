"""Reading a broker's books and portfolio at its cadence: one poller per resource, each a child task of its session actor.

A read is repeated once after a lost connection and once after the repair of a dead session, never more (architecture 5).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import attrs
import trio

from onebroker.actors.portfolio.messages import Rows
from onebroker.actors.sessions.listings import LiveListings
from onebroker.actors.sessions.login import LoginKeeper
from onebroker.actors.store.keys import Resource
from onebroker.brokers.broker import Access, Broker, Cadence
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import (
    BrokerError,
    BrokerRefusal,
    CallKind,
    NotSent,
    OutcomeUnknown,
    RefusalKind,
    WireRequest,
    WireResponse,
)
from onebroker.brokers.transport.budget import BudgetFull, BudgetGate, Priority
from onebroker.brokers.transport.interface import Transport
from onebroker.config.clock import Clock

READ_SECONDS = 10.0
SOONEST_SECONDS = 1.0
"""Least time between two reads of one resource asked for at once (architecture 13)."""
ROOM_SECONDS = 120.0
"""A read waits this long for room in the call budget; after it the resource just stays unread until its next turn."""


class NoRoom(BrokerError):
    """The call budget had no room; nothing was sent."""


Requests: TypeAlias = Callable[[Access], tuple[WireRequest, ...]]
Parse: TypeAlias = Callable[[Sequence[WireResponse], Mapping[str, Listing]], Rows]


@attrs.frozen(kw_only=True)
class ReadDone:
    """One read of one resource, sent by its poller to its own session actor."""

    resource: Resource
    rows: Rows | None
    """None with `error`."""
    error: str | None
    unreadable: bool
    """True when the broker did answer, but with a refusal or nothing readable; False when it could not be reached."""
    began_monotonic: float
    began_epoch: float
    finished_epoch: float
    unchanged: bool
    """The very bytes of the read before: `rows` is the same object."""


def codec_calls(broker: Broker) -> dict[Resource, tuple[Requests, Parse]]:
    """Return, per resource, the broker's request builder and its parser."""
    books, portfolio = broker.books, broker.portfolio
    return {
        "orders": (books.order_requests, lambda answers, listings: tuple(books.parse_orders(answers, listings))),
        "trades": (books.trade_requests, lambda answers, listings: tuple(books.parse_trades(answers, listings))),
        "positions": (portfolio.position_requests, lambda answers, _: tuple(portfolio.parse_positions(answers))),
        "holdings": (portfolio.holding_requests, lambda answers, _: tuple(portfolio.parse_holdings(answers))),
        "funds": (portfolio.fund_requests, lambda answers, _: portfolio.parse_funds(answers)),
    }


def period_seconds(cadence: Cadence, resource: Resource, *, market_open: bool) -> float:
    """Return the seconds between two reads of a resource (architecture 13)."""
    if market_open:
        return {
            "orders": cadence.orders,
            "trades": cadence.trades,
            "positions": cadence.positions,
            "funds": cadence.funds,
            "holdings": cadence.holdings,
        }[resource]
    return cadence.closed_holdings if resource == "holdings" else cadence.closed


class Poller:
    """Reads one resource again and again; `soon` asks for the next read at once."""

    def __init__(
        self,
        *,
        resource: Resource,
        calls: tuple[Requests, Parse],
        cadence: Cadence,
        login: LoginKeeper,
        transport: Transport,
        gate: BudgetGate,
        clock: Clock,
        listings: LiveListings,
        market_open: Callable[[], bool],
        begins: Callable[[Resource], None],
        done: Callable[[ReadDone], None],
    ) -> None:
        self._resource = resource
        self._requests, self._parse = calls
        self._cadence = cadence
        self._login = login
        self._transport = transport
        self._gate = gate
        self._clock = clock
        self._listings = listings
        self._market_open = market_open
        self._begins = begins
        self._done = done
        self._asked = trio.Event()
        self._bodies: tuple[bytes, ...] | None = None
        self._rows: Rows | None = None
        self._parsed_with: Mapping[str, Listing] | None = None

    def soon(self) -> None:
        self._asked.set()

    async def run(self) -> None:
        while True:
            access = await self._login.wait_live()
            began = self._clock.monotonic()
            self._asked = trio.Event()
            self._begins(self._resource)
            self._done(await self._read(access))
            await self._until_due(began)

    async def _until_due(self, began: float) -> None:
        """Wait for the next turn of the cadence, or for somebody asking, but never less than a second."""
        with trio.move_on_after(self._period() - (self._clock.monotonic() - began)):
            await self._asked.wait()
        await trio.sleep_until(began + SOONEST_SECONDS)

    def _period(self) -> float:
        return period_seconds(self._cadence, self._resource, market_open=self._market_open())

    async def _read(self, access: Access) -> ReadDone:
        began, began_epoch = self._clock.monotonic(), self._clock.epoch()
        try:
            bodies, rows = await self._fetch(access)
        except BrokerError as error:
            reached = not isinstance(error, NotSent | OutcomeUnknown | NoRoom)
            return self._result(None, str(error), began, began_epoch, unreadable=reached)
        unchanged = bodies is self._bodies
        self._bodies, self._rows = bodies, rows
        return self._result(rows, None, began, began_epoch, unchanged=unchanged)

    def _result(
        self,
        rows: Rows | None,
        error: str | None,
        began: float,
        began_epoch: float,
        *,
        unreadable: bool = False,
        unchanged: bool = False,
    ) -> ReadDone:
        return ReadDone(
            resource=self._resource,
            rows=rows,
            error=error,
            unreadable=unreadable,
            began_monotonic=began,
            began_epoch=began_epoch,
            finished_epoch=self._clock.epoch(),
            unchanged=unchanged,
        )

    async def _fetch(self, access: Access) -> tuple[tuple[bytes, ...], Rows]:
        try:
            return await self._fetch_once(access)
        except BrokerRefusal as refusal:
            if refusal.kind is not RefusalKind.SESSION_DEAD:
                raise
            self._login.dead(access)
        return await self._fetch_once(await self._login.wait_other(access))

    async def _fetch_once(self, access: Access) -> tuple[tuple[bytes, ...], Rows]:
        """Call, compare with the bytes before (cheaper than parsing), and parse what changed."""
        answers = [await self._call(request) for request in self._requests(access)]
        bodies = tuple(answer.body for answer in answers)
        listings = self._listings.current
        known = bodies == self._bodies and listings is self._parsed_with and all(_fine(answer) for answer in answers)
        if known and self._bodies is not None and self._rows is not None:
            return self._bodies, self._rows
        rows = self._parse(answers, listings)
        self._parsed_with = listings
        return bodies, rows

    async def _call(self, request: WireRequest) -> WireResponse:
        try:
            return await self._call_once(request)
        except (NotSent, OutcomeUnknown):
            return await self._call_once(request)

    async def _call_once(self, request: WireRequest) -> WireResponse:
        try:
            await self._gate.acquire(CallKind.READ, Priority.READ, self._clock.monotonic() + ROOM_SECONDS)
        except BudgetFull as full:
            raise NoRoom("the broker's call budget is full") from full
        return await self._transport.send(request, READ_SECONDS)


def _fine(answer: WireResponse) -> bool:
    return 200 <= answer.status < 300
