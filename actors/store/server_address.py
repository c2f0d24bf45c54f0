"""The address of the Redis server (URL forms), and the checks before the server is used. Blocking: runs in worker threads.

URL forms: `redis://[user:password@]host:port/db`, `rediss://…` (TLS), `unix:///path?db=0`, and
`redis+sentinel://[user:password@]host:port,host:port/service[/db][?sentinel_username=…&sentinel_password=…]`, or
`rediss+sentinel://…` when servers and sentinels use TLS; user and password are for the server. With TLS, `ssl_ca_certs=/path` names the
certificates that are trusted instead of the system's (further options: `_TLS_OPTIONS`).
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import attrs
import redis
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection, to_bool
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError, Sentinel

from onebroker.actors.store import keys
from onebroker.actors.store.interface import StoreError
from onebroker.actors.store.redis_commands import NEEDED_RIGHTS, SCRIPTS, Command

SCHEMA_VERSION = b"1"
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
"""Longest silence of a server within an answer; after it the connection is given up."""
WAITAOF_MILLISECONDS = 3000

CLUSTER_REFUSED = "this Redis is a Cluster, which is not supported: use one server, a sentinel URL, or a managed server with one shard"

_OLDEST = (6, 2)
_WAITAOF_SINCE = (7, 2)
_SENTINEL_SCHEMES = ("redis+sentinel", "rediss+sentinel")
_PLAIN_SCHEMES = ("redis", "rediss", "unix")
_SENTINEL_PORT = 26379
_TLS_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname", "ssl_cert_reqs")
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "redis": ("db", "username", "password"),
    "rediss": ("db", "username", "password", *_TLS_OPTIONS),
    "unix": ("db", "username", "password"),
    "redis+sentinel": ("sentinel_username", "sentinel_password"),
    "rediss+sentinel": ("sentinel_username", "sentinel_password", *_TLS_OPTIONS),
}
"""URL form -> the options behind its `?`. Other options of redis-py would change how the store works, or are none."""
_LACKING = (
    "the user of redis.url lacks rights on the server: {}; docs/operations/servers.md has the line that gives them"
)
_NO_PRIMARY = "no sentinel knows a primary of the service that redis.url names"

_LOSS_WITHOUT_FILE = (
    "the append-only file is off: what was written since the last snapshot is lost when the server dies"
)
_LOSS_BY_FSYNC: Mapping[str, str] = {
    "everysec": "up to two seconds of acknowledged writes are lost when the server's machine dies (appendfsync everysec)",
    "no": "acknowledged writes of about 30 s are lost when the server's machine dies (appendfsync no)",
}
_LOSS_UNCONFIRMED = (
    "up to two seconds of acknowledged writes are lost when the server's machine dies (appendfsync everysec, and WAITAOF of this "
    "server does not wait for the disk)"
)
_LOSS_AT_FAILOVER = "writes that no replica has yet are lost at a failover"
_LOSS_UNKNOWN = "the server does not show how it writes its file: the last acknowledged writes may be lost when it dies"
EVERY_WRITE = "every write on disk"
_KEEPS_ALL = "noeviction"
EVICTS = "Redis removes orders when its memory is full (maxmemory-policy {}): set maxmemory-policy noeviction"


class StoreRefused(Exception):
    """The server must not be used in its present state, or the URL is wrong; the text is one sentence for the log and `check`."""


@attrs.frozen(kw_only=True)
class Durability:
    """The guarantee of an acknowledged write."""

    every_write: bool
    """Whether an acknowledged engine write is on the disk of the server that acknowledged it."""
    text: str
    """EVERY_WRITE, or a text about what can be lost."""
    wait_for_disk: bool
    """Whether each engine batch ends with WAITAOF."""
    evicts: str = ""
    """Why a start on this server is refused; empty = it is not. A running service goes on, because without its store no exit acts."""
    run_id: str = attrs.field(default="", eq=False)
    """The run of the server that was looked at: one that was started again, or another one at the same address, may promise less."""


Connect = Callable[[], "redis.Redis"]


class ServerAddress(Protocol):
    """Finds the present server."""

    @property
    def fails_over(self) -> bool:
        """Whether another server takes the place of one that dies."""

    def resolve(self) -> Connect:
        """Return a function that opens a client of the present server (blocking). Raises redis.RedisError, OSError."""


@attrs.frozen
class _PlainAddress:
    _url: str = attrs.field(repr=False)
    fails_over = False

    def resolve(self) -> Connect:
        return lambda: redis.Redis.from_url(self._url, **_options())


@attrs.frozen
class _SentinelAddress:
    _sentinels: tuple[tuple[str, int], ...]
    _service: str
    _server: Mapping[str, Any] = attrs.field(repr=False)
    _sentinel: Mapping[str, Any] = attrs.field(repr=False)
    fails_over = True

    def resolve(self) -> Connect:
        kwargs = {**_options(), **self._sentinel}
        sentinel = Sentinel(list(self._sentinels), sentinel_kwargs=kwargs)  # type: ignore[no-untyped-call]  # redis-py
        try:
            with suppress(MasterNotFoundError):  # its text shows the clients with all their settings
                host, port = sentinel.discover_master(self._service)  # type: ignore[no-untyped-call]  # redis-py
                return lambda: redis.Redis(host=host, port=port, **{**_options(), **self._server})
            raise _why_none(sentinel.sentinels)
        finally:
            for client in sentinel.sentinels:
                client.close()


def _why_none(sentinels: Sequence["redis.Redis"]) -> redis.RedisError:
    """Return why no sentinel names a primary: the error of the last one when none of them answers."""
    failures: list[redis.RedisError] = []
    for client in sentinels:
        try:
            client.ping()
        except redis.RedisError as error:
            failures.append(error)
    return failures[-1] if len(failures) == len(sentinels) else redis.ConnectionError(_NO_PRIMARY)


def read_address(url: str) -> ServerAddress:
    """Read one of the URL forms above. Raises StoreRefused, never quoting the URL (it may hold a password)."""
    try:
        parts = urlsplit(url)
        _check_options(parts)
        if parts.scheme in _SENTINEL_SCHEMES:
            return _read_sentinel(parts)
        if parts.scheme in _PLAIN_SCHEMES:
            redis.Redis.from_url(url, **_options()).close()
            return _PlainAddress(url)
    except ValueError:
        raise StoreRefused("redis.url cannot be read: a host, port or option in it is wrong") from None
    raise StoreRefused(
        "redis.url must begin with redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://"
    )


def _check_options(parts: SplitResult) -> None:
    known = _OPTIONS.get(parts.scheme, ())
    options = parse_qs(parts.query, keep_blank_values=True)
    if known and not options.keys() <= set(known):
        raise StoreRefused(f"redis.url has an option that {parts.scheme}:// does not know; it knows {', '.join(known)}")
    for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
        if name in options and not os.access(options[name][0], os.R_OK):
            raise StoreRefused(f"redis.url names a file in {name} that cannot be read")


def unix_address(socket_path: str) -> ServerAddress:
    """Return the address of a server on a unix socket."""
    return _UnixAddress(socket_path)


@attrs.frozen
class _UnixAddress:
    _path: str
    fails_over = False

    def resolve(self) -> Connect:
        return lambda: redis.Redis(unix_socket_path=self._path, **_options())


def _read_sentinel(parts: SplitResult) -> ServerAddress:
    credentials, _, hosts = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    service, _, database = parts.path.strip("/").partition("/")
    if not hosts or not service:
        raise StoreRefused(
            "a sentinel redis.url needs hosts and a service: redis+sentinel://host:port,host:port/service"
        )
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    tls: dict[str, Any] = {name: query[name] for name in _TLS_OPTIONS if name in query}
    if "ssl_check_hostname" in tls:
        tls["ssl_check_hostname"] = to_bool(tls["ssl_check_hostname"])  # type: ignore[no-untyped-call]  # redis-py
    tls["ssl"] = parts.scheme == "rediss+sentinel"
    return _SentinelAddress(
        tuple(_host_and_port(host) for host in hosts.split(",")),
        unquote(service),
        {**tls, "db": int(database or 0), "username": unquote(user) or None, "password": unquote(password) or None},
        {**tls, "username": query.get("sentinel_username"), "password": query.get("sentinel_password")},
    )


def _host_and_port(text: str) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    if parts.hostname is None:
        raise ValueError("no host")
    return parts.hostname, parts.port or _SENTINEL_PORT


def _options() -> dict[str, Any]:
    # redis-py must not retry: a write is sent once, and its caller learns the result.
    return {
        "socket_connect_timeout": CONNECT_SECONDS,
        "socket_timeout": ANSWER_SECONDS,
        "retry": Retry(NoBackoff(), 0),
        "max_connections": 1,
        "protocol": 2,
    }


def probe(client: "redis.Redis", *, fails_over: bool) -> Durability:
    """Check the server and make it ready (scripts, schema key); return the guarantee of an acknowledged write.

    Raises StoreRefused when the server must not be used, StoreError when it cannot be used now, redis.RedisError when contact is lost.
    """
    _refuse_missing_rights(client)
    info: Mapping[str, object] = client.info()
    _refuse_unfit(info)
    if info.get("role") != "master":
        raise StoreError("the server is a read-only replica")
    if info.get("loading"):
        raise StoreError("the server is loading its data")
    client.set(keys.SCHEMA, SCHEMA_VERSION, nx=True)
    schema = client.get(keys.SCHEMA)
    if schema != SCHEMA_VERSION:
        raise StoreRefused(f"Redis holds data of schema {_shown(schema)}, this version of onebroker reads schema 1")
    for script in SCRIPTS.values():
        client.script_load(script)
    found = _durability(client, info)
    text = f"{found.text}; {_LOSS_AT_FAILOVER}" if fails_over or info.get("connected_slaves") else found.text
    evicts = _eviction(info)
    text = f"{text}; {evicts}" if evicts else text
    return attrs.evolve(found, text=text, evicts=evicts, run_id=str(info.get("run_id", "")))


def _refuse_missing_rights(client: "redis.Redis") -> None:
    """Ask the server whether the user of the URL may do all that the store does. A commit that lacks a right only half way through its script would
    be done half.

    The commands are put into a transaction that is given up: the server looks at the rights of each, and executes none.
    """
    try:
        client.execute_command("MULTI")  # type: ignore[no-untyped-call]  # redis-py
    except redis.exceptions.NoPermissionError:
        raise StoreRefused(_LACKING.format("+multi")) from None
    connection = client.connection_pool.get_connection()
    try:
        connection.send_packed_command(connection.pack_commands((*NEEDED_RIGHTS, ("DISCARD",))))  # type: ignore[no-untyped-call]  # redis-py
        refused = [_lacking(command, _refusal(connection)) for command in NEEDED_RIGHTS]
        _refusal(connection)
    finally:
        client.connection_pool.release(connection)
    if missing := sorted({words for words in refused if words}):
        raise StoreRefused(_LACKING.format(", ".join(missing)))


def _refusal(connection: AbstractConnection) -> redis.ResponseError | None:
    try:
        connection.read_response()
    except redis.ResponseError as refusal:
        return refusal
    return None


def _lacking(command: Command, refusal: redis.ResponseError | None) -> str | None:
    """Return the right that is missing, in the words of an ACL; None when the refusal is about something else."""
    if not isinstance(refusal, redis.exceptions.NoPermissionError):
        return None
    name, *arguments = map(str, command)
    if "key" in str(refusal):
        return f"~{arguments[0].partition(':')[0]}:*"
    return f"+{name.lower()}" + (f"|{arguments[0].lower()}" if name == "SCRIPT" else "")


def _refuse_unfit(info: Mapping[str, object]) -> None:
    if info.get("cluster_enabled"):
        raise StoreRefused(CLUSTER_REFUSED)
    if _version(info) < _OLDEST:
        raise StoreRefused(f"Redis {info.get('redis_version')} is too old: 6.2 or newer is needed")


def _eviction(info: Mapping[str, object]) -> str:
    """Return why the server may remove orders; empty when it does not."""
    policy = info.get("maxmemory_policy", _KEEPS_ALL)
    return EVICTS.format(policy) if info.get("maxmemory") and policy != _KEEPS_ALL else ""


def _version(info: Mapping[str, object]) -> tuple[int, ...]:
    return _numbers(info.get("redis_version", "0"))


def _numbers(version: object) -> tuple[int, ...]:
    parts = str(version).split(".")[:2]
    return tuple(int(part) if part.isdigit() else 0 for part in parts)


def _shown(schema: object) -> str:
    return schema.decode(errors="replace")[:20] if isinstance(schema, bytes) else "unknown"


def _durability(client: "redis.Redis", info: Mapping[str, object]) -> Durability:
    if not info.get("aof_enabled"):
        return Durability(every_write=False, text=_LOSS_WITHOUT_FILE, wait_for_disk=False)
    fsync = _fsync_setting(client)
    if fsync == "always":
        return Durability(every_write=True, text=EVERY_WRITE, wait_for_disk=False)
    # If the server never syncs, WAITAOF waits in vain: every commit would fail.
    if fsync != "no" and _version(info) >= _WAITAOF_SINCE and _may_wait(client):
        sure = _confirms_the_disk(info)
        return Durability(every_write=sure, text=EVERY_WRITE if sure else _LOSS_UNCONFIRMED, wait_for_disk=True)
    return Durability(every_write=False, text=_LOSS_BY_FSYNC.get(fsync, _LOSS_UNKNOWN), wait_for_disk=False)


def _confirms_the_disk(info: Mapping[str, object]) -> bool:
    """Tell whether WAITAOF waits for the disk on a server with `appendfsync everysec`.

    Redis 7.4 and every Valkey since 8.0 (seen: 9.1.2) confirm a write that is in the file and not yet on the disk, when the last fsync was less than a
    second ago. Redis 8.0 has it mended (redis/redis#13793). WAITAOF is used there all the same: such a server answers a write before it is in the
    file when an fsync takes long, and WAITAOF waits at least for that.
    """
    if "valkey_version" in info:
        return _numbers(info["valkey_version"]) < (8, 0)
    return _version(info) != (7, 4)


def _fsync_setting(client: "redis.Redis") -> str:
    try:
        settings = client.config_get("appendfsync")
    except redis.ResponseError:  # managed servers do not let clients read CONFIG
        return ""
    return str(settings.get("appendfsync", ""))


def _may_wait(client: "redis.Redis") -> bool:
    try:
        client.execute_command("WAITAOF", 0, 0, 1)  # type: ignore[no-untyped-call]  # redis-py
    except redis.ResponseError:
        return False
    return True
