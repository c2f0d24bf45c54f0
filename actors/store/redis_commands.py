"""Turns ops into Redis commands, with the two scripts of the engine lane. Pure. Only commands of Redis 6.2.

A commit is one call of one script: the fence and absent checks, then a type check of every key, then the writes. The script checks
everything that can refuse before the first write, because Redis undoes nothing of a script that fails half way.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from onebroker.actors.store import keys
from onebroker.actors.store.interface import Delete, Expire, Fence, HashSet, Op, Set, SetAdd, SetRemove, StreamAdd
from onebroker.actors.store.waiting_writes import op_bytes

Command = tuple[str | bytes | int, ...]

_MOST_FIELDS = 500
"""Most fields of one HSET or HDEL: Lua unpacks at most about 8,000 arguments, and a batch is filled piece by piece."""
_PIECE_BYTES = 64 * 1024

FENCED = b"fenced"
THERE = b"there"

COMMIT_SCRIPT = """
if ARGV[1] == '1' and redis.call('GET', KEYS[1]) ~= ARGV[2] then return 'fenced' end
if ARGV[3] == '1' and redis.call('EXISTS', KEYS[2]) == 1 then return 'there' end
if ARGV[4] == '1' then
  local found = redis.call('GET', KEYS[3])
  if found and not tonumber(found) then return redis.error_reply('WRONGTYPE ' .. KEYS[3] .. ' holds no number') end
end
local at = 5
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  local kind = ARGV[at + 1]
  if kind ~= '' then
    local found = redis.call('TYPE', ARGV[at + 3])['ok']
    if found ~= 'none' and found ~= kind then
      return redis.error_reply('WRONGTYPE ' .. ARGV[at + 3] .. ' holds a ' .. found)
    end
  end
  at = at + 2 + count
end
if ARGV[4] == '1' then redis.call('INCR', KEYS[3]) end
at = 5
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 2, at + 1 + count))
  at = at + 2 + count
end
return 'done'
"""

LOCK_SCRIPT = """
local held = redis.call('GET', KEYS[1])
local ours = not held or held == ARGV[1]
if not ours and ARGV[3] ~= '' then ours = string.sub(held, -string.len(ARGV[3])) == ARGV[3] end
if ours then redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2]) end
return ours and 1 or 0
"""


def script_sha(script: str) -> str:
    """Return the name that Redis gives a loaded script."""
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()


SCRIPTS = {script_sha(script): script for script in (COMMIT_SCRIPT, LOCK_SCRIPT)}
_COMMIT_SHA = script_sha(COMMIT_SCRIPT)
_LOCK_SHA = script_sha(LOCK_SCRIPT)

_TYPE_OF_OP: dict[type[Op], str] = {HashSet: "hash", SetAdd: "set", SetRemove: "set", StreamAdd: "stream"}


def op_commands(op: Op) -> Iterator[Command]:
    """Yield the commands that perform `op`."""
    match op:
        case Set(expire_seconds=None):
            yield ("SET", op.key, op.value)
        case Set(expire_seconds=int(seconds)):
            yield ("SET", op.key, op.value, "EX", seconds)
        case Delete():
            yield ("DEL", op.key)
        case HashSet():
            for fields in _chunks(list(op.values), _MOST_FIELDS):
                yield ("HSET", op.key, *(part for field in fields for part in (field, op.values[field])))
            for fields in _chunks(op.remove, _MOST_FIELDS):
                yield ("HDEL", op.key, *fields)
        case SetAdd():
            yield ("SADD", op.key, op.member)
        case SetRemove():
            yield ("SREM", op.key, op.member)
        case StreamAdd():
            entry = (part for field, value in op.fields.items() for part in (field, value))
            yield ("XADD", op.key, "MAXLEN", "~", op.most, "*", *entry)
        case Expire():
            yield ("EXPIRE", op.key, op.seconds)


def commit_command(ops: Sequence[Op], fence: Fence | None, absent: str | None, count: str | None = None) -> Command:
    """Return the single script call that applies `ops` and adds one to the number under `count`.

    The call answers `done`, FENCED or THERE, or an error.
    """
    arguments: list[str | bytes | int] = []
    replaced: set[str] = set()
    for op in ops:
        if isinstance(op, Set | Delete):
            replaced.add(op.key)
        kind = "" if op.key in replaced else _TYPE_OF_OP.get(type(op), "")
        for command in op_commands(op):
            arguments += (len(command), kind, *command)
    return (
        "EVALSHA",
        _COMMIT_SHA,
        3,
        fence.key if fence else keys.SCHEMA,  # never an empty key: a user with rights to our keys alone may not name it
        absent or keys.SCHEMA,
        count or keys.SCHEMA,
        int(fence is not None),
        fence.value if fence else b"",
        int(absent is not None),
        int(count is not None),
        *arguments,
    )


def lock_command(key: str, value: bytes, expire_seconds: int, may_replace: bytes | None) -> Command:
    """Return the script call that takes or refreshes a lock; it answers 1 when the lock is ours."""
    return ("EVALSHA", _LOCK_SHA, 1, key, value, expire_seconds, may_replace or b"")


_ANY_KEY = keys.ENGINE_WRITES
NEEDED_RIGHTS: tuple[Command, ...] = (
    ("PING",),
    ("INFO",),
    ("SCRIPT", "LOAD", "return 1"),
    ("EVALSHA", _COMMIT_SHA, 1, _ANY_KEY),
    ("GET", _ANY_KEY),
    ("SET", _ANY_KEY, ""),
    ("DEL", _ANY_KEY),
    ("EXISTS", _ANY_KEY),
    ("TYPE", _ANY_KEY),
    ("INCR", _ANY_KEY),
    ("EXPIRE", _ANY_KEY, 1),
    ("HGETALL", _ANY_KEY),
    ("HSET", _ANY_KEY, "f", ""),
    ("HDEL", _ANY_KEY, "f"),
    ("SMEMBERS", _ANY_KEY),
    ("SADD", _ANY_KEY, "m"),
    ("SREM", _ANY_KEY, "m"),
    ("XADD", _ANY_KEY, "*", "f", ""),
    ("XREVRANGE", _ANY_KEY, "+", "-"),
    *(("SET", prefix, "") for prefix in keys.PREFIXES),
)
"""A sample of each command that the store sends, and a write below each prefix. They are asked about, not executed (`server_address.py`)."""


def command_bytes(command: Command) -> int:
    """Return the approximate size of `command` on the wire, in bytes."""
    return sum(len(part) + 8 if isinstance(part, str | bytes) else 12 for part in command)


def pieces(ops: Iterable[Op]) -> Iterator[Op]:
    """Split large hash writes, so that batches of the rest lane stay small."""
    for op in ops:
        if isinstance(op, HashSet) and op_bytes(op) > _PIECE_BYTES:
            yield from _cut(op)
        else:
            yield op


def _cut(op: HashSet) -> Iterator[HashSet]:
    piece: dict[str, bytes] = {}
    size = 0
    for field, value in op.values.items():
        if piece and (size + len(field) + len(value) > _PIECE_BYTES or len(piece) == _MOST_FIELDS):
            yield HashSet(op.key, piece)
            piece, size = {}, 0
        piece[field] = value
        size += len(field) + len(value)
    if piece:
        yield HashSet(op.key, piece)
    for fields in _chunks(op.remove, _MOST_FIELDS):
        yield HashSet(op.key, {}, fields)


def _chunks(items: Sequence[str], most: int) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(items), most):
        yield tuple(items[start : start + most])
