"""REST quotes over a session's login. After a lost connection the call is repeated once, and a dead login is repaired once."""

import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.login_keeper import CALL_SECONDS, LoginKeeper
from onebroker.actors.sessions.messages import LoginNeeded
from onebroker.actors.sessions.pollers import READ_SECONDS
from onebroker.actors.sessions.read_outcomes import ReadOutcomes
from onebroker.actors.sessions.session_counts import SessionCounts
from onebroker.brokers.broker import Access, Broker
from onebroker.brokers.codec.contained import OddRows, contained
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import (
    BadAnswer,
    BrokerError,
    BrokerRefusal,
    NotSent,
    OutcomeUnknown,
    RefusalKind,
    WireRequest,
    WireResponse,
)
from onebroker.config.clock import Clock

ROOM_SECONDS = 1.0
"""Longest wait of a quote for room in the broker's budget: a caller waits for the quote, and the next broker may have room."""
SETTLED_SECONDS = 60.0
"""Quotes count as readable again when no answer was unreadable for this long. Each answer is about other instruments."""


async def live_access(login: LoginKeeper, code: str) -> Access:
    """Return the access with the live login. If the login is just being repaired, because another call found it dead, wait for it.

    Raises LoginNeeded.
    """
    access, since = login.live, login.repairing_since
    if access is None and since is not None:
        with trio.move_on_after(since + CALL_SECONDS - trio.current_time()):
            return await login.wait_live()
    if access is None:
        raise LoginNeeded(code)
    return access


class QuoteReader:
    """Fetches quotes of one broker. Child-task code of the session actor."""

    def __init__(
        self,
        broker: Broker,
        login: LoginKeeper,
        caller: Caller,
        clock: Clock,
        events: Events,
        counts: SessionCounts | None = None,
    ) -> None:
        self._broker = broker
        self._login = login
        self._caller = caller
        self._outcomes = ReadOutcomes(
            broker.code, "quotes", clock=clock, events=events, counts=counts, settled_seconds=SETTLED_SECONDS
        )

    async def fetch(self, listings: tuple[Listing, ...]) -> dict[str, Tick]:
        """Return ticks by broker_token. Unreadable quotes are left out and told as an event. Raises LoginNeeded, BrokerError."""
        access = await live_access(self._login, self._broker.code)
        try:
            return await self._fetch_once(access, listings)
        except BrokerRefusal as refusal:
            if refusal.kind is not RefusalKind.SESSION_DEAD:
                raise
            self._login.dead(access)
        with trio.move_on_after(CALL_SECONDS):
            return await self._fetch_once(await self._login.wait_other(access), listings)
        raise LoginNeeded(self._broker.code)

    async def _fetch_once(self, access: Access, listings: tuple[Listing, ...]) -> dict[str, Tick]:
        codec = self._broker.quotes
        if codec is None:
            raise BrokerError(f"{self._broker.code} has no quotes")
        response = await self._call(codec.quote_request(access, listings))
        try:
            with contained():
                ticks = codec.parse_quotes(response, listings)
        except BadAnswer as error:
            self._outcomes.failed(str(error))
            if not isinstance(error, OddRows) or not error.readable:
                raise
            return {tick.broker_token: tick for tick in error.readable}
        except BrokerRefusal as refusal:
            self._caller.heed(refusal)
            raise
        self._outcomes.good()
        return ticks

    async def _call(self, request: WireRequest) -> WireResponse:
        """Call once, and once more after a lost connection."""
        try:
            return await self._caller.call(request, READ_SECONDS, room_seconds=ROOM_SECONDS)
        except (NotSent, OutcomeUnknown):
            return await self._caller.call(request, READ_SECONDS, room_seconds=ROOM_SECONDS)
