"""`onebroker simulator` and, on its brokers, `onebroker serve` or `onebroker demo`, each a process of its own, driven as a person would do it.

    with Simulated(folder) as simulated:
        service = Service(simulated.serve_command(), simulated.log, simulated.port)
        service.launch()
        service.until(lambda: service.status("/health") == 200)

The processes write compiled Python files into the folder, also where the environment says that nothing is written beside the sources. So a second
start reads compiled files, as every start of an installed service does.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import attrs
import msgspec
import polars as pl
import trio

from onebroker.actors.catalogue.arrow_files import map_frame
from onebroker.actors.catalogue.mapping_table import TABLE_COLUMNS, write_table
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteDurable
from onebroker.brokers.broker import LoginKind
from onebroker.brokers.registry import build_registry

KEY, SECRET = "bench-key", "a secret of the bench"
STEP_SECONDS = 0.005
WAIT_SECONDS = 180.0
"""A busy machine needs a minute for the first mapping."""
CALL_SECONDS = 30.0
TICKS = os.sysconf("SC_CLK_TCK")
_ADDRESSES = ("rest_url", "login_url", "stream_url", "order_stream_url", "instruments_url")
LOST = (OSError, http.client.HTTPException)


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of every process: compiled files are kept in `folder`."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far, all its threads, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@attrs.define
class Service:
    """One start of the service, asked over HTTP."""

    command: Sequence[str]
    folder: Path
    """Where its log and the compiled files are."""
    port: int
    process: "subprocess.Popen[bytes] | None" = None
    token: str = ""

    def launch(self) -> None:
        with (self.folder / "service.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(self.folder)
            )

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def stop(self) -> int:
        """End it in order; return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_SECONDS)

    def end(self) -> None:
        """End it in any case."""
        if self.process is not None and self.process.poll() is None:
            self.stop()

    def ask(self, path: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Return status and document of one answer. Raises the errors in `LOST`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=CALL_SECONDS)
        try:
            connection.request(method, path, headers={"access-token": self.token} if headers is None else dict(headers))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def status(self, path: str) -> int:
        """Return the status of a GET; 0 while nobody answers."""
        try:
            return self.ask(path)[0]
        except LOST:
            return 0

    def connect(self) -> None:
        """Get the day's token, which later starts keep."""

        def connected() -> bool:
            try:
                status, body = self.ask("/api/session/connect", "POST", {"api-key": KEY, "api-secret": SECRET})
            except LOST:
                return False
            self.token = body["access-token"] if status == 200 else ""
            return status == 200

        self.until(connected)

    def health(self) -> Any:
        return self.ask("/api/health")[1]

    def until(self, condition: Callable[[], object], step_seconds: float = STEP_SECONDS) -> None:
        """Wait for a condition. Raises SystemExit when the service has ended, or when it takes too long."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not condition():
            assert self.process is not None
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit((self.folder / "service.log").read_text())
            time.sleep(step_seconds)

    def until_read(self) -> None:
        """Wait until there is a mapping, every broker has logged in and is read, and orders are taken."""
        self.until(lambda: self.health()["catalogue"]["published_today"] and _all_in(self.health()), 0.2)


def _all_in(health: Any) -> bool:
    brokers = health["brokers"].values()
    return health["engine"]["running"] and all(
        row["login"] == "live" and None not in row["parts"].values() for row in brokers
    )


class Simulated:
    """The simulated brokers, and the settings of a service over them. Leaving the block ends the simulator."""

    def __init__(self, folder: Path, instruments: int) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.settings = folder / "onebroker.toml"
        self.port = free_port()
        self._instruments = instruments
        self._lines: dict[str, Any] = {}

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "onebroker.http", "simulator", "--instruments", str(self._instruments)]
        self._process = subprocess.Popen(
            [*command, "--data-dir", str(self.folder / "simulator"), "--until-stdin-closes"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(self.folder),
        )  # fmt: skip
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip() == b"ready":
                break
            said = json.loads(line)
            if "broker" in said:
                self._lines[said["broker"]] = said
        self._write_settings()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(WAIT_SECONDS)

    @property
    def pid(self) -> int:
        return self._process.pid

    def serve(self) -> Service:
        return Service(
            [sys.executable, "-m", "onebroker.http", "serve", "--config", str(self.settings)], self.folder, self.port
        )

    def log_in(self) -> None:
        """Log in to each broker that needs a person: open its page, and give the redirect to `onebroker login`."""
        registry = build_registry()
        for code in self._lines:
            if registry[code].login_kind is LoginKind.ASSISTED:
                command = [sys.executable, "-m", "onebroker.http", "login", code, "--config", str(self.settings)]
                page = subprocess.run(
                    [*command], input=b"\n", capture_output=True, env=environment(self.folder), check=False
                )
                redirect = _redirect(next(word for word in page.stderr.decode().split() if word.startswith("http")))
                subprocess.run(
                    [*command, "--redirect", redirect], check=True, capture_output=True, env=environment(self.folder)
                )

    def _write_settings(self) -> None:
        registry = build_registry()
        rows = [
            "[service]", f"port = {self.port}", f'data_dir = "{self.data_dir}"', f'api_key = "{KEY}"', f'api_secret = "{SECRET}"',
            'calendar = "always_open"',
        ]  # fmt: skip
        for code, line in self._lines.items():
            names = (*_ADDRESSES, *registry[code].endpoints.others)
            values = {**line["credentials"], **{name: line.get(name) or line["rest_url"] for name in names}}
            rows += [f"[brokers.{code}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
        self.settings.touch(0o600)
        self.settings.write_text("\n".join(rows) + "\n")


def _redirect(page: str) -> str:
    """Open a login page as a browser does, and return the address it sends the browser to."""
    host, _, target = page.partition("://")[2].partition("/")
    connection = http.client.HTTPConnection(host, timeout=CALL_SECONDS)
    try:
        connection.request("GET", f"/{target}")
        return connection.getresponse().headers["location"]
    finally:
        connection.close()


def enlarge_catalogue(data_dir: Path, instruments: int) -> int:
    """Repeat the rows of the newest mapping, each copy with ids, ISINs and tokens of its own, until there are `instruments`. Returns how many there are.

    The service must not run on the directory.
    """
    return trio.run(_enlarge, data_dir, instruments)


async def _enlarge(data_dir: Path, instruments: int) -> int:
    durable = SqliteDurable(data_dir / DURABLE_FILE)
    file = max(await durable.catalogue_files(), key=lambda file: file.mapping_date)
    path = data_dir / "catalogue" / file.file
    own = map_frame(path).select(TABLE_COLUMNS)
    copies = [own, *(_copy(own, number) for number in range(1, -(-instruments // own.height)))]
    whole = pl.concat(copies).head(instruments).sort("exchange", "segment", maintain_order=True).rechunk()
    content_hash = write_table(whole, path)
    report = {**msgspec.json.decode(file.report), "rows": whole.height, "content_hash": content_hash}
    await durable.put_catalogue_file(
        attrs.evolve(file, rows=whole.height, content_hash=content_hash, report=msgspec.json.encode(report))
    )
    return whole.height


def _copy(own: pl.DataFrame, number: int) -> pl.DataFrame:
    token = pl.element().struct.field("broker_token") + f"-{number}"
    return own.with_columns(
        pl.col("instrument_id").str.head(24)
        + pl.format("{}", pl.lit(f"{number:04x}"))
        + pl.col("instrument_id").str.tail(8),
        pl.col("isin") + f"-{number}",
        pl.col("listings").list.eval(pl.element().struct.with_fields(broker_token=token)),
    )
