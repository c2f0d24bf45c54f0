"""Writes that wait while the store is away or busy, conflated: only the newest of each key, hash field and set member is kept.

Pure: no waiting, no connection. The size of the waiting writes is bounded in bytes. Past the bound the key that has waited longest is
dropped, because posted data is read again from a broker anyway (architecture 4).
"""

from collections import deque
from collections.abc import Iterator

from onebroker.actors.store.interface import Delete, Expire, HashSet, Op, Set, SetAdd, SetRemove, StreamAdd

_OVERHEAD_BYTES = 48


class _KeyPlan:
    """The pending work of one key: first the whole value, then its parts, then its expiry."""

    __slots__ = ("entries", "expire", "fields", "members", "size_bytes", "whole")

    def __init__(self, whole: Set | Delete | None) -> None:
        self.whole = whole
        self.fields: dict[str, bytes | None] = {}
        """Field -> new value, None = remove."""
        self.members: dict[str, bool] = {}
        """Set member -> whether it is to be in the set."""
        self.entries: deque[StreamAdd] = deque()
        self.expire: Expire | None = None
        self.size_bytes = _OVERHEAD_BYTES if whole is None else op_bytes(whole)

    def fold(self, op: HashSet | SetAdd | SetRemove | StreamAdd | Expire) -> None:
        match op:
            case HashSet():
                for field, value in op.values.items():
                    self._set_field(field, value)
                for field in op.remove:
                    self._set_field(field, None)
            case SetAdd() | SetRemove():
                if op.member not in self.members:
                    self.size_bytes += len(op.member) + _OVERHEAD_BYTES
                self.members[op.member] = isinstance(op, SetAdd)
            case StreamAdd():
                self.entries.append(op)
                self.size_bytes += op_bytes(op)
                while len(self.entries) > op.most:
                    self.size_bytes -= op_bytes(self.entries.popleft())
            case Expire():
                self.expire = op

    def _set_field(self, field: str, value: bytes | None) -> None:
        if field in self.fields:
            self.size_bytes -= len(self.fields[field] or b"")
        else:
            self.size_bytes += len(field) + _OVERHEAD_BYTES
        self.size_bytes += len(value or b"")
        self.fields[field] = value

    def ops(self, key: str) -> Iterator[Op]:
        if self.whole is not None:
            yield self.whole
        if self.fields:
            yield HashSet(
                key,
                {field: value for field, value in self.fields.items() if value is not None},
                tuple(field for field, value in self.fields.items() if value is None),
            )
        for member, present in self.members.items():
            yield SetAdd(key, member) if present else SetRemove(key, member)
        yield from self.entries
        if self.expire is not None:
            yield self.expire


class Held:
    """Waiting posted writes by key; the key that came first is in front."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._plans: dict[str, _KeyPlan] = {}
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._plans)

    @property
    def held_bytes(self) -> int:
        return self._bytes

    def fold(self, op: Op) -> int:
        """Add `op`; return the number of keys that were dropped to make room."""
        if isinstance(op, HashSet) and not op.values and not op.remove:
            return 0  # changes nothing; every plan must have work to do
        plan = self._plans.get(op.key)
        self._bytes -= plan.size_bytes if plan is not None else 0
        if isinstance(op, Set | Delete):
            plan = _KeyPlan(op)  # overwrites everything before
        else:
            plan = plan or _KeyPlan(None)
            plan.fold(op)
        self._plans[op.key] = plan
        self._bytes += plan.size_bytes
        return self._make_room()

    def take(self) -> list[Op]:
        """Take out all pending ops of the key in front, in order; an empty list when nothing is held."""
        if not self._plans:
            return []
        key = next(iter(self._plans))
        plan = self._plans.pop(key)
        self._bytes -= plan.size_bytes
        return list(plan.ops(key))

    def _make_room(self) -> int:
        given_up = 0
        while self._bytes > self._most_bytes and len(self._plans) > 1:
            self.take()
            given_up += 1
        return given_up


def op_bytes(op: Op) -> int:
    """Return the approximate size of `op` on the wire, in bytes."""
    match op:
        case Set():
            return len(op.key) + len(op.value) + _OVERHEAD_BYTES
        case HashSet():
            values = sum(len(field) + len(value) for field, value in op.values.items())
            return len(op.key) + values + sum(map(len, op.remove)) + _OVERHEAD_BYTES
        case StreamAdd():
            fields = sum(len(field) + len(value) for field, value in op.fields.items())
            return len(op.key) + fields + _OVERHEAD_BYTES
        case SetAdd() | SetRemove():
            return len(op.key) + len(op.member) + _OVERHEAD_BYTES
        case Delete() | Expire():
            return len(op.key) + _OVERHEAD_BYTES
