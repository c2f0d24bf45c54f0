"""The store in memory: the same contract as the store over Redis, without threads, so that it works under a mocked clock.

It is for tests and behaves like a real store: it can be away (`fail_with`), it can lose one answer after the write took effect
(`lose_next_answer`), and it keeps the commits that took effect. Keys expire by the Clock.
"""

import attrs
import trio

from onebroker.actors.store.interface import (
    AlreadyThere,
    Delete,
    Expire,
    Fence,
    FencedOut,
    HashSet,
    Op,
    Set,
    SetAdd,
    SetRemove,
    StoreError,
    StreamAdd,
)
from onebroker.actors.store.waiting_writes import Held
from onebroker.config.clock import Clock

_Stream = list[tuple[str, dict[str, bytes]]]
_Value = bytes | dict[str, bytes] | set[str] | _Stream

_KIND_OF_OP: dict[type[Op], type] = {HashSet: dict, SetAdd: set, SetRemove: set, StreamAdd: list}
_WRONG_KIND = "WRONGTYPE Operation against a key holding the wrong kind of value"


@attrs.define
class _Entry:
    value: _Value
    expires_at: float | None = None
    """Epoch seconds by the Clock."""


class MemoryStore:
    """Implements `Store`. Starts empty and reachable; its content lives as long as the object (a restarted actor finds it)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[str, _Entry] = {}
        self._away: StoreError | None = None
        self._lose_next_answer = False
        self._held = Held(32 * 1024 * 1024)
        self._stream_number = 0
        self.commits: list[tuple[Op, ...]] = []
        """Every commit that took effect, in order; read by tests."""

    # Controls for tests.

    def fail_with(self, error: StoreError) -> None:
        """Be away: every read and acknowledged write fails with `error` until `come_back`; nothing is applied meanwhile."""
        self._away = error

    def come_back(self) -> None:
        """Be reachable again, and apply the writes posted meanwhile."""
        self._away = None
        while ops := self._held.take():
            self._apply(tuple(ops))

    def lose_next_answer(self) -> None:
        """Apply the next acknowledged write, then fail it: the caller cannot know that it took effect."""
        self._lose_next_answer = True

    def keys(self) -> frozenset[str]:
        """Return every key that exists now."""
        return frozenset(key for key in list(self._entries) if self._live(key) is not None)

    # Store

    @property
    def reachable(self) -> bool:
        return self._away is None

    @property
    def durability_text(self) -> str | None:
        return None

    async def get(self, key: str) -> bytes | None:
        await self._contact()
        value = self._read(key, bytes)
        return value if isinstance(value, bytes) else None

    async def hash_all(self, key: str) -> dict[str, bytes]:
        await self._contact()
        value = self._read(key, dict)
        return dict(value) if isinstance(value, dict) else {}

    async def members(self, key: str) -> frozenset[str]:
        await self._contact()
        value = self._read(key, set)
        return frozenset(value) if isinstance(value, set) else frozenset()

    async def stream_last(self, key: str, count: int) -> list[tuple[str, dict[str, bytes]]]:
        await self._contact()
        value = self._read(key, list)
        return [(number, dict(fields)) for number, fields in value[-count:]] if isinstance(value, list) else []

    async def commit(
        self, *ops: Op, fence: Fence | None = None, absent: str | None = None, count: str | None = None
    ) -> None:
        await self._contact()
        if fence is not None and self._read(fence.key, bytes) != fence.value:
            raise FencedOut(fence.key)
        if absent is not None and self._live(absent) is not None:
            raise AlreadyThere(absent)
        self._apply(ops if count is None else (*ops, self._one_more(count)))
        self.commits.append(ops)
        self._answer()

    def _one_more(self, key: str) -> Op:
        number = self._read(key, bytes)
        try:
            return Set(key, b"%d" % (int(number if isinstance(number, bytes) else b"0") + 1))
        except ValueError:
            raise StoreError(_WRONG_KIND) from None

    async def take_lock(self, key: str, value: bytes, expire_seconds: int, *, may_replace: bytes | None) -> bool:
        await self._contact()
        held = self._read(key, bytes)
        ours = held is None or held == value
        if isinstance(held, bytes) and may_replace:
            ours = ours or held.endswith(may_replace)
        if ours:
            self._apply((Set(key, value, expire_seconds),))
        self._answer()
        return ours

    async def write(self, *ops: Op) -> None:
        await self._contact()
        self._apply(ops)
        self._answer()

    def post(self, *ops: Op) -> None:
        if self._away is None:
            self._apply(ops)
            return
        for op in ops:
            self._held.fold(op)

    async def _contact(self) -> None:
        await trio.lowlevel.checkpoint()
        if self._away is not None:
            raise self._away

    def _answer(self) -> None:
        if self._lose_next_answer:
            self._lose_next_answer = False
            raise StoreError("connection lost before the answer")

    def _live(self, key: str) -> _Entry | None:
        entry = self._entries.get(key)
        if entry is not None and entry.expires_at is not None and entry.expires_at <= self._clock.epoch():
            del self._entries[key]
            return None
        return entry

    def _read(self, key: str, kind: type) -> _Value | None:
        entry = self._live(key)
        if entry is None:
            return None
        if not isinstance(entry.value, kind):
            raise StoreError(_WRONG_KIND)
        return entry.value

    def _apply(self, ops: tuple[Op, ...]) -> None:
        replaced: set[str] = set()
        for op in ops:
            if isinstance(op, Set | Delete):
                replaced.add(op.key)
            elif op.key not in replaced and type(op) in _KIND_OF_OP:
                self._read(op.key, _KIND_OF_OP[type(op)])
        for op in ops:
            self._apply_one(op)

    def _apply_one(self, op: Op) -> None:
        match op:
            case Set():
                self._entries[op.key] = _Entry(op.value)
                if op.expire_seconds is not None:
                    self._apply_one(Expire(op.key, op.expire_seconds))
            case Delete():
                self._entries.pop(op.key, None)
            case Expire():
                if (entry := self._live(op.key)) is not None:
                    entry.expires_at = self._clock.epoch() + op.seconds
            case HashSet() | SetAdd() | SetRemove() | StreamAdd():
                self._change(op)

    def _change(self, op: HashSet | SetAdd | SetRemove | StreamAdd) -> None:
        entry = self._live(op.key)
        if entry is None:
            entry = self._entries[op.key] = _Entry(_KIND_OF_OP[type(op)]())
        match (op, entry.value):
            case (HashSet(), dict() as fields):
                fields.update(op.values)
                for field in op.remove:
                    fields.pop(field, None)
            case (SetAdd(), set() as members):
                members.add(op.member)
            case (SetRemove(), set() as members):
                members.discard(op.member)
            case (StreamAdd(), list() as stream):
                self._stream_number += 1
                stream.append((f"{int(self._clock.epoch() * 1000)}-{self._stream_number}", dict(op.fields)))
                del stream[: -op.most]
            case _:
                raise StoreError(_WRONG_KIND)
        if not entry.value:  # an empty hash or set does not exist, as in Redis
            del self._entries[op.key]
