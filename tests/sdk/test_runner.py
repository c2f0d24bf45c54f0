"""The SDK environment: present, pinned, and without a way out of the machine."""

import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_a_driver_reaches_this_machine_and_nothing_else(run_driver):
    with socket.create_server(("127.0.0.1", 0)) as server:
        steps = run_driver("guard_driver.py", {"port": server.getsockname()[1]})
    assert steps.pop("loopback") == "connected"
    assert steps == dict.fromkeys(("look-up", "create_connection", "connect", "sendto"), "LeavesTheMachine")


def test_installing_again_finds_everything_present(sdk_wanted):
    done = subprocess.run([sys.executable, HERE / "install.py"], capture_output=True, timeout=60, check=True)
    assert done.stdout.decode().splitlines() == [".sdk/others: present", ".sdk/fyers: present"]


def test_every_pin_is_exact():
    pins = [line for line in (HERE / "others.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert {"kiteconnect==5.2.2", "upstox-python-sdk==2.30.0"} <= set(pins)
    assert all(line.count("==") == 1 for line in pins)
