"""`onebroker serve`: one that cannot start says why in one sentence with its exit code; one that runs has settled."""

import json
import signal
import socket
import subprocess
import sys
from urllib.request import Request, urlopen

from tests.support.patience import PATIENCE_SECONDS

KEYS = {"api-key": "k", "api-secret": "a secret for tests"}


def test_a_redis_that_is_not_there_is_said_in_a_sentence(tmp_path):
    path = tmp_path / "onebroker.toml"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused, and nobody else gets the port
        port = taken.getsockname()[1]
        path.write_text(
            f'[service]\ndata_dir = "{tmp_path / "data"}"\napi_key = "k"\napi_secret = "a secret for tests"\n'
            f'[redis]\nurl = "redis://127.0.0.1:{port}/0"\n'
        )
        path.chmod(0o600)
        done = subprocess.run(
            [sys.executable, "-m", "onebroker.http", "serve", "--config", str(path)],
            capture_output=True, text=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
    assert done.returncode == 4
    assert done.stderr.startswith("Redis could not be reached: ")
    assert done.stderr.count("\n") == 1


def test_a_charges_file_that_cannot_be_used_is_refused_at_the_start_with_its_key(tmp_path):
    charges = tmp_path / "charges.toml"
    charges.write_text('[[dp]]\nbroker = "zerodha"\namount = "much"\n')
    path = tmp_path / "onebroker.toml"
    path.write_text(f'[service]\ndata_dir = "{tmp_path / "data"}"\n[charges]\nfile = "{charges}"\n')
    done = subprocess.run(
        [sys.executable, "-m", "onebroker.http", "serve", "--config", str(path)],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, f"{charges}: dp[0].amount must be a number\n")


def test_a_start_and_a_stop_are_told_and_the_start_is_printed(tmp_path, port):
    path = tmp_path / "onebroker.toml"
    path.write_text(
        f'[service]\nport = {port}\ndata_dir = "{tmp_path / "data"}"\napi_key = "k"\napi_secret = "a secret for tests"\n'
        'calendar = "always_open"\n'
    )
    path.chmod(0o600)
    with subprocess.Popen(
        [sys.executable, "-m", "onebroker.http", "--log-format", "json", "serve", "--config", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        printed = [process.stdout.readline()]
        while printed[-1] and not printed[-1].startswith("  calendar"):
            printed.append(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0
    assert printed[0].endswith(f" is running at http://127.0.0.1:{port}/api/\n")
    assert printed[1:] == [
        "  brokers      no broker is set: docs/first-broker/ lists the settings of each broker\n",
        "  API key      yes\n",
        "  store        every write on disk\n",
        "  calendar     always open\n",
    ]
    events = [line for line in map(json.loads, log.splitlines()) if "event" in line]
    assert [line["event"] for line in events if line["event"] in ("start", "stop")] == ["start", "stop"]
    assert events[0]["listener"] == f"127.0.0.1:{port}"
    assert "a secret for tests" not in log


def test_what_stands_when_the_service_has_started_is_no_longer_looked_through_by_the_collector(service):
    with urlopen(
        Request(f"http://127.0.0.1:{service}/api/session/connect", method="POST", headers=KEYS),
        timeout=PATIENCE_SECONDS,
    ) as answer:
        token = json.load(answer)["access-token"]
    with urlopen(
        Request(f"http://127.0.0.1:{service}/metrics", headers={"access-token": token}), timeout=PATIENCE_SECONDS
    ) as answer:
        figures = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))
    assert float(figures["onebroker_objects_put_aside"]) > 100_000
    assert 'onebroker_collections_total{generation="2"}' in figures
