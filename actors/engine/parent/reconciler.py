"""Decides about a leg that a whole book of its broker does not show by token or order id (order-engine 2.2 rows 12 to 13b,
2.5 K15). Part of a parent's actor; only that actor calls it.

No order message is ever sent here. A leg of unknown outcome turns out to be an order in the book, or is found not to be at the broker, or
stays in doubt.
"""

from collections import defaultdict
from collections.abc import Callable

import attrs
import trio

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.messages import BooksFresh
from onebroker.actors.engine.orders.fingerprints import Doubt, Match, match
from onebroker.actors.engine.orders.in_flight import Traffic
from onebroker.actors.engine.orders.leg_tokens import looks_like_token
from onebroker.actors.engine.orders.odd_rows import may_be
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.orders.session_expiry import has_lapsed
from onebroker.actors.engine.orders.transitions import leg_given_up, leg_never_shown, leg_no_longer_shown
from onebroker.actors.engine.placing.budget_room import MARGIN_SECONDS
from onebroker.actors.engine.placing.write_ahead import Recorder, session_day
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.messages import AskByToken, LoginNeeded
from onebroker.brokers.broker import FoundByToken, TokenQuestion
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import BrokerError
from onebroker.config.clock import latest_boundary

ASK_SECONDS = 60.0
"""How long to wait for a broker that is asked for an order by its token."""
ASK_AGAIN_SECONDS = 10.0
"""Shortest time between two such questions about one leg."""


class Reconciler:
    """The look-up of one parent's legs in its brokers' books. Times are monotonic seconds."""

    def __init__(
        self,
        recorder: Recorder,
        context: EngineContext,
        traffic: Traffic,
        leg_changed: Callable[[LegRecord], None],
        say: Callable[[str], None],
    ) -> None:
        self._recorder = recorder
        self._context = context
        self._clock = context.clock
        self._traffic = traffic
        self._leg_changed = leg_changed
        self._say = say
        self._unseen_since: dict[str, float] = {}
        """Leg id -> when the first fresh book began that did not show this unsettled leg."""
        self._settled_from: defaultdict[str, float] = defaultdict(self._clock.monotonic)
        """Leg id -> the time after which a book read must begin to say anything about this unsettled leg."""
        self._answered_at: dict[str, float] = {}
        """Leg id -> when its message was answered, or given up; only for legs sent since this actor began."""
        self._asked_at: dict[str, float] = {}
        """Leg id -> when its broker was last asked for it by token."""
        for leg in recorder.record.legs:
            self._settled_from[leg.leg_id] = self._clock.monotonic()

    def is_sent(self, leg_id: str) -> None:
        """From now on, a book read may show that an unsettled leg is not at the broker."""
        self._settled_from[leg_id] = self._answered_at[leg_id] = self._clock.monotonic()
        self._unseen_since.pop(leg_id, None)

    def may_be_odd(self, leg: LegRecord, book: BooksFresh) -> bool:
        """Whether one of the book's unreadable rows may be the leg's."""
        if book.partly is None:
            return False
        sent = self._answered_at.get(leg.leg_id)
        sent_after = None if sent is None else sent - self._context.settings.broker_timeout_seconds - 2 * MARGIN_SECONDS
        legs, today = self._context.legs, session_day(self._clock)
        return any(may_be(leg, odd, legs, today=today, sent_after=sent_after) for odd in book.partly.odd)

    def read_unsettled_soon(self) -> None:
        for broker in {leg.broker for leg in self._recorder.record.legs if leg.state.unsettled}:
            self._context.read_soon(broker)

    def settle(self, leg: LegRecord, book: BooksFresh, nursery: trio.Nursery) -> OrderRow | None:
        """Judge a leg that the book shows neither by token nor by order id. Return the leg's row where one is found in another way."""
        if leg.state.final:
            return None
        if leg.session_day < session_day(self._clock) or self._has_lapsed(leg, book.began):
            self._expire(leg, book.began)
            return None
        waits = leg.given_up or self._traffic.busy(leg.leg_id) or book.began < self._settled_from[leg.leg_id]
        if waits or not leg.state.unsettled:
            return None
        found = self._matching(leg, book, nursery)
        if isinstance(found, OrderRow):
            return found
        if found is not Doubt.LATER and self._unseen_long(leg, book.began, nursery):
            self._conclude(leg, found, nursery)
        return None

    def _has_lapsed(self, leg: LegRecord, began: float) -> bool:
        """Whether the leg has lapsed: the book began so long after its session's close that it would show an open order (row 18)."""
        return not leg.state.unsettled and has_lapsed(leg, self._epoch_of(began), self._context.calendar)

    def _epoch_of(self, moment: float) -> float:
        return self._clock.epoch() - (self._clock.monotonic() - moment)

    def _expire(self, leg: LegRecord, began: float) -> None:
        """Expire a leg whose day is over and that today's book does not show (row 18, K15)."""
        if self._epoch_of(began) >= latest_boundary(self._clock.now()).timestamp() and not self._traffic.busy(
            leg.leg_id
        ):
            expired = leg_no_longer_shown(leg, self._clock.epoch())
            self._leg_changed(expired)
            self._say(expired.status_message or "")

    def _unseen_long(self, leg: LegRecord, began: float, nursery: trio.Nursery) -> bool:
        if leg.leg_id not in self._unseen_since:
            self._unseen_since[leg.leg_id] = began
            nursery.start_soon(self._read_when_due, leg.broker, began)
        return began >= self._unseen_since[leg.leg_id] + self._context.settings.unknown_settle_seconds

    async def _read_when_due(self, broker: str, unseen_since: float) -> None:
        """Ask the broker for the book that decides. The broker's own reading pace may be as slow as once a minute."""
        await trio.sleep_until(unseen_since + self._context.settings.unknown_settle_seconds)
        self._context.read_soon(broker)

    # --- by a cut token, by the terms ------------------------------------------------------------------------------

    def _matching(self, leg: LegRecord, book: BooksFresh, nursery: trio.Nursery) -> Match:
        legs = self._context.legs
        for row in book.orders.values():
            if legs.begins_one(leg.broker, row.tag) == leg.token:
                return row
        if leg.broker in legs.tagging or any(looks_like_token(row.tag) for row in book.orders.values()):
            return None
        untagged = [row for row in book.orders.values() if row.tag is None or not row.tag.strip()]
        unasked = [row for row in untagged if not legs.knows(row, leg.broker)]
        if unasked:
            nursery.start_soon(self._learn, leg.broker, unasked)
            return Doubt.LATER
        free = [row for row in untagged if legs.entry(leg.broker, row.order_id, row.tag) is None]
        fineness = self._context.session(leg.broker).broker.capabilities.order_time_seconds
        return match(leg, legs.unsettled, free, self._clock.epoch(), fineness)

    async def _learn(self, broker: str, rows: list[OrderRow]) -> None:
        """Learn which legs own these orders, so that an order of another leg of ours is not taken for this leg's."""
        learnt = [await self._context.legs.learn(self._context.store, row, broker) for row in rows]
        if all(learnt):
            self._context.read_soon(broker)

    # --- the end of looking -----------------------------------------------------------------------------------------

    def _conclude(self, leg: LegRecord, found: Match, nursery: trio.Nursery) -> None:
        if found is Doubt.TOO_MANY:
            self._leg_changed(leg_given_up(leg, self._clock.epoch()))
        elif self._context.session(leg.broker).broker.by_token is None:
            self._leg_changed(leg_never_shown(leg, self._clock.epoch()))
        elif self._clock.monotonic() >= self._asked_at.get(leg.leg_id, float("-inf")) + ASK_AGAIN_SECONDS:
            self._asked_at[leg.leg_id] = float("inf")
            nursery.start_soon(self._ask, leg)

    async def _ask(self, leg: LegRecord) -> None:
        """Ask the broker for the order by its token, where no book shows it. Without an answer the leg stays unknown."""
        question = TokenQuestion(token=leg.token, instrument_token=leg.instrument_token, segment=leg.segment)

        def asked(reply: Reply[FoundByToken | None]) -> AskByToken:
            return AskByToken(question=question, reply=reply)

        try:
            found = await self._context.session(leg.broker).address.ask(asked, ASK_SECONDS)
        except (BrokerError, LoginNeeded, AskTimedOut, ActorNotRunning):
            self._context.read_soon(leg.broker)
        else:
            self._answered(leg.leg_id, found)
        finally:
            self._asked_at[leg.leg_id] = self._clock.monotonic()

    def _answered(self, leg_id: str, found: FoundByToken | None) -> None:
        leg = self._recorder.record.leg(leg_id)
        if leg is None or not leg.state.unsettled or leg.given_up:
            return  # the leg was seen meanwhile
        if found is None:
            self._leg_changed(leg_never_shown(leg, self._clock.epoch()))
            return
        self._unseen_since.pop(leg_id, None)  # the order exists: the book that shows it will give its state
        if found.order_id is not None and found.order_id != leg.order_id:
            self._leg_changed(attrs.evolve(leg, order_id=found.order_id))
        self._context.read_soon(leg.broker)
