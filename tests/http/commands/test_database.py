"""A whole service whose durable store is in PostgreSQL: it says what is wrong with the database, and no second service gets it."""

import json
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.request import Request, urlopen

import pytest

from tests.support.patience import PATIENCE_SECONDS

KEYS = {"api-key": "k", "api-secret": "a secret for tests"}


def settings(folder, name, url, port):
    path = folder / f"{name}.toml"
    secret = folder / "database-url"
    secret.write_text(f"{url}\n")
    secret.chmod(0o600)
    path.write_text(
        f'[service]\nport = {port}\ndata_dir = "{folder / name}"\napi_key = "k"\napi_secret = "a secret for tests"\n'
        'calendar = "always_open"\n[store]\ndatabase_file = "database-url"\n'
    )
    path.chmod(0o600)
    return path


@contextmanager
def serving(path):
    command = [sys.executable, "-m", "onebroker.http", "serve", "--config", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        printed = [process.stdout.readline()]
        while printed[-1] and not printed[-1].startswith("  calendar"):
            printed.append(process.stdout.readline())
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            _, log = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, log
    assert "a%20word" not in log
    assert "a word" not in log


def get(port, path, token):
    with urlopen(Request(f"http://127.0.0.1:{port}{path}", headers={"access-token": token}), timeout=PATIENCE_SECONDS) as answer:  # fmt: skip
        return json.load(answer)


def connect(port):
    request = Request(f"http://127.0.0.1:{port}/api/session/connect", method="POST", headers=KEYS)
    with urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)["access-token"]


def database_problems(port, token):
    problems = get(port, "/api/health", token)["problems"]
    return [each for each in problems if (each["kind"], each["subject"]) == ("store", "database")]


def wait_until(condition):
    while not condition():  # what is waited for happens in another process; pytest's limit ends it
        time.sleep(0.05)


@pytest.fixture
def empty_server(postgres_server):
    postgres_server.empty()
    yield postgres_server
    postgres_server.stop()
    postgres_server.start()


def test_a_service_keeps_its_store_in_a_database_alone(tmp_path, port, empty_server):
    path = settings(tmp_path, "one", empty_server.url, port)
    with serving(path):
        token = connect(port)
        assert database_problems(port, token) == []
        second = settings(tmp_path, "two", empty_server.url, 0)
        refused = subprocess.run(
            [sys.executable, "-m", "onebroker.http", "serve", "--config", str(second)],
            capture_output=True, text=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip
        assert refused.returncode == 3
        assert refused.stderr.strip().endswith("is in use by another service, or by a command that moves the store")
        empty_server.stop()
        wait_until(lambda: database_problems(port, token))
        (problem,) = database_problems(port, token)
        assert "PostgreSQL: no connection" in problem["what"]
        assert get(port, "/api/health", token)["status"] == "degraded"
        empty_server.start()
        wait_until(lambda: not database_problems(port, token))
    with serving(path):
        assert connect(port) == token, "the token was read from the database"
    assert not (tmp_path / "one" / "durable.sqlite").exists()


def test_a_database_that_is_away_at_the_start_is_said_in_a_sentence(tmp_path, empty_server):
    path = settings(tmp_path, "one", empty_server.url, 0)
    empty_server.stop()
    done = subprocess.run(
        [sys.executable, "-m", "onebroker.http", "serve", "--config", str(path)],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.returncode == 4
    assert "PostgreSQL: no connection (" in done.stderr
    assert not (tmp_path / "one" / "durable.database").exists(), "no database has answered"
