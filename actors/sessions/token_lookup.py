"""Asking a broker for one order by our token, over a session's login. After a lost connection the call is repeated once, and a dead
login is repaired once."""

import trio

from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.login_keeper import CALL_SECONDS, LoginKeeper
from onebroker.actors.sessions.messages import LoginNeeded, NotOffered
from onebroker.actors.sessions.pollers import READ_SECONDS
from onebroker.actors.sessions.quote_reader import live_access
from onebroker.brokers.broker import Access, Broker, FoundByToken, TokenQuestion
from onebroker.brokers.requests import BrokerRefusal, NotSent, OutcomeUnknown, RefusalKind
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock


class TokenReader:
    """Asks one broker. Child-task code of the session actor."""

    def __init__(self, broker: Broker, login: LoginKeeper, caller: Caller, clock: Clock) -> None:
        self._broker = broker
        self._login = login
        self._caller = caller
        self._clock = clock

    async def find(self, question: TokenQuestion, priority: Priority) -> FoundByToken | None:
        """Return the order, or None if the broker clearly has no such order. Raises LoginNeeded, NotOffered, BrokerError."""
        access = await live_access(self._login, self._broker.code)
        try:
            return await self._find_once(access, question, priority)
        except BrokerRefusal as refusal:
            if refusal.kind is not RefusalKind.SESSION_DEAD:
                raise
            self._login.dead(access)
        with trio.move_on_after(CALL_SECONDS):
            return await self._find_once(await self._login.wait_other(access), question, priority)
        raise LoginNeeded(self._broker.code)

    async def _find_once(self, access: Access, question: TokenQuestion, priority: Priority) -> FoundByToken | None:
        codec = self._broker.by_token
        if codec is None:
            raise NotOffered(f"{self._broker.code} cannot be asked for an order by its token")
        request = codec.token_request(access, question, self._clock.now())
        try:
            response = await self._caller.call(request, READ_SECONDS, priority=priority)
        except (NotSent, OutcomeUnknown):
            response = await self._caller.call(request, READ_SECONDS, priority=priority)
        try:
            return codec.parse_token(response, question)
        except BrokerRefusal as refusal:
            self._caller.heed(refusal)
            raise
