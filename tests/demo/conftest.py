"""The demo as a process, driven from outside over real HTTP and in real time; every wait is for a condition.

    def test_funds_are_read(demo):
        assert demo.read("/api/portfolio/funds")["summary"]

`demo` is started once a module; `new_demo` starts further ones, which a test may kill. Judged by the simulator's ledger.
"""

import contextlib
import http.client
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import attrs
import msgspec
import pytest

from onebroker.brokers.registry import build_registry
from tests.demo.screen import Screen, open_browser
from tests.support.described import check_answer

READY_SECONDS = 60.0
"""The demo needs about three; a busy machine may take longer."""
WAIT_SECONDS = 30.0
STOP_SECONDS = 90.0
"""What the parts of an orderly end may take one after the other, and a machine that is busy."""
ENGINE_SECONDS = 45.0
"""After a start the engine waits up to 30 s for the book of a broker with open orders (order-engine 2.5)."""
CALL_SECONDS = 60.0
STEP_SECONDS = 0.05
OWN_PORTS = range(20_000, 32_000)
KEY, SECRET = "demo-key", "demo-secret"
LOST = (OSError, http.client.HTTPException)
"""What a request ends with whose server is killed."""


WHOLE_ONLY = ("test_type_closing.py",)
CODES = frozenset(build_registry())
DOCUMENTS = (
    "/api/portfolio/funds",
    "/api/portfolio/holdings",
    "/api/portfolio/positions",
    "/api/orders/details",
    "/api/orders/trades",
)


@attrs.frozen
class Answer:
    status: int
    content_type: str
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Kept:
    """A connection of one thread; whoever holds `busy` uses it."""

    def __init__(self, address: str) -> None:
        self.connection = http.client.HTTPConnection(address, timeout=CALL_SECONDS)
        self.busy = threading.Lock()


class Http:
    """A client of one address, with one kept connection per thread; closed as a whole, each where nobody reads from it."""

    def __init__(self, address: str, *, checked: bool = False) -> None:
        """`checked`: every answer is judged by the API's document."""
        self._is_checked = checked
        self._address = urlsplit(address).netloc
        self._prefix = urlsplit(address).path
        self._own = threading.local()
        self._all: list[Kept] = []

    def ask(self, method: str, target: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        """Send one request and return its answer; a connection that was kept and is dead is opened again for reads only."""
        answer = self._ask(method, target, body, headers)
        if self._is_checked:
            check_answer(method, urlsplit(target).path, answer.status, answer.content_type, answer.body)
        return answer

    def _ask(self, method: str, target: str, body: bytes | None, headers: dict[str, str] | None) -> Answer:
        kept = getattr(self._own, "kept", None)
        if kept is None or method != "GET":
            kept = self._open()
        try:
            return self._once(kept, method, target, body, headers)
        except LOST:
            if method != "GET":
                raise
            return self._once(self._open(), method, target, body, headers)

    def close(self) -> None:
        """Close what is idle; what is in use is closed by its own thread as soon as it has its answer, or none."""
        every, self._all = self._all, []
        self._own = threading.local()
        for kept in every:
            if kept.busy.acquire(blocking=False):
                kept.connection.close()
                kept.busy.release()

    def _open(self) -> Kept:
        old = getattr(self._own, "kept", None)
        if old is not None:
            old.connection.close()
        kept = Kept(self._address)
        self._own.kept = kept
        self._all.append(kept)
        return kept

    def _once(self, kept: Kept, method: str, target: str, body: bytes | None, headers: dict[str, str] | None) -> Answer:
        with kept.busy:
            try:
                kept.connection.request(method, self._prefix + target, body, headers or {})
                answer = kept.connection.getresponse()
                return Answer(answer.status, answer.getheader("content-type", ""), answer.read())
            except LOST:
                kept.connection.close()
                raise
            finally:
                if kept not in self._all:
                    kept.connection.close()


def until(condition: Callable[[], Any], what: str | Callable[[], str], seconds: float = WAIT_SECONDS) -> Any:
    """Return the condition's first true value; fail when it stays false, saying what was waited for."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds:g} s for {what() if callable(what) else what}")
        time.sleep(STEP_SECONDS)
    return value


class Demo:
    """One data directory and, while started, the process that serves it. Fewer instruments than the demo lists by itself
    start it in two thirds of the time; tests/frame/test_readme.py and test_newcomer.py have the whole list. It has no past unless
    that is asked for."""

    codes = CODES
    """The brokers in service."""

    def __init__(self, data_dir: Path, *options: str, past: bool = False) -> None:
        few = () if "--instruments" in options else ("--instruments", "600")
        self.data_dir, self.options = data_dir, (*few, *([] if past else ["--no-past"]), *options)
        self.port = free_port()
        self.token = ""
        self.program = [sys.executable, "-m", "onebroker.http"]
        self.process: subprocess.Popen[bytes] | None = None
        self._http = Http(f"http://127.0.0.1:{self.port}", checked=True)
        self._control: Http | None = None

    # The process

    def start(self) -> "Demo":
        """Start it, wait until `GET /api/` answers; connect."""
        self.launch()
        until(lambda: self._answers_or_fails(), "GET /api/ to answer", READY_SECONDS)
        self.token = self.connect()
        self._control = Http(self.control_url)
        return self

    def launch(self) -> "subprocess.Popen[bytes]":
        command = [*self.program, "demo", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--data-dir", str(self.data_dir), *self.options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self.process

    @property
    def log(self) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.log")

    @property
    def control_url(self) -> str:
        return (self.data_dir / "control-url").read_text().strip()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """Kill -9; whatever it left running stays."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_SECONDS)
        self.close_clients()

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Stop it in order and return its exit code."""
        assert self.process is not None
        self.process.send_signal(by)
        code = self.process.wait(STOP_SECONDS)
        self.close_clients()
        return code

    def clean_up(self) -> None:
        """End the process and everything that it left running on its directory."""
        self.close_clients()
        if self.process is not None and self.process.poll() is None:
            self.end()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    def processes(self, word: str = "") -> list[int]:
        """Processes whose command line or working directory names the data directory (and whose command has `word`)."""
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and names(entry, str(self.data_dir), word)
        ]

    def redis_servers(self) -> list[int]:
        return self.processes("valkey-server")

    def simulators(self) -> list[int]:
        return self.processes("onebroker.brokers.simulator")

    def _answers_or_fails(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the demo ended with {self.process.returncode}:\n{self.log.read_text()}"
        return self.answers()

    def answers(self) -> bool:
        """Whether `GET /api/` answers."""
        try:
            return self._http.ask("GET", "/api/").status == 200
        except LOST:
            return False

    def close_clients(self) -> None:
        self._http.close()
        if self._control is not None:
            self._control.close()

    # The service

    def connect(self, key: str = KEY, secret: str = SECRET) -> str:
        return until(lambda: self._connected(key, secret), "connect to answer 200")

    def _connected(self, key: str, secret: str) -> str | None:
        answer = self._http.ask("POST", "/api/session/connect", headers={"api-key": key, "api-secret": secret})
        return answer.json["access-token"] if answer.status == 200 else None

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
        **query: object,
    ) -> Answer:
        """Send one request with the token. `body` becomes JSON; `raw` is sent as it is; `headers` replace the usual ones."""
        target = quote(path) + (f"?{urlencode(query, doseq=True)}" if query else "")
        data = msgspec.json.encode(body) if body is not None else raw
        sent = {"access-token": self.token, "content-type": "application/json"} if headers is None else headers
        return self._http.ask(method, target, data, sent)

    def ask_raw(
        self, method: str, target: str, query: list[tuple[str, str]], body: object, content_type: str, token: str | None
    ) -> Answer:
        """Send a request of any form: `target` is escaped already, `body` is bytes, None or becomes JSON."""
        headers = {"content-type": content_type, **({} if token is None else {"access-token": token})}
        data = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        return self._http.ask(method, f"{target}?{urlencode(query)}" if query else target, data, headers)

    def read(self, path: str, **query: object) -> Any:
        """Return the document of a GET that answers 200."""
        answer = self.ask("GET", path, **query)
        assert answer.status == 200, (path, answer)
        return answer.json

    def statuses(self, path: str) -> dict[str, str]:
        """Each broker's read status in a document, or nothing while the document is not served."""
        answer = self.ask("GET", path)
        brokers = answer.json.get("brokers", []) if answer.status in (200, 502, 503) else []
        return {each["broker"]: each["status"] for each in brokers}

    def all_ok(self, path: str) -> bool:
        return self.statuses(path) == dict.fromkeys(self.codes, "ok")

    def until_ready(self) -> None:
        """Wait until orders are taken and every broker is read in every document."""
        for path in DOCUMENTS:
            until(lambda path=path: self.all_ok(path), f"every broker to be ok in {path}")
        until(lambda: self.read("/api/health")["engine"]["running"], "the engine to run", ENGINE_SECONDS)
        until(lambda: self.read("/api/health")["catalogue"]["published_today"], "the catalogue to be published")

    def place(self, **fields: object) -> Answer:
        return self.ask("POST", "/api/orders/place", fields)

    def cancel(self, order_id: str, **query: object) -> Answer:
        return self.ask("DELETE", "/api/orders/cancel", order_id=order_id, **query)

    def orders(self, **query: object) -> list[Any]:
        rows: list[Any] = self.read("/api/orders/details", **query)["orders"]
        return rows

    def until_status(self, order_id: str, status: str, seconds: float = WAIT_SECONDS) -> Any:
        """Return the order's row once the order book shows it in `status`."""

        def row() -> Any:
            return next((each for each in self.orders(order_id=order_id) if each["status"] == status), None)

        return until(row, f"order {order_id} to be {status}", seconds)

    # The simulator

    def control(self, method: str, path: str, body: object = None) -> Any:
        if self._control is None:
            self._control = Http(self.control_url)
        encoded = None if body is None else msgspec.json.encode(body)
        answer = self._control.ask(method, path, encoded, {"content-type": "application/json"})
        assert answer.status == 200, answer
        return answer.json

    def fault(self, broker: str, kind: str, **fields: object) -> None:
        self.control("POST", "/fault", {"broker": broker, "kind": kind, **fields})

    def heal(self) -> None:
        self.control("POST", "/heal", {})

    def move(self, instrument_id: str, price: float, hold_seconds: float = 60.0) -> None:
        self.control("POST", "/price", {"instrument": instrument_id, "last_price": price, "hold_seconds": hold_seconds})

    def ledger(self, since: int = 0) -> Any:
        return self.control("GET", f"/ledger?since={since}")

    def shares(self) -> list[Any]:
        """Cash shares of nse that every broker lists, with room for orders 7 % either side of the market: others may have
        walked near their price band, whose orders an exchange rejects."""
        return [
            each
            for each in self.control("GET", "/instruments?shape=security&limit=500")
            if each["segment"] == "nse_equities"
            and len(each["brokers"]) == len(self.codes)
            and each["lower_circuit"] < each["last_price"] * 0.93
            and each["last_price"] * 1.07 < each["upper_circuit"]
        ]

    def share(self, number: int = 0) -> Any:
        return self.shares()[number]

    # What tests say with it

    until = staticmethod(until)
    lost = LOST

    @staticmethod
    def at_price(share: Any, percent: float) -> float:
        """A price so many percent from the share's last one, on its tick."""
        ticks = round(share["last_price"] * (1 + percent / 100) / share["tick_size"])
        return round(ticks * share["tick_size"], 2)

    def limit_buy(self, share: Any, percent: float = -2.0, **more: object) -> dict[str, object]:
        """The body of a LIMIT order so far from the market."""
        return {
            "instrument_id": share["instrument_id"],
            "transaction_type": "BUY",
            "product": "CNC",
            "order_type": "LIMIT",
            "quantity": 1,
            "price": self.at_price(share, percent),
            **more,
        }

    def entry_with_exits(self, share: Any) -> dict[str, object]:
        """The root of a plan: an entry below the market, whose fill sends a stop and a target."""
        stop = {
            "kind": "native_stop",
            "trigger_price": self.at_price(share, -5),
            "limit_price": self.at_price(share, -6),
        }
        exits = {
            "part": "one_cancels_others",
            "rule": "shrink",
            "children": [
                {"transaction_type": "SELL", "price": stop},
                {"transaction_type": "SELL", "price": {"kind": "fixed", "price": self.at_price(share, 4)}},
            ],
        }
        return {"price": {"kind": "fixed", "price": self.at_price(share, -1)}, "each_fill": exits}

    def placed(self, since: int = 0) -> list[Any]:
        """The place messages that reached a broker."""
        return [message for message in self.ledger(since)["messages"] if message["verb"] == "place"]

    def assert_sent_once(self) -> list[Any]:
        """Assert by the exchange's own record that no order was sent twice; return its place messages."""
        messages = self.placed()
        tags = [message["tag"] for message in messages]
        assert None not in tags, "every order carries the engine's token"
        assert [tag for tag, count in Counter(tags).items() if count > 1] == []
        orders = Counter((message["broker"], message["order_id"]) for message in messages if message["order_id"])
        assert [order for order, count in orders.items() if count > 1] == []
        return messages


def names(process: Path, directory: str, word: str) -> bool:
    """Whether a process (its /proc folder) works on a directory and has `word` in its command. Zombies have neither."""
    try:
        command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        folder = os.readlink(process / "cwd")
    except OSError:
        return False
    inside = f"{directory}/" in f"{command}/" or f"{directory} " in command or f"{folder}/".startswith(f"{directory}/")
    return inside and word in command


def free_port() -> int:
    """Below those that the system gives to whoever asks for any: such a one may be given away before a demo, or the next on its
    directory, listens on it."""
    chance = random.SystemRandom()  # two workers may have thrown the same dice
    while True:
        port = chance.choice(OWN_PORTS)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What takes minutes and is only of use as a whole is not collected without `--whole-table`."""
    return True if collection_path.name in WHOLE_ONLY and not config.getoption("--whole-table") else None


@pytest.fixture(scope="module")
def new_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Demo]]:
    """Return `make(*options, past=False)`: a demo with a data directory of its own, not started; ended when the module is done."""
    made: list[Demo] = []

    def make(*options: str, past: bool = False) -> Demo:
        made.append(Demo(tmp_path_factory.mktemp("demo") / "data", *options, past=past))
        return made[-1]

    yield make
    for demo in made:
        demo.clean_up()


@pytest.fixture(scope="module")
def demo(new_demo: Callable[..., Demo]) -> Demo:
    """A running demo, ready for orders."""
    running = new_demo().start()
    running.until_ready()
    return running


@pytest.fixture(scope="module")
def own(new_demo: Callable[..., Demo]) -> Demo:
    """A running demo that a file of tests has for its screens, and may cut off or kill."""
    running = new_demo().start()
    running.until_ready()
    return running


@pytest.fixture
def screen(browser: Any, own: Demo) -> Iterator[Screen]:
    """The page of `own` in a browser."""
    held = Screen(browser, own)
    yield held
    held.close()


@pytest.fixture(scope="session")
def one_unreachable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A demo whose broker upstox cannot be reached once it was read; shared, so that its time runs while others test."""
    demo = Demo(tmp_path_factory.mktemp("demo") / "data").start()
    try:
        demo.until_ready()
        demo.fault("upstox", "refuse_connections")
        yield demo
    finally:
        demo.clean_up()


@pytest.fixture
def together() -> Iterator[ThreadPoolExecutor]:
    """Threads for requests at the same time."""
    with ThreadPoolExecutor(32) as pool:
        yield pool


@pytest.fixture
def chance() -> random.Random:
    """Chance of the test's own; pytest shows the seed when it fails."""
    seed = random.randrange(1 << 32)
    sys.stdout.write(f"seed {seed}\n")
    return random.Random(seed)


@pytest.fixture(scope="session")
def writes_scenarios(request: pytest.FixtureRequest) -> bool:
    """Whether what is seen of types and scenarios is written to their page, instead of held against it."""
    return bool(request.config.getoption("--write-scenarios"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; without it the test is skipped and says so."""
    yield from open_browser()
