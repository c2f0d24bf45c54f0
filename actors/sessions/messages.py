"""The messages that a broker session accepts, and its answers. They come from routes and commands, and from engine and desk."""

from datetime import date
from decimal import Decimal
from typing import TypeAlias

import attrs
import msgspec

from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.sessions.acknowledged_changes import WhenAccepted
from onebroker.actors.sessions.check import Step
from onebroker.actors.sessions.tick_backlog import MOST_UNREAD, outline
from onebroker.actors.store.keys import Resource
from onebroker.brokers.broker import FoundByToken, Login, OrderAnswer, OrderTicket, TokenQuestion
from onebroker.brokers.records import Candle, Listing, Tick
from onebroker.brokers.requests import BrokerError, WireRequest
from onebroker.brokers.transport.budget import Place
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.events import OrderSent
from onebroker.config.vocabulary import Outcome

# --- what it answers ---------------------------------------------------------------------------------------------------


class LoginNeeded(Exception):
    """The broker has no live login; orders skip it, reads stop (rules 2.4.5 `<broker> has no login in Redis`)."""


class RoomFull(Exception):
    """The order rate budget had no room before the deadline."""


class NotOffered(BrokerError):
    """The broker has no candles of this instrument or interval, or cannot be asked by token. Nothing was sent."""


class CapReached(Exception):
    """The broker's daily order cap has no room for this kind of order (429)."""

    def __init__(self, sent: int, cap: int, reserve: int) -> None:
        super().__init__(f"{sent} of {cap} order messages sent today")
        self.sent = sent
        self.cap = cap
        self.reserve = reserve


@attrs.frozen(kw_only=True)
class Permit:
    """A place taken in the order budget. The caller gives it back when nothing was sent."""

    place: Place
    counts: bytes
    """The budget's counts including this message. They are written with the leg's write-ahead (`rate:<code>`)."""
    waited_seconds: float = 0.0
    """How long the message waited for this room."""


@attrs.frozen(kw_only=True)
class Origin:
    """What made an order message, for the times that `order.sent` tells."""

    at: float
    """Monotonic seconds at which the request was read, the quote was received, or the engine decided by itself."""
    is_market: bool = False
    """Whether a quote or a fill made a running plan act."""


@attrs.frozen(kw_only=True)
class Sent:
    """The outcome of one order message."""

    answer: OrderAnswer
    broker_seconds: float
    """Seconds from handing the request to the transport until its answer."""
    reached: bool
    """False when the message certainly did not reach the broker, for example when no connection could be opened."""

    @property
    def goes_again(self) -> bool:
        """Whether the message certainly changed nothing, for a passing reason that does not lie in the order: it did not reach the broker,
        or the broker turned it away before it looked at the order. A running plan then sends it again. A caller is told, and decides."""
        return not self.reached or self.answer.turned_away

    @property
    def is_slow(self) -> bool:
        """Whether the message goes again only at a slow pace, because a person must register the address first."""
        return self.answer.turned_away and self.answer.address_refused


def result(outcome: Outcome, why: str, *, broker_seconds: float = 0.0, reached: bool) -> Sent:
    """Return the outcome of a message to which the broker itself gave no answer."""
    answer = OrderAnswer(outcome=outcome, order_id=None, status_message=why, broker_response=None)
    return Sent(answer=answer, broker_seconds=broker_seconds, reached=reached)


# --- from engine and desk ----------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class AskRoom:
    """Take a place in the order budget. Refused with LoginNeeded, RoomFull, CapReached."""

    priority: Priority
    deadline: float
    """Monotonic seconds. The session waits for room until then."""
    reply: Reply[Permit]


@attrs.frozen(kw_only=True)
class ReturnRoom:
    """Give back a permit under which nothing was sent."""

    permit: Permit


@attrs.frozen(kw_only=True)
class SendOrder:
    """Send one order message once. Refused only with LoginNeeded (nothing sent)."""

    request: WireRequest
    permit: Permit
    leave_before: float
    """Monotonic seconds from which the message must not leave any more: the engine's lock may be lost (order-engine 2.4)."""
    timeout_seconds: float
    when_accepted: WhenAccepted | None = None
    """What the order document shows once the broker has accepted the message. None = it shows only what the broker shows."""
    event: OrderSent
    """What is told when the message leaves."""
    origin: Origin | None = None
    """None = it is not known what made the message; the times of `order.sent` are left out then."""
    handed_at: float | None = None
    """Monotonic seconds at which the message was handed to the session. None as for `origin`."""
    reply: Reply[Sent]


@attrs.frozen
class ReadSoon:
    """Read a resource as soon as the read budget allows (at most once a second)."""

    resource: Resource


@attrs.frozen(kw_only=True)
class AskByToken:
    """Ask the broker for the order with our token. Answered with the order, or with None if the broker clearly has no such order. Refused
    with LoginNeeded, NotOffered or BrokerError; then nothing is known of the order. A dead login is repaired once."""

    question: TokenQuestion
    priority: Priority = Priority.AWAITED
    reply: Reply[FoundByToken | None]


@attrs.frozen(kw_only=True)
class AskMargin:
    """Ask the broker for the margin of an order. Answered when `SessionView.margins` holds the figure, or holds that the broker gave none.
    Never refused."""

    ticket: OrderTicket
    price: Decimal
    """The price at which the order is expected to trade, in rupees."""
    reply: Reply[None]


# --- from routes and commands ------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class ExchangeRedirect:
    """Finish an assisted login with the address to which the person was sent back. Refused with BrokerError or ValueError."""

    redirect: str
    other_account: bool = False
    """Whether the login may belong to another account than the last login."""
    reply: Reply[Login]


@attrs.frozen
class LoginStored:
    """Another process (the command line) wrote a login to the store: look again."""


@attrs.frozen(kw_only=True)
class FetchQuotes:
    """Fetch REST quotes; the answer is by broker_token. Refused with LoginNeeded or BrokerError. A dead login is repaired once."""

    listings: tuple[Listing, ...]
    reply: Reply[dict[str, Tick]]


@attrs.frozen(kw_only=True)
class ReadCandles:
    """Read past candles, behind everything else in the budget. Refused with LoginNeeded, NotOffered or BrokerError. A dead login is
    repaired once."""

    listing: Listing
    interval: str
    """An interval of config.intervals."""
    first: date
    """Calendar day in India."""
    last: date
    """Calendar day in India, inclusive."""
    reply: Reply[tuple[Candle, ...]]
    """Oldest first, one candle per moment; quantities in units, prices as the broker gives them."""


@attrs.frozen(kw_only=True)
class Check:
    """Try out the broker (`onebroker check`). Answered with every step, including failed steps. Never refused."""

    reply: Reply[tuple[Step, ...]]


@attrs.frozen
class RenewStream:
    """Reconnect the market stream: its connections are open, but bring no ticks although there is trade (lesson 2)."""


@attrs.frozen
class Watch:
    """The instruments wanted on the market stream from now on. It replaces the earlier list."""

    listings: tuple[Listing, ...]


SessionMessage: TypeAlias = (
    AskRoom
    | ReturnRoom
    | SendOrder
    | ReadSoon
    | AskByToken
    | AskMargin
    | ExchangeRedirect
    | LoginStored
    | FetchQuotes
    | ReadCandles
    | Check
    | Watch
    | RenewStream
)


# --- to the quote book -------------------------------------------------------------------------------------------------


class TickReceived(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Newest tick of one instrument at one broker. Sent with `replace((broker, broker_token), ...)`."""

    broker: str
    tick: Tick
    received_at: float
    """Epoch seconds."""
    earlier: "tuple[TickReceived, ...]" = ()
    """Earlier ticks that the reader had not yet taken when this one came, oldest first. So even a brief price triggers what waits for it."""

    def after(self, waiting: "TickReceived") -> "TickReceived":
        """See `kernel.mailbox.Following`."""
        told = (*waiting.earlier, msgspec.structs.replace(waiting, earlier=()))
        return msgspec.structs.replace(self, earlier=tuple(outline(told)) if len(told) > MOST_UNREAD else told)
