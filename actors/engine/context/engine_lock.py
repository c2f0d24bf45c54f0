"""The engine's lock: one engine per store (order-engine 2.4). It is taken before anything else, refreshed every 10 s and expires after 30 s."""

import uuid

import trio

from onebroker.actors.store import keys
from onebroker.actors.store.interface import Fence, Store, StoreError
from onebroker.config.clock import Clock

LIFE_SECONDS = 30
REFRESH_SECONDS = 10.0
TRUSTED_SECONDS = 20.0
"""A send needs a refresh at most this old; after this time without a refresh the engine ends."""
RETRY_SECONDS = 1.0


class LockLost(Exception):
    """Another engine holds the lock, or it could not be refreshed in time: this engine must end at once."""


class EngineLock:
    """Holds `orders:engine:lock` with the value `epoch:owner`; the epoch is new at each start."""

    def __init__(self, store: Store, clock: Clock, owner: str) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._value = f"{uuid.uuid4()}:{owner}".encode()
        self._refreshed = float("-inf")
        self._lost = trio.Event()

    @property
    def fence(self) -> Fence:
        return Fence(keys.ENGINE_LOCK, self._value)

    @property
    def trusted_until(self) -> float:
        """Monotonic seconds until which a send may leave."""
        return self._refreshed + TRUSTED_SECONDS

    @property
    def others_silent_since(self) -> float:
        """Monotonic seconds before which every other holder of the lock sent its last message, once the lock is ours.

        A lock that was free had expired, so its holder stopped to trust it `LIFE_SECONDS - TRUSTED_SECONDS` before. A lock that was taken over
        is of an earlier process on our data directory, which had ended before this process began.
        """
        return self._refreshed - (LIFE_SECONDS - TRUSTED_SECONDS)

    def leave_before(self) -> float:
        """Return `trusted_until`, for a message that waits before it is sent."""
        return self.trusted_until

    def lose(self) -> None:
        """End the engine, because a fenced write found another value."""
        self._lost.set()

    async def take(self) -> None:
        """Wait until the lock is ours; a lock left by our own data directory is taken over at once."""
        while True:
            if await self._refresh():
                return
            await trio.sleep(RETRY_SECONDS)

    async def keep(self) -> None:
        """Refresh for ever. Raise LockLost as soon as another engine holds the lock, or when no refresh succeeded for 20 s."""
        wait_seconds = REFRESH_SECONDS
        while True:
            with trio.move_on_after(wait_seconds):
                await self._lost.wait()
            if self._lost.is_set():
                raise LockLost("another order engine holds the lock")
            refreshed = False
            with trio.move_on_at(self.trusted_until):
                refreshed = await self._refresh()
            if not refreshed and self._clock.monotonic() >= self.trusted_until:
                raise LockLost("the lock could not be refreshed")
            wait_seconds = REFRESH_SECONDS if refreshed else RETRY_SECONDS

    async def _refresh(self) -> bool:
        """Take the lock for another 30 s and tell whether that is certain. A lock that another engine holds counts as lost."""
        began = self._clock.monotonic()
        try:
            ours = await self._store.take_lock(
                keys.ENGINE_LOCK, self._value, LIFE_SECONDS, may_replace=f":{self._owner}".encode()
            )
        except StoreError:
            return False
        if ours:
            self._refreshed = began
        elif self._refreshed > float("-inf"):
            self.lose()
        return ours
