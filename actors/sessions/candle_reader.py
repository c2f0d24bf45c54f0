"""Past candles over a session's login, call by call in spans that the broker accepts, behind everything else in its budget.

After a lost connection the call is repeated once. A dead login is repaired once per read: candles read before are kept, and the call
that found the dead login is repeated. The codec refuses an answer that names another instrument (lesson 10).
"""

from collections.abc import Iterable
from datetime import date

import trio

from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.login_keeper import BETWEEN_LOGINS_SECONDS, CALL_SECONDS, LoginKeeper
from onebroker.actors.sessions.messages import LoginNeeded, NotOffered
from onebroker.actors.sessions.quote_reader import live_access
from onebroker.brokers.broker import Access, Broker
from onebroker.brokers.codec.contained import OddRows
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import (
    BadAnswer,
    BrokerRefusal,
    NotSent,
    OutcomeUnknown,
    RefusalKind,
    WireRequest,
    WireResponse,
)
from onebroker.brokers.transport.priorities import Priority

CANDLE_SECONDS = 30.0
"""Limit for the answer to one call: a long span takes brokers some time."""
ROOM_SECONDS = 300.0
"""How long a call waits for room, because every other call goes first."""
BETWEEN_SECONDS = 0.2
"""Time from one call to the next: not every broker documents its limit."""

REPAIR_SECONDS = BETWEEN_LOGINS_SECONDS + CALL_SECONDS
"""Limit for the repair of a dead login: an unattended login may have to wait for its turn."""


class CandleReader:
    """Reads candles of one broker. Child-task code of the session actor."""

    def __init__(self, broker: Broker, login: LoginKeeper, caller: Caller) -> None:
        self._broker = broker
        self._login = login
        self._caller = caller
        self._next_at = 0.0

    async def read(self, listing: Listing, interval: str, first: date, last: date) -> tuple[Candle, ...]:
        """Return the candles from `first` to `last`, both inclusive, oldest first. Raises LoginNeeded, NotOffered, BrokerError. If some
        rows cannot be read, one `OddRows` for all calls together is raised at the end.
        """
        access = await live_access(self._login, self._broker.code)
        candles: list[Candle] = []
        odd: list[OddRows[Candle]] = []
        number, repaired = 0, False
        while number < len(requests := self._requests(access, listing, interval, first, last)):
            try:
                candles += await self._one(requests[number], listing)
                number += 1
            except OddRows as error:
                odd.append(error)
                candles += error.readable
                number += 1
            except BrokerRefusal as refusal:
                if refusal.kind is not RefusalKind.SESSION_DEAD or repaired:
                    raise
                repaired = True
                access = await self._repaired(access)
        if odd:
            raise OddRows(
                [row for error in odd for row in error.odd], sum(error.of for error in odd), _distinct(candles)
            )
        return _distinct(candles)

    def _requests(
        self, access: Access, listing: Listing, interval: str, first: date, last: date
    ) -> tuple[WireRequest, ...]:
        codec = self._broker.candles
        if codec is None:
            raise NotOffered(f"{self._broker.code} has no candles")
        try:
            return codec.candle_requests(access, listing, interval, first, last)
        except ValueError as error:
            raise NotOffered(str(error)) from error

    async def _repaired(self, access: Access) -> Access:
        self._login.dead(access)
        with trio.move_on_after(REPAIR_SECONDS):
            return await self._login.wait_other(access)
        raise LoginNeeded(self._broker.code)

    async def _one(self, request: WireRequest, listing: Listing) -> list[Candle]:
        codec = self._broker.candles
        assert codec is not None
        response = await self._call(request)
        try:
            return codec.parse_candles([response], listing)
        except BrokerRefusal as refusal:
            self._caller.heed(refusal)
            raise
        except BadAnswer as error:
            if response.status >= 500:
                raise BrokerRefusal(RefusalKind.UNAVAILABLE, str(error)) from error
            raise
        except (ValueError, KeyError, OverflowError) as error:
            raise BadAnswer(f"candles that cannot be read: {error}") from error

    async def _call(self, request: WireRequest) -> WireResponse:
        """Call once, and once more after a lost connection."""
        try:
            return await self._paced(request)
        except (NotSent, OutcomeUnknown):
            return await self._paced(request)

    async def _paced(self, request: WireRequest) -> WireResponse:
        at = max(trio.current_time(), self._next_at)
        self._next_at = at + BETWEEN_SECONDS
        await trio.sleep_until(at)
        return await self._caller.call(request, CANDLE_SECONDS, room_seconds=ROOM_SECONDS, priority=Priority.BULK)


def _distinct(candles: Iterable[Candle]) -> tuple[Candle, ...]:
    """Return one candle per moment, oldest first. Two spans may share a candle; the later answer counts."""
    by_start = {candle.start: candle for candle in candles}
    return tuple(by_start[start] for start in sorted(by_start))
