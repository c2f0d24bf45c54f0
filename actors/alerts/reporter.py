"""Makes news of events: what begins, what is over, what is only told after a while. It keeps what it must remember of the events before; it never waits.

- An unknown order is told when it is unknown for `UNKNOWN_SECONDS`. An order that is known again before is not told at all.
- Problems of one kind and subject (the five reads of a broker) are one thing: its begin is told once, and its end when all of them are over.
- Logins are told at once in the trading day, and in one list at `MORNING` (IST).
"""

from collections.abc import Callable, Iterator
from datetime import datetime, time

import attrs

from onebroker.actors.alerts.news import News
from onebroker.actors.alerts.wording import Names, Text, Wording
from onebroker.config.alert_kinds import AlertKind, kind_of_problem
from onebroker.config.calendars import CALENDARS, Calendar
from onebroker.config.clock import IST, Clock
from onebroker.config.events import (
    CalendarEnds,
    Event,
    ExposureProtected,
    ExposureUnprotected,
    HaltOff,
    HaltOn,
    LoginNeeded,
    LoginRefused,
    LossLevel,
    OrderFilled,
    OrderRejected,
    OrderSent,
    OrderSettled,
    OrderUnknown,
    ParentMoved,
    ProblemBegan,
    ProblemOver,
)
from onebroker.config.instruments import TRADING_EXCHANGES

UNKNOWN_SECONDS = 10.0
MORNING = time(8, 30)
"""IST. From here to the last close of the day a missing login is told at once."""
MOST_ORDERS = 10_000
"""Orders whose instrument is remembered. Of an older order the message has the ids only."""
FAILED = "failed"
"""The state of a parent that is told."""


@attrs.frozen(kw_only=True)
class ReporterContext:
    """What the reporter reads."""

    clock: Clock
    calendar: Calendar
    names: Names
    logins_needed: Callable[[], tuple[tuple[str, bool], ...]]
    """Returns the brokers that have no login: (code, whether only a person can log in)."""


class Reporter:
    """The memory of what was heard. One object a life of the actor."""

    def __init__(self, context: ReporterContext) -> None:
        self._context = context
        self._wording = Wording(context.names)
        self._sent: dict[str, OrderSent] = {}
        """Leg id and parent id -> the order message that placed it, the newest last."""
        self._unknown: dict[str, tuple[OrderUnknown, float]] = {}
        """Leg id -> the event of an order that is unknown and not told yet, and its epoch seconds."""
        self._standing: dict[tuple[AlertKind, str], set[tuple[str, str | None, str | None]]] = {}
        """Kind and name of what goes wrong (`_spell`) -> the problems that stand."""
        self._looked_at = context.clock.now()

    @property
    def waits(self) -> bool:
        """Whether something may have to be told within seconds without another event."""
        return bool(self._unknown)

    def hear(self, event: Event) -> Iterator[News]:
        """Yield what an event tells now."""
        match event:
            case OrderSent():
                self._remember(event)
            case OrderRejected():
                yield self._news(AlertKind.REJECTED, self._wording.rejected(event, self._order(event.leg)))
            case OrderUnknown():
                self._unknown[event.leg] = (event, self._context.clock.epoch())
            case OrderSettled():
                yield from self._settled(event)
            case ParentMoved() if event.state == FAILED:
                yield self._news(AlertKind.FAILED, self._wording.failed(event, self._order(event.parent)))
            case ExposureUnprotected():
                yield self._news(AlertKind.UNPROTECTED, self._wording.unprotected(event), event.parent)
            case ExposureProtected():
                yield self._news(AlertKind.UNPROTECTED, self._wording.protected(event), event.parent, is_over=True)
            case OrderFilled():
                yield self._news(AlertKind.FILL, self._wording.filled(event))
            case _:
                yield from self._hear_service(event)

    def _hear_service(self, event: Event) -> Iterator[News]:
        match event:
            case LossLevel():
                yield self._news(AlertKind.LOSS, self._wording.loss(event), str(event.percent))
            case HaltOn():
                yield self._news(AlertKind.HALT, self._wording.halted(event))
            case HaltOff():
                yield self._news(AlertKind.HALT, self._wording.resumed(event), is_over=True)
            case LoginNeeded() if self._in_trading_day(self._context.clock.now()):
                yield self._news(AlertKind.LOGIN, self._wording.login_needed(event), event.broker)
            case LoginRefused():
                yield self._news(AlertKind.LOGIN, self._wording.login_refused(event), event.broker)
            case CalendarEnds():
                yield self._news(AlertKind.CALENDAR, self._wording.calendar(event))
            case ProblemBegan():
                yield from self._problem(event)
            case ProblemOver():
                yield from self._problem_over(event)

    def due(self) -> Iterator[News]:
        """Yield what is told because of the time."""
        now = self._context.clock.epoch()
        for leg, (event, since) in list(self._unknown.items()):
            if now - since >= UNKNOWN_SECONDS:
                del self._unknown[leg]
                text = self._wording.unknown(event, self._order(leg), now - since)
                yield self._news(AlertKind.UNKNOWN, text, event.broker)
        yield from self._morning()

    def _settled(self, event: OrderSettled) -> Iterator[News]:
        # After a restart nobody remembers whether the order was told: then its end is told.
        if self._unknown.pop(event.leg, None) is None:
            text = self._wording.settled(event, self._order(event.leg))
            yield self._news(AlertKind.UNKNOWN, text, event.broker, is_over=True)

    def _problem(self, event: ProblemBegan) -> Iterator[News]:
        kind = kind_of_problem(event.kind)
        if kind is None:
            return
        standing = self._standing.setdefault((kind, _spell(event, kind)), set())
        if not standing:
            yield self._news(kind, self._wording.problem(event, kind), _window(event, kind))
        standing.add((event.kind, event.broker, event.subject))

    def _problem_over(self, event: ProblemOver) -> Iterator[News]:
        kind = kind_of_problem(event.kind)
        if kind is None:
            return
        name = (kind, _spell(event, kind))
        standing = self._standing.get(name, set())
        standing.discard((event.kind, event.broker, event.subject))
        if not standing:
            self._standing.pop(name, None)
            yield self._news(kind, self._wording.problem_over(event, kind), _window(event, kind), is_over=True)

    def _morning(self) -> Iterator[News]:
        before, now = self._looked_at, self._context.clock.now()
        self._looked_at = now
        morning = datetime.combine(now.date(), MORNING, IST)
        if before < morning <= now and self._in_trading_day(now) and (needed := self._context.logins_needed()):
            yield self._news(AlertKind.LOGIN, self._wording.logins(needed), "morning")

    def _in_trading_day(self, now: datetime) -> bool:
        """Tell whether a market is open, or the time lies between `MORNING` and the last close of a day on which a market opens."""
        sessions = [
            session
            for exchange in TRADING_EXCHANGES
            for calendar in CALENDARS
            for session in self._context.calendar.sessions(exchange, calendar, now)
        ]
        if any(session.contains(now) for session in sessions):
            return True
        return now.time() >= MORNING and any(now <= session.closes for session in sessions)

    def _remember(self, event: OrderSent) -> None:
        if event.verb != "place":
            return
        for name in filter(None, (event.leg, event.parent)):
            self._sent.pop(name, None)
            self._sent[name] = event
        while len(self._sent) > MOST_ORDERS:
            del self._sent[next(iter(self._sent))]

    def _order(self, name: str | None) -> OrderSent | None:
        return None if name is None else self._sent.get(name)

    def _news(self, kind: AlertKind, text: Text, subject: str = "", *, is_over: bool = False) -> News:
        title, lines = text
        at = self._context.clock.epoch()
        return News(kind=kind, subject=subject, is_over=is_over, title=title, lines=lines, at=at)


def _spell(event: ProblemBegan | ProblemOver, kind: AlertKind) -> str:
    """Return the name of the thing that goes wrong: problems with one name are told as one, from the first begin to the last end."""
    match kind:
        case AlertKind.BROKER | AlertKind.FEED:
            return event.broker or ""
        case AlertKind.CRASH:
            return event.subject or ""
        case _:
            return " ".join(part for part in (event.kind, event.broker, event.subject) if part)


def _window(event: ProblemBegan | ProblemOver, kind: AlertKind) -> str:
    """Return the subject of the news: all parents with a trouble of one kind share a window, so that fifty are no fifty messages."""
    if kind in (AlertKind.BROKER, AlertKind.FEED, AlertKind.CRASH):
        return _spell(event, kind)
    return " ".join(part for part in (event.kind, event.broker) if part)
