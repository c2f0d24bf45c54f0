"""The kinds of alerts: what each tells, which events begin and end it, and whether it waits in quiet hours.

This is the only list of the kinds. The settings (`[alerts]`) take their names from it, `actors/alerts` its events, `docs/alerts.md` its table.
A `problem` of the health has no message of its own where an event tells the same thing: it stands under `told_by_events`.
"""

from enum import StrEnum

import attrs


class AlertKind(StrEnum):
    """The names of the kinds, as the settings use them."""

    REJECTED = "rejected"
    UNKNOWN = "unknown"
    FAILED = "failed"
    UNPROTECTED = "unprotected"
    FILL = "fill"
    LOSS = "loss"
    HALT = "halt"
    LOGIN = "login"
    BROKER = "broker"
    FEED = "feed"
    STORE = "store"
    DISK = "disk"
    CALENDAR = "calendar"
    CRASH = "crash"
    PROBLEM = "problem"
    TEST = "test"


@attrs.frozen(kw_only=True)
class KindRow:
    """One kind of alert."""

    kind: AlertKind
    meaning: str
    begins: tuple[str, ...] = ()
    """Names of events (`config/events.py`)."""
    ends: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """Kinds of problems of the health whose begin and end are told."""
    told_by_events: tuple[str, ...] = ()
    """Kinds of problems that are not told again, because `begins` and `ends` tell the same."""
    is_urgent: bool = False
    """Whether it is sent in quiet hours too."""
    is_usual: bool = True
    """Whether it is sent when the settings do not name it."""
    choosable: bool = True
    """Whether the settings may name it."""


KINDS: tuple[KindRow, ...] = (
    KindRow(
        kind=AlertKind.REJECTED,
        meaning="A broker has rejected an order. All brokers share one window of five minutes.",
        begins=("order.rejected",),
    ),
    KindRow(
        kind=AlertKind.UNKNOWN,
        meaning="An order's outcome is unknown for more than 10 seconds; and when it is known again.",
        begins=("order.unknown",),
        ends=("order.settled",),
        told_by_events=("order_unknown",),
        is_urgent=True,
    ),
    KindRow(
        kind=AlertKind.FAILED,
        meaning="A parent has failed: its work cannot go on.",
        begins=("parent.state",),
        is_urgent=True,
    ),
    KindRow(
        kind=AlertKind.UNPROTECTED,
        meaning="Units are open without their stop; and when they are protected again, or closed.",
        begins=("exposure.unprotected",),
        ends=("exposure.protected",),
        told_by_events=("unprotected",),
        is_urgent=True,
    ),
    KindRow(
        kind=AlertKind.FILL,
        meaning="Units of an order have filled.",
        begins=("order.filled",),
        is_usual=False,
    ),
    KindRow(
        kind=AlertKind.LOSS,
        meaning="The day's loss has reached 50, 80 or 100 % of `engine.daily_loss_limit`. Each level once a day.",
        begins=("loss.level",),
        told_by_events=("loss",),
        is_urgent=True,
    ),
    KindRow(
        kind=AlertKind.HALT,
        meaning="A person has halted trading; and when trading goes on.",
        begins=("halt.on",),
        ends=("halt.off",),
        told_by_events=("halt",),
        is_urgent=True,
    ),
    KindRow(
        kind=AlertKind.LOGIN,
        meaning="A broker has refused a login. A broker has no login any more: at once in the trading day. At 08:30 IST of a trading day: "
        "one message with all brokers that need a login.",
        begins=("login.needed", "login.refused"),
        told_by_events=("login",),
    ),
    KindRow(
        kind=AlertKind.BROKER,
        meaning="A broker's data cannot be read; and when all of it can be read again.",
        problems=("data",),
    ),
    KindRow(
        kind=AlertKind.FEED,
        meaning="A broker's feed is down or says nothing in an open market; and when it speaks again.",
        problems=("feed",),
    ),
    KindRow(
        kind=AlertKind.STORE,
        meaning="The store cannot be reached, so no new order is taken; and when it is back.",
        problems=("store",),
        is_urgent=True,
    ),
    KindRow(
        kind=AlertKind.DISK,
        meaning="The disk, or the number of open files, comes to its limit; and when there is room again.",
        problems=("disk", "files"),
    ),
    KindRow(
        kind=AlertKind.CALENDAR,
        meaning="The trading calendar ends soon. Once a day.",
        begins=("calendar.ends",),
        told_by_events=("calendar",),
    ),
    KindRow(
        kind=AlertKind.CRASH,
        meaning="A part of the service has crashed or is down; and when it is up again.",
        problems=("actor", "crash"),
    ),
    KindRow(
        kind=AlertKind.PROBLEM,
        meaning="Any other problem of `/api/health`; and when it is over.",
        begins=("problem",),
        ends=("problem.over",),
    ),
    KindRow(
        kind=AlertKind.TEST,
        meaning="The message of `onebroker alerts test`.",
        choosable=False,
    ),
)
"""In the order of the page."""

CHOOSABLE: tuple[str, ...] = tuple(row.kind.value for row in KINDS if row.choosable)
"""The names that the settings may use."""

USUAL: frozenset[str] = frozenset(row.kind.value for row in KINDS if row.choosable and row.is_usual)
URGENT: frozenset[str] = frozenset(row.kind.value for row in KINDS if row.is_urgent)


def kind_of_problem(problem: str) -> AlertKind | None:
    """Return the kind of alert that tells a problem of the health. None: events tell it already."""
    for row in KINDS:
        if problem in row.told_by_events:
            return None
        if problem in row.problems:
            return row.kind
    return AlertKind.PROBLEM
