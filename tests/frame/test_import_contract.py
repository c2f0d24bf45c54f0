"""The import contract of pyproject.toml: it holds as the tree is, and a wrong import planted in a copy breaks it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
CODE = ("config", "brokers", "actors", "http")

LAYERS = "config <- brokers <- actors <- http"
ASKS = "only onebroker.brokers.transport.asks_connections imports asks"
REDIS = "only onebroker.actors.store imports redis"
DUCK = "only onebroker.actors.history imports duckdb"
PROMETHEUS = "only onebroker.http.metrics imports prometheus_client"
WEB = "only onebroker.http and onebroker.brokers.simulator import quart, quart_trio and hypercorn"

ACTORS = "the rooms of actors"
ENGINE = "the rooms of the engine"
BROKERS = "the rooms of brokers"
SIMULATOR = "the rooms of the simulator"
SHARED = "the simulator shares nothing with the codecs"
HTTP = "the rooms of http"
PARSERS = "the parsers of commands import nothing of the product"
NAMES = (LAYERS, ACTORS, ENGINE, BROKERS, SIMULATOR, SHARED, HTTP, PARSERS, ASKS, REDIS, DUCK, PROMETHEUS, WEB)

PLANTED = [
    ("actors/kernel/planted.py", "from onebroker.http.listener import host_names", LAYERS),
    ("actors/portfolio/planted.py", "import onebroker.http.render", LAYERS),
    ("brokers/codec/planted.py", "from onebroker.actors.kernel import mailbox", LAYERS),
    ("config/planted.py", "from onebroker.brokers import records", LAYERS),
    ("http/live/planted.py", "import asks", ASKS),
    ("brokers/transport/planted.py", "import asks", ASKS),
    ("http/routes/planted.py", "import redis", REDIS),
    ("actors/engine/parent/planted.py", "from redis.exceptions import RedisError", REDIS),
    ("actors/store/planted.py", "import duckdb", DUCK),
    ("http/commands/planted.py", "from duckdb import connect", DUCK),
    ("http/listener/planted.py", "import prometheus_client", PROMETHEUS),
    ("actors/kernel/planted.py", "from prometheus_client import Counter", PROMETHEUS),
    ("actors/portfolio/planted.py", "from quart import Request", WEB),
    ("brokers/transport/planted.py", "from hypercorn.config import Config", WEB),
    ("config/planted.py", "import quart_trio", WEB),
    ("actors/catalogue/planted.py", "from onebroker.actors.sessions import session_view", ACTORS),
    ("actors/portfolio/planted.py", "from onebroker.actors.engine.orders import order_index", ACTORS),
    ("actors/planted.py", "", ACTORS),
    ("actors/engine/parent/planted.py", "from onebroker.actors.engine.plan_parent import work", ENGINE),
    ("actors/engine/orders/planted.py", "from onebroker.actors.engine.plan import parts", ENGINE),
    ("actors/engine/planted.py", "", ENGINE),
    ("brokers/codec/planted.py", "from onebroker.brokers.zerodha import wire", BROKERS),
    ("brokers/zerodha/planted.py", "from onebroker.brokers.upstox import wire", BROKERS),
    ("brokers/simulator/world/planted.py", "from onebroker.brokers.simulator.exchange import exchange", SIMULATOR),
    ("brokers/simulator/dialects/zerodha/planted.py", "from onebroker.brokers.codec.words import Words", SHARED),
    ("brokers/simulator/dialects/dhan/planted.py", "from onebroker.brokers.codec import order_rows", SHARED),
    ("brokers/simulator/dialects/dhan/planted.py", "from onebroker.brokers.codec.refusals import Refusals", SHARED),
    ("brokers/simulator/dialects/shoonya/planted.py", "from onebroker.brokers.shoonya import values", SHARED),
    ("http/bodies/planted.py", "from onebroker.http.routes import quotes", HTTP),
    ("http/commands/parsers/planted.py", "from onebroker.config.clock import Clock", PARSERS),
    ("http/commands/parsers/planted.py", "from onebroker.http.commands import halt", PARSERS),
]
"""Where, what, and the contract that it breaks; nothing is imported where the room itself has no place in the contract."""

ALLOWED = [
    ("actors/store/planted.py", "import redis"),
    ("actors/history/planted.py", "import duckdb"),
    ("http/routes/planted.py", "from quart import Request"),
    ("http/metrics/planted.py", "from prometheus_client import Counter"),
    ("brokers/simulator/host/planted.py", "from hypercorn.config import Config"),
    ("http/routes/planted.py", "from onebroker.actors.kernel import mailbox"),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the code and of what the tool reads: pyproject.toml and the links under .typing."""
    for folder in CODE:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / ".typing", tmp_path / ".typing", symlinks=True)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder: Path) -> tuple[int, dict[str, str]]:
    """Return the tool's exit code and its verdict on each contract."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ".typing", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    verdicts = {
        name: line.removeprefix(name).split()[0]
        for line in done.stdout.splitlines()
        for name in NAMES
        if line.startswith(f"{name} ")
    }
    assert len(verdicts) == len(NAMES), done.stdout + done.stderr
    return done.returncode, verdicts


def plant(folder: Path, path: str, line: str) -> None:
    file = folder / path
    assert not file.exists()
    file.write_text(f"{line}\n")


def test_the_tree_keeps_every_contract(copy: Path) -> None:
    code, verdicts = lint(copy)
    assert (code, set(verdicts.values())) == (0, {"KEPT"})


@pytest.mark.parametrize(("path", "line", "broken"), PLANTED)
def test_a_wrong_import_breaks_its_contract_and_no_other(copy: Path, path: str, line: str, broken: str) -> None:
    plant(copy, path, line)
    code, verdicts = lint(copy)
    assert code == 1
    assert [name for name, verdict in verdicts.items() if verdict == "BROKEN"] == [broken]


@pytest.mark.parametrize(("path", "line"), ALLOWED)
def test_an_import_in_its_place_breaks_nothing(copy: Path, path: str, line: str) -> None:
    plant(copy, path, line)
    assert lint(copy)[0] == 0
