"""What every test with an official SDK uses: `run_driver`, and the simulator as a process of its own.

    def test_the_sdk_reads_the_profile(simulator, run_driver):
        steps = run_driver("zerodha_driver.py", simulator["zerodha"])
        assert steps["profile"]["user_id"] == ...

An SDK never enters this process: `run_driver` starts the driver in the SDK's environment through `runner.py`, which
lets it reach nothing but this machine.
"""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from onebroker.brokers.simulator.host.lookup import DIALECTS
from tests.support.patience import PATIENCE_SECONDS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BROKERS = ",".join(DIALECTS)
"""Every broker with a dialect; the simulator is started once for all of them."""
START_SECONDS = PATIENCE_SECONDS

Steps = dict[str, object]
RunDriver = Callable[..., Steps]


@pytest.fixture(scope="session")
def sdk_wanted(request: pytest.FixtureRequest) -> None:
    """Skip when a person asked for it; otherwise SDK tests run, and a missing environment fails them."""
    if request.config.getoption("--without-sdk"):
        pytest.skip("--without-sdk was given")


@pytest.fixture(scope="session")
def run_driver(sdk_wanted: None, tmp_path_factory: pytest.TempPathFactory) -> RunDriver:
    """Return `run(driver, line, environment="others", timeout_seconds=280.0)`.

    It hands `line` (any JSON value) to the driver file beside this one and returns its steps by name: the driver writes
    `{"step": NAME, "value": ...}` per line. Standard error is shown when it fails; host times are Indian; each driver has
    a folder of its own as working directory and home, where SDKs put their logs and caches.
    """

    def run(driver: str, line: object, environment: str = "others", timeout_seconds: float = 280.0) -> Steps:
        python = ROOT / ".sdk" / environment / "bin" / "python"
        if not python.exists():
            pytest.fail(f".sdk/{environment} is missing: run `python tests/sdk/install.py`, or give --without-sdk")
        folder = tmp_path_factory.mktemp(Path(driver).stem)
        done = subprocess.run(
            [python, "-W", "ignore", HERE / "runner.py", HERE / driver],
            input=msgspec.json.encode(line) + b"\n",
            capture_output=True,
            timeout=timeout_seconds,
            cwd=folder,
            env={
                **os.environ, "TZ": "Asia/Kolkata", "HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "*",
            },
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, (
            f"{driver} ended with {done.returncode}:\n{done.stdout.decode()}{done.stderr.decode()}"
        )
        steps = [msgspec.json.decode(text, type=dict[str, object]) for text in done.stdout.splitlines() if text.strip()]
        return {str(step["step"]): step["value"] for step in steps}

    return run


@pytest.fixture(scope="session")
def simulator(sdk_wanted: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, object]]]:
    """Start the simulator and yield its JSON lines by broker, each with the `control_url` added."""
    folder = tmp_path_factory.mktemp("simulator")
    with (folder / "stderr.txt").open("wb") as errors:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "onebroker.brokers.simulator",
                "--brokers", BROKERS, "--data-dir", str(folder), "--instruments", "300", "--seed", "1",
            ],
            stdout=subprocess.PIPE,
            stderr=errors,
        )  # fmt: skip
        try:
            yield _lines(process, folder / "stderr.txt")
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
            if process.stdout is not None:
                process.stdout.close()


def _lines(process: "subprocess.Popen[bytes]", errors: Path) -> dict[str, dict[str, object]]:
    """Read the simulator's lines up to `ready`."""
    assert process.stdout is not None
    brokers: dict[str, dict[str, object]] = {}
    control = ""
    text = b""
    deadline = time.monotonic() + START_SECONDS
    while b"ready\n" not in text:
        readable, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(process.stdout.fileno(), 65536) if readable else b""
        if not piece:
            raise AssertionError(f"the simulator did not get ready:\n{errors.read_text()}")
        text += piece
    for line in text.splitlines():
        if line.startswith(b"{"):
            values = msgspec.json.decode(line, type=dict[str, object])
            if "control_url" in values and "broker" not in values:
                control = str(values["control_url"])
            else:
                brokers[str(values["broker"])] = values
    return {code: {**values, "control_url": control} for code, values in brokers.items()}
