"""Trying out one broker for `onebroker check`: the address from which its orders leave, its profile, every read, its instrument file, and
the first tick of its stream.

In a running service, `check_session` uses the live login and the live sockets. Without a service, the command puts the steps together
(`http/commands/check.py`). Every call goes through the broker's own budget; no order is sent, and nothing is stored. A failed step says
why, and the later steps are still tried.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import attrs
import trio

from onebroker.actors.catalogue.broker_files import read_broker, told, unreadable
from onebroker.actors.catalogue.download import NO_ANSWER, name_of
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.check_address import address_detail
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.pollers import codec_calls
from onebroker.actors.sessions.session_view import FeedView, SessionView
from onebroker.actors.store.keys import RESOURCES
from onebroker.brokers.broker import Access, Broker, FeedCodec, FeedDecoder, ReadFlow, SubscriptionDecoder
from onebroker.brokers.codec.contained import contained
from onebroker.brokers.codec.instrument_files import MISSING
from onebroker.brokers.events import CorruptFrame, Ready, Reply, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BrokerError, WireResponse
from onebroker.brokers.transport.interface import FrameStream, RoutedTransport, Transport
from onebroker.config.clock import Clock
from onebroker.config.instruments import Exchange, security
from onebroker.config.late_modules import pl

ADDRESS = "address"
"""Name of the step that contacts no broker."""
CALL_SECONDS = 10.0
FILE_SECONDS = 180.0
TICK_SECONDS = 15.0
"""How long the check waits for the first tick."""
LIQUID = ("RELIANCE", "HDFCBANK", "SBIN", "INFY")
"""Shares that trade every second of a session. The check subscribes to one of them that the broker lists."""


@attrs.frozen(kw_only=True)
class Step:
    """One step of a check at one broker."""

    name: str
    ok: bool
    detail: str
    """The result, or why there is none; without secrets."""
    seconds: float


class NothingCame(BrokerError):
    """The broker did not do what was asked, but we saw no error of the broker."""


@attrs.frozen(kw_only=True)
class CheckContext:
    """The dependencies of a check."""

    broker: Broker
    caller: Caller
    transport: Transport
    clock: Clock


async def timed(name: str, clock: Clock, doing: Callable[[], Awaitable[str]]) -> Step:
    """Do one step and return its result. An error in a codec is a failed step too."""
    began = clock.monotonic()
    try:
        with contained(ValueError):
            detail, ok = await doing(), True
    except (BrokerError, ValueError) as error:
        detail, ok = str(error), False
    return Step(name=name, ok=ok, detail=detail, seconds=clock.monotonic() - began)


async def check_session(
    context: CheckContext,
    view: Published[SessionView],
    catalogue: CatalogueState,
    *,
    configured: Access,
    market_open: Callable[[], bool],
) -> tuple[Step, ...]:
    """Try out the broker with its live login. An open market stream is only described, because some brokers close the first socket when a
    second one opens. `configured` is the access without a login."""
    address = await check_address(context, configured)
    access = view.value.access
    if access is None:
        return (*address, Step(name="login", ok=False, detail=view.value.trouble or "no login", seconds=0.0))
    listings = {} if catalogue.latest is None else catalogue.latest.listings(context.broker.code)
    user = access.login.user_id if access.login is not None else ""
    steps = [
        *address,
        Step(name="login", ok=True, detail=user, seconds=0.0),
        *await check_reads(context, access, listings),
    ]
    steps.append(_mapped(context.broker.code, catalogue, len(listings)))
    feed = view.value.market_feed
    if feed.connected:
        steps.append(Step(name="stream", ok=True, detail=_stream_life(feed, context.clock), seconds=0.0))
    else:
        share = _listed_share(context.broker.code, catalogue)
        steps.append(await check_stream(context, access, share, market_open=market_open()))
    return tuple(steps)


def _mapped(code: str, catalogue: CatalogueState, count: int) -> Step:
    """Say how many instruments the mapping has for a broker, and what its files lacked."""
    detail = f"{count} listed"
    if catalogue.latest is not None and not catalogue.published_today:
        detail += f", of an earlier mapping: {catalogue.reason}"
    if lacking := catalogue.lost.get(code) or told(catalogue.missing.get(code, {})):
        detail += f"; not {lacking}"
    return Step(name="instruments", ok=count > 0, detail=detail, seconds=0.0)


def _listed_share(code: str, catalogue: CatalogueState) -> dict[str, Listing]:
    """Return one listing of the broker by broker_token: a LIQUID share if it is listed, else any. Empty without a catalogue."""
    latest = catalogue.latest
    if latest is None:
        return {}
    for symbol in LIQUID:
        found = latest.find(security(Exchange.NSE, "equities", symbol))
        if found is not None and code in found.listings:
            return {found.listings[code].broker_token: found.listings[code]}
    return dict(itertools.islice(latest.listings(code).items(), 1))


def _stream_life(feed: FeedView, clock: Clock) -> str:
    if feed.last_frame_at is None:
        return f"open, {feed.subscribed} subscribed, nothing heard yet"
    return f"open, {feed.subscribed} subscribed, heard {clock.epoch() - feed.last_frame_at:.1f} s ago"


async def check_address(context: CheckContext, access: Access) -> list[Step]:
    """Say from which address the broker's orders leave. Return no step when the transport uses no network."""
    transport = context.transport
    if not isinstance(transport, RoutedTransport):
        return []
    return [await timed(ADDRESS, context.clock, partial(address_detail, context.broker, access, transport))]


async def check_reads(context: CheckContext, access: Access, listings: Mapping[str, Listing]) -> list[Step]:
    """Ask for the profile and for every book."""
    broker = context.broker

    async def profile() -> str:
        assert access.login is not None
        answer = await context.caller.call(broker.login.profile_request(access), CALL_SECONDS)
        fields = broker.login.parse_profile(answer, access.login)
        return f"{access.login.user_id}, {len(fields)} fields"

    steps = [await timed("profile", context.clock, profile)]
    for resource in RESOURCES:
        requests, parse = codec_calls(broker)[resource]

        async def read(requests: Callable[..., ReadFlow] = requests, parse: Callable[..., object] = parse) -> str:
            rows = parse(await _answers(context, requests(access, context.clock.now()), CALL_SECONDS), listings)
            return f"{len(rows)} rows" if isinstance(rows, tuple) else "read"

        steps.append(await timed(resource, context.clock, read))
    return steps


async def check_instruments(context: CheckContext, access: Access) -> tuple[Step, dict[str, Listing]]:
    """Fetch and read the broker's instrument files. Also return one liquid share by broker_token. The step names the missing and the
    unreadable files; it fails when no instrument is left."""
    found: dict[str, Listing] = {}

    async def fetch() -> str:
        requests = context.broker.instruments.file_requests(access, context.clock.now())
        bodies, lost = await _files(context, requests)
        if len(lost) == len(bodies):
            raise NothingCame(told(lost))
        try:
            frame, unread = await trio.to_thread.run_sync(
                read_broker, context.broker, list(bodies.values()), list(bodies), abandon_on_cancel=True
            )
        except (BrokerError, ValueError):
            raise  # these errors already say what is wrong
        except unreadable() as error:
            raise NothingCame(f"its file cannot be read ({type(error).__name__})") from error
        missing = unread | lost
        if not frame.height:
            raise NothingCame(told(missing) or "its files hold no instrument")
        found.update(_liquid(frame))
        return f"{frame.height} rows; not {told(missing)}" if missing else f"{frame.height} rows"

    return await timed("instruments", context.clock, fetch), found


async def check_stream(
    context: CheckContext, access: Access, listings: Mapping[str, Listing], *, market_open: bool
) -> Step:
    """Open the market stream, subscribe to one share, and wait for its first tick."""
    codec = context.broker.feed

    async def listen() -> str:
        if not listings:
            raise NothingCame("there is no instrument to subscribe to")
        address = await context.caller.drive(codec.address(access, context.clock.now()), CALL_SECONDS)
        stream = await context.transport.connect(address, CALL_SECONDS)
        try:
            decoder = codec.decoder(access, address, listings)
            if isinstance(decoder, SubscriptionDecoder):
                decoder.subscribing(list(listings.values()))
            with trio.move_on_after(TICK_SECONDS):
                return await _first_tick(codec, decoder, stream, access, listings)
        finally:
            with trio.move_on_after(2, shield=True):
                await stream.aclose()
        if market_open:
            raise NothingCame(f"the stream opened, but no tick came within {TICK_SECONDS:g} s")
        return "opened; no tick, as its markets are closed"

    return await timed("stream", context.clock, listen)


async def _first_tick(
    codec: FeedCodec, decoder: FeedDecoder, stream: FrameStream, access: Access, listings: Mapping[str, Listing]
) -> str:
    for message in codec.opening_messages(access):
        await stream.send(message)
    if codec.ready_seconds is None:
        await _subscribe(codec, access, stream, listings)
    while True:
        for event in decoder.receive(await stream.receive()):
            match event:
                case Ticks():
                    tick = event.ticks[0]
                    named = listings.get(tick.broker_token)
                    return f"{named.tradingsymbol if named is not None else tick.broker_token} at {tick.last_price}"
                case Reply():
                    await stream.send(event.message)
                case Ready():
                    await _subscribe(codec, access, stream, listings)
                case SessionDead() | StreamRefused():
                    raise NothingCame(event.message)
                case CorruptFrame():
                    raise NothingCame(f"a frame could not be read: {event.reason}")
                case _:
                    pass


async def _subscribe(codec: FeedCodec, access: Access, stream: FrameStream, listings: Mapping[str, Listing]) -> None:
    for message in codec.subscribe_messages(access, list(listings.values())):
        await stream.send(message)


async def _files(context: CheckContext, flow: ReadFlow) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the body of each file by its name (`MISSING` when the file did not come), and the reason for each missing file."""
    bodies: dict[str, bytes] = {}
    lost: dict[str, str] = {}
    try:
        request = next(flow)
        while True:
            name = name_of(request, list(bodies))
            try:
                answer = await context.caller.call(request, FILE_SECONDS)
            except BrokerError as error:
                answer, lost[name] = WireResponse(status=NO_ANSWER, body=MISSING), str(error)
            else:
                if answer.status != 200:
                    answer, lost[name] = attrs.evolve(answer, body=MISSING), f"HTTP {answer.status}"
            bodies[name] = answer.body
            request = flow.send(answer)
    except StopIteration:
        return bodies, lost
    finally:
        flow.close()


async def _answers(context: CheckContext, flow: ReadFlow, timeout_seconds: float) -> list[WireResponse]:
    answers: list[WireResponse] = []
    try:
        request = next(flow)
        while True:
            answers.append(await context.caller.call(request, timeout_seconds))
            request = flow.send(answers[-1])
    except StopIteration:
        return answers
    finally:
        flow.close()


def _liquid(frame: pl.DataFrame) -> dict[str, Listing]:
    """Return one listed share of LIQUID, or else the first listed share, by broker_token."""
    shares = frame.filter((pl.col("segment") == "equities") & pl.col("broker_token").is_not_null())
    known = shares.filter(pl.col("symbol").is_in(LIQUID))
    rows = (known if known.height else shares).head(1).rows(named=True)
    return {
        row["broker_token"]: Listing(
            broker_token=row["broker_token"],
            tradingsymbol=row["tradingsymbol"] or "",
            exchange=row["broker_exchange"] or "",
            lot_size=row["lot_size"],
            tick_size=row["tick_size"],
            contract_units=row["contract_units"],
            other_names=row["other_names"],
        )
        for row in rows
    }
