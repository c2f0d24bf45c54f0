"""The cost of the quote book: microseconds a tick from a broker's frame to the folded quote, and milliseconds a plan.

Ticks go the service's own way, without the socket: a broker's frame goes through its decoder, and the session's message into the mailbox. The quote
book's actor does the rest: catalogue, fold, changes, and every second the writing, planning and looking for stale quotes. The store is in memory.
Zerodha's frames hold twenty packets of its fullest mode, Upstox' twenty instruments in protobuf. *Share of a core* is the part of one processor that
`--instruments` at `--rate` ticks a second from both brokers take in total. The load is paced in tenths of a second. Planning is measured from
nothing, unchanged, and after the loss of the first broker.

    python -m bench.bench_quotes [--instruments 10000] [--rate 5] [--seconds 5]
"""

import argparse
import json
import os
import platform
import statistics
import struct
import sys
import time
from collections.abc import Callable, Mapping
from datetime import date
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.kernel.mailbox import Address, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.actor import QuoteBookActor
from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.feed_plan import Feeder, Standing, plan
from onebroker.actors.quotes.messages import QuoteMessage
from onebroker.actors.quotes.wanted_instruments import Need
from onebroker.actors.sessions.messages import TickReceived
from onebroker.actors.sessions.session_view import FeedView, LoginState, SessionView
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.broker import Access, FeedDecoder
from onebroker.brokers.events import Ticks
from onebroker.brokers.records import Listing
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.upstox.proto import FeedResponse
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from onebroker.config.instruments import security

CODES = ("zerodha", "upstox")
PER_FRAME = 20
PACES_PER_SECOND = 10
PLAN_INSTRUMENTS = 3000
PACKAGES = ("trio", "msgspec", "attrs", "protobuf")


def zerodha_token(number: int) -> str:
    return str((number + 1) * 256 + 1)


def upstox_token(number: int) -> str:
    return f"NSE_EQ|INE{number:06d}A01"


def zerodha_frame(numbers: range, at: int) -> bytes:
    """Return a message of packets of mode full."""
    level = struct.pack(">IIHxx", 100, 10_000, 3)
    more = (7, 10_000, 5000, 9000, 9000, 9900, 10_100, 9800, 9900, at, 0, 0, 0, at)
    packets = [struct.pack(">16I", int(zerodha_token(number)), 10_000, *more) + level * 10 for number in numbers]
    return struct.pack(">H", len(packets)) + b"".join(struct.pack(">H", len(packet)) + packet for packet in packets)


def upstox_frame(numbers: range, at: int) -> bytes:
    """Return a message of instruments in mode full."""
    response = FeedResponse(type=1, currentTs=at * 1000)
    for number in numbers:
        market = response.feeds[upstox_token(number)].fullFeed.marketFF
        market.ltpc.ltp, market.ltpc.ltt, market.ltpc.ltq, market.ltpc.cp = 100.0, at * 1000, 7, 99.0
        for _ in range(5):
            market.marketLevel.bidAskQuote.add(bidQ=5, bidP=99.95, askQ=6, askP=100.05)
        market.marketOHLC.ohlc.add(interval="1d", open=99.0, high=101.0, low=98.0, close=99.0, ts=at * 1000)
        market.atp, market.vtt, market.tbq, market.tsq = 100.0, 5000, 9.0, 10.0
    return bytes(response.SerializeToString())


class Snapshot:
    """A catalogue of shares that both brokers list."""

    mapping_date = date(2026, 11, 23)

    def __init__(self, count: int) -> None:
        self.instruments: dict[str, Instrument] = {}
        self.tokens: dict[tuple[str, str], str] = {}
        for number in range(count):
            identity = security("nse", "equities", f"S{number}")
            tokens = {"zerodha": zerodha_token(number), "upstox": upstox_token(number)}
            self.instruments[identity.instrument_id] = Instrument(
                instrument_id=identity.instrument_id, identity=identity, name=None, isin=None, lot_size=1, tick_size=0.05,
                freeze_quantity=None, listings={code: _listing(token) for code, token in tokens.items()},
            )  # fmt: skip
            self.tokens.update(dict.fromkeys(tokens.items(), identity.instrument_id))

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self.instruments.get(instrument_id)

    def by_token(self, broker: str, broker_token: str) -> str | None:
        return self.tokens.get((broker, broker_token))


def _listing(token: str) -> Listing:
    return Listing(broker_token=token, tradingsymbol="T", exchange="NSE")


@attrs.frozen
class Feed:
    """One broker's decoder, and its frames with each instrument once."""

    code: str
    decoder: FeedDecoder
    frames: list[bytes]

    def tell(self, address: Address[QuoteMessage], frame: bytes, received_at: float) -> None:
        """Handle a frame as a session does."""
        for event in self.decoder.receive(frame):
            if isinstance(event, Ticks):
                for tick in event.ticks:
                    message = TickReceived(broker=self.code, tick=tick, received_at=received_at)
                    address.replace((self.code, tick.broker_token), message)


def feeds(count: int, at: int) -> list[Feed]:
    made: dict[str, Callable[[range, int], bytes]] = {"zerodha": zerodha_frame, "upstox": upstox_frame}
    registry = build_registry()
    parts = [range(start, min(start + PER_FRAME, count)) for start in range(0, count, PER_FRAME)]
    access = Access(endpoints=registry["zerodha"].endpoints, credentials={}, login=None)
    return [
        Feed(
            code,
            registry[code].feed.decoder(access, StreamAddress(url="ws://feed"), _Every()),
            [make(part, at) for part in parts],
        )
        for code, make in made.items()
    ]


class _Every(dict[str, Listing]):
    """Lists every token that is asked for."""

    def __missing__(self, token: str) -> Listing:
        listing = self[token] = _listing(token)
        return listing

    def get(self, token: str, default: Any = None) -> Any:
        return self[token]


def decoding(made: list[Feed]) -> dict[str, float]:
    """Return the microseconds that decoding alone takes for a tick, by broker."""
    figures = {}
    for feed in made:
        runs = [_timed(lambda feed=feed: [feed.decoder.receive(frame) for frame in feed.frames]) for _ in range(5)]
        figures[feed.code] = statistics.median(runs) / (len(feed.frames) * PER_FRAME) * 1e6
    return figures


def _timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


async def load(count: int, rate: int, seconds: int) -> dict[str, float]:
    """Run the actor under the whole load. Return ticks a second, the share of a core and the microseconds a tick."""
    clock = Clock()
    made = feeds(count, int(clock.epoch()))
    snapshot = Snapshot(count)
    mailbox = open_mailbox("quotes", capacity=256)
    sessions: Mapping[str, Any] = {code: _session(code) for code in CODES}
    published = Published(QuoteBook(CODES))
    state = CatalogueState(latest=snapshot, published_today=True, reason="")  # type: ignore[arg-type]  # what is used of one
    actor = QuoteBookActor(
        mailbox=mailbox, published=published, sessions=sessions, catalogue=Published(state), store=MemoryStore(clock),
        clock=clock, calendar=always_open(),
    )  # fmt: skip
    async with trio.open_nursery() as nursery:
        await nursery.start(actor.run)
        with published.value.followers.open(snapshot.instruments):
            await _rounds(made, mailbox.address, clock, 1, 1)
            await trio.sleep(2)
            began, worked = time.perf_counter(), time.process_time()
            told = await _rounds(made, mailbox.address, clock, rate, seconds)
            worked, passed = time.process_time() - worked, time.perf_counter() - began
        assert len(published.value) == count
        nursery.cancel_scope.cancel()
    return {"ticks_per_second": told / passed, "share_of_a_core": worked / passed, "us_per_tick": worked / told * 1e6}


async def _rounds(made: list[Feed], address: Address[QuoteMessage], clock: Clock, rate: int, seconds: int) -> int:
    """Send every instrument's tick `rate` times a second, a part of the frames in each pace. Return the number of ticks sent."""
    told, began = 0, trio.current_time()
    for pace in range(seconds * PACES_PER_SECOND):
        for feed in made:
            share = len(feed.frames) * rate // PACES_PER_SECOND
            for number in range(pace * share, (pace + 1) * share):
                feed.tell(address, feed.frames[number % len(feed.frames)], clock.epoch())
                told += PER_FRAME
                await trio.lowlevel.checkpoint()
        await trio.sleep_until(began + (pace + 1) / PACES_PER_SECOND)
    return told


def _session(code: str) -> SimpleNamespace:
    view = SessionView(broker=code, login=LoginState.LIVE, market_feed=FeedView(connected=True))
    broker = attrs.evolve(build_registry()[code], feed=SimpleNamespace(sockets=1, per_socket=100_000))
    return SimpleNamespace(broker=broker, address=open_mailbox(code, capacity=8).address, view=Published(view))


def planning() -> dict[str, float]:
    """Return milliseconds for a plan of PLAN_INSTRUMENTS over ten brokers that all list them."""
    registry = build_registry()
    rooms = {code: broker.feed.sockets * broker.feed.per_socket for code, broker in registry.items()}
    live = {code: Feeder(standing=Standing.LIVE, room=room) for code, room in rooms.items()}
    lost = {**live, "zerodha": attrs.evolve(live["zerodha"], standing=Standing.LOST)}
    wanted = {f"instrument {number}": Need(number % 4) for number in range(PLAN_INSTRUMENTS)}
    wanted = dict(sorted(wanted.items(), key=lambda item: item[1]))
    listings = {instrument_id: frozenset(registry) for instrument_id in wanted}

    def lists(instrument_id: str, code: str) -> bool:
        return code in listings[instrument_id]

    made = plan(wanted, live, lists, {})
    cases = {"from_nothing": (live, {}), "unchanged": (live, made), "first_broker_lost": (lost, made)}
    return {
        name: statistics.median(
            _timed(lambda now=now, before=before: plan(wanted, now, lists, before)) for _ in range(15)
        )
        * 1e3
        for name, (now, before) in cases.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instruments", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    given = parser.parse_args()
    result = {
        "decode_us_per_tick": decoding(feeds(given.instruments, 1_795_408_201)),
        "load": trio.run(load, given.instruments, given.rate, given.seconds),
        "plan_ms": planning(),
        "instruments": given.instruments,
        "rate": given.rate,
        "machine": {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()},
        "packages": {name: version(name) for name in PACKAGES},
    }
    for code, figure in result["decode_us_per_tick"].items():
        sys.stdout.write(f"decode {code:18s} {figure:8.2f} us a tick\n")
    sys.stdout.write(f"frame to fold, and the beats {result['load']['us_per_tick']:6.2f} us a tick\n")
    sys.stdout.write(
        f"share of a core           {result['load']['share_of_a_core']:8.2f} at {result['load']['ticks_per_second']:,.0f} ticks/s\n"
    )
    for name, figure in result["plan_ms"].items():
        sys.stdout.write(f"plan {name:20s} {figure:8.2f} ms for {PLAN_INSTRUMENTS} instruments, 10 brokers\n")
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
