"""Fyers' data socket: the meaning of its frames. `hsm.py` handles the bytes.

An instrument has two topics, trades (`sf|nse_cm|3045`) and depth (`dp|…`), an index one (`if|nse_cm|Nifty 50`). The part
after the first bar is our broker_token. Updates leave out unchanged values, so a connection's decoder keeps each topic's
values, and each tick is made of all of them. Source: fyers-apiv3 3.2.0.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import epoch_seconds, text
from onebroker.brokers.codec.jwt_claims import claims
from onebroker.brokers.events import (
    BrokerEvent,
    CorruptFrame,
    Heartbeat,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.fyers import hsm, wire
from onebroker.brokers.fyers.values import CASH_SEGMENTS, contract_units, is_index, segment
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, StreamAddress

sockets = 1
per_socket = wire.TOPICS_PER_SOCKET // wire.TOPICS_PER_INSTRUMENT
"""The documents named 200 symbols for a while, and a plan may allow fewer. The socket then reports it, and the topics it
accepted go on."""
silence_seconds: float | None = None
"""Whether our pings are answered is not known, and without trades nothing comes (lesson 3)."""
ping_seconds: float | None = wire.PING_SECONDS
ready_seconds: float | None = 10.0
"""The socket takes topics only after it acknowledged the key and the mode."""

SOURCE = "onebroker"
"""Names the client to the broker; the official client sends its name and version."""

_DEPTH = 5
_WRAP = 1 << 32
"""Quantities are four bytes, read as signed: above 2^31 they become negative."""
_DIVISOR_LIMIT = 10**12
"""A larger scale of a topic means damage."""


def address(access: Access, now: datetime) -> StreamFlow:
    """Return the socket's address; no call is needed first. Raises `BadAnswer` when the access token holds no key."""
    yield from ()
    if stream_key(access.token("access_token")) is None:
        raise BadAnswer("the access token holds no hsm_key, without which the data socket cannot be opened")
    return StreamAddress(url=access.endpoints.stream_url)


def stream_key(token: str) -> str | None:
    """Return the key that opens the data socket; None when the token holds no key."""
    return text(claims(token).get("hsm_key"))


def opening_messages(access: Access) -> list[bytes | str]:
    """Return the key, then the full mode; the answers to both make the socket ready."""
    key = stream_key(access.token("access_token")) or ""
    return [hsm.auth_message(key, SOURCE), hsm.mode_message()]


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that start trades and depth of these instruments."""
    return _topic_messages(hsm.Kind.SUBSCRIBE, listings)


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return _topic_messages(hsm.Kind.UNSUBSCRIBE, listings)


def ping_message() -> bytes | str | None:
    return hsm.PING_MESSAGE


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "HsmDecoder":
    return HsmDecoder(listings)


def topics(listing: Listing) -> list[str]:
    """Return the topics of one instrument."""
    kinds = (hsm.INDEX,) if is_index(listing.tradingsymbol) else (hsm.TRADES, hsm.DEPTH)
    return [f"{kind}|{listing.broker_token}" for kind in kinds]


def _topic_messages(kind: hsm.Kind, listings: Sequence[Listing]) -> list[bytes | str]:
    names = [topic for listing in listings for topic in topics(listing)]
    most = wire.TOPICS_PER_MESSAGE
    return [hsm.topics_message(kind, names[at : at + most]) for at in range(0, len(names), most)]


class _Topic:
    """The newest values of one topic."""

    __slots__ = ("divisor", "kind", "token", "values")

    def __init__(self, kind: str, token: str, divisor: int) -> None:
        self.kind, self.token, self.divisor = kind, token, divisor
        self.values: dict[str, int] = {}

    def take(self, values: Sequence[int]) -> None:
        """Replace the held values by new ones; values beyond those known for the kind are ignored."""
        named = zip(hsm.FIELDS[self.kind], values, strict=False)
        self.values.update((name, value) for name, value in named if value != hsm.ABSENT)

    def price(self, name: str) -> float | None:
        """Return a price in rupees; the broker writes zero for no price."""
        value = self.values.get(name, 0)
        return value / self.divisor if value > 0 else None

    def count(self, name: str, units: int | None) -> int | None:
        value = self.values.get(name)
        return None if value is None or units is None else value % _WRAP * units

    def time(self, name: str) -> float | None:
        return epoch_seconds(self.values.get(name, 0))


class HsmDecoder:
    """One connection: its topics, their newest values, and how many frames are not acknowledged yet."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings
        self._topics: dict[int, _Topic] = {}
        self._trades: dict[str, _Topic] = {}
        """broker_token -> its trades topic, or its index topic."""
        self._depth: dict[str, _Topic] = {}
        self._awaited = {hsm.Kind.AUTH, hsm.Kind.MODE}
        """The kinds whose good answer must still come before topics are taken."""
        self._ack_every = 0
        self._unacknowledged = 0

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a frame that contradicts itself is dropped whole, because none of it can be trusted."""
        if isinstance(frame, str):
            return [CorruptFrame("a text message where all is bytes")]
        try:
            kind = hsm.frame_kind(frame)
            if kind == hsm.Kind.FEED:
                return self._feed(frame)
            return self._answer(kind, frame)
        except hsm.Damaged as damage:
            return [CorruptFrame(str(damage))]

    def _answer(self, kind: int, frame: bytes) -> list[BrokerEvent]:
        if kind == hsm.Kind.AUTH:
            word, self._ack_every = hsm.auth_answer(frame)
            return (
                self._ready(hsm.Kind.AUTH) if word == hsm.SUCCESS else [SessionDead(f"the socket refused us: {word}")]
            )
        if kind == hsm.Kind.MODE:
            word = hsm.mode_answer(frame)
            return (
                self._ready(hsm.Kind.MODE) if word == hsm.SUCCESS else [StreamRefused(f"the mode was refused: {word}")]
            )
        if kind in (hsm.Kind.SUBSCRIBE, hsm.Kind.UNSUBSCRIBE):
            word = hsm.topics_answer(frame)
            return [Heartbeat() if word == hsm.SUCCESS else StreamRefused(f"topics were refused: {word}")]
        if kind == hsm.Kind.CUSTOM:
            code, message = hsm.custom_answer(frame)
            return [StreamRefused(f"{message} ({code})")]
        if kind in (hsm.Kind.PAUSE, hsm.Kind.RESUME, hsm.Kind.PING):
            return [Heartbeat()]
        return [CorruptFrame(f"a frame of kind {kind}")]

    def _ready(self, answered: hsm.Kind) -> list[BrokerEvent]:
        if answered not in self._awaited:
            return [Heartbeat()]
        self._awaited.discard(answered)
        return [Heartbeat()] if self._awaited else [Ready()]

    def _feed(self, frame: bytes) -> list[BrokerEvent]:
        acknowledgement = self._acknowledged(hsm.feed_number(frame))
        try:
            moved = self._taken(hsm.records(frame))
        except hsm.Damaged as damage:
            return [*acknowledgement, CorruptFrame(str(damage))]
        ticks = tuple(tick for token in moved if (tick := self._tick(token)) is not None)
        return [*acknowledgement, Ticks(ticks) if ticks else Heartbeat()]

    def _acknowledged(self, number: int) -> list[BrokerEvent]:
        """Return the acknowledgement when one is due: the broker wants one after a certain number of frames, damaged ones included."""
        if not self._ack_every:
            return []
        self._unacknowledged += 1
        if self._unacknowledged < self._ack_every:
            return []
        self._unacknowledged = 0
        return [Reply(hsm.ack_message(number))]

    def _taken(self, records: Sequence[hsm.Record]) -> list[str]:
        """Keep the values of a frame; return the instruments that changed, in the frame's order."""
        opened = [self._opened(record) for record in records if isinstance(record, hsm.Snapshot)]
        if any(topic is not None and topic.divisor > _DIVISOR_LIMIT for topic in opened):
            raise hsm.Damaged("a scale that is none")
        moved: dict[str, None] = {}
        snapshots = iter(opened)
        for record in records:
            if isinstance(record, hsm.Snapshot):
                topic = next(snapshots)
                self._hold(record.topic_id, topic)
            else:
                topic = self._topics.get(record.topic_id)
            if topic is None:
                continue  # of a kind we do not know, or of a topic that began elsewhere
            topic.take((record.value,) if isinstance(record, hsm.Lite) else record.values)
            moved[topic.token] = None
        return list(moved)

    def _opened(self, record: hsm.Snapshot) -> _Topic | None:
        kind, bar, token = record.topic.partition("|")
        return _Topic(kind, token, record.divisor) if bar and kind in hsm.FIELDS else None

    def _hold(self, topic_id: int, topic: _Topic | None) -> None:
        """Start a topic again from its snapshot; an id that now belongs to another topic no longer means the old one."""
        self._topics.pop(topic_id, None)
        if topic is not None:
            self._topics[topic_id] = topic
            (self._depth if topic.kind == hsm.DEPTH else self._trades)[topic.token] = topic

    def _tick(self, token: str) -> Tick | None:
        trades = self._trades.get(token)
        last = None if trades is None else trades.price("ltp")
        if trades is None or last is None:
            return None  # depth alone, or never traded: there is no price to serve
        if trades.kind == hsm.INDEX:
            return _index_tick(token, trades, last)
        units = contract_units(token, self._listings)
        depth = self._depth.get(token)
        return Tick(
            broker_token=token,
            last_price=last,
            average_price=trades.price("average_price"),
            open=trades.price("open"),
            high=trades.price("high"),
            low=trades.price("low"),
            previous_close=trades.price("previous_close"),
            last_quantity=trades.count("last_quantity", units),
            volume=trades.count("volume", units),
            buy_quantity=trades.count("buy_quantity", units),
            sell_quantity=trades.count("sell_quantity", units),
            oi=None if segment(token) in CASH_SEGMENTS else trades.count("oi", units),
            buy=None if depth is None else _levels(depth, "bid", units),
            sell=None if depth is None else _levels(depth, "ask", units),
            last_trade_time=trades.time("last_trade_time"),
            exchange_time=trades.time("exchange_time"),
        )


def _index_tick(token: str, index: _Topic, last: float) -> Tick:
    return Tick(
        broker_token=token,
        last_price=last,
        open=index.price("open"),
        high=index.price("high"),
        low=index.price("low"),
        previous_close=index.price("previous_close"),
        exchange_time=index.time("exchange_time"),
    )


def _levels(depth: _Topic, side: str, units: int | None) -> tuple[DepthLevel, ...] | None:
    """Return the non-empty levels of a side, best first; None where quantities cannot be read in units."""
    if units is None:
        return None
    levels = []
    for level in range(1, _DEPTH + 1):
        price, size = depth.price(f"{side}_price{level}"), depth.count(f"{side}_size{level}", units)
        if price is not None and size:
            levels.append(DepthLevel(price, size, depth.count(f"{side}_orders{level}", 1)))
    return tuple(levels)
