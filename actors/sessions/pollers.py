"""Reading a broker's books and portfolio at its cadence: one poller per resource, each a child task of its session actor.

A call is repeated once after a lost connection, and a read once after the repair of a dead session, never more (architecture 5).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

import attrs
import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.counted_calls import LOGIN_PRIORITY, Caller, NoRoom
from onebroker.actors.sessions.live_listings import LiveListings
from onebroker.actors.sessions.login_keeper import LoginKeeper
from onebroker.actors.sessions.read_outcomes import ReadOutcomes
from onebroker.actors.sessions.session_counts import SessionCounts
from onebroker.actors.sessions.slices import Rows
from onebroker.actors.store.keys import Resource
from onebroker.brokers.broker import Access, Broker, Cadence, ReadFlow
from onebroker.brokers.codec import accounts
from onebroker.brokers.codec.contained import OddName, OddRows, contained
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import (
    BadAnswer,
    BrokerError,
    BrokerRefusal,
    CallKind,
    NotSent,
    OutcomeUnknown,
    RefusalKind,
    WireRequest,
    WireResponse,
)
from onebroker.brokers.transport.budget import Place
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock

READ_SECONDS = 10.0
SOONEST_SECONDS = 1.0
"""Least time between two reads of one resource, even when the next read is asked for at once (architecture 13)."""
SPARING_SECONDS = 15.0
"""While calls are scarce, a read that an event asks for waits for its cadence, but at most this long. Every order message of ours changes
books, and a broker that counts all calls has no room for a read after each message."""
WAITED_FOR_SECONDS = 1.5
"""The same limit for a read that a caller waits for (a change to be decided, positions to be closed). Such callers wait two to five
seconds."""
AGAIN_SECONDS = (2.0, 5.0, 15.0)
"""Waits before the first, second and third retry of a failed read that was asked for."""
FOLLOW_UP_SECONDS = 60.0
"""A book with a longer cadence (a broker's trades may be read on a fill only) is read again this long after a failed read, and once after
a read that was asked for."""
_SAYS_NOTHING = frozenset({RefusalKind.SESSION_DEAD, RefusalKind.RATE_LIMITED, RefusalKind.UNAVAILABLE})
"""Refusals that concern the moment, not the book. The rows read before still count, and grow old."""


Requests: TypeAlias = Callable[[Access, datetime], ReadFlow]
Parse: TypeAlias = Callable[[Sequence[WireResponse], Mapping[str, Listing]], Rows]


Versions: TypeAlias = dict[str, tuple[str, WireResponse]]
"""URL -> (version, answer), for the calls of one read that name a version (`WireRequest.version`)."""


@attrs.frozen(kw_only=True)
class ReadDone:
    """One read of one resource, sent by its poller to its own session actor."""

    resource: Resource
    rows: Rows | None
    """None with `error`."""
    error: str | None
    unreadable: bool
    """True when the broker answered, but with a refusal about the book or with nothing readable. False otherwise, for example when the
    broker could not be asked."""
    readable: tuple[object, ...] | None = None
    """The readable rows of a book in which other rows could not be read (`error` names them). The readable rows count. A row's absence
    proves nothing. None when no rows could be told apart, or when the whole book could be read."""
    odd: tuple[OddName, ...] = ()
    """The identities of the unreadable rows, as far as readable; only for orders."""
    began_monotonic: float
    """Monotonic seconds at which the first call of the read that gave `rows` left: after the wait for room, and after the repair of a dead
    session."""
    began_epoch: float
    finished_epoch: float


def codec_calls(broker: Broker) -> dict[Resource, tuple[Requests, Parse]]:
    """Return, per resource, the broker's request builder and its parser. If an answer is about another account than the login's, the flow
    raises `BadAnswer` as soon as it gets the answer."""
    books, portfolio = broker.books, broker.portfolio

    def of_account(requests: Requests) -> Requests:
        return lambda access, now: accounts.of_account(requests(access, now), broker.account_field, access)

    calls: dict[Resource, tuple[Requests, Parse]] = {
        "orders": (books.order_requests, lambda answers, listings: tuple(books.parse_orders(answers, listings))),
        "trades": (books.trade_requests, lambda answers, listings: tuple(books.parse_trades(answers, listings))),
        "positions": (
            portfolio.position_requests,
            lambda answers, listings: tuple(portfolio.parse_positions(answers, listings)),
        ),
        "holdings": (portfolio.holding_requests, lambda answers, _: tuple(portfolio.parse_holdings(answers))),
        "funds": (portfolio.fund_requests, lambda answers, _: portfolio.parse_funds(answers)),
    }
    return {resource: (of_account(requests), parse) for resource, (requests, parse) in calls.items()}


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
    """Reads one resource repeatedly. `soon` asks for the next read at once."""

    def __init__(
        self,
        *,
        code: str,
        resource: Resource,
        calls: tuple[Requests, Parse],
        cadence: Cadence,
        login: LoginKeeper,
        caller: Caller,
        clock: Clock,
        listings: LiveListings,
        market_open: Callable[[], bool],
        done: Callable[[ReadDone], None],
        events: Events,
        counts: SessionCounts | None = None,
    ) -> None:
        self._resource = resource
        self._requests, self._parse = calls
        self._cadence = cadence
        self._login = login
        self._caller = caller
        self._clock = clock
        self._listings = listings
        self._market_open = market_open
        self._done = done
        self._began = (0.0, 0.0)  # monotonic and epoch seconds of the read that is under way
        self._has_left = False
        self._was_asked = False
        self._asked = trio.Event()
        self._waited_for = trio.Event()
        self._queueing: trio.CancelScope | None = None
        """Set while the read waits for room behind reads that a caller waits for."""
        self._bodies: tuple[bytes, ...] | None = None
        self._rows: Rows | None = None
        self._versions: Versions = {}
        self._parsed_with: Mapping[str, Listing] | None = None
        self._outcomes = ReadOutcomes(code, resource, clock=clock, events=events, counts=counts)

    def soon(self, *, waited_for: bool = False) -> None:
        """Ask for the next read at once. `waited_for`: a caller does nothing until the read is done."""
        self._asked.set()
        if waited_for:
            self._waited_for.set()
            if self._queueing is not None:
                self._queueing.cancel()

    async def run(self) -> None:
        failed = 0  # failed reads in a row since a read that was asked for
        while True:
            access = await self._login.wait_live()
            done = await self._read(access)
            self._done(done)
            asked = self._was_asked or failed > 0
            failed = failed + 1 if asked and done.rows is None else 0
            await self._until_due(done.began_monotonic, self._most_seconds(done, failed, asked=asked))

    @staticmethod
    def _most_seconds(done: ReadDone, failed: int, *, asked: bool) -> float:
        """Return the longest wait for the next read in seconds, whatever the cadence.

        A failed read brings no news, and a book read because of a fill may run behind the fill. In neither case does the next read wait for
        ever. A failed read that was asked for is repeated soon, a few times.
        """
        if 0 < failed <= len(AGAIN_SECONDS):
            return AGAIN_SECONDS[failed - 1]
        return FOLLOW_UP_SECONDS if asked or done.rows is None else math.inf

    async def _until_due(self, began: float, most: float) -> None:
        """Wait for the next turn of the cadence (at most `most` seconds), or until a read is asked for, but never less than a second.

        The cadence is looked up again each second, because the market may open meanwhile.
        """
        await trio.sleep_until(began + SOONEST_SECONDS)
        while (left := began + self._interval(most) - self._clock.monotonic()) > 0:
            with trio.move_on_after(min(left, SOONEST_SECONDS)):
                await self._more_urgent()

    async def _more_urgent(self) -> None:
        """Wait until the next read is asked for more urgently than so far."""
        if not self._asked.is_set():
            await self._asked.wait()
        elif not self._waited_for.is_set():
            await self._waited_for.wait()
        else:
            await trio.sleep_forever()

    def _interval(self, most: float) -> float:
        """Return the seconds between the last read and the next, by the urgency of the requests and the calls left."""
        period = min(self._period(), most)
        if not self._asked.is_set():
            return period
        if not self._caller.scarce():
            return SOONEST_SECONDS
        return min(period, WAITED_FOR_SECONDS if self._waited_for.is_set() else SPARING_SECONDS)

    def _period(self) -> float:
        return period_seconds(self._cadence, self._resource, market_open=self._market_open())

    def _begin(self) -> None:
        self._began = (self._clock.monotonic(), self._clock.epoch())
        self._has_left = False

    def _leave(self) -> None:
        """Note that the first call leaves. This read answers all requests made until now, however long the call waited for room."""
        if not self._has_left:
            self._begin()
            self._has_left = True
            self._was_asked = self._asked.is_set() or self._was_asked
            self._asked = trio.Event()
            self._waited_for = trio.Event()

    async def _read(self, access: Access) -> ReadDone:
        self._was_asked = False
        try:
            bodies, rows = await self._fetch(access)
        except BrokerError as error:
            self._caller.heed(error)
            self._outcomes.failed(str(error))
            unreadable = _is_about_the_book(error)
            odd = error.names if isinstance(error, OddRows) else ()
            return self._result(None, str(error), unreadable=unreadable, readable=_readable(error), odd=odd)
        self._outcomes.good()
        self._bodies, self._rows = bodies, rows
        return self._result(rows, None)

    def _result(
        self,
        rows: Rows | None,
        error: str | None,
        *,
        unreadable: bool = False,
        readable: tuple[object, ...] | None = None,
        odd: tuple[OddName, ...] = (),
    ) -> ReadDone:
        return ReadDone(
            resource=self._resource,
            rows=rows,
            error=error,
            unreadable=unreadable,
            readable=readable,
            odd=odd,
            began_monotonic=self._began[0],
            began_epoch=self._began[1],
            finished_epoch=self._clock.epoch(),
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
        """Call, compare the bytes with the last read (cheaper than parsing), and parse the answers only if they changed."""
        self._begin()
        with contained():
            answers, versions = await self._ask(self._requests(access, self._clock.now()))
        bodies = tuple(answer.body for answer in answers)
        listings = self._listings.current
        known = bodies == self._bodies and listings is self._parsed_with and all(_fine(answer) for answer in answers)
        if known and self._bodies is not None and self._rows is not None:
            self._versions = versions
            return self._bodies, self._rows
        try:
            with contained():
                rows = self._parse(answers, listings)
        except BadAnswer as error:
            if any(answer.status >= 500 for answer in answers):
                raise BrokerRefusal(RefusalKind.UNAVAILABLE, str(error)) from error
            raise
        self._parsed_with = listings
        self._versions = versions
        return bodies, rows

    async def _ask(self, flow: ReadFlow) -> tuple[list[WireResponse], Versions]:
        """Make the calls of one read. If a call's version has not changed since the last good read, its answer is used again."""
        answers: list[WireResponse] = []
        versions: Versions = {}
        try:
            request = next(flow)
            while True:
                answer = await self._answer(request)
                answers.append(answer)
                if request.version is not None:
                    versions[request.url] = (request.version, answer)
                request = flow.send(answer)
        except StopIteration:
            return answers, versions
        finally:
            flow.close()

    async def _answer(self, request: WireRequest) -> WireResponse:
        version, answer = self._versions.get(request.url, (None, None))
        if answer is not None and version is not None and version == request.version:
            self._leave()
            return answer
        return await self._call(request)

    async def _call(self, request: WireRequest) -> WireResponse:
        try:
            return await self._call_once(request)
        except (NotSent, OutcomeUnknown):
            return await self._call_once(request)

    async def _call_once(self, request: WireRequest) -> WireResponse:
        place = await self._room(request.kind)
        self._leave()
        return await self._caller.send(request, place, READ_SECONDS)

    async def _room(self, kind: CallKind) -> Place:
        if self._resource == "orders" and self._rows is None:
            # The engine takes no orders before every book that may hold an order of ours was read once: this read does not queue.
            return await self._caller.room(kind, LOGIN_PRIORITY)
        if not self._waited_for.is_set():
            with trio.CancelScope() as self._queueing:
                try:
                    return await self._caller.room(kind, Priority.BOOK)
                finally:
                    self._queueing = None
        return await self._caller.room(kind, Priority.AWAITED)


def _fine(answer: WireResponse) -> bool:
    return 200 <= answer.status < 300


def _readable(error: BrokerError) -> tuple[object, ...] | None:
    return error.readable if isinstance(error, OddRows) else None


def _is_about_the_book(error: BrokerError) -> bool:
    """Tell whether the error is about the book itself: an unreadable answer, or a refusal that does not concern only the moment."""
    if isinstance(error, BrokerRefusal):
        return error.kind not in _SAYS_NOTHING
    return not isinstance(error, NotSent | OutcomeUnknown | NoRoom)
