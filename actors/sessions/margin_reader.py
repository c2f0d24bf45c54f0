"""Asking a broker for the margin of an order, over a session's login, and keeping the figure. There is no retry: the caller asks again."""

import logging
from collections.abc import Callable, Mapping
from decimal import Decimal

import trio

from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.login_keeper import LoginKeeper
from onebroker.actors.sessions.session_view import MarginFigure, MarginKey
from onebroker.brokers.broker import Broker, OrderTicket
from onebroker.brokers.codec.contained import contained
from onebroker.brokers.requests import BrokerError, BrokerRefusal, RefusalKind
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock

_log = logging.getLogger("onebroker.sessions")

ASK_SECONDS = 3.0
"""After this time, no caller waits for the answer any more."""
ROOM_SECONDS = 0.5
MOST_KEPT = 500
"""The most figures kept for one broker. The figure asked for longest ago makes room."""


class MarginReader:
    """Asks one broker. Child-task code of the session actor."""

    def __init__(
        self, broker: Broker, login: LoginKeeper, caller: Caller, clock: Clock, *, changed: Callable[[], None]
    ) -> None:
        self._broker = broker
        self._login = login
        self._caller = caller
        self._clock = clock
        self._changed = changed
        self.figures: Mapping[MarginKey, MarginFigure] = {}
        """The figures asked for, the oldest first. Each answer makes a new mapping."""

    async def ask(self, ticket: OrderTicket, price: Decimal) -> None:
        """Ask for one order and keep the figure per unit. If the broker gave no figure, that is kept too."""
        asked_at = self._clock.monotonic()
        needed = None
        try:
            with trio.fail_after(ASK_SECONDS), contained():
                needed = await self._needed(ticket, price)
        except (BrokerError, trio.TooSlowError) as error:
            _log.info(
                "%s gave no margin for %s: %s",
                self._broker.code,
                ticket.listing.tradingsymbol,
                error or "no answer in time",
            )
        key = MarginKey(ticket.listing.broker_token, ticket.transaction_type, ticket.product)
        figure = MarginFigure(per_unit=None if needed is None else needed / ticket.quantity, asked_at=asked_at)
        others = [(other, known) for other, known in self.figures.items() if other != key]
        self.figures = dict([*others[-MOST_KEPT + 1 :], (key, figure)])
        self._changed()

    async def _needed(self, ticket: OrderTicket, price: Decimal) -> Decimal | None:
        access, codec = self._login.live, self._broker.margins
        if access is None or codec is None:
            return None
        request = codec.margin_request(access, ticket, price, self._clock.now())
        try:
            response = await self._caller.call(
                request, ASK_SECONDS, room_seconds=ROOM_SECONDS, priority=Priority.AWAITED
            )
            return codec.parse_margin(response)
        except BrokerRefusal as refusal:
            self._caller.heed(refusal)
            if refusal.kind is RefusalKind.SESSION_DEAD:
                self._login.dead(access)
            raise
