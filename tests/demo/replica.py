"""A replica of a demo as a process, driven over HTTP like the demo.

with Replica(demo, folder) as replica:
    assert replica.ask("/api/portfolio/funds").status == 200
"""

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

import msgspec

from tests.demo.conftest import LOST, READY_SECONDS, STOP_SECONDS, Answer, Demo, Http, free_port, until

__all__ = ["Replica"]


class Replica:
    def __init__(self, demo: Demo, folder: Path, *options: str, port: int | None = None, scheme: str = "http") -> None:
        """`port`: where the service is reached (None = the demo's own port)."""
        self.demo, self.log = demo, folder / "replica.log"
        self.port = free_port()
        self._http = Http(f"http://127.0.0.1:{self.port}")
        service = f"{scheme}://127.0.0.1:{demo.port if port is None else port}"
        self._command = [sys.executable, "-m", "onebroker.http", "replica", "--of", service, "--port", str(self.port)]
        self._command += options
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def token(self) -> str:
        """As `Demo` has it, for clients of either."""
        return self.demo.token

    def __enter__(self) -> "Replica":
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        until(self._answers, "the replica to answer", READY_SECONDS)
        return self

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self._http.ask("GET", "/health").status == 200
        except LOST:
            return False

    def ask(
        self, path: str, method: str = "GET", body: object = None, token: str | None = None, **query: object
    ) -> Answer:
        """Send one request with the demo's token, or with another one."""
        target = path + (f"?{urlencode(query, doseq=True)}" if query else "")
        data = None if body is None else msgspec.json.encode(body)
        headers = {"access-token": self.demo.token if token is None else token, "content-type": "application/json"}
        return self._http.ask(method, target, data, headers)

    def heard(self) -> Any:
        """Return what it says of the service."""
        return self.ask("/api/replica").json

    def end(self) -> int:
        """Stop it in order and return its exit code."""
        assert self.process is not None
        self.process.terminate()
        code = self.process.wait(STOP_SECONDS)
        self._http.close()
        return code

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self.process is not None and self.process.poll() is None:
            self.end()
