"""The how-to pages do what they say: their programs, commands and settings are read from them and run against a demo.

The simulator's ledger is the judge of what was sent. A block that is marked `not run` is left out; every other block is run by the play of
its page, in the order of the page.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars
import pytest

from tests.clients.cutting_proxy import CuttingProxy
from tests.demo.conftest import Demo, free_port, until
from tests.support.patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.long, pytest.mark.sdk]

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "how-to"
CLIENT = ROOT / ".sdk" / "client" / "bin" / "python"
SOURCE = ROOT / "clients" / "python" / "src"
BLOCK = re.compile(r"^( *)(<!-- not run: [^>]*-->\n *)?```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SERVICE, REPLICA, RECEIVER = "http://127.0.0.1:8000", "8100", "9000"
"""What the pages write in the place of the ports of a test."""
SYMBOL = "MANMAT"
WAIT_SECONDS = 60.0
HOLD_SECONDS = 120.0
"""A price stays where a test moved it: else the market's own walk decides what fills."""


class Page:
    """The blocks of a page, which a play takes one after the other."""

    def __init__(self, name: str) -> None:
        text = (PAGES / f"{name}.md").read_text()
        self.blocks = [
            (language, "".join(line.removeprefix(indent) for line in block.splitlines(keepends=True)))
            for indent, mark, language, block in BLOCK.findall(text)
            if not mark
        ]

    def take(self, language: str) -> str:
        assert self.blocks, f"the page has no further block of {language}"
        found, text = self.blocks.pop(0)
        assert found == language, text
        return text


class Desk:
    """A folder in which a person works with the demo: its settings file, and its programs."""

    def __init__(self, demo: Demo, folder: Path) -> None:
        self.demo, self.folder = demo, folder
        self.ports = {SERVICE: f"http://127.0.0.1:{demo.port}", REPLICA: str(free_port()), RECEIVER: str(free_port())}
        self.settings = folder / "onebroker.toml"
        self.settings.write_text(f'[service]\ndata_dir = "{demo.data_dir}"\napi_key = "k"\napi_secret = "s"\n')
        self.settings.chmod(0o600)
        lent = folder / "lent"  # what the client's environment has not: the service's polars
        lent.mkdir()
        for package in Path(polars.__file__).parents[1].glob("*polars*"):
            (lent / package.name).symlink_to(package)
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": f"{SOURCE}:{lent}",
            "PYTHONUNBUFFERED": "1",
        }
        listed = demo.control("GET", "/instruments?shape=security&limit=500")
        (self.share,) = (each for each in listed if (each["symbol"], each["segment"]) == (SYMBOL, "nse_equities"))

    def here(self, text: str, port: int | None = None) -> str:
        """The text with the ports of this test."""
        ports = self.ports if port is None else {**self.ports, SERVICE: f"http://127.0.0.1:{port}"}
        for written, own in ports.items():
            text = re.sub(rf"(?<!\d){re.escape(written)}(?!\d)", own, text)
        return text

    @contextmanager
    def running(self, command: list[str]) -> Iterator["Program"]:
        program = Program(command, self.folder, self.environment)
        try:
            yield program
        finally:
            program.end()

    def python(self, text: str, port: int | None = None) -> "Any":
        return self.running([str(CLIENT), "-W", "error", "-c", self.here(text, port)])

    def output_of(self, text: str, port: int | None = None) -> str:
        """Run a program to its end."""
        with self.python(text, port) as program:
            return program.whole()

    def shell(self, text: str, *, before: str = "") -> str:
        script = self.here(f"{before}{text}")
        return self.done(["bash", "-euo", "pipefail", "-c", script])

    def done(self, command: list[str]) -> str:
        with self.running(command) as program:
            return program.whole()

    def price(self, percent: float) -> float:
        """The price so many percent above the middle of the share's price band."""
        middle = (self.share["lower_circuit"] + self.share["upper_circuit"]) / 2
        return self.demo.at_price({**self.share, "last_price": middle}, percent)

    def move(self, percent: float) -> None:
        """Move the share there, and wait until the service shows it."""
        price, instrument_id = self.price(percent), self.share["instrument_id"]
        self.demo.move(instrument_id, price, HOLD_SECONDS)
        until(
            lambda: self.demo.read("/api/instruments/ltp", instrument_id=instrument_id)["last_price"] == price,
            f"the price {price}", WAIT_SECONDS,
        )  # fmt: skip


class Program:
    """A process whose lines are read while it runs."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._out = (folder / f"{os.urandom(4).hex()}.out").open("w+b")
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=self._out, stderr=subprocess.STDOUT
        )

    def said(self) -> str:
        return Path(self._out.name).read_text()

    def until(self, words: str) -> str:
        """Wait until the program has said words (a regular expression)."""

        def found() -> "re.Match[str] | None":
            seen = re.search(words, self.said())
            assert seen or self.process.poll() is None, self.said()
            return seen

        return str(until(found, lambda: f"{words} in {self.said()}", WAIT_SECONDS)[0])

    def whole(self) -> str:
        code = self.process.wait(PATIENCE_SECONDS)
        assert code == 0, self.said()
        return self.said()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE_SECONDS)
        self._out.close()


@pytest.fixture(scope="module")
def desk_demo(new_demo: Callable[..., Demo]) -> Demo:
    running = new_demo("--instruments", "2000").start()
    running.until_ready()
    return running


@pytest.fixture
def desk(desk_demo: Demo, tmp_path: Path) -> Desk:
    here = Desk(desk_demo, tmp_path)
    here.move(0)
    return here


# The plays, one for each page


def play_index(page: Page, desk: Desk) -> None:
    assert len(desk.shell(page.take("sh") + "echo $TOKEN\n").strip()) > 20


def play_place_an_order(page: Page, desk: Desk) -> None:
    since, program = desk.demo.ledger()["next"], page.take("python")
    assert desk.output_of(program).startswith("accepted ")
    assert len(desk.demo.placed(since)) == 1
    with CuttingProxy(desk.demo.port) as proxy:
        proxy.lose("POST /api/orders/place")
        assert desk.output_of(program, proxy.server_address[1]).splitlines()[-1] == "accepted"
        assert proxy.lost == 1
    assert len(desk.demo.placed(since)) == 2
    answer = json.loads(desk.shell(page.take("sh"), before=Page("index").take("sh")))
    assert (answer["status"], answer["response"]["outcome"]) == (200, "accepted")
    assert len(desk.demo.placed(since)) == 3


def play_bracket(page: Page, desk: Desk) -> None:
    since = desk.demo.ledger()["next"]
    with desk.python(page.take("python")) as program:
        program.until(r"'SL', 'pending'")
        desk.move(3.5)
        program.until("ended: completed")
    assert len(desk.demo.placed(since)) == 3, "entry, stop and target, each once"


def play_trailing_stop(page: Page, desk: Desk) -> None:
    for broker in ("zerodha", "dhan"):
        body = desk.demo.limit_buy(desk.share, product="MIS", quantity=5, broker=broker) | {"price": desk.price(1)}
        desk.demo.until_status(desk.demo.place(**body).json["order_id"], "COMPLETE")

    def held() -> set[str]:
        rows = desk.demo.read("/api/portfolio/positions")["net"]
        mine = [row for row in rows if row["instrument_id"] == desk.share["instrument_id"] and row["quantity"] > 0]
        return {part["broker"] for row in mine for part in row["by_broker"]}

    until(lambda: {"zerodha", "dhan"} <= held(), "the positions to show both brokers", WAIT_SECONDS)
    since = desk.demo.ledger()["next"]
    with desk.python(page.take("python")) as program:
        first = float(program.until(r"stop at (\d+\.?\d*)").split()[-1])
        stops = len(re.findall("stop for", program.said()))
        assert stops >= 2
        desk.move(2)
        until(
            lambda: any(float(price) > first * 1.01 for price in re.findall(r"stop at ([\d.]+)", program.said())),
            program.said, WAIT_SECONDS,
        )  # fmt: skip
        desk.move(-0.1)  # between the trigger and the limit of each stop
        until(lambda: program.said().count("ended: completed") == stops, program.said, WAIT_SECONDS)
        program.whole()
    assert len(desk.demo.placed(since)) == stops, "each stop is sent once and then moved"


def play_twap(page: Page, desk: Desk) -> None:
    since = desk.demo.ledger()["next"]
    assert re.search(r"completed 3 orders, 30 units at [\d.]+", desk.output_of(page.take("python")))
    assert len(desk.demo.placed(since)) == 3


def play_basket(page: Page, desk: Desk) -> None:
    since = desk.demo.ledger()["next"]
    said = desk.output_of(page.take("python")).splitlines()
    assert said == [*(f"list {number} 200 None" for number in range(3)), "basket accepted 3", "cancelled cancelled 3"]
    assert len(desk.demo.placed(since)) == 6


def play_choose_the_broker(page: Page, desk: Desk) -> None:
    since = desk.demo.ledger()["next"]
    said = desk.output_of(page.take("python"))
    assert len(re.findall(r"^[a-z]+ [\d.]+$", said, re.MULTILINE)) > 5
    assert re.findall(r"^sent 200 (\w+) ", said, re.MULTILINE) == ["zerodha", "dhan"]
    assert sorted(each["broker"] for each in desk.demo.placed(since)) == ["dhan", "zerodha"]


def play_portfolio_table(page: Page, desk: Desk) -> None:
    assert "result of the day" in desk.output_of(page.take("python"))
    for name, document, rows in (("holdings", "holdings", "holdings"), ("positions", "positions", "net")):
        kept = polars.read_csv(desk.folder / f"{name}.csv", infer_schema_length=None)
        assert len(kept) == len(desk.demo.read(f"/api/portfolio/{document}")[rows])
    assert len(polars.read_csv(desk.folder / "positions_by_broker.csv", infer_schema_length=None)) > 0


def play_live_quotes(page: Page, desk: Desk) -> None:
    with CuttingProxy(desk.demo.port) as proxy, desk.python(page.take("python"), proxy.server_address[1]) as program:
        program.until(rf"{SYMBOL} \d")
        proxy.cut()
        desk.move(3)
        program.until(rf"{SYMBOL} {desk.price(3):g}")
        assert "not followed" not in program.said(), "it resumed"


def play_candles(page: Page, desk: Desk) -> None:
    (desk.folder / "candles.csv").write_text(page.take("text"))
    desk.shell(page.take("sh"))
    desk.shell(page.take("sh"))
    assert "the mean close of 3 days is 384.5" in desk.output_of(page.take("python"))


def play_limits_and_halt(page: Page, desk: Desk) -> None:
    assert tomllib.loads(page.take("toml")) == {"engine": {"daily_loss_limit": 25000}}
    since = desk.demo.ledger()["next"]
    said = desk.output_of(page.take("python")).splitlines()
    assert said[:2] == ["halted: reduce_only lunch", "trading is halted: lunch"]
    assert said[-1] == "halted: False"
    desk.shell(page.take("sh"))
    assert desk.demo.read("/api/orders/halt") == {"halted": False}
    assert desk.demo.placed(since) == []


def play_messages(page: Page, desk: Desk) -> None:
    with desk.python(page.take("python")) as program:
        desk.settings.write_text(desk.here(page.take("toml")))
        until(lambda: listens(int(desk.ports[RECEIVER])), "the receiver", WAIT_SECONDS)
        desk.shell(page.take("sh"))
        program.until(r"onebroker.* \| ")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def play_one_more_broker(page: Page, desk: Desk) -> None:
    desk.settings.write_text(page.take("toml") + f'[service]\ndata_dir = "{desk.folder}/data"\n')
    assert "zerodha, dhan" in desk.shell(page.take("sh"))
    assert len(desk.output_of(page.take("python")).splitlines()) == 11


def play_new_machine(page: Page, desk: Desk) -> None:
    since = desk.demo.ledger()["next"]
    desk.shell(page.take("sh"))
    assert json.loads(desk.shell(page.take("sh")))["onebroker"]
    desk.shell(page.take("sh"))
    assert (desk.folder / "onebroker-new" / "durable.sqlite").is_file()
    assert desk.output_of(page.take("python")).startswith("the engine runs: True\nhalted: False\n")
    assert desk.demo.placed(since) == []


def play_morning_routine(page: Page, desk: Desk) -> None:
    said = desk.output_of(page.take("python"))
    assert "logins needed: none\ntoday's instruments: True\n" in said
    assert desk.shell(page.take("sh"))


def play_paper(page: Page, desk: Desk) -> None:
    since = desk.demo.ledger()["next"]
    said = desk.output_of(page.take("python"))
    assert said.startswith("a dry run: True\nan order on paper: accepted ")
    assert len(desk.demo.placed(since)) == 1


def play_roll_a_future(page: Page, desk: Desk) -> None:
    near, lot = near_month(desk)
    held = net(desk, near)
    bought = desk.demo.place(
        instrument_id=near, transaction_type="BUY", product="NRML", order_type="MARKET", quantity=lot
    )
    assert bought.status == 200, bought
    until(lambda: net(desk, near) == held + lot, "the position in the near month", WAIT_SECONDS)
    since = desk.demo.ledger()["next"]
    said = desk.output_of(page.take("python"))
    rolls = [
        re.findall(r"\('(SELL|BUY)', (\d+), ", line) for line in re.findall(r"^completed (.*)$", said, re.MULTILINE)
    ]
    assert rolls, said
    for legs in rolls:  # each fill of the near month buys as many units of the next: one order or several
        units = {side: sum(int(of) for leg, of in legs if leg == side) for side in ("SELL", "BUY")}
        assert units["SELL"] == units["BUY"] > 0, said
    until(lambda: net(desk, near) == 0, "the near month to be closed", WAIT_SECONDS)
    placed = desk.demo.placed(since)
    assert len(placed) == sum(map(len, rolls))


def play_hedge(page: Page, desk: Desk) -> None:
    near, lot = near_month(desk)
    held, since = net(desk, near), desk.demo.ledger()["next"]
    said = desk.output_of(page.take("python"))
    assert re.search(rf"^completed \[\('BUY', {lot}, .*\('BUY', {lot}, ", said, re.MULTILINE), said
    assert len(desk.demo.placed(since)) == 2
    until(lambda: net(desk, near) == held + lot, "the position in the future", WAIT_SECONDS)


def near_month(desk: Desk) -> tuple[str, int]:
    """The future of the next expiry, and its lot."""
    (future,) = desk.demo.read("/api/instruments/find", q="desh fut", limit=1)["instruments"]
    return future["instrument_id"], future["lot_size"]


def net(desk: Desk, instrument_id: str) -> int:
    rows = desk.demo.read("/api/portfolio/positions")["net"]
    return sum(row["quantity"] for row in rows if row["instrument_id"] == instrument_id)


def play_many_readers(page: Page, desk: Desk) -> None:
    command = ["bash", "-c", f"exec {desk.here(page.take('sh')).strip()}"]
    with desk.running(command):
        until(lambda: listens(int(desk.ports[REPLICA])), "the replica", WAIT_SECONDS)
        said = desk.output_of(page.take("python"))
    assert re.search(r"^price: [\d.]+$", said, re.MULTILINE)
    assert "no orders here: " in said


@pytest.mark.parametrize("name", sorted(page.stem for page in PAGES.glob("*.md")))
def test_a_page_does_what_it_says(name: str, desk: Desk) -> None:
    page = Page(name)
    globals()[f"play_{name.replace('-', '_')}"](page, desk)
    assert page.blocks == [], "a block that no play runs"
    desk.demo.assert_sent_once()


def test_the_program_of_the_readme_places_an_order(desk: Desk) -> None:
    since = desk.demo.ledger()["next"]
    (program,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert desk.output_of(program).splitlines()[-1].startswith("accepted ")
    assert len(desk.demo.placed(since)) == 1
