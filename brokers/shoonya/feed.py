"""Shoonya's one socket: market data and order updates, JSON text frames.

The first frame carries the login (`a`) and is answered by `ak`; the socket takes nothing before that. A depth
subscription (`d`) is acknowledged by one whole snapshot per scrip (`dk`). After it, frames (`df`) carry only what
changed: the decoder keeps an image of each scrip. Touchline frames (`tk`, `tf`), which we do not request, are read the
same way.

Sources: NorenRestApiOAuth 0.0.41 (frames sent, kinds of frames received); docs/brokers/shoonya.md, section 6; heartbeats
as live third-party code sends them.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

import msgspec

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import message_of, required, text, whole
from onebroker.brokers.events import (
    BooksMoved,
    BrokerEvent,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
    TradeUpdate,
)
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, RefusalKind, StreamAddress
from onebroker.brokers.shoonya import ticks, wire
from onebroker.brokers.shoonya.books import order_row, trade_row
from onebroker.brokers.shoonya.values import FACTOR_EXCHANGES, broker_token, listed_factor

sockets = wire.SOCKETS
per_socket = wire.INSTRUMENTS_PER_SOCKET
silence_seconds: float | None = wire.SILENCE_SECONDS
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = wire.READY_SECONDS

ORDER = "om"
_SIGNS_OF_LIFE = frozenset({"h", "ok", "uok", "uk", "udk"})
_Frame = dict[str, object]


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the socket's address; no call is needed first, and no header: the first frame carries the login."""
    yield from ()
    return StreamAddress(url=access.endpoints.stream_url)


def opening_messages(access: Access) -> list[bytes | str]:
    """Return the connect frame. The documents call the token `usertoken`; the official client and live code send this."""
    user = wire.user_id(access)
    token = access.token("access_token")
    return [
        _message({"t": "a", "uid": user, "actid": wire.account_id(access), "accesstoken": token, "source": wire.SOURCE})
    ]


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that start depth for these instruments."""
    return [_message({"t": "d", "k": names}) for names in _portions(listings)]


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return [_message({"t": "ud", "k": names}) for names in _portions(listings)]


def ping_message() -> bytes | str | None:
    """The heartbeat is a text frame, which the broker echoes."""
    return _message({"t": "h"})


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "NorenFrames":
    return NorenFrames(listings, wire.account_id(access))


class NorenFrames:
    """Decodes whole messages; keeps the image of each scrip and the filled quantity of each order."""

    def __init__(self, listings: Mapping[str, Listing], account_id: str) -> None:
        self._listings = listings
        self._account_id = account_id
        self._images: dict[str, _Frame] = {}
        self._fills: dict[str, _Frame] = {}
        """Order id -> the last `fillshares` and `avgprc`: frames about other changes may leave them out."""
        self._tokens = _Tokens(listings)
        self._readers: Mapping[str, Callable[[_Frame], list[BrokerEvent]]] = {
            "ak": self._connected,
            "ck": self._connected,
            "tk": self._snapshot,
            "dk": self._snapshot,
            "tf": self._change,
            "df": self._change,
            ORDER: self._order,
        }

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a message that is not one of the broker's frames changes nothing."""
        kind = ""
        try:
            message = message_of(frame)
            kind = text(message.get("t")) or ""
            if kind in _SIGNS_OF_LIFE:
                return [Heartbeat()]
            if kind in self._readers:
                return self._readers[kind](message)
        except BadAnswer as error:
            corrupt = CorruptFrame(f"a frame that cannot be read: {error}")
            # Something happened to an order nevertheless.
            return [corrupt, BooksMoved()] if kind == ORDER else [corrupt]
        if wire.is_error(message):
            return [_refusal(str(message.get("emsg") or "refused without a reason"))]
        if not kind:
            return [CorruptFrame("a frame without a kind")]
        return []  # market status and other kinds that we did not request

    def _connected(self, message: _Frame) -> list[BrokerEvent]:
        if str(message.get("s")).upper() == "OK":
            return [Reply(_message({"t": "o", "actid": self._account_id})), Ready()]
        # The frame that it answers carried only the login.
        return [SessionDead(str(message.get("emsg") or "the stream did not take the login"))]

    def _snapshot(self, message: _Frame) -> list[BrokerEvent]:
        token = _token(message)
        self._images[token] = message
        return self._tick(token)

    def _change(self, message: _Frame) -> list[BrokerEvent]:
        token = _token(message)
        self._images[token] = {**self._images.get(token, {}), **message}
        return self._tick(token)

    def _tick(self, token: str) -> list[BrokerEvent]:
        read = ticks.tick(token, self._images[token], self._units(token), sent="ft")
        return [Heartbeat()] if read is None else [Ticks((read,))]

    def _units(self, token: str) -> Decimal | None:
        if token.partition("|")[0] not in FACTOR_EXCHANGES:
            return Decimal(1)
        listing = self._listings.get(token)
        return None if listing is None else listed_factor(listing)

    def _order(self, message: _Frame) -> list[BrokerEvent]:
        """Read an order in its current state, and the fill that this frame reports.

        A frame names the instrument by its trading symbol; where we do not know the symbol, the books are read instead.
        """
        order_id = required(message, "norenordno")
        token = text(message.get("token"))
        token = self._tokens.find(message) if token is None else broker_token(required(message, "exch"), token)
        if token is None:
            return [BooksMoved()]
        message = self._with_fills(order_id, message)
        events: list[BrokerEvent] = [OrderUpdate(order_row(message, token, self._listings))]
        if text(message.get("flid")) is not None and whole(message.get("flqty")):
            events.append(TradeUpdate(trade_row(message, token, self._listings)))
        return events

    def _with_fills(self, order_id: str, message: _Frame) -> _Frame:
        known = self._fills.get(order_id, {})
        if whole(message.get("fillshares")) >= whole(known.get("fillshares")):
            told = {name: message[name] for name in ("fillshares", "avgprc") if message.get(name) is not None}
            self._fills[order_id] = known = {**known, **told}
        return {**message, **known}


class _Tokens:
    """Finds the broker token of a trading symbol. The index is built at the first search, and again when a search fails."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings
        self._by_name: dict[tuple[str, str], str] = {}
        self._made_of = 0
        """The number of listings when the index was built."""

    def find(self, row: Mapping[str, object]) -> str | None:
        name = (required(row, "exch"), required(row, "tsym"))
        token = self._by_name.get(name)
        listing = None if token is None else self._listings.get(token)
        if listing is not None and (listing.exchange, listing.tradingsymbol) == name:
            return token
        if token is not None or len(self._listings) != self._made_of:
            self._made_of = len(self._listings)
            self._by_name = {(each.exchange, each.tradingsymbol): key for key, each in self._listings.items()}
        return self._by_name.get(name)


def _refusal(message: str) -> BrokerEvent:
    dead = wire.KINDS.kind(200, None, message) is RefusalKind.SESSION_DEAD
    return SessionDead(message) if dead else StreamRefused(message)


def _token(message: _Frame) -> str:
    return broker_token(required(message, "e"), required(message, "tk"))


def _portions(listings: Sequence[Listing]) -> list[str]:
    names = [listing.broker_token for listing in listings]
    return ["#".join(names[at : at + wire.SCRIPS_PER_MESSAGE]) for at in range(0, len(names), wire.SCRIPS_PER_MESSAGE)]


def _message(value: object) -> str:
    return msgspec.json.encode(value).decode()
