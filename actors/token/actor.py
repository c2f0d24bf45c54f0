"""The token actor: the only writer of the access token (rules 1.3.1).

The durable store is written first and the fast copy (`session:token` in Redis) second; a fast copy that cannot be written
is dropped. Requests are checked against the published `HeldToken`, without asking the actor.
"""

import logging
import uuid
from collections.abc import Callable
from typing import assert_never

import attrs
import msgspec
import trio

from onebroker.actors.kernel.mailbox import Mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store import keys
from onebroker.actors.store.durable import AccessToken, Durable, DurableError
from onebroker.actors.store.interface import Delete, Set, Store, StoreError, why_away
from onebroker.actors.store.sealing import Seal, SealLocked
from onebroker.actors.token.messages import Connect, Disconnect, TokenMessage
from onebroker.actors.token.state import NO_TOKEN, HeldToken, connected, disconnected, hold, refuse_reason
from onebroker.config.clock import Clock
from onebroker.config.messages import session
from onebroker.config.refusal import Refusal

FAST_COPY_SECONDS = 2.0
"""How long a write of the fast copy may take before it counts as failed: the durable store already holds the truth."""

DURABLE_TOKEN = "access_token"
"""The name of the durable store's token for the seal."""

_log = logging.getLogger("onebroker.token")


def random_token() -> str:
    return str(uuid.uuid4())


class TokenActor:
    """Owns the token record; see the module's first lines."""

    def __init__(
        self,
        mailbox: Mailbox[TokenMessage],
        *,
        store: Store,
        durable: Durable,
        seal: Seal,
        clock: Clock,
        token_seconds: int,
        published: Published[HeldToken | None],
        mint: Callable[[], str] = random_token,
    ) -> None:
        self._mailbox = mailbox
        self._store = store
        self._durable = durable
        self._seal = seal
        self._clock = clock
        self._token_seconds = token_seconds
        self._published = published
        self._mint = mint
        self._row = NO_TOKEN

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._hold(await self._load())
        task_status.started()
        async for message in self._mailbox:
            match message:
                case Connect():
                    await self._connect(message)
                case Disconnect():
                    await self._disconnect(message)
                case _:
                    assert_never(message)

    def _hold(self, row: AccessToken) -> None:
        self._row = row
        self._published.set(hold(row))

    # Start

    async def _load(self) -> AccessToken:
        """Return the stored record. Raises DurableError when neither store can be read and the fast copy holds nothing.

        The durable store decides where the two differ, because it is written first: a fast copy from before a crash, or
        from a time when Redis could not even be told to drop it, would bring an ended session back.
        """
        copy, is_newest = await self._read_copy()
        try:
            stored = await self._durable.access_token() or NO_TOKEN
        except DurableError as error:
            if copy is None:
                raise
            _log.warning("the durable store could not be read (%s): the access token comes from its fast copy", error)
            return copy
        try:
            row = self._opened(stored)
        except SealLocked:  # it is logged, and stays as it is until a client connects
            return NO_TOKEN
        if stored.token is not None and not self._seal.is_newest(stored.token.encode()):
            await self._seal_anew(row)
        if copy != row or not is_newest:
            await self._write_copy(row)
        return row

    def _opened(self, stored: AccessToken) -> AccessToken:
        """Return the durable record with its token readable. Raises SealLocked."""
        if stored.token is None:
            return stored
        return attrs.evolve(stored, token=self._seal.open(DURABLE_TOKEN, stored.token.encode()).decode())

    async def _put_durable(self, row: AccessToken) -> None:
        """Write the durable record. Raises DurableError."""
        sealed = None if row.token is None else self._seal.seal(DURABLE_TOKEN, row.token.encode()).decode()
        await self._durable.put_access_token(attrs.evolve(row, token=sealed))

    async def _seal_anew(self, row: AccessToken) -> None:
        """Write the durable token with the newest key. A store that is away gets it at the next start."""
        try:
            await self._put_durable(row)
        except DurableError as error:
            _log.warning("the access token could not be encrypted in the durable store: %s", error)

    async def _read_copy(self) -> tuple[AccessToken | None, bool]:
        """Return the fast copy, None when it is missing, unreachable or unreadable; and whether it is stored with the newest key."""
        try:
            with trio.fail_after(FAST_COPY_SECONDS):
                stored = await self._store.get(keys.SESSION_TOKEN)
            if stored is None:
                return None, True
            body = self._seal.open(keys.SESSION_TOKEN, stored)
            return msgspec.json.decode(body, type=AccessToken), self._seal.is_newest(stored)
        except (StoreError, trio.TooSlowError) as error:
            _log.warning("the access token's fast copy could not be read: %s", why_away(error, FAST_COPY_SECONDS))
        except SealLocked:
            pass  # it is logged
        except ValueError:
            # The text of the error could hold a part of the token.
            _log.warning("the access token's fast copy is unreadable")
        return None, True

    # Transitions

    async def _connect(self, message: Connect) -> None:
        row = connected(self._row, self._clock.now(), self._token_seconds, self._mint)
        if row is self._row:
            message.reply.answer(row)
            return
        try:
            await self._put_durable(row)
        except DurableError as error:
            _log.error("the access token could not be written to the durable store: %s", error)
            message.reply.refuse(Refusal(503, session.token_not_written(str(error))))
            return
        self._hold(row)
        await self._write_copy(row)
        message.reply.answer(row)

    async def _disconnect(self, message: Disconnect) -> None:
        reason = refuse_reason(hold(self._row), message.token, self._clock.now())
        if reason is not None:
            message.reply.refuse(Refusal(401, reason))
            return
        row = disconnected(self._row)
        try:
            await self._put_durable(row)
        except DurableError as error:
            _log.error("the access token could not be removed from the durable store: %s", error)
            message.reply.refuse(Refusal(503, session.token_not_removed(str(error))))
            return
        self._hold(row)
        await self._write_copy(row)
        message.reply.answer(None)

    async def _write_copy(self, row: AccessToken) -> None:
        """Write the fast copy, or drop it when that fails (rules 1.3.1)."""
        try:
            with trio.fail_after(FAST_COPY_SECONDS):
                await self._store.write(
                    Set(keys.SESSION_TOKEN, self._seal.seal(keys.SESSION_TOKEN, msgspec.json.encode(row)))
                )
        except (StoreError, trio.TooSlowError) as error:
            why = why_away(error, FAST_COPY_SECONDS)
            _log.warning("the access token's fast copy could not be written and is dropped: %s", why)
            # Waits in the store, when it is away, until it is back.
            self._store.post(Delete(keys.SESSION_TOKEN))
