"""Every event that the service tells: name, level, fields. An event is a transition, never a repeated state. The log writes one line for each event
of its level, the audit (`actors/audit/`) one line for each event.

This is the only place that names events and their fields; `docs/events.md` is made from it. No field holds a secret: no access token, no key, no
PIN. Prices are rupees as decimal text, quantities units, `parent`, `leg` and `intent` ids, `broker` a code.
"""

import logging
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar, TypeAlias

import attrs
import msgspec

Value: TypeAlias = str | int | float | bool | Decimal | tuple[str, ...] | None


@attrs.frozen(kw_only=True)
class Event:
    """One thing that has happened. A subclass is one kind of event."""

    name: ClassVar[str]
    level: ClassVar[int] = logging.INFO

    @property
    def fields(self) -> Mapping[str, Value]:
        """Return the fields in their order, without those that are not known (None)."""
        values = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        return {name: value for name, value in values.items() if value is not None}


# --- the service --------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Started(Event):
    """The service takes requests."""

    name: ClassVar[str] = "start"

    version: str
    listener: str
    """Host and port."""
    brokers: tuple[str, ...]
    """Codes of the brokers in service."""
    logins_needed: tuple[str, ...]
    """Codes of the brokers that have no login now."""
    key: bool
    """Whether an API key is set. Without it no client can connect."""
    durability: str
    """What the store promises of a write."""
    calendar_until: str | None
    """The last day that the trading calendar knows at every exchange, YYYY-MM-DD. None: the market never closes."""


@attrs.frozen(kw_only=True)
class Stopped(Event):
    """The service has ended in order."""

    name: ClassVar[str] = "stop"

    up_seconds: float
    """Seconds for which the service took requests."""


@attrs.frozen(kw_only=True)
class ClockStepped(Event):
    """The wall clock was set, or the machine has slept."""

    name: ClassVar[str] = "clock.stepped"
    level: ClassVar[int] = logging.WARNING

    seconds: float
    """How far the wall clock went ahead of the monotonic clock; negative: it was set back."""
    slept_seconds: float | None = None
    """How long the machine slept. None: it did not sleep, or nobody knows."""


@attrs.frozen(kw_only=True)
class CalendarEnds(Event):
    """The trading calendar ends soon. Told once a day."""

    name: ClassVar[str] = "calendar.ends"
    level: ClassVar[int] = logging.WARNING

    exchanges: tuple[str, ...]
    last_day: str
    """The last day whose holidays are known, YYYY-MM-DD. For later days import new exchange documents."""


@attrs.frozen(kw_only=True)
class CatalogueBuilt(Event):
    """A new list of instruments is in use."""

    name: ClassVar[str] = "catalogue.built"

    day: str
    instruments: int
    brokers: tuple[str, ...]
    """Codes of the brokers whose files are in it."""


@attrs.frozen(kw_only=True)
class ProblemBegan(Event):
    """Something has been wrong for 2 s: `/api/health` is `degraded` until all problems are over. docs/health.md lists the kinds."""

    name: ClassVar[str] = "problem"
    level: ClassVar[int] = logging.WARNING

    kind: str
    broker: str | None = None
    """None: it is not of one broker."""
    subject: str | None = None
    """Tells problems of one kind and broker apart: a part of the service, a document, a parent's id."""
    words: str
    """What is wrong, with the broker's words where there are such."""
    do: str
    """What a person can do."""


@attrs.frozen(kw_only=True)
class ProblemOver(Event):
    """The problem of this kind, broker and subject is over, and has not come back within 2 s."""

    name: ClassVar[str] = "problem.over"

    kind: str
    broker: str | None = None
    subject: str | None = None
    words: str
    """The last words of the problem."""
    seconds: float
    """How long it stood."""


@attrs.frozen(kw_only=True)
class AlertFailed(Event):
    """A receiver of alerts has not taken a message that it took before, or its first message. The message is sent again, with growing pauses."""

    name: ClassVar[str] = "alert.failed"
    level: ClassVar[int] = logging.WARNING

    kind: str
    """The kind of the message (`docs/alerts.md`)."""
    receiver: int
    """The receiver's number in `alerts.to`, from 1."""
    scheme: str
    """The scheme of its URL. No other part of the URL is told."""
    words: str
    """The receiver's words, or ours, without the parts of its URL."""


@attrs.frozen(kw_only=True)
class AlertGivenUp(Event):
    """A message is not sent any more: its receiver has not taken it for a day, is no longer set, or too many messages wait."""

    name: ClassVar[str] = "alert.given_up"
    level: ClassVar[int] = logging.ERROR

    kind: str
    receiver: int | None = None
    """None: none of the receivers that have not taken it."""
    scheme: str | None = None
    message: str
    """The message's id."""
    words: str
    """Why."""


@attrs.frozen(kw_only=True)
class ClientRefused(Event):
    """A client was refused for its token, its key, its address or its behaviour. At most one a minute for each reason; `count` tells how many."""

    name: ClassVar[str] = "client.refused"
    level: ClassVar[int] = logging.WARNING

    why: str
    address: str
    """Of the last one."""
    count: int


@attrs.frozen(kw_only=True)
class SettingsUsed(Event):
    """The settings that differ from their defaults. Told once, at the start."""

    name: ClassVar[str] = "settings.used"
    level: ClassVar[int] = logging.DEBUG

    values: tuple[str, ...]
    """`section.name=value`; a secret is `***`, and an address has no user and no password."""


# --- requests -----------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class RequestAsked(Event):
    """A request that can change something was admitted. Told before it is acted on."""

    name: ClassVar[str] = "request.asked"
    level: ClassVar[int] = logging.DEBUG

    request: str
    """Short id of the request; its `request.answered` has the same."""
    who: str
    """`token`: the access token. `api key`: the API key and secret (connect). `control socket`: a command of this machine."""
    address: str | None
    """Of the client. For the control socket its user and process, where the system tells them."""
    method: str
    """HTTP's method; `COMMAND` for the control socket."""
    path: str
    """The path with its query; for the control socket the command's name."""
    body: str | None = None
    """The body as it came, at most 256 KiB of it. Secrets in it are `***`."""
    body_bytes: int | None = None
    """Bytes of the whole body."""


@attrs.frozen(kw_only=True)
class RequestAnswered(Event):
    """The answer to a `request.asked`."""

    name: ClassVar[str] = "request.answered"
    level: ClassVar[int] = logging.DEBUG

    request: str
    status: int | None
    """HTTP's status. None for the control socket, and where the client left or the service stopped before there was an answer."""
    error: str | None = None
    """The sentence of a refusal; of a list the first one."""
    parents: tuple[str, ...] | None = None
    """The parents that the answer names."""
    intents: tuple[str, ...] | None = None
    """The intents that the answer names."""


# --- brokers ------------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class LoginDone(Event):
    """A broker has a login: the broker itself has answered for it."""

    name: ClassVar[str] = "login.done"

    broker: str
    until: str | None
    """When the login ends, as far as known: ISO 8601, IST."""


@attrs.frozen(kw_only=True)
class LoginNeeded(Event):
    """A broker has no login any more."""

    name: ClassVar[str] = "login.needed"
    level: ClassVar[int] = logging.WARNING

    broker: str
    why: str
    """The broker's words, or ours."""
    by_person: bool
    """Whether only a person can log in."""


@attrs.frozen(kw_only=True)
class LoginRefused(Event):
    """A broker refused a login: when it was made, or when it was proved. The same refusal again is no new event."""

    name: ClassVar[str] = "login.refused"
    level: ClassVar[int] = logging.WARNING

    broker: str
    words: str
    """The broker's words."""


@attrs.frozen(kw_only=True)
class FeedUp(Event):
    """A socket of a broker is connected, and ready where the broker says so."""

    name: ClassVar[str] = "feed.up"

    broker: str
    feed: str
    """`market` or `orders`. A market socket may carry the order messages too."""
    socket: int | None = None
    """The socket's number from 0, where the broker has several of the kind."""


@attrs.frozen(kw_only=True)
class FeedDown(Event):
    """A socket of a broker was up and is not connected any more."""

    name: ClassVar[str] = "feed.down"
    level: ClassVar[int] = logging.WARNING

    broker: str
    feed: str
    why: str
    socket: int | None = None


@attrs.frozen(kw_only=True)
class FeedMute(Event):
    """A market feed is connected and says nothing while there is trade. Its stream is opened anew, again and again, until it speaks."""

    name: ClassVar[str] = "feed.mute"
    level: ClassVar[int] = logging.WARNING

    broker: str
    others: bool
    """Whether other feeds tell of its instruments. False: all feeds are silent, and an answer to a question shows trade."""


@attrs.frozen(kw_only=True)
class ReadFailing(Event):
    """A read of a broker has failed after a good one, or for the first time."""

    name: ClassVar[str] = "read.failing"
    level: ClassVar[int] = logging.WARNING

    broker: str
    read: str
    """`orders`, `trades`, `positions`, `holdings`, `funds`, `quotes`, `profile`, or `login`: a login without a person for which the broker
    could not be asked."""
    words: str
    """The broker's words, or ours."""


@attrs.frozen(kw_only=True)
class ReadOk(Event):
    """A read of a broker is good again."""

    name: ClassVar[str] = "read.ok"

    broker: str
    read: str
    failed: int
    """How many reads had failed."""
    seconds: float
    """How long."""


@attrs.frozen(kw_only=True)
class BudgetFull(Event):
    """An order message found no room in a broker's rate budget until its deadline, or met the day's cap. At most one a minute for each broker."""

    name: ClassVar[str] = "budget.full"
    level: ClassVar[int] = logging.WARNING

    broker: str
    why: str


# --- orders -------------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class OrderDecided(Event):
    """The engine has chosen the broker of an order, or found that no broker can take it."""

    name: ClassVar[str] = "order.decided"
    level: ClassVar[int] = logging.DEBUG

    intent: str
    parent: str | None = None
    """None for an order that was refused before it became a parent."""
    leg: str | None = None
    """None where no broker can take the order."""
    broker: str | None = None
    """None: no broker can take the order."""
    skipped: tuple[str, ...] = ()
    """The brokers that were passed over: `code: why`."""
    words: str | None = None
    """Why no broker gets the order."""


@attrs.frozen(kw_only=True)
class OrderSent(Event):
    """An order message leaves for a broker. Exactly one for each message that the broker may have received."""

    name: ClassVar[str] = "order.sent"

    broker: str
    verb: str
    """`place`, `modify` or `cancel`."""
    parent: str | None = None
    """None for an order that this service did not place."""
    leg: str | None = None
    intent: str | None = None
    """The caller's change or cancel; None where the engine acts by itself."""
    token: str | None = None
    """The value in the broker's tag field of a new order."""
    order_id: str | None = None
    """The broker's id of the order that is changed or cancelled."""
    instrument: str | None = None
    side: str | None = None
    quantity: int | None = None
    product: str | None = None
    order_type: str | None = None
    price: Decimal | None = None
    trigger_price: Decimal | None = None
    prepared_ms: float | None = None
    """Milliseconds of the service's own work: from the request, the trigger or the engine's decision to the session of the broker, without
    the wait for room in the rate budget."""
    queued_ms: float | None = None
    """Milliseconds of waiting: for room in the rate budget, then from the session until the bytes leave."""
    triggered_ms: float | None = None
    """Milliseconds from the quote that made a running plan act, as it was received, until the bytes leave; or from the fill, as the plan
    heard of it. None where something else made the message."""


@attrs.frozen(kw_only=True)
class OrderAnswered(Event):
    """The answer to an order message, or that none came."""

    name: ClassVar[str] = "order.answered"

    broker: str
    verb: str
    outcome: str
    """`accepted`, `rejected` or `unknown`."""
    broker_ms: int
    """Milliseconds between the message and its answer."""
    parent: str | None = None
    leg: str | None = None
    token: str | None = None
    order_id: str | None = None
    words: str | None = None
    """The broker's words."""


@attrs.frozen(kw_only=True)
class OrderUnknown(Event):
    """Nobody knows whether a broker has an order. It is looked for, and never sent again."""

    name: ClassVar[str] = "order.unknown"
    level: ClassVar[int] = logging.WARNING

    broker: str
    parent: str
    leg: str
    words: str | None = None


@attrs.frozen(kw_only=True)
class OrderSettled(Event):
    """An order of unknown outcome is known again."""

    name: ClassVar[str] = "order.settled"

    broker: str
    parent: str
    leg: str
    state: str
    order_id: str | None = None
    words: str | None = None


@attrs.frozen(kw_only=True)
class OrderRejected(Event):
    """A broker has rejected an order."""

    name: ClassVar[str] = "order.rejected"
    level: ClassVar[int] = logging.WARNING

    broker: str
    parent: str | None
    leg: str | None
    order_id: str | None = None
    words: str | None = None
    """The broker's words."""


@attrs.frozen(kw_only=True)
class OrderFilled(Event):
    """Units of an order have filled. One for each change of the filled quantity that a broker shows."""

    name: ClassVar[str] = "order.filled"

    broker: str
    parent: str
    leg: str
    instrument: str
    side: str
    added: int
    """Units of this change."""
    filled: int
    """Units in all."""
    quantity: int
    order_id: str | None = None
    average_price: float | None = None


@attrs.frozen(kw_only=True)
class OrderChangedElsewhere(Event):
    """Somebody else has changed an order of ours at its broker: its price, its trigger, its quantity. The engine goes on from there."""

    name: ClassVar[str] = "order.changed_elsewhere"
    level: ClassVar[int] = logging.WARNING

    broker: str
    parent: str
    leg: str
    words: str
    order_id: str | None = None


@attrs.frozen(kw_only=True)
class OrderTakenBack(Event):
    """A broker has taken back filled units of an order, because the exchange annulled their trade. Its books and its positions agree on that."""

    name: ClassVar[str] = "order.taken_back"
    level: ClassVar[int] = logging.WARNING

    broker: str
    order_id: str
    units: int
    filled: int
    """Units that are left."""


@attrs.frozen(kw_only=True)
class ParentMoved(Event):
    """A parent has a new state."""

    name: ClassVar[str] = "parent.state"

    parent: str
    type: str
    """`simple`, or the order type."""
    before: str
    state: str
    words: str | None = None
    """The parent's status message."""


@attrs.frozen(kw_only=True)
class ExposureUnprotected(Event):
    """Units of a parent are open without a stop. Another count of units is a new event."""

    name: ClassVar[str] = "exposure.unprotected"
    level: ClassVar[int] = logging.WARNING

    parent: str
    instrument: str
    units: int
    why: str | None = None
    """Why their exits do not guard them, where that is known at once."""


@attrs.frozen(kw_only=True)
class ExposureProtected(Event):
    """The units of the last `exposure.unprotected` are guarded again, or closed."""

    name: ClassVar[str] = "exposure.protected"

    parent: str
    instrument: str
    units: int


@attrs.frozen(kw_only=True)
class ParentTrouble(Event):
    """Something else is wrong with a parent: orders that nobody watches, a cancel that has not reached its broker, a figure that is missing."""

    name: ClassVar[str] = "parent.trouble"
    level: ClassVar[int] = logging.WARNING

    parent: str
    instrument: str
    words: str


@attrs.frozen(kw_only=True)
class ParentTroubleOver(Event):
    """The trouble with these words is over."""

    name: ClassVar[str] = "parent.trouble_over"

    parent: str
    instrument: str
    words: str


@attrs.frozen(kw_only=True)
class LossLock(Event):
    """The limit of the day's loss locks new entries, or lets them go again."""

    name: ClassVar[str] = "lock.loss"
    level: ClassVar[int] = logging.WARNING

    locked: bool
    loss: Decimal | None
    """The day's loss that locked it; None when it is unlocked."""
    limit: Decimal


@attrs.frozen(kw_only=True)
class LossLevel(Event):
    """The day's loss has reached a level of its limit. Each level once a day; a loss that passes several at once tells the highest only."""

    name: ClassVar[str] = "loss.level"
    level: ClassVar[int] = logging.WARNING

    percent: int
    """50, 80 or 100: the level, in percent of the limit."""
    loss: Decimal
    limit: Decimal


@attrs.frozen(kw_only=True)
class HaltOn(Event):
    """A person has halted trading. Told when it holds, which is before it is stored."""

    name: ClassVar[str] = "halt.on"
    level: ClassVar[int] = logging.WARNING

    mode: str
    """`reduce_only` or `nothing`."""
    reason: str
    """The person's words."""


@attrs.frozen(kw_only=True)
class HaltOff(Event):
    """A person lets trading go on."""

    name: ClassVar[str] = "halt.off"
    level: ClassVar[int] = logging.WARNING


# --- the audit ----------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class AuditDay(Event):
    """The audit has begun a new day's file. The figures of the file before it are an anchor: lines that are cut off that file later are missed by
    them."""

    name: ClassVar[str] = "audit.day"

    day: str
    """The day of the file before, YYYY-MM-DD."""
    lines: int
    """The running number of its last line."""
    last_hash: str
    """The hash of its last line."""


@attrs.frozen(kw_only=True)
class AuditTorn(Event):
    """The audit ended in the middle of a line, after a kill or a full disk. The bytes stay, and the audit goes on after them."""

    name: ClassVar[str] = "audit.torn"
    level: ClassVar[int] = logging.WARNING

    file: str
    bytes: int
    """How many bytes of the line are there."""
    torn_hash: str
    """SHA-256 of these bytes."""


@attrs.frozen(kw_only=True)
class AuditLost(Event):
    """Events found no room in the audit, because its file could not be written for too long. They are not in the audit."""

    name: ClassVar[str] = "audit.lost"
    level: ClassVar[int] = logging.WARNING

    count: int


ALL: tuple[type[Event], ...] = (
    Started, Stopped, ClockStepped, CalendarEnds, CatalogueBuilt, ProblemBegan, ProblemOver, AlertFailed,
    AlertGivenUp, ClientRefused, SettingsUsed, RequestAsked, RequestAnswered,
    LoginDone, LoginNeeded, LoginRefused, FeedUp, FeedDown, FeedMute, ReadFailing, ReadOk, BudgetFull,
    OrderDecided, OrderSent, OrderAnswered, OrderUnknown, OrderSettled, OrderRejected, OrderFilled, OrderChangedElsewhere,
    OrderTakenBack, ParentMoved, ExposureUnprotected,
    ExposureProtected, ParentTrouble, ParentTroubleOver, LossLock, LossLevel, HaltOn, HaltOff, AuditDay, AuditTorn, AuditLost,
)  # fmt: skip
"""Every kind of event, in the order of the page."""


_WORD = re.compile(r"[^\s\"=\\]+")


def as_text(event: Event) -> str:
    """Return an event as one line: its name, then `field=value`, each value plain where it is one word, else as a JSON text."""
    return " ".join((event.name, *(f"{name}={shown(value)}" for name, value in event.fields.items())))


def as_json(event: Event) -> dict[str, object]:
    """Return an event as the values of a JSON object, its name first. Decimals are texts, as they were counted."""
    return {"event": event.name, **{name: _json_value(value) for name, value in event.fields.items()}}


def _json_value(value: Value) -> object:
    if isinstance(value, tuple):
        return tuple(map(encodable, value))
    return encodable(str(value)) if isinstance(value, str | Decimal) else value


def shown(value: object) -> str:
    """Return a value as the log writes it: plain where it is one word, else a JSON text; a list is words with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
    return text if _WORD.fullmatch(text) else msgspec.json.encode(encodable(text)).decode()


def encodable(text: str) -> str:
    """Return `text` with lone surrogates written out, because UTF-8 has no bytes for them."""
    return text.encode("utf-8", "backslashreplace").decode()
