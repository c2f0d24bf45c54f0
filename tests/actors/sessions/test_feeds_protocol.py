"""What a socket's protocol may ask of the feed that keeps it: answers sent back, subscriptions that wait, pings that must be
answered, a login refused in a frame. The broker here is a script."""

import random
from datetime import datetime
from types import SimpleNamespace

import pytest
import trio
import trio.testing

from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.feeds import Feed
from onebroker.actors.sessions.watch_list import WatchList
from onebroker.brokers.broker import Access, Endpoints, Windows
from onebroker.brokers.events import BooksMoved, Heartbeat, Ready, Reply, SessionDead
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.transport.budget import Budget
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.interface import StreamClosed
from onebroker.config.clock import IST, Clock

ACCESS = Access(
    endpoints=Endpoints(rest_url="", login_url="", stream_url="ws://b", order_stream_url="", instruments_url=""),
    credentials={},
    login=None,
)
SHARE = Listing(broker_token="7", tradingsymbol="SEVEN", exchange="NSE")
SAID = {
    "knock": [Reply("who?")],
    "welcome": [Ready()],
    "moved": [BooksMoved()],
    "beat": [Heartbeat()],
    "out": [SessionDead("logged in elsewhere")],
}


class Stream:
    """The broker's end is `say` and `sent`; pongs come as long as `alive`."""

    def __init__(self):
        self.sent = []
        self.alive = True
        self.pings = 0
        self.say, self._hear = trio.open_memory_channel(100)

    async def send(self, frame):
        await trio.lowlevel.checkpoint()
        self.sent.append(frame)

    async def receive(self):
        try:
            return await self._hear.receive()
        except trio.EndOfChannel:
            raise StreamClosed(1006, "") from None

    async def ping(self, within_seconds):
        self.pings += 1
        if not self.alive:
            await trio.sleep(within_seconds)
            self.say.close()
            raise StreamClosed(1006, "no pong came")

    async def aclose(self):
        self.say.close()
        await trio.lowlevel.checkpoint()


class Codec:
    sockets, per_socket, silence_seconds = 1, 10, None

    def __init__(self, *, ready_seconds=None, ping_seconds=None):
        self.ready_seconds, self.ping_seconds = ready_seconds, ping_seconds
        self.decoders = []

    def address(self, access, now):
        return StreamAddress(url="ws://b", handed={"nonce": "n1"})
        yield

    def decoder(self, access, address, listings):
        self.decoders.append((access, address))
        return SimpleNamespace(receive=lambda frame: SAID[frame])

    def opening_messages(self, access):
        return ["hello"]

    def subscribe_messages(self, access, listings):
        return [f"sub {listing.broker_token}" for listing in listings]

    def unsubscribe_messages(self, access, listings):
        return [f"unsub {listing.broker_token}" for listing in listings]

    def ping_message(self):
        return None


class Events:
    def __init__(self):
        self.notes, self.events = [], []

    def connected(self):
        self.notes.append("connected")

    def disconnected(self, trouble):
        self.notes.append(trouble)

    def idle(self):
        self.notes.append("idle")

    def subscribed(self, count):
        self.notes.append(count)

    def heard(self, events):
        self.events += events

    def silence_matters(self):
        return True


class Logins:
    """A login that is always there, and a new one as soon as it is reported dead."""

    def __init__(self):
        self.reported = []

    async def wait_live(self):
        await trio.lowlevel.checkpoint()
        return ACCESS

    def dead(self, access):
        self.reported.append(access)

    async def wait_other(self, access):
        await trio.lowlevel.checkpoint()
        return ACCESS


@pytest.fixture
def running(nursery, autojump_clock):
    def run(**options):
        clock = Clock.following_trio(datetime(2026, 11, 23, 10, 0, tzinfo=IST))
        codec, events, logins, streams = Codec(**options), Events(), Logins(), []

        async def connect(address, timeout_seconds):
            await trio.lowlevel.checkpoint()
            streams.append(Stream())
            return streams[-1]

        transport = SimpleNamespace(connect=connect)
        watch = WatchList(1, 10)
        watch.want((SHARE,))
        gate = BudgetGate(Budget(Windows(), Windows()), clock, most_waiting=10)
        feed = Feed(
            codec=codec, number=0, always=True, watch=watch, listings={}, login=logins,
            caller=Caller(transport, gate, clock), transport=transport, clock=clock, events=events,
            spread=random.Random(1), account=None,
        )  # fmt: skip
        nursery.start_soon(feed.run)
        return SimpleNamespace(codec=codec, events=events, logins=logins, streams=streams)

    return run


async def test_what_the_protocol_wants_answered_is_answered_at_once(running, autojump_clock):
    world = running()
    await trio.testing.wait_all_tasks_blocked()
    (stream,) = world.streams
    await stream.say.send("knock")
    await trio.testing.wait_all_tasks_blocked()
    assert stream.sent == ["hello", "sub 7", "who?"]


async def test_the_decoder_knows_what_asking_for_the_address_brought(running, autojump_clock):
    world = running()
    await trio.testing.wait_all_tasks_blocked()
    ((access, address),) = world.codec.decoders
    assert access is ACCESS
    assert address.handed == {"nonce": "n1"}


async def test_subscriptions_wait_until_the_broker_takes_them(running, autojump_clock):
    world = running(ready_seconds=30.0)
    await trio.sleep(20)
    (stream,) = world.streams
    assert stream.sent == ["hello"]
    assert world.events.notes == []
    await stream.say.send("welcome")
    await trio.testing.wait_all_tasks_blocked()
    assert stream.sent == ["hello", "sub 7"]
    assert world.events.notes == ["connected", 1]


async def test_a_broker_that_never_gets_ready_is_connected_to_again(running, autojump_clock):
    world = running(ready_seconds=30.0)
    await trio.sleep(40)
    assert len(world.streams) == 2
    assert "ready" in world.events.notes[0]


async def test_a_connection_without_pongs_is_dead(running, autojump_clock):
    world = running(ping_seconds=10.0)
    await trio.sleep(35)
    assert len(world.streams) == 1
    assert world.streams[0].pings == 3
    world.streams[0].alive = False
    await trio.sleep(25)
    assert len(world.streams) == 2


async def test_a_login_refused_in_a_frame_is_repaired_before_the_next_connection(running, autojump_clock):
    world = running()
    await trio.testing.wait_all_tasks_blocked()
    await world.streams[0].say.send("out")
    await trio.sleep(5)
    assert world.logins.reported == [ACCESS]
    assert len(world.streams) == 2


async def test_a_stream_that_closes_while_it_is_answered_is_opened_again(running, autojump_clock):
    world = running()
    await trio.testing.wait_all_tasks_blocked()
    stream = world.streams[0]

    async def refuse(frame):
        raise StreamClosed(1001, "going away")

    stream.send = refuse
    await stream.say.send("knock")
    await trio.sleep(5)
    assert len(world.streams) == 2
