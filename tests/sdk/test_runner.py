"""The SDK environment: present, pinned, and without a way out of the machine."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS

HERE = Path(__file__).resolve().parent


@pytest.fixture
def run_guard(run_driver):
    def run():
        with socket.create_server(("127.0.0.1", 0)) as server:
            return run_driver("guard_driver.py", {"port": server.getsockname()[1]})

    return run


def test_a_driver_reaches_this_machine_and_nothing_else(run_guard):
    steps = run_guard()
    del steps["folders"]
    assert steps.pop("loopback") == "connected"
    assert steps == dict.fromkeys(("look-up", "create_connection", "connect", "sendto"), "LeavesTheMachine")


def test_each_driver_has_an_empty_folder_of_its_own_to_leave_files_in(run_guard):
    (first, home), (second, _) = run_guard()["folders"], run_guard()["folders"]
    assert first == home != second
    assert HERE.parents[1] not in Path(first).parents


def test_installing_again_finds_everything_present(sdk_wanted):
    done = subprocess.run(
        [sys.executable, HERE / "install.py"], capture_output=True, timeout=PATIENCE_SECONDS, check=True
    )
    assert done.stdout.decode().splitlines() == [f".sdk/{name}: present" for name in ("others", "fyers", "client")]


def test_every_pin_is_exact():
    pins = [line for line in (HERE / "others.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert {"kiteconnect==5.2.2", "upstox-python-sdk==2.30.0"} <= set(pins)
    assert all(line.count("==") == 1 for line in pins)
