"""Every metric of our own: name, kind, labels and meaning. This is the only place that names metrics; the table of
`docs/operations/monitoring.md` is made from it.

A name begins with `onebroker_`. It ends with its unit (`_seconds`, `_bytes`, `_rupees`, `_units`), and a counter's name ends with `_total`. A count
or a yes (1) and no (0) has no unit. Times of day are epoch seconds (`_timestamp_seconds`). The values of every label are few and known before:
codes of brokers, words of ours, paths of the route table. What is not known has no sample; 0 always means zero.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal, TypeAlias

import attrs
from prometheus_client.core import InfoMetricFamily, Metric
from prometheus_client.samples import Sample

from onebroker.actors.kernel.durations import Durations

Samples: TypeAlias = Iterable[tuple[tuple[str, ...], float]]
"""Values of the labels, in the order of the name's labels, and the value."""


@attrs.frozen(kw_only=True)
class Name:
    """One metric."""

    name: str
    kind: Literal["gauge", "counter", "histogram", "info"]
    doc: str
    labels: tuple[str, ...] = ()

    _labelled: dict[tuple[str, ...], dict[str, str]] = attrs.field(factory=dict, init=False, eq=False, repr=False)
    """Values of the labels -> the labels of a sample. They are made once: making them is most of a sample's cost, and the values are few."""

    def family(self, samples: Samples) -> Metric:
        """Return the metric with these samples; for a gauge or a counter."""
        metric = Metric(self.name.removesuffix("_total") if self.kind == "counter" else self.name, self.doc, self.kind)
        metric.samples = [Sample(self.name, self._labels(values), value) for values, value in samples]
        return metric

    def one(self, value: float | None) -> Metric:
        """Return the metric with one sample without labels, or without samples when the value is not known (None)."""
        return self.family(() if value is None else (((), value),))

    def histogram(self, rows: Iterable[tuple[tuple[str, ...], Durations]]) -> Metric:
        """Return the metric with a histogram for each row: values of the labels, and the durations."""
        metric = Metric(self.name, self.doc, self.kind)
        bucket, count, total = f"{self.name}_bucket", f"{self.name}_count", f"{self.name}_sum"
        for values, took in rows:
            number = 0
            for bound, number in took.up_to():
                metric.samples.append(Sample(bucket, self._labels((*values, _bound(bound)), le=True), number))
            labels = self._labels(values)
            metric.samples += (Sample(count, labels, number), Sample(total, labels, took.total_seconds))
        return metric

    def info(self, facts: Mapping[str, str]) -> Metric:
        """Return the metric of facts that do not change: label -> value."""
        return InfoMetricFamily(self.name.removesuffix("_info"), self.doc, value=dict(facts))

    def _labels(self, values: tuple[str, ...], *, le: bool = False) -> dict[str, str]:
        """Return the labels of these values. `le`: the last value is a bucket's bound."""
        labels = self._labelled.get(values)
        if labels is None:
            names = (*self.labels, "le") if le else self.labels
            labels = self._labelled[values] = dict(zip(names, values, strict=True))
        return labels


@cache
def _bound(seconds: float) -> str:
    return "+Inf" if seconds == float("inf") else repr(seconds)


def _gauge(name: str, doc: str, *labels: str) -> Name:
    return Name(name=f"onebroker_{name}", kind="gauge", doc=doc, labels=labels)


def _counter(name: str, doc: str, *labels: str) -> Name:
    return Name(name=f"onebroker_{name}", kind="counter", doc=doc, labels=labels)


def _histogram(name: str, doc: str, *labels: str) -> Name:
    return Name(name=f"onebroker_{name}", kind="histogram", doc=doc, labels=labels)


# --- each broker --------------------------------------------------------------------------------------------------------

LOGIN_UP = _gauge(
    "broker_login_up", "Whether the broker has a login that it answers for. No sample while the stored login is tried.", "broker"
)  # fmt: skip
LOGIN_EXPIRES = _gauge(
    "broker_login_expires_timestamp_seconds", "When the broker's login ends, as far as it is known.", "broker"
)
LOGINS = _counter(
    "logins_total", "Changes of a login: done, needed (there is none any more), refused by the broker.", "broker", "outcome"
)  # fmt: skip
PART = _gauge(
    "broker_part_timestamp_seconds", "When the broker's part of a document was last read well.", "broker", "resource"
)
READS = _counter(
    "broker_reads_total",
    "Reads of a broker: ok or failed. `profile` proves a login; `login` makes a login without a person.",
    "broker",
    "resource",
    "outcome",
)
CLOCK_AHEAD = _gauge(
    "broker_clock_ahead_seconds",
    "By how much a broker's clock is at least ahead of this machine's, by the Date of its answers; 0 = not to be told apart.",
    "broker",
)
FEED_UP = _gauge("feed_up", "Whether a socket of the kind is connected. A market feed without an instrument is not.", "broker", "feed")  # fmt: skip
FEED_FRAME = _gauge("feed_last_frame_timestamp_seconds", "When a feed last brought anything.", "broker", "feed")
FEED_INSTRUMENTS = _gauge("feed_instruments", "Instruments that the market feed is subscribed to.", "broker")
FEED_RECONNECTS = _counter("feed_reconnects_total", "How often a feed was connected again.", "broker", "feed")
FEED_CORRUPT = _counter("feed_corrupt_frames_total", "Frames of the broker's feeds that could not be read.", "broker")
FEED_MUTE = _counter(
    "feed_mute_total", "How often a market feed was connected and said nothing while there was trade.", "broker"
)
TICKS = _counter("ticks_total", "Ticks that the market feed brought.", "broker")
RATE_ROOM = _gauge(
    "rate_room",
    "Messages that may leave for the broker at once: entry and exit are order messages, call is any call. No sample without a limit.",
    "broker",
    "class",
)
ORDER_MESSAGES = _gauge("order_messages_today", "Order messages sent to the broker since 07:00 IST.", "broker")
ORDER_MESSAGES_CAP = _gauge("order_messages_cap", "The broker's cap of order messages for a day.", "broker")
BUDGET_FULL = _counter(
    "budget_full_total", "How often an order message found no room in the rate budget; at most one a minute.", "broker"
)

# --- orders -------------------------------------------------------------------------------------------------------------

ORDERS = _counter(
    "orders_total", "Order messages by their outcome. unknown: no answer came, so nobody knew.", "broker", "verb", "outcome"
)  # fmt: skip
ORDER_TIME = _histogram(
    "order_seconds",
    "Time of an order message. preparation: the service's own work; queue: waiting for room and for a connection; broker: until the"
    " broker's answer, or until none came.",
    "broker",
    "verb",
    "part",
)
TRIGGER = _histogram(
    "trigger_to_wire_seconds",
    "From the quote that made a running plan act, as it was received, until the bytes of its order message leave; or from a fill, as the plan"
    " heard of it.",
)
FILLS = _counter("fills_total", "Fills of orders: changes of the filled quantity.", "broker")
REJECTIONS = _counter("order_rejections_total", "Orders that the broker rejected, at once or later.", "broker")
UNKNOWN_ORDERS = _gauge(
    "unknown_orders", "Orders now of which nobody knows whether the broker has them. They are looked for.", "broker"
)
PARENTS = _gauge("parents", "Open parents by state; no samples while the order engine does not run.", "state")
PARENT_STATES = _counter("parent_states_total", "How often a parent came into a state.", "state")
AT_RISK = _gauge(
    "orders_at_risk",
    "Open parents with units that are open without a stop, or with orders that nobody watches or that are still to be cancelled.",
)
UNPROTECTED = _gauge("unprotected_units", "Units that are open without the stop that their parent should keep.")
HALTED = _gauge("halted", "Whether trading is halted by hand, by mode; no samples while that is not known.", "mode")
LOSS = _gauge("loss_rupees", "The day's loss at all brokers, negative for a profit; no sample while it is not known.")
LOSS_LIMIT = _gauge("loss_limit_rupees", "The limit of the day's loss; no sample without a limit.")

# --- documents, market, history -----------------------------------------------------------------------------------------

DOCUMENT = _gauge("document_timestamp_seconds", "The `as_of` of a document: when its last build began.", "document")
DOCUMENT_BUILD = _gauge("document_build_seconds", "How long a document's last build took.", "document")
MARKET_OPEN = _gauge(
    "market_open",
    "Whether a session of the market is open now: equity, currency or commodity of an exchange.",
    "exchange",
    "market",
)
CALENDAR_ENDS = _gauge(
    "calendar_ends_timestamp_seconds", "The end of the last day whose holidays are known.", "exchange"
)
TICKS_DROPPED = _counter("ticks_dropped_total", "Ticks that were to be recorded and were not.")
HISTORY_WRITTEN = _gauge(
    "history_written",
    "Whether candles and ticks are written; 0 while the disk has less than history.disk_reserve_mb left.",
)
TICK_ARCHIVE_WAITING = _gauge(
    "tick_archive_waiting_days",
    "Days that are over and have not all of their ticks in the archive. No sample without an archive, and before the first look.",
)

# --- clients ------------------------------------------------------------------------------------------------------------

REQUESTS = _counter("http_requests_total", "Requests by the path of the route table, `unknown` for other paths.", "route", "method", "status")  # fmt: skip
REQUEST_TIME = _histogram("http_seconds", "From a request to the beginning of its answer.", "route")
STREAM_CLIENTS = _gauge("stream_clients", "Connections to /stream that have shown their token.")
STREAM_LAGGED = _counter("stream_lagged_total", "How often a stream fell behind its events and began again with a snapshot.", "channel")  # fmt: skip
STREAMS = _gauge("streams", "Connections to /stream, streams, streams without a connection, instruments subscribed.", "of")  # fmt: skip
CONNECTIONS = _gauge("connections", "Open connections of clients; of these, with the token or the right credentials.", "of")  # fmt: skip
CONNECTIONS_REFUSED = _counter("connections_refused_total", "Connections closed as soon as they came.")
CONNECTIONS_GAVE_WAY = _counter("connections_gave_way_total", "Connections without a token closed for a newer one.")
CONNECTS_REFUSED = _counter("connects_refused_total", "Connects with a wrong API key or secret.")
METRICS_REFUSED = _counter("metrics_refused_total", "Readings of the metrics with a wrong metrics token.")
CLIENTS_REFUSED = _counter("clients_refused_total", "Clients that were refused, by the reason of `client.refused`.", "why")  # fmt: skip

# --- what watches -------------------------------------------------------------------------------------------------------

PROBLEMS = _gauge("problems", "Problems that stand now, by the kinds of docs/health.md.", "kind")
AUDIT_LINES = _counter("audit_lines_total", "Lines written to the audit.")
AUDIT_WAITING = _gauge("audit_waiting", "Events that are not in the audit yet.")
AUDIT_LOST = _counter("audit_lost_total", "Events that found no room in the audit, because it could not be written.")
AUDIT_SYNCED = _gauge("audit_synced_timestamp_seconds", "When the audit was last put on disk.")
ALERTS = _counter(
    "alerts_total", "Messages to people: taken (sent), tried in vain (failed), given up after a day.", "outcome"
)
ALERTS_WAITING = _gauge("alerts_waiting", "Messages that some receiver has not taken, or whose time has not come.")

# --- the process --------------------------------------------------------------------------------------------------------

ACTOR_UP = _gauge("actor_up", "Whether a supervised actor is up.", "actor")
ACTOR_CRASHES = _counter("actor_crashes_total", "Crashes of an actor since the start of the process.", "actor")
STORE_REACHABLE = _gauge("store_reachable", "Whether the last contact with the store succeeded.")
STORE_TIME = _histogram(
    "store_seconds",
    "Round trips to the store. engine: writes that orders wait for, with the wait for the disk; rest: other writes; reads.",
    "kind",
)
LOOP_LAG = _histogram("loop_lag_seconds", "How late the event loop wakes a task that sleeps a tenth of a second.")
CLOCK_STEPS = _counter(
    "clock_steps_total",
    "How often the wall clock was put by more than 2 s, or the machine slept, since the start of the process.",
)
DISK_FREE = _gauge("disk_free_bytes", "Free on the disk of the data directory.")
DISK_RESERVE = _gauge("disk_reserve_bytes", "What candles and ticks leave free on that disk.")
FREE_FILES = _gauge("free_files", "Files that the process may still open.")
COLLECTIONS = _counter("collections_total", "Rounds of the garbage collector.", "generation")
PUT_ASIDE = _gauge("objects_put_aside", "Objects that the garbage collector no longer looks through.")
BUILD = Name(
    name="onebroker_build_info",
    kind="info",
    doc="The version of onebroker and of Python; always 1.",
    labels=("version", "python"),
)

# --- a replica ----------------------------------------------------------------------------------------------------------

REPLICA_HEARS = _gauge("replica_hears", "Whether a replica hears the service. Only a replica has it.")
REPLICA_BEHIND = _gauge(
    "replica_behind_seconds",
    "How much longer than the fastest message the last one was on its way to a replica. No sample while it hears nothing.",
)

OF_A_REPLICA = (REPLICA_HEARS, REPLICA_BEHIND)
"""Shown by a replica, not by the service."""

SECTIONS: Mapping[str, tuple[Name, ...]] = {
    "Brokers": (
        LOGIN_UP, LOGIN_EXPIRES, LOGINS, PART, READS, CLOCK_AHEAD, FEED_UP, FEED_FRAME, FEED_INSTRUMENTS, FEED_RECONNECTS, FEED_CORRUPT,
        FEED_MUTE, TICKS, RATE_ROOM, ORDER_MESSAGES, ORDER_MESSAGES_CAP, BUDGET_FULL,
    ),
    "Orders": (
        ORDERS, ORDER_TIME, TRIGGER, FILLS, REJECTIONS, UNKNOWN_ORDERS, PARENTS, PARENT_STATES, AT_RISK, UNPROTECTED, HALTED, LOSS, LOSS_LIMIT,
    ),
    "Documents, market, history": (DOCUMENT, DOCUMENT_BUILD, MARKET_OPEN, CALENDAR_ENDS, TICKS_DROPPED, HISTORY_WRITTEN, TICK_ARCHIVE_WAITING),
    "Clients": (
        REQUESTS, REQUEST_TIME, STREAM_CLIENTS, STREAM_LAGGED, STREAMS, CONNECTIONS, CONNECTIONS_REFUSED, CONNECTIONS_GAVE_WAY,
        CONNECTS_REFUSED, METRICS_REFUSED, CLIENTS_REFUSED,
    ),
    "What watches": (PROBLEMS, AUDIT_LINES, AUDIT_WAITING, AUDIT_LOST, AUDIT_SYNCED, ALERTS, ALERTS_WAITING),
    "Process": (
        ACTOR_UP, ACTOR_CRASHES, STORE_REACHABLE, STORE_TIME, LOOP_LAG, CLOCK_STEPS, DISK_FREE, DISK_RESERVE, FREE_FILES, COLLECTIONS, PUT_ASIDE,
        BUILD,
    ),
    "A replica": OF_A_REPLICA,
}  # fmt: skip
"""Every name, in the order of the page."""

ALL: tuple[Name, ...] = tuple(name for names in SECTIONS.values() for name in names)
