"""README.md says what is true: its commands are single lines, CI runs the one under Test, and the session under Try it works."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from onebroker.brokers.registry import build_registry
from tests.support.held_port import held_port
from tests.support.patience import PATIENCE_SECONDS
from tests.support.stalls import watched

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SESSION_SECONDS = 8 * PATIENCE_SECONDS
SESSIONS = 5
"""How often the session is begun, with a demo of its own, when the machine stood still in it: the service says within five seconds that
it does not know what became of an order, and the session goes on with its id. Without a stop the first failure counts."""

_PATH = r"`((?:config|brokers|actors|http|tests|bench|docs)/[\w/.@-]*)`"

SHOWS = """shows() {
  for _ in $(seq 300); do
    if [ "$(get "$1" 2>/dev/null | json "$2" 2>/dev/null)" = "$3" ]; then return; fi
    sleep 0.1
  done
}
"""
READY = """shows health "it['engine']['running'] and it['catalogue']['published_today']" True"""
"""A person types the session; a machine that does other things may still be starting the service when the script is there."""
STATUS = """shows "orders/details?order_id=$ORDER" "it['orders'][0]['status']" """
FILLED = f"""{STATUS} COMPLETE
shows "orders/trades?order_id=$ORDER" "sum(one['quantity'] for one in it['trades'])" 10
shows portfolio/positions "10 in [row['quantity'] for row in it['net'] if row['instrument_id'] == '$ID']" True
"""
PAUSES = (f"{STATUS} OPEN", FILLED, f"{STATUS} OPEN", f"{STATUS} OPEN", f"{STATUS} CANCELLED")
"""What each pause of the session is for: a machine that does other things waits longer for it than a person's does."""


def section(title: str) -> str:
    """The text under `## title` up to the next heading of its rank."""
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def blocks(title: str) -> list[str]:
    """The fenced blocks of a section, in order."""
    return re.findall(r"^```sh\n(.*?)^```$", section(title), flags=re.MULTILINE | re.DOTALL)


def test_try_it_is_the_first_section_and_test_the_second() -> None:
    assert re.findall(r"^## (.+)$", README, flags=re.MULTILINE)[:2] == ["Try it", "Test"]


@pytest.mark.parametrize("title", ["Try it", "Test"])
def test_the_first_block_is_one_shell_line(title: str) -> None:
    first = section(title).split("```", 2)[1]
    assert first.startswith("sh\n")
    assert first.removeprefix("sh\n").count("\n") == 1
    assert blocks(title)[0] == first.removeprefix("sh\n")


def test_ci_runs_the_line_of_the_test_section_and_nothing_else() -> None:
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line and not line.startswith("#")]
    assert lines == ["set -euo pipefail", 'cd "$(dirname "${BASH_SOURCE[0]}")/.."', blocks("Test")[0].strip()]


def test_every_file_the_pages_point_to_exists() -> None:
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *(ROOT / "docs").rglob("*.md")]
    missing = [
        (page.name, target)
        for page in pages
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_every_path_that_the_architecture_and_its_papers_name_exists() -> None:
    papers = [paper for folder in ("brokers", "decisions", "design") for paper in (ROOT / "docs" / folder).glob("*.md")]
    pages = [ROOT / "ARCHITECTURE.md", ROOT / "docs" / "contract.md", *papers]
    named = {page: set(re.findall(_PATH, page.read_text())) for page in pages}
    assert len(named[ROOT / "ARCHITECTURE.md"]) > 50
    missing = [
        (page.name, name) for page, names in named.items() for name in sorted(names) if not (ROOT / name).exists()
    ]
    assert missing == []


@contextmanager
def running_demo(folder: Path) -> Iterator[tuple[int, Path, int]]:
    """A demo on a free port with a data directory of its own: (port, data directory, process)."""
    folder.mkdir()
    with held_port() as port, (folder / "stderr.txt").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "onebroker.http", "demo", "--port", str(port), "--data-dir", str(folder / "data")],
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        try:
            _until_said(process, b"Ctrl-C", folder / "stderr.txt")
            yield port, folder / "data", process.pid
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(PATIENCE_SECONDS)
            if process.stdout is not None:
                process.stdout.close()
        assert code == 0, (folder / "stderr.txt").read_text()


def _until_said(process: "subprocess.Popen[bytes]", word: bytes, errors: Path) -> None:
    assert process.stdout is not None
    said, deadline = b"", time.monotonic() + PATIENCE_SECONDS
    while word not in said:
        readable, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 65536) if readable else b""
        assert piece, f"the demo did not get ready:\n{said.decode()}{errors.read_text()}"
        said += piece


def test_the_session_under_try_it_trades_a_share(tmp_path: Path) -> None:
    for number in range(SESSIONS):
        with running_demo(tmp_path / str(number)) as (port, data_dir, pid), watched(pid) as stalls:
            done = _session(port, data_dir)
        try:
            _judge(done)
        except (AssertionError, ValueError, LookupError, msgspec.MsgspecError) as error:
            if not stalls.seen or number == SESSIONS - 1:
                raise
            print(f"begun anew, because {stalls.seen[0]} stood still: {error!r}")
        else:
            return


def _session(port: int, data_dir: Path) -> "subprocess.CompletedProcess[str]":
    script = "\n".join(blocks("Try it")[1:])
    for written, here in (
        ("http://127.0.0.1:8000/", f"http://127.0.0.1:{port}/"),
        ("~/.local/share/onebroker/demo/", f"{data_dir}/"),
    ):
        assert written in script
        script = script.replace(written, here)
    asks = next(line for line in script.splitlines() if line.startswith("get() "))
    script = script.replace(asks, f"{asks}\n{READY}")
    pauses = iter(PAUSES)
    script = SHOWS + re.sub(r"; sleep \d+$", lambda pause: f"{pause[0]}\n{next(pauses)}", script, flags=re.MULTILINE)
    assert not list(pauses)
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SESSION_SECONDS,
        check=False,
    )


def _judge(done: "subprocess.CompletedProcess[str]") -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line]
    funds, holdings, positions, details, ltp, quote = (msgspec.json.decode(line) for line in lines[:6])
    assert "ok" in {each["status"] for each in funds["brokers"]}
    assert funds["summary"]["available_balance"] > 0
    assert holdings["holdings"]
    assert positions["net"]
    assert set(details["brokers"]) == set(build_registry())
    assert ltp["instrument_id"] == quote["instrument_id"] == details["instrument_id"]
    assert ltp["last_price"] > 0
    resting, moved, filled, trades, bought, changed, cancelled, ended, past = lines[6:]
    assert resting == "OPEN"
    assert msgspec.json.decode(moved)["instrument_id"] == details["instrument_id"]
    assert filled == "COMPLETE"
    assert sum(trade["quantity"] for trade in msgspec.json.decode(trades)["trades"]) == 10
    assert "'quantity': 10" in bought
    assert msgspec.json.decode(changed).get("changes") == {"quantity": {"from": 10, "to": 2}}, changed
    assert msgspec.json.decode(cancelled).get("outcome") == "accepted", cancelled
    assert ended == "CANCELLED"
    assert re.fullmatch(r"\(\d+, \[.*\]\)", past), "none while the past is being loaded"
