"""`onebroker import`: into the durable store without a service, into a running one at once, whole or not at all."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request

import pytest
import trio

from onebroker.actors.store.durable_sqlite import SqliteDurable
from onebroker.config.exchange_documents import exchange_documents
from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")
FILE = "durable.sqlite"


def run(*arguments, stdin=b"", environ=None):
    return subprocess.run(
        [*ONEBROKER, "import", *map(str, arguments)],
        input=stdin, capture_output=True, timeout=PATIENCE_SECONDS, env={**os.environ, **(environ or {})},
    )  # fmt: skip


def stored(data_dir, collection):
    return [json.loads(body) for body in trio.run(SqliteDurable(data_dir / FILE).documents, collection)]


@pytest.fixture
def data_dir(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="documents.json"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write_file


def test_without_a_service_the_documents_are_stored_for_its_next_start(data_dir, write):
    path = write([{"name": "Zerodha", "sebi": "INZ1"}, {"name": "angel one"}])
    done = run("brokers", path, "--data-dir", data_dir)
    assert done.returncode == 0, done.stderr
    assert b"imported 2 documents of brokers; no service is running" in done.stdout
    assert stored(data_dir, "brokers") == [
        {"broker_name": "zerodha", "name": "Zerodha", "sebi": "INZ1"},
        {"broker_name": "angelone", "name": "angel one"},
    ]
    assert os.stat(data_dir).st_mode & 0o777 == 0o700
    assert os.stat(data_dir / FILE).st_mode & 0o777 == 0o600


def test_standard_input_replaces_the_whole_collection_and_json_tells_what_was_done(data_dir, write):
    assert run("users", write([{"a": 1}, {"a": 2}]), "--data-dir", data_dir).returncode == 0
    done = run("users", "-", "--data-dir", data_dir, "--json", stdin=b'[{"b": 3, "_id": "x"}]')
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["collection"], said["documents"], said["notes"]) == ("users", 1, [])
    assert stored(data_dir, "users") == [{"b": 3}]


def test_the_data_directory_of_the_settings_is_used(data_dir, write, tmp_path):
    config = tmp_path / "onebroker.toml"
    config.write_text(f'[service]\ndata_dir = "{data_dir}"\n')
    assert run("users", write([{"a": 1}]), "--config", config).returncode == 0
    assert stored(data_dir, "users") == [{"a": 1}]
    assert run("users", write([{"a": 2}]), environ={"ONEBROKER_SERVICE_DATA_DIR": str(data_dir)}).returncode == 0
    assert stored(data_dir, "users") == [{"a": 2}]


def test_an_exchange_that_is_left_out_is_told(data_dir, write):
    done = run("exchanges", write(exchange_documents()[:3]), "--data-dir", data_dir)
    assert done.returncode == 0
    assert b"there is no document of ncdex: it counts as closed" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ("collection", "content", "sentence"),
    [
        ("users", b"[{]", "the file is not JSON"),
        ("users", {"a": 1}, "the file must be a JSON array of documents"),
        ("brokers", [{"name": "Zerodha"}, {"name": "Nobody"}], "document 2: name must be one of Zerodha, "),
        ("exchanges", [{"exchange": "nse"}], "document 1: nse.trading_hours must be an object"),
    ],
)
def test_a_refused_document_leaves_the_collection_as_it_was(data_dir, write, collection, content, sentence):
    before = {"users": [{"a": 1}], "brokers": [{"name": "Dhan"}], "exchanges": exchange_documents()}[collection]
    assert run(collection, write(before), "--data-dir", data_dir).returncode == 0
    old = stored(data_dir, collection)
    done = run(collection, write(content), "--data-dir", data_dir)
    assert done.returncode == 2
    first, second = done.stderr.decode().splitlines()[:2]
    assert first == "nothing was imported:"
    assert second.startswith(sentence)
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""
    assert stored(data_dir, collection) == old


def test_a_file_that_is_not_there_a_folder_and_an_unknown_collection_are_wrong_use(data_dir, tmp_path):
    done = run("users", tmp_path / "nosuch.json", "--data-dir", data_dir)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"nosuch.json cannot be read: No such file or directory" in done.stderr
    assert run("users", tmp_path, "--data-dir", data_dir).returncode == 2
    assert run("accounts", "-", "--data-dir", data_dir).returncode == 2
    assert not data_dir.exists()


def test_a_store_held_by_another_writer_is_busy(data_dir, write):
    assert run("users", write([{"a": 1}]), "--data-dir", data_dir).returncode == 0
    holder = sqlite3.connect(data_dir / FILE, isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        done = run("users", write([{"a": 2}]), "--data-dir", data_dir)
    finally:
        holder.close()
    assert done.returncode == 3, done.stderr
    assert done.stderr.startswith(b"nothing was imported: durable.sqlite: database is locked")
    assert stored(data_dir, "users") == [{"a": 1}]


def test_a_store_that_is_no_database_is_said_in_a_sentence(data_dir, write):
    data_dir.mkdir()
    (data_dir / FILE).write_bytes(b"not a database, whatever its name says" * 100)
    done = run("users", write([{"a": 2}]), "--data-dir", data_dir)
    assert (done.returncode, done.stderr.count(b"\n")) == (4, 1)


KILLED = """
import sys, time, trio
from onebroker.actors.store.durable_sqlite import SqliteDurable

class Documents(list):
    def __iter__(self):
        for number in range(1000):
            yield b'{"new":%d}' % number
            if number == 500:
                print("half way", flush=True)
                time.sleep(60)

trio.run(SqliteDurable(sys.argv[1]).replace_documents, "users", Documents())
"""


@pytest.mark.long
def test_a_kill_in_the_middle_of_an_import_leaves_the_old_collection_whole(data_dir, write):
    assert run("users", write([{"a": 1}, {"a": 2}]), "--data-dir", data_dir).returncode == 0
    code = KILLED.replace("SqliteDurable(sys.argv[1])", "SqliteDurable(__import__('pathlib').Path(sys.argv[1]))")
    with subprocess.Popen([sys.executable, "-c", code, str(data_dir / FILE)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"half way\n"
        assert stored(data_dir, "users") == [{"a": 1}, {"a": 2}], "a reader meanwhile sees the old collection"
        process.kill()
    assert stored(data_dir, "users") == [{"a": 1}, {"a": 2}]
    assert run("users", write([{"a": 3}]), "--data-dir", data_dir).returncode == 0
    assert stored(data_dir, "users") == [{"a": 3}]


# Beside a running service


class Service:
    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}"
        self.token = self.ask("/api/session/connect", "POST", {"api-key": "k", "api-secret": "a secret for tests"})[1][
            "access-token"
        ]

    def ask(self, path, method="GET", headers=None):
        sent = {"access-token": self.token} if headers is None else headers
        request = urllib.request.Request(self.address + path, method=method, headers=sent)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@pytest.fixture
def service(data_dir, tmp_path, port):
    """A service without brokers, so that there is no profile either."""
    config = tmp_path / "onebroker.toml"
    config.write_text(
        f'[service]\nport = {port}\ndata_dir = "{data_dir}"\napi_key = "k"\napi_secret = "a secret for tests"\n'
    )
    config.chmod(0o600)
    process = subprocess.Popen([*ONEBROKER, "serve", "--config", str(config)], stdout=subprocess.PIPE, text=True)
    try:
        assert "is running" in process.stdout.readline()
        yield Service(port)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        process.stdout.close()


def test_a_running_service_serves_what_was_imported_at_once_and_the_404s_before(service, data_dir, write):
    for collection, sentence in (
        ("users", "User profile not found"),
        ("brokers", "Broker details not found"),
        ("exchanges", "Exchange details not found"),
    ):
        assert service.ask(f"/api/{collection}/details") == (404, {"error": sentence})
    given = {"users": [{"name": "A"}], "brokers": [{"name": "Groww"}], "exchanges": exchange_documents()}
    # Each is asked for right after its command: the copy that comes once a minute cannot have brought all of them.
    for collection, documents in given.items():
        done = run(collection, write(documents), "--data-dir", data_dir)
        assert done.returncode == 0, done.stderr
        assert b"the running service serves them now" in done.stdout
        status, answer = service.ask(f"/api/{collection}/details")
        assert status == 200, answer
    assert service.ask("/api/users/details")[1] == {"user_details": [{"name": "A"}], "broker_profiles": None}
    assert service.ask("/api/brokers/details")[1] == [{"broker_name": "groww", "name": "Groww"}]
    assert service.ask("/api/exchanges/details")[1] == exchange_documents()
    assert run("users", write([]), "--data-dir", data_dir).returncode == 0
    assert service.ask("/api/users/details") == (404, {"error": "User profile not found"})
    assert service.ask("/api/health")[1]["reference"] == {
        "users": 0, "brokers": 1, "exchanges": 4, "profiles": False, "trouble": None,
    }  # fmt: skip
