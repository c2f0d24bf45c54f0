"""Upstox' market socket: protobuf out, JSON in binary frames in."""

from collections.abc import Iterable
from typing import Any

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.upstox.naming import Name, UpstoxNames
from onebroker.brokers.simulator.world.model import Level, Market, SimFill, SimOrder
from onebroker.brokers.upstox.proto import FeedResponse
from onebroker.config.clock import Clock, from_epoch

REQUEST_MODES = {"ltpc": 0, "full": 1, "option_greeks": 2, "full_d30": 3}
"""A request's mode -> its number in the frame."""
MOST_INSTRUMENTS = {"ltpc": 5000, "full": 2000, "option_greeks": 3000, "full_d30": 50}
SEGMENTS = ("NSE_EQ", "NSE_FO", "NCD_FO", "NSE_INDEX", "BSE_EQ", "BSE_FO", "BSE_INDEX", "MCX_FO")
INITIAL_FEED, LIVE_FEED, MARKET_INFO = 0, 1, 2
NORMAL_OPEN = 2


class MarketSession:
    """One open market socket."""

    def __init__(self, account: AccountView, names: UpstoxNames, socket: Socket, clock: Clock) -> None:
        self._account, self._names, self._clock = account, names, clock
        self.socket = socket
        self._modes: dict[str, str] = {}
        self._greeted = False

    def received(self, message: bytes | str) -> None:
        """Take sub, unsub and change_mode. Upstox reads only binary frames."""
        self._greet()
        if isinstance(message, str):
            return
        try:
            request = msgspec.json.decode(message, type=dict[str, Any])
            method, data = request["method"], request["data"]
            mode = data.get("mode", "ltpc")
            keys = msgspec.convert(data["instrumentKeys"], list[str])
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, AttributeError):
            self._error("Invalid request")
            return
        if method not in ("sub", "unsub", "change_mode") or mode not in REQUEST_MODES:
            self._error(f"Invalid method or mode: {method} {mode}")
        elif method == "unsub":
            for key in keys:
                self._modes.pop(key, None)
        else:
            self._follow(keys, mode, only_held=method == "change_mode")

    def _follow(self, keys: list[str], mode: str, *, only_held: bool) -> None:
        known = [key for key in keys if key in self._names.by_key]
        wanted = [key for key in known if not only_held or key in self._modes]
        alike = {key for key, held in self._modes.items() if held == mode} | set(wanted)
        if len(alike) > MOST_INSTRUMENTS[mode]:
            self._error(f"Subscription limit of {MOST_INSTRUMENTS[mode]} instruments exceeded")
            return
        self._modes.update(dict.fromkeys(wanted, mode))
        self._send(INITIAL_FEED, wanted)

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        names = self._names.by_id
        keys = [names[each].key for each in sorted(instrument_ids & names.keys())]
        self._send(LIVE_FEED, [key for key in keys if key in self._modes])

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        """Does nothing: orders are on the other socket."""

    def beat(self) -> None:
        """Send the first frame if it is not sent yet. Between ticks there are only websocket pings, which the host sends."""
        self._greet()

    def _greet(self) -> None:
        if not self._greeted:
            self._greeted = True
            self.socket.send(market_info(self._milliseconds()))

    def _send(self, kind: int, keys: Iterable[str]) -> None:
        by_key = self._names.by_key
        names = [by_key[key] for key in keys if key in by_key]
        if not names:
            return
        self._greet()
        frame = FeedResponse(type=kind, currentTs=self._milliseconds())
        for name in names:
            market = self._account.market(name.contract.instrument_id)
            fill_feed(frame.feeds[name.key], name, market, self._modes[name.key])
        self.socket.send(frame.SerializeToString())

    def _milliseconds(self) -> int:
        return int(self._clock.epoch() * 1000)

    def _error(self, text: str) -> None:
        self.socket.send(msgspec.json.encode({"status": "failed", "error": text}).decode())


def market_info(now_milliseconds: int) -> bytes:
    """Return the first frame of a connection: the state of every segment."""
    frame = FeedResponse(type=MARKET_INFO, currentTs=now_milliseconds)
    for segment in SEGMENTS:
        frame.marketInfo.segmentStatus[segment] = NORMAL_OPEN
    return bytes(frame.SerializeToString())


def fill_feed(feed: Any, name: Name, market: Market, mode: str) -> None:
    """Write one instrument's part of a frame, in a mode."""
    feed.requestMode = REQUEST_MODES[mode]
    units = name.units
    if mode == "ltpc":
        _last_trade(feed.ltpc, market, units)
    elif mode == "option_greeks":
        part = feed.firstLevelWithGreeks
        _last_trade(part.ltpc, market, units)
        _quote(part.firstDepth, market.buy, market.sell, 0, units)
        part.vtt, part.oi = market.volume // units, float(market.oi // units)
    elif name.contract.is_index:
        _last_trade(feed.fullFeed.indexFF.ltpc, market, units)
        _day_bar(feed.fullFeed.indexFF.marketOHLC, market, units)
    else:
        part = feed.fullFeed.marketFF
        _last_trade(part.ltpc, market, units)
        _day_bar(part.marketOHLC, market, units)
        for place in range(5):
            _quote(part.marketLevel.bidAskQuote.add(), market.buy, market.sell, place, units)
        part.atp, part.vtt = float(market.average_price), market.volume // units
        part.oi = float(market.oi // units)
        part.tbq, part.tsq = float(market.buy_quantity // units), float(market.sell_quantity // units)


def _last_trade(part: Any, market: Market, units: int) -> None:
    part.ltp, part.cp = float(market.last_price), float(market.previous_close)
    part.ltt, part.ltq = int(market.last_trade_time * 1000), market.last_quantity // units


def _quote(part: Any, buy: tuple[Level, ...], sell: tuple[Level, ...], place: int, units: int) -> None:
    for bid in buy[place : place + 1]:
        part.bidQ, part.bidP = bid.quantity // units, float(bid.price)
    for ask in sell[place : place + 1]:
        part.askQ, part.askP = ask.quantity // units, float(ask.price)


def _day_bar(part: Any, market: Market, units: int) -> None:
    midnight = from_epoch(market.exchange_time).replace(hour=0, minute=0, second=0, microsecond=0)
    part.ohlc.add(
        interval="1d", open=float(market.open), high=float(market.high), low=float(market.low),
        close=float(market.last_price), vol=market.volume // units, ts=int(midnight.timestamp()) * 1000,
    )  # fmt: skip
