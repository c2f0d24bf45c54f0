"""The whole service over a Redis server by URL: `onebroker serve` with its settings file, beside a simulator that outlives it.

service = ServiceByUrl(tmp_path / "data", simulator, url).start()
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.demo.conftest import KEY, STOP_SECONDS, Demo

CODES = ("angelone", "dhan", "groww")
"""Brokers that log in by themselves; two of them can be asked for an order by our token."""
SECRET = "a secret for tests"
_NO_SETTING = {"broker", "credentials", "session"}


class Simulator:
    """The lines of the simulated brokers by code, and the address of its control."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self.brokers = {one["broker"]: one for one in lines if "broker" in one}
        self.control_url: str = next(one["control_url"] for one in lines if "control_url" in one)


@contextmanager
def simulator(folder: Path) -> Iterator[Simulator]:
    command = [sys.executable, "-m", "onebroker.brokers.simulator", "--brokers", ",".join(CODES), "--instruments", "200",
               "--data-dir", str(folder), "--until-stdin-closes"]  # fmt: skip
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            lines = []
            while (line := process.stdout.readline().strip()) != "ready":
                lines.append(json.loads(line))
            yield Simulator(lines)
        finally:
            process.stdin.close()
            process.wait(STOP_SECONDS)


class ServiceByUrl(Demo):
    """One data directory and, while started, `onebroker serve` on it."""

    codes = frozenset(CODES)

    def __init__(self, data_dir: Path, simulator: Simulator, url: str | None, more: str = "") -> None:
        """`url`: None = the embedded server. `more`: further lines of the settings file."""
        super().__init__(data_dir)
        self._simulator = simulator
        self.config = data_dir.with_name(f"{data_dir.name}.toml")
        self.config.touch(0o600)
        lines = ["[service]", f"port = {self.port}", f'data_dir = "{data_dir}"', f'api_key = "{KEY}"',
                 f'api_secret = "{SECRET}"', 'calendar = "always_open"']  # fmt: skip
        if url is not None:
            lines += ["[redis]", f'url = "{url}"']
        for code, said in simulator.brokers.items():
            own = {name: value for name, value in said.items() if name not in _NO_SETTING}
            own.setdefault("login_url", said["rest_url"])
            lines += [
                f"[brokers.{code}]",
                *(f"{name} = {json.dumps(value)}" for name, value in (said["credentials"] | own).items()),
            ]
        self.config.write_text("\n".join([*lines, more]))

    def launch(self) -> "subprocess.Popen[bytes]":
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "onebroker.http", "serve", "--config", str(self.config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self.process

    def connect(self, key: str = KEY, secret: str = SECRET) -> str:
        return super().connect(key, secret)

    @property
    def control_url(self) -> str:
        return self._simulator.control_url
