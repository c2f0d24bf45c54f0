"""One socket of a broker: connecting with the live login, heartbeat, resubscription, reconnecting with back-off.

A child task of the session actor. It reports through `FeedEvents` and keeps no state of the session.
"""

import random
from collections.abc import Callable, Mapping
from typing import Protocol

import trio

from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.login_keeper import CALL_SECONDS, LoginKeeper
from onebroker.actors.sessions.watch_list import WatchList
from onebroker.brokers.broker import Access, AccountField, FeedCodec, FeedDecoder, SubscriptionDecoder
from onebroker.brokers.codec.accounts import heard_of_another
from onebroker.brokers.codec.contained import contained
from onebroker.brokers.events import BrokerEvent, CorruptFrame, Ready, Reply, SessionDead
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerError, BrokerRefusal, RefusalKind, StreamAddress
from onebroker.brokers.transport.interface import (
    FrameStream,
    StreamClosed,
    StreamRefusedHandshake,
    Transport,
)
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock

FIRST_RETRY_SECONDS = 1.0
MOST_RETRY_SECONDS = 60.0
STEADY_SECONDS = 30.0
"""After a connection that lived this long, the back-off starts again from `FIRST_RETRY_SECONDS`."""
SUBSCRIBE_PAUSE_SECONDS = 0.05
"""Changes of the watch list within this time are sent together."""
_REFUSED_LOGIN = (401, 403)
MUTE = "the stream said nothing while those of others did"


class FeedEvents(Protocol):
    """The receiver of a feed's reports: its session actor. It never blocks; the receiver keeps everything that must not be lost."""

    def connected(self) -> None: ...

    def disconnected(self, trouble: str) -> None: ...

    def idle(self) -> None:
        """There is no connection, and none is wanted: there is nothing to watch."""

    def subscribed(self, count: int) -> None: ...

    def heard(self, events: list[BrokerEvent]) -> None:
        """One frame arrived; `events` holds its events, possibly none."""

    def silence_matters(self) -> bool:
        """Tell whether a trading session is open, so that silence means a dead connection (lesson 3)."""


class Feed:
    """One socket of a broker, with its number `number`."""

    def __init__(
        self,
        *,
        codec: FeedCodec,
        number: int,
        always: bool,
        watch: WatchList,
        listings: Mapping[str, Listing],
        login: LoginKeeper,
        caller: Caller,
        transport: Transport,
        clock: Clock,
        events: FeedEvents,
        spread: random.Random,
        account: AccountField | None,
    ) -> None:
        """`account`: the field by which the socket's order messages name the account. None = they do not name it, or the socket carries
        no order messages."""
        self._codec = codec
        self._number = number
        self._always = always
        self._watch = watch
        self._listings = listings
        self._login = login
        self._caller = caller
        self._transport = transport
        self._clock = clock
        self._events = events
        self._spread = spread
        self._account = account
        self._end: Callable[[str], None] | None = None
        """Ends the present connection, with the reason; None = no connection."""

    def renew(self) -> None:
        """Reconnect, if there is a connection."""
        if self._end is not None:
            self._end(MUTE)

    async def run(self) -> None:
        """Keep the connection for ever. Without an instrument to watch, it stays closed unless `always`."""
        delay = FIRST_RETRY_SECONDS
        while True:
            await self._until_wanted()
            access = await self._login.wait_live()
            began = self._clock.monotonic()
            trouble, refused = await self._connection(access)
            self._events.disconnected(trouble)
            if refused:
                self._login.dead(access)
                await self._login.wait_other(access)
            if self._clock.monotonic() - began >= STEADY_SECONDS:
                delay = FIRST_RETRY_SECONDS
            await trio.sleep(delay * (1 + self._spread.uniform(-0.25, 0.25)))
            delay = min(delay * 2, MOST_RETRY_SECONDS)

    async def _until_wanted(self) -> None:
        version = self._watch.version
        while not self._always and self._watch.size(self._number) == 0:
            self._events.idle()
            version = await self._watch.wait_newer(version)

    async def _connection(self, access: Access) -> tuple[str, bool]:
        """Connect and stay connected. An error in a codec (an address, a subscription) ends the connection, not the session."""
        try:
            with contained():
                return await self._connect_once(access)
        except BrokerError as error:
            return f"the stream could not be used: {error}", False

    async def _connect_once(self, access: Access) -> tuple[str, bool]:
        """Open the socket and use it until it ends. Return why it ended, and whether the login was refused."""
        try:
            address = await self._caller.drive(
                self._codec.address(access, self._clock.now()), CALL_SECONDS, priority=Priority.BOOK
            )
            stream = await self._transport.connect(address, CALL_SECONDS)
        except StreamRefusedHandshake as refusal:
            return str(refusal), refusal.status in _REFUSED_LOGIN
        except BrokerRefusal as refusal:
            return refusal.message, refusal.kind is RefusalKind.SESSION_DEAD
        except BrokerError as error:
            return str(error), False
        try:
            return await self._live(stream, access, address)
        finally:
            with trio.move_on_after(2, shield=True):
                await stream.aclose()

    async def _live(self, stream: FrameStream, access: Access, address: StreamAddress) -> tuple[str, bool]:
        ended: list[tuple[str, bool]] = []
        ready = trio.Event()
        decoder = self._codec.decoder(access, address, self._listings)
        async with trio.open_nursery() as nursery:

            async def until_end() -> None:
                ended.append(await self._receive(stream, self._own_only(decoder, access), ready))
                nursery.cancel_scope.cancel()

            def end(trouble: str) -> None:
                ended.append((trouble, False))
                nursery.cancel_scope.cancel()

            nursery.start_soon(until_end)
            self._end = end
            try:
                for message in self._codec.opening_messages(access):
                    await stream.send(message)
                if self._codec.ready_seconds is not None:
                    await _within(ready, self._codec.ready_seconds)
                self._events.connected()
                if self._codec.ping_seconds is not None:
                    nursery.start_soon(self._ping, stream, self._codec.ping_seconds)
                await self._keep_subscribed(stream, decoder, access)
            except StreamClosed as closed:
                end(str(closed))
            finally:
                self._end = None
        return ended[0]

    def _own_only(self, decoder: FeedDecoder, access: Access) -> Callable[[bytes | str], list[BrokerEvent]]:
        """Return the function that decodes frames. A frame about another account counts as corrupt, whatever else it says. A frame that
        its decoder fails on is corrupt too."""
        account = self._account

        def decode(frame: bytes | str) -> list[BrokerEvent]:
            try:
                with contained():
                    if account is not None and heard_of_another(frame, account, access):
                        return [CorruptFrame("a message about another account")]
                    return decoder.receive(frame)
            except BadAnswer as error:
                return [CorruptFrame(f"a frame that cannot be read: {error}")]

        return decode

    async def _receive(
        self, stream: FrameStream, decode: Callable[[bytes | str], list[BrokerEvent]], ready: trio.Event
    ) -> tuple[str, bool]:
        """Read frames until the connection ends, the login is refused, or the broker has been silent too long."""
        while True:
            frame: bytes | str | None = None
            try:
                with trio.move_on_after(self._codec.silence_seconds or float("inf")):
                    frame = await stream.receive()
            except StreamClosed as closed:
                return str(closed), False
            if frame is None:
                if self._events.silence_matters():
                    return "the stream went silent", False
                continue
            events = decode(frame)
            self._events.heard(events)
            for event in events:
                match event:
                    case SessionDead():
                        return event.message, True
                    case Ready():
                        ready.set()
                    case Reply():
                        try:
                            await stream.send(event.message)
                        except StreamClosed as closed:
                            return str(closed), False
                    case _:
                        pass

    async def _ping(self, stream: FrameStream, every_seconds: float) -> None:
        while True:
            await trio.sleep(every_seconds)
            message = self._codec.ping_message()
            try:
                if message is None:
                    await stream.ping(every_seconds)
                else:
                    await stream.send(message)
            except StreamClosed:
                return  # the receiving task gets the same error

    async def _keep_subscribed(self, stream: FrameStream, decoder: FeedDecoder, access: Access) -> None:
        """Make the broker's subscriptions match the watch list, now and at each change of the list."""
        subscribed: dict[str, Listing] = {}
        while True:
            version = self._watch.version
            difference = self._watch.difference(self._number, subscribed)
            messages = []
            if difference.unsubscribe:
                messages += self._codec.unsubscribe_messages(access, difference.unsubscribe)
            if difference.subscribe:
                if isinstance(decoder, SubscriptionDecoder):
                    decoder.subscribing(difference.subscribe)
                messages += self._codec.subscribe_messages(access, difference.subscribe)
            for message in messages:
                await stream.send(message)
            for listing in difference.unsubscribe:
                del subscribed[listing.broker_token]
            subscribed.update({listing.broker_token: listing for listing in difference.subscribe})
            self._events.subscribed(len(subscribed))
            await self._watch.wait_newer(version)
            await trio.sleep(SUBSCRIBE_PAUSE_SECONDS)


async def _within(ready: trio.Event, seconds: float) -> None:
    """Wait until the broker is ready for subscriptions. Raise `StreamClosed` if it is not ready within `seconds`."""
    with trio.move_on_after(seconds):
        await ready.wait()
        return
    raise StreamClosed(1000, "the broker did not say that it is ready")
