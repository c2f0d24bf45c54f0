"""Upstox' market-data socket: protobuf frames in, JSON in binary frames out.

The first frame gives the state of the markets, the second is a snapshot, then changes follow. Prices are rupees;
quantities are units, or contracts in the segments whose orders count contracts. A zero field is not on the wire, so zero
and absent mean the same. Source: documentation page "Market Data Feed V3", not re-read by us; upstox-python-sdk 2.30.0.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from google.protobuf.message import DecodeError

from onebroker.brokers.broker import Access, StreamFlow
from onebroker.brokers.codec.fields import message_of, milliseconds, required, row_of
from onebroker.brokers.events import BrokerEvent, CorruptFrame, Heartbeat, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import DepthLevel, Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, RefusalKind, StreamAddress
from onebroker.brokers.upstox import wire
from onebroker.brokers.upstox.proto import FeedResponse
from onebroker.brokers.upstox.values import CASH_SEGMENTS, contract_units, segment
from onebroker.config.clock import IST

sockets = wire.SOCKETS
per_socket = wire.INSTRUMENTS_PER_SOCKET
silence_seconds: float | None = None
"""When nothing trades, only websocket pings come, and the library answers them invisibly (lesson 3)."""
ping_seconds: float | None = None
ready_seconds: float | None = None

MODE = "full"
"""Last trade, day bar, five levels and totals."""
DAY = "1d"
_DEPTH = 5
_GUID = "onebroker"
"""Any text; the broker does not send it back."""
_DAY_SECONDS = 86_400
_IST_SECONDS = IST.utcoffset(None).total_seconds()
_LARGEST = 2.0**53
"""A double above this is not a count."""


def address(access: Access, now: datetime) -> StreamFlow:
    """Request the socket's one-time address. A dead token is refused here."""
    response = yield wire.request(access, CallKind.READ, "GET", wire.FEED_AUTHORIZE)
    answer = row_of(wire.data(response))
    return StreamAddress(url=required(answer, "authorized_redirect_uri", "authorizedRedirectUri"))


def opening_messages(access: Access) -> list[bytes | str]:
    return []


def subscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    """Return the messages that start full updates for these instruments."""
    return [_message("sub", keys, mode=MODE) for keys in _portions(listings)]


def unsubscribe_messages(access: Access, listings: Sequence[Listing]) -> list[bytes | str]:
    return [_message("unsub", keys) for keys in _portions(listings)]


def ping_message() -> bytes | str:
    """Never called: the socket takes no pings from us."""
    return b""


def decoder(access: Access, address: StreamAddress, listings: Mapping[str, Listing]) -> "FeedFrames":
    return FeedFrames(listings)


class FeedFrames:
    """Decodes whole messages; nothing is kept between them."""

    def __init__(self, listings: Mapping[str, Listing]) -> None:
        self._listings = listings

    def receive(self, frame: bytes | str) -> list[BrokerEvent]:
        """Decode one message; a frame that is not a FeedResponse is dropped whole."""
        if isinstance(frame, str):
            return [error_event(frame)]
        try:
            response = FeedResponse.FromString(frame)
        except (DecodeError, UnicodeDecodeError) as error:
            return [error_event(frame) if frame[:1] == b"{" else CorruptFrame(f"no FeedResponse: {error}")]
        sent = response.currentTs
        ticks = [tick for key in response.feeds if (tick := self._tick(key, response.feeds[key], sent)) is not None]
        # A frame with only the state of the markets, or with instruments that never traded, is a sign of life.
        return [Ticks(tuple(ticks))] if ticks else [Heartbeat()]

    def _tick(self, key: str, feed: Any, sent: int) -> Tick | None:
        kind = feed.WhichOneof("FeedUnion")
        units = contract_units(key, self._listings)
        if kind == "ltpc":
            return _last_trade(key, feed.ltpc, units, sent)
        if kind == "firstLevelWithGreeks":
            return _first_level(key, feed.firstLevelWithGreeks, units, sent)
        if kind == "fullFeed":
            return _full(key, feed.fullFeed, units, sent)
        return None


def error_event(frame: bytes | str) -> BrokerEvent:
    """Read a JSON message of either socket that is not an update: an error, or a message that we do not know."""
    try:
        message = message_of(frame)
    except BadAnswer as error:
        return CorruptFrame(f"a text message that cannot be read: {error}")
    if not wire.is_error(message) and message.get("status") != "failed" and "error" not in message:
        return CorruptFrame("a text message that is neither an update nor an error")
    refusal = wire.refusal_in(message, 200)
    if refusal.kind is RefusalKind.SESSION_DEAD:
        return SessionDead(refusal.message)
    return StreamRefused(refusal.message if message.get("errors") else str(message.get("error") or refusal.message))


def _last_trade(key: str, ltpc: Any, units: int | None, sent: int, **more: Any) -> Tick | None:
    last = _price(ltpc.ltp)
    if last is None:
        return None  # never traded: there is no price to serve
    return Tick(
        broker_token=key,
        last_price=last,
        previous_close=_price(ltpc.cp),
        last_quantity=_count(ltpc.ltq, units) or None,
        last_trade_time=milliseconds(ltpc.ltt),
        exchange_time=milliseconds(sent),
        **more,
    )


def _first_level(key: str, feed: Any, units: int | None, sent: int) -> Tick | None:
    buy, sell = _levels([feed.firstDepth], units)
    return _last_trade(
        key, feed.ltpc, units, sent,
        volume=_count(feed.vtt, units), oi=_count(feed.oi, units), buy=buy, sell=sell,
    )  # fmt: skip


def _full(key: str, full: Any, units: int | None, sent: int) -> Tick | None:
    if full.WhichOneof("FullFeedUnion") == "indexFF":
        return _last_trade(key, full.indexFF.ltpc, None, sent, **_day_bar(full.indexFF.marketOHLC.ohlc, sent))
    feed = full.marketFF
    buy, sell = _levels(feed.marketLevel.bidAskQuote, units) if feed.HasField("marketLevel") else (None, None)
    return _last_trade(
        key, feed.ltpc, units, sent,
        average_price=_price(feed.atp),
        volume=_count(feed.vtt, units),
        buy_quantity=_count(feed.tbq, units),
        sell_quantity=_count(feed.tsq, units),
        oi=None if segment(key) in CASH_SEGMENTS else _count(feed.oi, units),
        buy=buy, sell=sell,
        **_day_bar(feed.marketOHLC.ohlc, sent),
    )  # fmt: skip


def _day_bar(bars: Iterable[Any], sent: int) -> dict[str, float | None]:
    """Return the day's open, high and low. Before the open the bar may still be the previous day's; such a bar is ignored."""
    for bar in bars:
        if bar.interval == DAY and _same_day(bar.ts, sent):
            return {"open": _price(bar.open), "high": _price(bar.high), "low": _price(bar.low)}
    return {}


def _same_day(bar: int, sent: int) -> bool:
    """Compare the India days of two epoch milliseconds; a missing time contradicts nothing."""
    began, came = milliseconds(bar), milliseconds(sent)
    # Computed without dates, because this is called at every tick.
    return (
        began is None or came is None or (began + _IST_SECONDS) // _DAY_SECONDS == (came + _IST_SECONDS) // _DAY_SECONDS
    )


def _levels(
    quotes: Iterable[Any], units: int | None
) -> tuple[tuple[DepthLevel, ...] | None, tuple[DepthLevel, ...] | None]:
    """Return both sides without empty levels; None for both when the quantities cannot be read."""
    if units is None:
        return None, None
    buy, sell = [], []
    for quote in list(quotes)[:_DEPTH]:
        bid, ask = _price(quote.bidP), _price(quote.askP)
        if bid is not None and quote.bidQ > 0:
            buy.append(DepthLevel(bid, quote.bidQ * units))
        if ask is not None and quote.askQ > 0:
            sell.append(DepthLevel(ask, quote.askQ * units))
    return tuple(buy), tuple(sell)


def _price(value: float) -> float | None:
    """Return a price; zero means absent, and a number that cannot be a price (a damaged frame) gives None."""
    return value if 0 < value < math.inf else None


def _count(value: float, units: int | None) -> int | None:
    """Return a quantity in units; None when the contract size is not known or the number is not a count."""
    return int(value) * units if units is not None and 0 <= value <= _LARGEST else None


def _portions(listings: Sequence[Listing]) -> list[list[str]]:
    keys = [listing.broker_token for listing in listings]
    return [keys[at : at + wire.KEYS_PER_MESSAGE] for at in range(0, len(keys), wire.KEYS_PER_MESSAGE)]


def _message(method: str, keys: list[str], **more: str) -> bytes:
    # The broker does not read text frames: the JSON goes out as bytes.
    return msgspec.json.encode({"guid": _GUID, "method": method, "data": {**more, "instrumentKeys": keys}})
