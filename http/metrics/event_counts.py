"""Counts what events tell: order messages and their times, fills, rejections, logins, refused clients. A listener of events; it only adds numbers,
because it is told in the middle of an order.

Counts of brokers, verbs and outcomes begin at zero, not at the first event: a rule of Prometheus sees no increase where there was no sample.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime

from prometheus_client.core import Metric

from onebroker.actors.engine.orders.parent_records import ParentState
from onebroker.actors.kernel.durations import Durations
from onebroker.config.events import (
    BudgetFull,
    ClientRefused,
    Event,
    FeedMute,
    LoginDone,
    LoginNeeded,
    LoginRefused,
    OrderAnswered,
    OrderFilled,
    OrderRejected,
    OrderSent,
    ParentMoved,
)
from onebroker.config.vocabulary import Outcome
from onebroker.http.listener.refused_clients import Why
from onebroker.http.metrics import names

ORDER_BOUNDS: Mapping[str, tuple[float, ...]] = {
    "preparation": (0.001, 0.0025, 0.005, 0.01, 0.05, 0.5),
    "queue": (0.001, 0.01, 0.1, 1.0, 5.0),
    "broker": (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
}
"""Part of an order message's time -> bounds in seconds. Few bounds, where the part's times are: ten brokers have ninety of these histograms."""
TRIGGER_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
VERBS = ("place", "modify", "cancel")
OUTCOMES = (Outcome.ACCEPTED.value, Outcome.REJECTED.value, Outcome.UNKNOWN.value)
LOGIN_OUTCOMES = ("done", "needed", "refused")


class EventCounts:
    """What was told since the start of the process."""

    def __init__(self) -> None:
        self._codes: Collection[str] = ()
        self._orders: Counter[tuple[str, str, str]] = Counter()
        """(broker, verb, outcome) -> messages."""
        self._times: dict[tuple[str, str, str], Durations] = {}
        """(broker, verb, part) -> how long."""
        self._triggers = Durations(TRIGGER_BOUNDS)
        self._logins: Counter[tuple[str, str]] = Counter()
        """(broker, outcome) -> changes."""
        self._expires: dict[str, float] = {}
        """Broker -> when its login ends, in epoch seconds."""
        self._fills, self._rejections = Counter[str](), Counter[str]()
        self._mute, self._full = Counter[str](), Counter[str]()
        """Broker -> how often."""
        self._parents: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._hear: Mapping[type[Event], Callable[[Event], None]] = {
            OrderSent: self._sent,
            OrderAnswered: self._answered,
            OrderFilled: self._filled,
            OrderRejected: self._rejected,
            LoginDone: self._login_done,
            LoginNeeded: self._login_needed,
            LoginRefused: self._login_refused,
            FeedMute: self._feed_mute,
            BudgetFull: self._budget_full,
            ParentMoved: self._parent_moved,
            ClientRefused: self._client_refused,
        }

    def begin(self, codes: Collection[str]) -> None:
        """Show the counts of these brokers from zero on."""
        self._codes = codes

    def hear(self, event: Event) -> None:
        """Count the event, if its kind is counted."""
        count = self._hear.get(type(event))
        if count is not None:
            count(event)

    # --- counting -----------------------------------------------------------------------------------------------------

    def _sent(self, event: Event) -> None:
        assert isinstance(event, OrderSent)
        if event.prepared_ms is not None:
            self._took(event.broker, event.verb, "preparation").add(event.prepared_ms / 1000)
        if event.queued_ms is not None:
            self._took(event.broker, event.verb, "queue").add(event.queued_ms / 1000)
        if event.triggered_ms is not None:
            self._triggers.add(event.triggered_ms / 1000)

    def _answered(self, event: Event) -> None:
        assert isinstance(event, OrderAnswered)
        self._orders[event.broker, event.verb, event.outcome] += 1
        self._took(event.broker, event.verb, "broker").add(event.broker_ms / 1000)

    def _took(self, *labels: str) -> Durations:
        broker, verb, part = labels
        took = self._times.get((broker, verb, part))
        if took is None:
            took = self._times[broker, verb, part] = Durations(ORDER_BOUNDS[part])
        return took

    def _filled(self, event: Event) -> None:
        assert isinstance(event, OrderFilled)
        self._fills[event.broker] += 1

    def _rejected(self, event: Event) -> None:
        assert isinstance(event, OrderRejected)
        self._rejections[event.broker] += 1

    def _login_done(self, event: Event) -> None:
        assert isinstance(event, LoginDone)
        self._logins[event.broker, "done"] += 1
        self._expires.pop(event.broker, None)
        if event.until is not None:
            self._expires[event.broker] = datetime.fromisoformat(event.until).timestamp()

    def _login_needed(self, event: Event) -> None:
        assert isinstance(event, LoginNeeded)
        self._logins[event.broker, "needed"] += 1
        self._expires.pop(event.broker, None)

    def _login_refused(self, event: Event) -> None:
        assert isinstance(event, LoginRefused)
        self._logins[event.broker, "refused"] += 1

    def _feed_mute(self, event: Event) -> None:
        assert isinstance(event, FeedMute)
        self._mute[event.broker] += 1

    def _budget_full(self, event: Event) -> None:
        assert isinstance(event, BudgetFull)
        self._full[event.broker] += 1

    def _parent_moved(self, event: Event) -> None:
        assert isinstance(event, ParentMoved)
        self._parents[event.state] += 1

    def _client_refused(self, event: Event) -> None:
        assert isinstance(event, ClientRefused)
        self._refused[event.why] += event.count

    # --- showing ------------------------------------------------------------------------------------------------------

    def collect(self) -> Iterable[Metric]:
        codes = self._codes
        orders = [(code, verb, outcome) for code in codes for verb in VERBS for outcome in OUTCOMES]
        logins = [(code, outcome) for code in codes for outcome in LOGIN_OUTCOMES]
        yield names.ORDERS.family((labels, self._orders[labels]) for labels in orders)
        yield names.ORDER_TIME.histogram(self._times.items())
        yield names.TRIGGER.histogram((((), self._triggers),))
        yield names.LOGINS.family((labels, self._logins[labels]) for labels in logins)
        yield names.LOGIN_EXPIRES.family(((code,), at) for code, at in self._expires.items())
        for name, counts in (
            (names.FILLS, self._fills),
            (names.REJECTIONS, self._rejections),
            (names.FEED_MUTE, self._mute),
            (names.BUDGET_FULL, self._full),
        ):
            yield name.family(((code,), counts[code]) for code in codes)
        yield names.PARENT_STATES.family(((state.value,), self._parents[state.value]) for state in ParentState)
        yield names.CLIENTS_REFUSED.family(((why.value,), self._refused[why.value]) for why in Why)
