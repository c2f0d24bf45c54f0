"""What a broker session may be asked, and what it answers. From routes and commands, from engine and desk, from itself."""

from datetime import date
from decimal import Decimal
from typing import TypeAlias

import attrs
import msgspec

from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.sessions.acknowledged import WhenAccepted
from onebroker.actors.sessions.backlog import MOST_UNREAD, outline
from onebroker.actors.sessions.check import Step
from onebroker.actors.store.keys import Resource
from onebroker.brokers.broker import FoundByToken, Login, OrderAnswer, OrderTicket, TokenQuestion
from onebroker.brokers.records import Candle, Listing, Tick
from onebroker.brokers.requests import BrokerError, WireRequest
from onebroker.brokers.transport.budget import Place
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.vocabulary import Outcome

# --- what it answers ---------------------------------------------------------------------------------------------------


class LoginNeeded(Exception):
    """The broker has no live login; orders skip it, reads stop (rules 2.4.5 `<broker> has no login in Redis`)."""


class RoomFull(Exception):
    """The order rate budget had no room before the deadline."""


class NotOffered(BrokerError):
    """The broker has no candles of this instrument or interval, or cannot be asked by token; nothing was asked."""


class CapReached(Exception):
    """The broker's daily order cap has no room for this kind of order (429)."""

    def __init__(self, sent: int, cap: int, reserve: int) -> None:
        super().__init__(f"{sent} of {cap} order messages sent today")
        self.sent = sent
        self.cap = cap
        self.reserve = reserve


@attrs.frozen(kw_only=True)
class Permit:
    """A place in the order budget, taken; give it back when nothing was sent."""

    place: Place
    counts: bytes
    """The budget's counts with this message in, to be written with the leg's write-ahead (`rate:<code>`)."""


@attrs.frozen(kw_only=True)
class Sent:
    """What became of one order message."""

    answer: OrderAnswer
    broker_seconds: float
    """From handing the request to the transport to its answer."""
    reached: bool
    """False when no connection could be opened: the broker has not seen it."""

    @property
    def goes_again(self) -> bool:
        """Whether it certainly changed nothing, for a reason that is no order's and passes: the broker has not seen it, or turned it away
        at the door. A running plan sends it again then; a caller is told, and decides."""
        return not self.reached or self.answer.turned_away

    @property
    def is_slow(self) -> bool:
        """Whether it goes again at a slow pace only: a person must register the address first."""
        return self.answer.turned_away and self.answer.address_refused


def result(outcome: Outcome, why: str, *, broker_seconds: float = 0.0, reached: bool) -> Sent:
    """Return what became of a message when the broker itself gave no answer."""
    answer = OrderAnswer(outcome=outcome, order_id=None, status_message=why, broker_response=None)
    return Sent(answer=answer, broker_seconds=broker_seconds, reached=reached)


# --- from engine and desk ----------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class AskRoom:
    """Take a place in the order budget. Refused with LoginNeeded, RoomFull, CapReached."""

    priority: Priority
    deadline: float
    """Monotonic seconds until which to wait for room."""
    reply: Reply[Permit]


@attrs.frozen(kw_only=True)
class ReturnRoom:
    """Give back a permit under which nothing was sent."""

    permit: Permit


@attrs.frozen(kw_only=True)
class SendOrder:
    """Send one order message once. Refused with LoginNeeded (nothing sent) only."""

    request: WireRequest
    permit: Permit
    leave_before: float
    """Monotonic seconds after which it must not leave any more: the engine's lock may be lost (order-engine 2.4)."""
    timeout_seconds: float
    when_accepted: WhenAccepted | None = None
    """What the order document shows once the broker has accepted it; None = only what the broker itself shows."""
    reply: Reply[Sent]


@attrs.frozen
class ReadSoon:
    """Read a resource as soon as the read budget allows (at most once a second)."""

    resource: Resource


@attrs.frozen(kw_only=True)
class AskByToken:
    """Ask a broker that can be asked so for the order with our token: answered with the order, None on a clear no. Refused with
    LoginNeeded, NotOffered or BrokerError: nothing is known then. A dead login is repaired once."""

    question: TokenQuestion
    priority: Priority = Priority.AWAITED
    reply: Reply[FoundByToken | None]


@attrs.frozen(kw_only=True)
class AskMargin:
    """Ask a broker what an order needs: answered when `SessionView.margins` says so, or that the broker gave no figure. Never refused."""

    ticket: OrderTicket
    price: Decimal
    """What the order is expected to trade at, rupees."""
    reply: Reply[None]


# --- from routes and commands ------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class ExchangeRedirect:
    """Finish an assisted login with the address the person was sent back to. Refused with BrokerError or ValueError."""

    redirect: str
    other_account: bool = False
    """Whether it may be of another account than the last login."""
    reply: Reply[Login]


@attrs.frozen
class LoginStored:
    """A login was written to the store by somebody else (the command line): look again."""


@attrs.frozen(kw_only=True)
class FetchQuotes:
    """REST quotes by broker_token. Refused with LoginNeeded or BrokerError; a dead login is repaired once."""

    listings: tuple[Listing, ...]
    reply: Reply[dict[str, Tick]]


@attrs.frozen(kw_only=True)
class ReadCandles:
    """Read candles of the past, behind everything else in the budget. Refused with LoginNeeded, NotOffered or BrokerError; a
    dead login is repaired once."""

    listing: Listing
    interval: str
    """Of config.intervals."""
    first: date
    """India calendar day."""
    last: date
    """Inclusive."""
    reply: Reply[tuple[Candle, ...]]
    """Oldest first, one of each moment; quantities in units, prices as the broker gives them."""


@attrs.frozen(kw_only=True)
class Check:
    """Try out the broker (`onebroker check`): answered with every step, the failed ones too. Never refused."""

    reply: Reply[tuple[Step, ...]]


@attrs.frozen
class RenewStream:
    """Open the market stream's connections anew: they are open and say nothing of what other brokers tell (lesson 2)."""


@attrs.frozen
class Watch:
    """The instruments wanted on the market stream from now on (replaces the list before)."""

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
    """Newest tick of one instrument at one broker; told by `replace((broker, broker_token), ...)`."""

    broker: str
    tick: Tick
    received_at: float
    """Epoch seconds."""
    earlier: "tuple[TickReceived, ...]" = ()
    """Those that it came after before the reader had taken them, oldest first: a price that stood for a moment fires what waits for it."""

    def after(self, waiting: "TickReceived") -> "TickReceived":
        """See `kernel.mailbox.Following`."""
        told = (*waiting.earlier, msgspec.structs.replace(waiting, earlier=()))
        return msgspec.structs.replace(self, earlier=tuple(outline(told)) if len(told) > MOST_UNREAD else told)
