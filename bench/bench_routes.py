"""A document route with the fast lane, without it, and in other servers that answer the same bytes.

`lane` and `stock` are `GET /api/portfolio/positions` through `http.app` and `http.listener.accept_loop` with and without `http.lane`, with the checks
of host name, token and age. `bare` is an ASGI function on hypercorn's trio worker, `hand` the ceiling (`bench.hand_parsed`). `starlette` runs on uvicorn with
uvloop and httptools, `flask` and `flask threads` on one gunicorn worker (sync, which keeps no connection; gthread). They compare a token and nothing else.

Each is a process of its own on a loopback socket. They are loaded in turns, round by round, so that other work on the machine falls on all.
`python bench/install_peers.py` makes the environment of the others first.

    python -m bench.bench_routes [--seconds 1] [--rounds 5] [--rows 50 400]
"""

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path

import attrs

from bench.install_peers import PINS, PYTHON, is_made
from bench.load_client import Load, load
from bench.route_servers import PATH, SERVERS, TOKEN, document_of
from onebroker.config.clock import Clock

CONNECTIONS = (1, 32)
WARM_UP_SECONDS = 0.3
COLD_PATHS = ("/api/session/status", "/api/health")
PACKAGES = ("hypercorn", "quart", "quart-trio", "trio", "h11", "msgspec")
PEERS: Mapping[str, Sequence[str]] = {
    "starlette": ("uvicorn", "peer_apps:starlette", "--factory", "--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "error", "--port"),
    "flask": ("gunicorn", "peer_apps:flask()", "--workers", "1", "--worker-class", "sync", "--log-level", "error", "--bind"),
    "flask threads": ("gunicorn", "peer_apps:flask()", "--workers", "1", "--worker-class", "gthread", "--threads", "4", "--keep-alive", "75", "--log-level", "error", "--bind"),
}  # fmt: skip


@attrs.frozen
class Server:
    name: str
    process: "subprocess.Popen[bytes]"
    port: int
    size: int


Key = tuple[str, int, str, int]
"""Path, bytes of the document, server, connections."""


@contextmanager
def own_server(name: str, rows: int) -> Iterator[Server]:
    command = [sys.executable, "-m", "bench.route_servers", name, str(rows)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"the server {name} did not start")
    said = json.loads(line)
    try:
        yield Server(name, process, said["port"], said["bytes"])
    finally:
        process.communicate()


@contextmanager
def peer_server(name: str, body: bytes) -> Iterator[Server]:
    """Start a peer on a free port. (uvicorn takes a socket that it inherits for a Unix socket, and then waits 40 ms before the last bytes of an answer.)"""
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        module, *options = PEERS[name]
        port = _free_port()
        place = str(port) if module == "uvicorn" else f"127.0.0.1:{port}"
        process = subprocess.Popen(
            [PYTHON, "-m", module, *options, place],
            cwd=Path(__file__).parent,
            env={**os.environ, "BENCH_BODY": file.name, "BENCH_TOKEN": TOKEN, "PYTHONPATH": str(Path(__file__).parent)},
            start_new_session=True,
        )
        try:
            _wait_until_it_listens(process, port)
            yield Server(name, process, port, len(body))
        finally:
            process.terminate()
            process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _wait_until_it_listens(process: "subprocess.Popen[bytes]", port: int) -> None:
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("a peer did not start")


def request_of(path: str, port: int) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\naccess-token: {TOKEN}\r\n\r\n".encode()


def in_turns(
    servers: Sequence[Server], path: str, connections: Sequence[int], rounds: int, seconds: float
) -> dict[Key, list[Load]]:
    measured: dict[Key, list[Load]] = {}

    def one(server: Server, number: int, lasting: float) -> Load:
        return load(server.port, server.process.pid, request_of(path, server.port), number, lasting)

    for number in connections:
        for server in servers:
            one(server, number, WARM_UP_SECONDS)
        for _ in range(rounds):
            for server in servers:
                key = (path, server.size, server.name, number)
                measured.setdefault(key, []).append(one(server, number, seconds))
    return measured


def measure(names: Sequence[str], rows: Sequence[int], rounds: int, seconds: float) -> dict[Key, list[Load]]:
    measured: dict[Key, list[Load]] = {}
    for number in rows:
        body = document_of(number, Clock()).body
        with ExitStack() as stack:
            servers = [stack.enter_context(own_server(name, number)) for name in SERVERS if name in names]
            servers += [stack.enter_context(peer_server(name, body)) for name in PEERS if name in names]
            measured |= in_turns(servers, PATH, CONNECTIONS, rounds, seconds)
            if number == rows[0]:
                for path in COLD_PATHS:
                    measured |= in_turns(servers[:2], path, CONNECTIONS[:1], 3 * rounds, seconds)
    return measured


def row(key: Key, loads: Sequence[Load]) -> dict[str, object]:
    path, size, server, connections = key

    def median(name: str) -> float:
        return statistics.median(getattr(one, name) for one in loads)

    rates, costs = [one.requests_per_s for one in loads], [one.server_us for one in loads]
    return {
        "path": path,
        "bytes": size,
        "server": server,
        "connections": connections,
        "requests_per_s": round(median("requests_per_s")),
        "from_to": f"{min(rates):.0f}-{max(rates):.0f}",
        "server_us": round(median("server_us"), 1),
        "us_from_to": f"{min(costs):.0f}-{max(costs):.0f}",
        "p50_ms": round(median("p50_ms"), 3),
        "p99_ms": round(median("p99_ms"), 3),
        "client_share": round(median("client_share"), 2),
    }


def ratios(measured: Mapping[Key, Sequence[Load]]) -> list[dict[str, object]]:
    """Return how many times as much `lane` does as each other server, by the two figures, as the median of the rounds' ratios."""
    found = []
    for (path, size, server, connections), others in measured.items():
        if server == "lane":
            continue
        pairs = list(zip(measured[path, size, "lane", connections], others, strict=True))
        found.append(
            {
                "path": path,
                "bytes": size,
                "connections": connections,
                "lane_to": server,
                "by_requests_per_s": _median([ours.requests_per_s / other.requests_per_s for ours, other in pairs]),
                "by_processor": _median([other.server_us / ours.server_us for ours, other in pairs]),
                "by_p50": _median([other.p50_ms / ours.p50_ms for ours, other in pairs]),
            }
        )
    return found


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 2)


def table(rows: Sequence[Mapping[str, object]]) -> None:
    widths = {name: max(len(str(row[name])) for row in [*rows, {name: name}]) + 2 for name in rows[0]}
    print("".join(f"{name:>{width}}" for name, width in widths.items()))
    for each in rows:
        print("".join(f"{each[name]!s:>{width}}" for name, width in widths.items()))
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each server")
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[50, 400], help="rows of the documents, both views of a position counted"
    )
    parser.add_argument(
        "--others",
        nargs="*",
        default=[*SERVERS, *PEERS][2:],
        choices=[*SERVERS, *PEERS][2:],
        help="servers besides lane and stock",
    )
    options = parser.parse_args()
    if not is_made() and PEERS.keys() & set(options.others):
        raise SystemExit("run `python bench/install_peers.py` first")
    load_before = os.getloadavg()[0]
    measured = measure(("lane", "stock", *options.others), options.rows, options.rounds, options.seconds)
    rows = [row(key, loads) for key, loads in measured.items()]
    compared = ratios(measured)
    table(rows)
    table(compared)
    machine = {
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load_average": [round(load_before, 1), round(os.getloadavg()[0], 1)],
        "versions": {name: version(name) for name in PACKAGES},
        "peers": PINS.read_text().split(),
    }
    units = "medians of the rounds; server_us: microseconds of the server's processor time for a request"
    print(
        json.dumps(
            {"benchmark": "routes", "units": units, "rounds": options.rounds, "seconds": options.seconds,
             "machine": machine, "rows": rows, "ratios": compared}
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
