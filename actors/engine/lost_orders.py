"""Asks brokers by token for orders that the store has forgotten and no book shows (order-engine 2.5, K19). Part of the engine's actor, after the
books have been read and before open plans act.

A fresh read of a book may come from a copy that is behind. Some brokers can be asked for one order by our token. They are asked for the orders
that the lost runs of the engine may have sent next: of each part of each open parent, under the next running numbers. A found order is noted in
the leg index. Its parent takes it up (`recovering`) and sends nothing until a book shows the order.

The questions have the priority of plain reads within each broker's budget, behind every order message and the books. Each broker gets one question
at a time and at most `MOST_ASKED`, for as long as an order of unknown outcome is looked for. For questions unanswered by then the books decide, as
at a broker that cannot be asked: an exit must not wait for ever.

The store may have forgotten a whole intent, and its caller may repeat it. For a while after a loss, a new order is therefore also asked for before
it is sent, but only as long as its caller has time.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import attrs
import trio

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.orders.adjusted_contracts import followed
from onebroker.actors.engine.orders.lost_legs import FoundOrder, NextLeg
from onebroker.actors.engine.orders.parent_records import ParentRecord
from onebroker.actors.engine.parent.reconciler import ASK_AGAIN_SECONDS, ASK_SECONDS
from onebroker.actors.engine.parent.store_recovery import FREE_NUMBERS, next_legs, with_found_legs, with_lost_legs
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.engine.plan_parent.open_plan import SENDS
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.messages import AskByToken, LoginNeeded
from onebroker.brokers.broker import FoundByToken, TokenQuestion
from onebroker.brokers.requests import BrokerError
from onebroker.brokers.transport.priorities import Priority

MOST_ASKED = 150
"""Questions to one broker after one loss. The brokers' own limits are 200 calls a minute or more. So these questions and the book reads are
answered within the minute for which an order is looked for."""

REPEATED_SECONDS = 300.0
"""For this long after a loss was settled, an incoming order may be one that the store has forgotten. Answers are kept as long for callers that ask
again."""
REPEATED_ASK_SECONDS = 1.5
"""A new order waits at most this long for these questions: a caller waits five seconds."""

_log = logging.getLogger("onebroker.engine")


def asked_by_token(context: EngineContext) -> list[str]:
    """Return the codes of the brokers that can be asked by token."""
    return sorted(code for code, handle in context.sessions.items() if handle.broker.by_token is not None)


def as_known(context: EngineContext, record: ParentRecord) -> ParentRecord:
    """Return a parent with its lost orders that are known by now."""
    today, now = session_day(context.clock), context.clock.epoch()
    record = with_lost_legs(record, context.legs.strangers, today, now, context.writes.runs)
    return followed(with_found_legs(record, context.legs.found, today, now), context.catalogue.value.renames)


async def ask_for_lost(context: EngineContext, records: Iterable[ParentRecord]) -> None:
    """Ask for orders of these parents that the store has lost, and note the found orders. Asks nothing when the store has lost nothing."""
    if context.writes.lost_runs:
        asking = _Asking(context, records, FREE_NUMBERS, Priority.READ)
        with trio.move_on_after(context.settings.unknown_settle_seconds):
            unanswered = True
            while unanswered:
                unanswered = await asking.ask()
                await trio.sleep(ASK_AGAIN_SECONDS if unanswered else 0)
        asking.say_unanswered()


async def ask_for_repeated(context: EngineContext, record: ParentRecord) -> None:
    """Ask for a new order that its caller may have sent before the store lost it, and note a found order."""
    with trio.move_on_after(REPEATED_ASK_SECONDS):
        await _Asking(context, [record], 1, Priority.AWAITED).ask()


@attrs.frozen(kw_only=True)
class _Question:
    parent_id: str
    leg: NextLeg
    broker: str
    asked: TokenQuestion
    tradingsymbol: str

    @property
    def key(self) -> tuple[str, str]:
        return self.broker, self.leg.token


class _Asking:
    def __init__(self, context: EngineContext, records: Iterable[ParentRecord], free: int, priority: Priority) -> None:
        """`free`: how many running numbers above a parent's last leg are asked for."""
        self._context = context
        self._free = free
        self._priority = priority
        newest_first = sorted(records, key=lambda record: record.updated_at, reverse=True)
        self._records = [record for record in newest_first if record.state in SENDS]
        """Parents that changed last come first: the last writes were theirs."""
        self._codes = asked_by_token(context)
        self._wanted: set[tuple[str, str]] = set()
        """(broker, token) of all questions."""
        self._taken: set[tuple[str, str]] = set()
        """Questions that may be asked."""
        self._answered: set[tuple[str, str]] = set()
        self._failed: Counter[tuple[str, str]] = Counter()
        """How often a question got no answer. Such questions go last, so that none of them blocks the others."""

    async def ask(self) -> bool:
        """Ask for everything and tell whether brokers have left a question unanswered. Where an order is found, its parent's next numbers are
        asked for too."""
        snapshot = await self._catalogue()
        while True:
            by_broker: defaultdict[str, list[_Question]] = defaultdict(list)
            for question in self._questions(snapshot):
                by_broker[question.broker].append(question)
            if not by_broker:
                return False
            before = len(self._answered)
            async with trio.open_nursery() as nursery:
                for code, questions in by_broker.items():
                    nursery.start_soon(self._ask_all, self._context.sessions[code], questions)
            if len(self._answered) == before:
                return True

    def say_unanswered(self) -> None:
        for code in self._codes:
            count = sum(broker == code for broker, _ in self._wanted - self._answered)
            if count:
                _log.warning(
                    "%s has not said whether it has %s orders that the store may have lost: its book decides",
                    code,
                    count,
                )

    async def _catalogue(self) -> Snapshot:
        catalogue = self._context.catalogue
        while (snapshot := catalogue.value.latest) is None:
            await catalogue.wait_newer(catalogue.version)
        return snapshot

    def _questions(self, snapshot: Snapshot) -> list[_Question]:
        """Return the questions not answered yet, the first running numbers of all parents before the later ones."""
        questions: list[tuple[int, int, _Question]] = []
        for record in self._records:
            numbers: list[int] = []
            for leg in next_legs(as_known(self._context, record), self._context.writes.lost_runs, self._free):
                numbers += [] if leg.number in numbers else [leg.number]
                asked = self._of(record, leg, snapshot)
                questions += [(self._failed[question.key], numbers.index(leg.number), question) for question in asked]
        questions.sort(key=lambda numbered: numbered[:2])
        return [question for *_, question in questions if self._may_ask(question)]

    def _of(self, record: ParentRecord, leg: NextLeg, snapshot: Snapshot) -> Iterable[_Question]:
        instrument = snapshot.instrument(leg.instrument_id)
        for code in self._codes:
            listing = None if instrument is None else instrument.listings.get(code)
            if instrument is not None and listing is not None and leg.broker in (None, code):
                yield _Question(
                    parent_id=record.parent_order_id,
                    leg=leg,
                    broker=code,
                    asked=TokenQuestion(
                        token=leg.token, instrument_token=listing.broker_token, segment=instrument.identity.segment
                    ),
                    tradingsymbol=listing.tradingsymbol,
                )

    def _may_ask(self, question: _Question) -> bool:
        self._wanted.add(question.key)
        if question.key not in self._taken:
            if sum(broker == question.broker for broker, _ in self._taken) >= MOST_ASKED:
                return False
            self._taken.add(question.key)
        return question.key not in self._answered

    async def _ask_all(self, handle: SessionHandle, questions: Sequence[_Question]) -> None:
        """Ask one question after the other until the broker gives no answer; then it is left alone for a while."""
        for question in questions:
            if not await self._ask(handle, question):
                return

    async def _ask(self, handle: SessionHandle, question: _Question) -> bool:
        def asked(reply: Reply[FoundByToken | None]) -> AskByToken:
            return AskByToken(question=question.asked, priority=self._priority, reply=reply)

        try:
            found = await handle.address.ask(asked, ASK_SECONDS)
        except (BrokerError, LoginNeeded, AskTimedOut, ActorNotRunning) as error:
            _log.debug("%s did not say whether it has %s: %s", question.broker, question.leg.token, error)
            self._failed[question.key] += 1
            return False
        self._answered.add(question.key)
        if found is not None:
            _log.warning("%s has an order that the store had lost: %s", question.broker, question.leg.token)
            self._context.legs.note_found(
                FoundOrder(
                    parent_id=question.parent_id,
                    leg=question.leg,
                    broker=question.broker,
                    order_id=found.order_id,
                    instrument_token=question.asked.instrument_token,
                    tradingsymbol=question.tradingsymbol,
                    segment=question.asked.segment,
                )
            )
        return True
