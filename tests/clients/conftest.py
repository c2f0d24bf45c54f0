"""What the tests of the Python client share: its package and its generator by path, for this folder only, and its own environment."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from tests.support.patience import PATIENCE_SECONDS

Start = Callable[..., "subprocess.Popen[bytes]"]
Finish = Callable[["subprocess.Popen[bytes]"], dict[str, Any]]
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CLIENT = ROOT / "clients" / "python"
SOURCE = CLIENT / "src"

if str(SOURCE) not in sys.path:
    sys.path.append(str(SOURCE))  # last: it holds nothing but `onebroker_client`, of which the core needs msgspec alone


@pytest.fixture(scope="session")
def generate() -> Iterator[ModuleType]:
    """The client's generator as a module. Its package is called `generator`, so it leaves the path again."""
    path = [*sys.path]
    sys.path.insert(0, str(CLIENT))
    try:
        import generate

        yield generate
    finally:
        sys.path[:] = path
        for name in [name for name in sys.modules if name.partition(".")[0] in ("generate", "generator")]:
            del sys.modules[name]


@pytest.fixture(scope="session")
def python(request: pytest.FixtureRequest) -> Path:
    """Return the interpreter of the client's environment. Its absence fails, unless a person asked to leave it out."""
    if request.config.getoption("--without-sdk"):
        pytest.skip("--without-sdk was given")
    found = ROOT / ".sdk" / "client" / "bin" / "python"
    if not found.exists():
        pytest.fail(".sdk/client is missing: run `python tests/sdk/install.py`, or give --without-sdk")
    return found


@pytest.fixture(scope="session")
def start(python: Path) -> Start:
    """Return `start(kind, scenario, url, **more)`: the driver as a process that has been told what to play."""

    def started(kind: str, scenario: str, url: str, **more: object) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [python, "-W", "error", ROOT / "tests" / "sdk" / "runner.py", HERE / "client_driver.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )
        assert process.stdin is not None
        line = {"kind": kind, "scenario": scenario, "url": url, **more}
        process.stdin.write(msgspec.json.encode(line) + b"\n")
        process.stdin.flush()
        return process

    return started


@pytest.fixture(scope="session")
def finish() -> Finish:
    """Return `finish(process)`: its steps by name, once it has ended."""

    def finished(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
        try:
            out, errors = process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, errors = process.communicate()
        assert process.returncode == 0, f"{out.decode()}{errors.decode()}"
        steps = [msgspec.json.decode(line) for line in out.splitlines()]
        return {step["step"]: step["value"] for step in steps}

    return finished


@pytest.fixture(scope="session")
def drive(start: Start, finish: Finish) -> Callable[..., dict[str, Any]]:
    """Return `drive(kind, scenario, url, **more)`: play it to its end and return its steps by name."""
    return lambda kind, scenario, url, **more: finish(start(kind, scenario, url, **more))
