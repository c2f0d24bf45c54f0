"""The connection of a replica to the service: shows a client's token, subscribes, hears, and connects again.

The service has one token. The replica has none of its own: it takes the first one that a client shows, if the service takes it.
"""

import itertools
import logging
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import attrs
import msgspec
import trio
from trio_websocket import ConnectionClosed, HandshakeError, WebSocketConnection, wrap_client_stream

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.store.keys import RESOURCES
from onebroker.actors.token.state import NO_TOKEN, HeldToken, hold
from onebroker.config.instruments import IDENTITY_FIELDS, InstrumentName
from onebroker.config.messages import replica as sentences
from onebroker.config.messages import session
from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.replica.mirror import Mirror

READY_SECONDS = 3.0
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 10.0
"""The longest wait for the answer to a subscription."""
PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Before the tries to connect again; the last one repeats."""
MOST_MESSAGE_BYTES = 256 * 1024 * 1024
SWEEP_SECONDS = 30.0
"""How often to end the subscriptions that nobody needs."""
TOKEN_ENDED = 4401
ITEMS_PER_MESSAGE = 500
DEAD_SECONDS = 10.0
"""A connection that is silent for this long is given up."""
CLOSE_SECONDS = 1.0

_NEVER = "9999-12-31 23:59:59.000000"

log = logging.getLogger("onebroker.replica")


class LinkLost(Exception):
    """The service is not heard any more, or cannot be reached; the text says why."""


class TokenEnded(Exception):
    """The service does not take the token; the text is its sentence."""


@attrs.define(eq=False)
class _Shown:
    """A client's token, which the service is asked about."""

    token: bytes = attrs.field(repr=False)
    done: trio.Event = attrs.field(factory=trio.Event)
    refused: Refusal | None = None

    @classmethod
    def taken(cls, token: bytes) -> "_Shown":
        """Return a token that the service has taken before."""
        shown = cls(token)
        shown.answer(None)
        return shown

    def answer(self, refused: Refusal | None) -> None:
        self.refused = refused
        self.done.set()


@attrs.define(eq=False)
class _Asked:
    """A subscription that waits for its answer."""

    _done: trio.Event = attrs.field(factory=trio.Event)
    _answer: Sequence[Mapping[str, Any]] | Refusal = ()

    def answer(self, answer: Sequence[Mapping[str, Any]] | Refusal) -> None:
        """Take the results of the items, or why there are none."""
        self._answer = answer
        self._done.set()

    async def wait(self) -> Sequence[Mapping[str, Any]]:
        """Raises Refusal."""
        await self._done.wait()
        if isinstance(self._answer, Refusal):
            raise self._answer
        return self._answer


class Link:
    """Holds the token, the connection and the subscriptions. `run` is its one task."""

    def __init__(self, mirror: Mirror, tls: ssl.SSLContext | None = None) -> None:
        self.token: Published[HeldToken | None] = Published(hold(NO_TOKEN))
        """The token that the service took last."""
        self.since: float | None = None
        """Monotonic seconds since when the service is heard; None while it is not."""
        self.why_not = "no client has shown a token yet"
        """Why the service is not heard."""
        self._mirror = mirror
        self._tls = tls
        self._to_show, self._shown = trio.open_memory_channel[_Shown](0)
        self._socket: WebSocketConnection | None = None
        self._learning = trio.Lock()
        self._numbers = itertools.count(1)
        self._asked: dict[int, _Asked] = {}
        self._refused: dict[str, Refusal] = {}
        """Instruments that the service does not have."""

    # --- tokens -------------------------------------------------------------------------------------------------------

    def knows(self, presented: bytes | None) -> bool:
        """Tell whether the check of this token needs no question to the service."""
        return presented is None or self.has_token

    @property
    def has_token(self) -> bool:
        """Whether the service has taken a token, and not ended it."""
        held = self.token.value
        return held is not None and held.token is not None

    async def learn(self, presented: bytes) -> None:
        """Ask the service about a token, and keep it if the service takes it. Raises Refusal 401 or 503."""
        async with self._learning:
            if self.knows(presented):
                return  # another client was faster; the check of the token says the rest
            shown = _Shown(presented)
            await self._to_show.send(shown)
            await shown.done.wait()
        if shown.refused is not None:
            raise shown.refused
        with trio.move_on_after(READY_SECONDS):
            await self._mirror.wait_ages()  # so that the first request already finds the documents

    # --- the connection -----------------------------------------------------------------------------------------------

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sweep)
            task_status.started()
            if (held := self.token.value) is not None and held.token is not None:  # this task failed, and begins again
                await self._live_with(_Shown.taken(held.token), nursery)
            while True:
                shown = await self._shown.receive()
                try:
                    await self._live_with(shown, nursery)
                finally:  # whatever happens here, no client waits for ever
                    if not shown.done.is_set():
                        shown.answer(Refusal(503, sentences.not_connected(self._mirror.service)))

    async def _live_with(self, shown: _Shown, nursery: trio.Nursery) -> None:
        """Connect with a shown token, and stay connected until the service ends the token."""
        pauses = iter(PAUSES_SECONDS)
        while True:
            try:
                await self._connection(shown, nursery)
            except TokenEnded as error:
                self._end_token(shown, str(error))
                return
            except LinkLost as error:
                self.why_not = str(error)
                if not shown.done.is_set():
                    shown.answer(Refusal(503, sentences.token_not_checked(self._mirror.service, str(error))))
                    return
                log.warning("the replica does not hear %s: %s", self._mirror.service, error)
            if self.since is not None:
                pauses, self.since = iter(PAUSES_SECONDS), None
            await trio.sleep(next(pauses, PAUSES_SECONDS[-1]))

    def _end_token(self, shown: _Shown, sentence: str) -> None:
        self.why_not, self.since = sentence, None
        if shown.done.is_set():
            log.warning(
                "%s has ended the access token (%s): a client must show the new one", self._mirror.service, sentence
            )
            self.token.set(hold(NO_TOKEN))
        else:
            shown.answer(Refusal(401, sentence))

    async def _connection(self, shown: _Shown, nursery: trio.Nursery) -> None:
        """Connect and hear until the connection ends. Raises LinkLost, TokenEnded."""
        try:
            with trio.fail_after(CONNECT_SECONDS):
                socket, stream = await self._open(shown.token, nursery)
        except (OSError, HandshakeError, trio.BrokenResourceError, trio.TooSlowError) as error:
            raise LinkLost(_why(error)) from error
        try:
            await self._hear(socket, shown)
        except ConnectionClosed as closed:
            reason = closed.reason
            if reason is not None and reason.code == TOKEN_ENDED:
                raise TokenEnded(reason.reason or session.INVALID_ACCESS_TOKEN) from closed
            raise LinkLost(
                "the connection ended" if reason is None else f"closed with {reason.code} {reason.reason}"
            ) from closed
        except Refusal as refused:  # the connection ended while the subscriptions left
            raise LinkLost(refused.sentence) from refused
        except (msgspec.MsgspecError, LookupError, ValueError) as error:
            raise LinkLost(f"a message could not be read: {error!r}") from error
        finally:
            self._socket = None
            self._gone()
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await socket.aclose()
            await trio.aclose_forcefully(stream)  # which trio-websocket leaves open when the other side closed first

    async def _open(self, token: bytes, nursery: trio.Nursery) -> tuple[WebSocketConnection, trio.abc.AsyncResource]:
        """Open the stream. The handshake of TLS is made here: in trio-websocket a failed one would be waited for."""
        parts = urlsplit(self._mirror.service)
        host = parts.hostname or ""
        tcp = await trio.open_tcp_stream(host, parts.port or (443 if parts.scheme == "https" else 80))
        stream: trio.SocketStream | trio.SSLStream[trio.SocketStream] = tcp
        try:
            if parts.scheme == "https":
                context = self._tls or ssl.create_default_context()
                encrypted = trio.SSLStream(tcp, context, server_hostname=host, https_compatible=True)
                await encrypted.do_handshake()
                stream = encrypted
            socket = await wrap_client_stream(
                nursery,
                stream,
                parts.netloc,
                "/stream",
                extra_headers=[(b"access-token", token)],
                max_message_size=MOST_MESSAGE_BYTES,
            )
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
        return socket, stream

    async def _hear(self, socket: WebSocketConnection, shown: _Shown) -> None:
        """Take messages until the connection ends, is silent for too long, or misses a message."""
        for seq in itertools.count(1):
            with trio.move_on_after(DEAD_SECONDS) as waiting:
                raw = await socket.get_message()
            if waiting.cancelled_caught:
                raise LinkLost(f"nothing was heard for {DEAD_SECONDS:g} s")
            message = self._mirror.take(raw)
            if message.seq != seq:
                raise LinkLost(f"message {message.seq} came in the place of {seq}")
            if message.type == "started":
                await self._begin(socket, shown)
            elif message.type == "subscribed" and message.id in self._asked:
                self._asked.pop(message.id).answer(message.results)
            elif message.type == "error" and message.id in self._asked:
                self._asked.pop(message.id).answer(Refusal(message.status or 503, message.error))
            elif message.type == "error" and message.id is not None:
                log.warning("the quotes are not subscribed, and tried again: %s", message.error)
                self._mirror.quotes.forget(self._mirror.quotes.known)
            elif message.type == "error":
                raise LinkLost(f"a subscription was refused: {message.error}")

    async def _begin(self, socket: WebSocketConnection, shown: _Shown) -> None:
        """The service took the token: keep it, and subscribe everything."""
        self._mirror.connected()
        self._socket, self.since = socket, self._mirror.clock.monotonic()
        if not shown.done.is_set():
            text = shown.token.decode("latin-1")
            self.token.set(
                attrs.evolve(hold(AccessToken(token=text, last_login=None, expires_at=_NEVER)), token=shown.token)
            )
            shown.answer(None)
        log.info("the replica hears %s", self._mirror.service)
        await self._say({"subscribe": "documents", "documents": RESOURCES, "ages": True})
        await self._say({"subscribe": "parents"})
        self._mirror.quotes.forget(self._unread)  # they are not subscribed on this connection
        await self._subscribe([{"instrument_id": name} for name in self._mirror.quotes])

    async def _say(self, command: Mapping[str, object]) -> None:
        socket = self._socket
        if socket is None:
            raise Refusal(503, sentences.not_connected(self._mirror.service))
        try:
            await socket.send_message(render.encode(command).decode())
        except ConnectionClosed as error:
            raise Refusal(503, sentences.not_connected(self._mirror.service)) from error

    def _gone(self) -> None:
        """Note that the connection has ended, and with it its subscriptions."""
        asked, self._asked = self._asked, {}
        for one in asked.values():
            one.answer(Refusal(503, sentences.not_connected(self._mirror.service)))
        self._refused.clear()
        self._mirror.lost()

    # --- instruments --------------------------------------------------------------------------------------------------

    async def follow(self, names: Sequence[InstrumentName]) -> None:
        """Follow these instruments at the service, and wait until it has shown each of them or refused it.

        Raises Refusal 503 while the service is not heard, or does not answer.
        """
        new = {
            name.instrument_id: name
            for name in names
            if self._mirror.quotes.instrument(name.instrument_id) is None and name.instrument_id not in self._refused
        }
        for name in names:
            self._mirror.quotes.touch(name.instrument_id)  # so that no subscription ends while its quote is read
        if not new:
            return
        socket = self._socket
        with trio.move_on_after(ANSWER_SECONDS):
            for instrument_id, refused in await self._subscribe([_named(name) for name in new.values()], tuple(new)):
                self._refused[instrument_id] = refused
            while self._socket is socket:
                if not new.keys() - self._refused.keys() - self._mirror.quotes.known:
                    return
                await self._mirror.quotes.wait_news()
        raise Refusal(503, sentences.not_connected(self._mirror.service))

    def find(self, name: InstrumentName) -> Instrument:
        """Return an instrument that is followed. Raises Refusal: that of the service, or 503."""
        known = self._mirror.quotes.instrument(name.instrument_id)
        if known is not None:
            return known
        raise self._refused.get(name.instrument_id) or Refusal(503, sentences.not_connected(self._mirror.service))

    async def _subscribe(
        self, items: Sequence[Mapping[str, object]], ids: Sequence[str] = ()
    ) -> list[tuple[str, Refusal]]:
        """Subscribe instruments. Without `ids` nobody waits for the answer; else return the instruments of `ids` that the service refused."""
        refused: list[tuple[str, Refusal]] = []
        for start in range(0, len(items), ITEMS_PER_MESSAGE):
            part = items[start : start + ITEMS_PER_MESSAGE]
            number = next(self._numbers)
            command = {"subscribe": "quotes", "mode": "depth", "instruments": part, "id": number}
            if not ids:
                await self._say(command)
                continue
            asked = self._asked[number] = _Asked()
            await self._say(command)
            results = await asked.wait()
            refused += [
                (ids[start + result["request_index"]], Refusal(result["status"], result["error"]))
                for result in results
                if result["status"] != 200
            ]
        return refused

    async def _sweep(self) -> None:
        """End the subscriptions of instruments that nobody reads any more, and make again what is missing. Forget refusals: an instrument may be
        listed since."""
        while True:
            await trio.sleep(SWEEP_SECONDS)
            self._refused.clear()
            with suppress(Refusal):  # the subscriptions end with the connection
                while self._socket is not None and (part := sorted(self._unread)[:ITEMS_PER_MESSAGE]):
                    # Forgotten before the message leaves: whoever reads one of them from now on subscribes it again, after this message.
                    self._mirror.quotes.forget(frozenset(part))
                    items = [{"instrument_id": name} for name in part]
                    await self._say({"unsubscribe": "quotes", "instruments": items})
                if self._socket is not None:
                    missing = frozenset(self._mirror.quotes) - self._mirror.quotes.known
                    await self._subscribe([{"instrument_id": name} for name in sorted(missing)])

    @property
    def _unread(self) -> frozenset[str]:
        return self._mirror.quotes.known - frozenset(self._mirror.quotes)


def _why(error: Exception) -> str:
    """Return why there is no connection. A failed handshake of TLS says it only in the cause."""
    if isinstance(error, trio.TooSlowError):
        return f"no answer within {CONNECT_SECONDS:g} s"
    return str(error.__cause__ or error) or type(error).__name__


def _named(name: InstrumentName) -> dict[str, object]:
    """Return an instrument as the client named it, so that the service's refusal has the same words."""
    identity = name.identity
    if identity is None:
        return {"instrument_id": name.instrument_id}
    fields = {field: getattr(identity, field) for field in IDENTITY_FIELDS[identity.shape]}
    return {"exchange": identity.exchange, "segment": identity.segment, **fields}
