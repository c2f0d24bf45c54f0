"""A data directory as a release wrote it, made by that release's own demo, with what the release said of it.

`python -m tests.support.released_directory CHECKOUT FILE` needs a checkout of the release with its own environment: clone, `git checkout COMMIT`,
and the first command of that commit's README without its demo. The file belongs into `tests/data/directories/releases/` under the release's name.
"""

import io
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tests.support.held_port import held_port
from tests.support.patience import PATIENCE_SECONDS

T = TypeVar("T")

BEGINS = "2026-11-23T10:00:00+05:30"
LATER = "2026-11-23T10:10:00+05:30"
"""When this release goes on with it: the orders are of the same day."""
INSTRUMENTS = "60"
"""Few, so that the file stays small."""
TOLD = "told.json"
"""Beside the folder `data`."""
LEFT_OUT = frozenset(
    {"control-url", "lock", "redis/redis.conf", "redis/redis.log", "redis/valkey.conf", "redis/valkey.log"}
)
"""Every start writes these anew; they name places of the machine."""


class Told(msgspec.Struct):
    """What a release said before it ended."""

    token: str
    instrument_id: str
    resting: str
    """Order id of a LIMIT order below the market, of a parent of its own."""
    parents: list[dict[str, Any]]
    candles: list[Any]
    """Day candles; none by a release without a history."""
    placed: list[str]
    """Order ids of the place messages at the brokers."""


class _Release:
    """The running demo of a release."""

    def __init__(self, command: Path, data: Path, port: int) -> None:
        self.command, self.data = command, data
        self.has_history = "history" in self._help()
        options = ["--no-past"] if "--no-past" in self._help("demo") else []
        place = ["--port", str(port), "--data-dir", str(data)]
        self.process = subprocess.Popen(
            [command, "demo", "--now", BEGINS, "--instruments", INSTRUMENTS, *place, *options],
            stdout=subprocess.DEVNULL,
        )
        self.api, self.token = f"http://127.0.0.1:{port}/api", ""

    def _help(self, *words: str) -> str:
        return subprocess.run([self.command, *words, "--help"], check=True, capture_output=True, text=True).stdout

    def ask(self, url: str, body: object = None, method: str | None = None, **headers: str) -> Any:
        """Return the answer's document, or None without an answer of success."""
        data = None if body is None else msgspec.json.encode(body)
        sent = {"access-token": self.token, "content-type": "application/json", **headers}
        request = urllib.request.Request(url, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return msgspec.json.decode(answer.read())
        except urllib.error.HTTPError as error:
            print(url, error.read().decode())
            return None
        except OSError:
            return None

    def control(self, path: str, body: object = None) -> Any:
        return self.ask((self.data / "control-url").read_text().strip() + path, body)

    def connect(self) -> None:
        until(lambda: self.ask(f"{self.api}/"))
        keys = {"api-key": "demo-key", "api-secret": "demo-secret"}
        self.token = until(lambda: self.ask(f"{self.api}/session/connect", method="POST", **keys))["access-token"]

    def place(self, **fields: object) -> str:
        """Place an order once it can be placed: while the service reads its brokers it refuses orders, and sends none."""
        answer = until(lambda: self.ask(f"{self.api}/orders/place", fields))
        assert answer["outcome"] == "accepted", answer
        return str(answer["order_id"])

    def parents(self) -> list[dict[str, Any]]:
        return list(self.ask(f"{self.api}/orders/parents")["parents"])


def until(condition: Callable[[], T | None]) -> T:
    """Return the condition's first true value."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (value := condition()):
        assert time.monotonic() < deadline, condition
        time.sleep(0.1)
    return value


def record(release: _Release) -> Told:
    """Trade, load candles, and return what the release says of it."""
    release.connect()
    share = next(
        each
        for each in release.control("/instruments?shape=security&limit=500")
        if each["segment"] == "nse_equities" and each["lower_circuit"] < 0.85 * each["last_price"]
    )
    named = {"instrument_id": share["instrument_id"]}

    def at(part: float) -> float:
        return float(round(round(share["last_price"] * part / share["tick_size"]) * share["tick_size"], 2))

    until(lambda: release.ask(f"{release.api}/instruments/ltp?instrument_id={share['instrument_id']}"))
    buy = {**named, "transaction_type": "BUY", "order_type": "LIMIT", "quantity": 10}
    resting = release.place(**buy, product="CNC", price=at(0.98), tag="resting")
    candles: list[Any] = []
    wanted = {"BUY"}
    if release.has_history:
        ends = {"type": "bracket", "stop_price": at(0.95), "stop_limit_price": at(0.94), "target_price": at(1.05)}
        release.place(**buy, product="MIS", price=at(1.01), synthetic=ends)
        wanted = {"BUY", "SELL"}
        candles = load_candles(release, share["instrument_id"])

    def settled() -> list[dict[str, Any]] | None:
        parents = release.parents()
        sent = {leg["transaction_type"] for parent in parents for leg in parent["legs"] if leg["order_id"]}
        return parents if sent == wanted else None

    parents = until(settled)
    placed = [each["order_id"] for each in release.control("/ledger")["messages"] if each["verb"] == "place"]
    return Told(release.token, share["instrument_id"], resting, parents, candles, placed)


def load_candles(release: _Release, instrument_id: str) -> list[Any]:
    """Load some day candles by the release's command, and return them as the release serves them."""
    rows = ["instrument_id,interval,time,open,high,low,close,volume"]
    rows += [f"{instrument_id},day,2026-11-{day},100.0,102.5,99.5,{100 + day / 10},{day}00" for day in (18, 19, 20)]
    file = release.data.with_name("candles.csv")
    file.write_text("\n".join(rows) + "\n")
    subprocess.run([release.command, "history", "load", file, "--data-dir", release.data], check=True)
    prices = f"{release.api}/instruments/prices?instrument_id={instrument_id}&interval=day&days=10"
    return list(until(lambda: (release.ask(prices) or {}).get("candles")))


def pack(data: Path, told: Told, file: Path) -> None:
    """Write the directory and what was said of it into one packed file, without owners and names of users."""
    with tarfile.open(file, "w:xz", preset=9) as tar:
        for path in sorted(path for path in data.rglob("*") if path.is_file()):
            name = str(path.relative_to(data))
            if name not in LEFT_OUT:
                _add(tar, f"data/{name}", path.read_bytes())
        _add(tar, TOLD, msgspec.json.encode(told))


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o600
    tar.addfile(member, io.BytesIO(content))


def unpack(file: Path, data: Path) -> Told:
    """Make the directory `data` from a packed file; return what its release said."""
    with tarfile.open(file) as tar, tempfile.TemporaryDirectory(dir=data.parent) as folder:
        tar.extractall(folder, filter="data")
        Path(folder, "data").rename(data)
        return msgspec.json.decode(Path(folder, TOLD).read_bytes(), type=Told)


def _main(checkout: Path, file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, held_port() as port:
        data = Path(folder, "data")
        release = _Release(checkout / ".venv" / "bin" / "onebroker", data, port)
        try:
            told = record(release)
        finally:
            release.process.terminate()
            code = release.process.wait(PATIENCE_SECONDS)
        assert code == 0, code
        pack(data, told, file)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))
