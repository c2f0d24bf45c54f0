"""A service with a key file: no broker's token and no access token is in any file of the data directory, and the logins outlive restarts."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from onebroker.actors.sessions.stored_logins import decode_login
from onebroker.actors.store.embedded import EmbeddedServer, find_server_binary
from onebroker.actors.store.sealing import Seal
from onebroker.http.__main__ import main
from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")
CODES = ("zerodha", "dhan")


@pytest.fixture
def codes():
    return CODES


class Serving:
    """A service over the settings of `config`, started and stopped."""

    def __init__(self, path, port, data):
        self.path, self.port, self.data = path, port, data

    def __enter__(self):
        self.log = (self.path.parent / "log.txt").open("a")
        command = [*ONEBROKER, "serve", "--config", str(self.path)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        assert "is running" in self.process.stdout.readline()
        self.token = self.ask("POST", "/api/session/connect", api_key="k", api_secret="a secret for tests")[
            "access-token"
        ]
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_SECONDS) == 0
        self.process.stdout.close()
        self.log.close()

    def ask(self, method, path, **headers):
        names = {name.replace("_", "-"): text for name, text in headers.items()}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method, headers=names)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)

    def health(self):
        return self.ask("GET", "/api/health", access_token=self.token)

    def wait_live(self, *codes):
        until = time.monotonic() + PATIENCE_SECONDS
        while {self.health()["brokers"][code]["login"] for code in codes} != {"live"}:
            assert time.monotonic() < until, self.health()["brokers"]
            time.sleep(0.1)

    def stored(self, code):
        with EmbeddedServer(self.data, find_server_binary(None)).address.resolve()() as client:
            return client.get(f"broker:login:{code}")


def found_in(data: Path, secrets: set[str]) -> set[str]:
    """The secrets whose bytes are in a file of the data directory."""
    files = [Path(folder, name) for folder, _, names in os.walk(data) for name in names]
    texts = [file.read_bytes() for file in files if file.is_file()]
    assert any(b"broker:login" in text for text in texts), "the store's file is among the files"
    return {secret for secret in secrets for text in texts if secret.encode() in text}


def log_in(path, capsys):
    """Log a person in to zerodha at the simulator's page, with the running service."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    asked = subprocess.run(
        [*ONEBROKER, "login", "zerodha", "--config", str(path)], input="\n", capture_output=True, text=True
    )
    page = next(word for word in asked.stderr.split() if word.startswith("http"))
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.build_opener(Stay).open(page, timeout=PATIENCE_SECONDS)
    with answer.value as back:
        assert main(["login", "zerodha", "--config", str(path), "--redirect", back.headers["location"]]) == 0
    capsys.readouterr()


def tokens_of(serving, keys):
    seal = Seal(keys)
    stored = {code: serving.stored(code) for code in CODES}
    logins = {code: decode_login(seal.open(code, body)) for code, body in stored.items()}
    return {token for login in logins.values() for token in login.tokens.values() if len(token) > 8}


def test_no_token_is_in_a_file_and_the_logins_outlive_restarts_and_changes_of_keys(config, tmp_path, capsys):
    path, port = config
    data, key_file, plain_settings = tmp_path / "data", tmp_path / "onebroker.key", path.read_text()
    assert main(["config", "key", str(key_file)]) == 0
    path.write_text(f'{plain_settings}\n[secrets]\nkey_file = "onebroker.key"\n')
    with Serving(path, port, data) as serving:
        log_in(path, capsys)
        serving.wait_live(*CODES)
        secrets = tokens_of(serving, [key_file.read_text().strip()])
        assert len(secrets) >= 2
        secrets.add(serving.token)
        assert found_in(data, secrets) == set()
        before = serving.stored("zerodha")
    assert found_in(data, secrets) == set()
    assert key_file.read_text().strip() not in (tmp_path / "log.txt").read_text()

    assert main(["config", "key", "--add", str(key_file)]) == 0
    with Serving(path, port, data) as serving:
        serving.wait_live(*CODES)
        assert serving.token in secrets, "the access token is the one of before"
        newest = key_file.read_text().split()[0]
        assert tokens_of(serving, [newest]) <= secrets
        assert (after := serving.stored("zerodha")) != before
    assert found_in(data, secrets) == set()

    path.write_text(plain_settings)  # without the key
    with Serving(path, port, data) as serving:
        assert serving.token not in secrets
        serving.wait_live("dhan")
        health = serving.health()
        assert health["brokers"]["zerodha"]["login"] == "login needed"
        locked = {one["subject"]: one for one in health["problems"] if one["kind"] == "secrets"}
        assert set(locked) == {f"broker:login:{code}" for code in CODES}
        assert "there is no key in the settings" in locked["broker:login:dhan"]["what"]
        assert "secrets.key_file" in locked["broker:login:dhan"]["do"]
        assert serving.stored("zerodha") == after
        assert serving.stored("dhan").startswith(b"fernet:")
    assert re.search(
        r"ERROR onebroker\.store: broker:login:dhan is stored encrypted", (tmp_path / "log.txt").read_text()
    )


def test_plain_logins_of_before_are_sealed_once_there_is_a_key(config, tmp_path, capsys):
    """Also that the search finds tokens that are not sealed."""
    path, port = config
    data, key_file = tmp_path / "data", tmp_path / "onebroker.key"
    with Serving(path, port, data) as serving:
        log_in(path, capsys)
        serving.wait_live(*CODES)
        secrets = {*tokens_of(serving, []), serving.token}
    assert found_in(data, secrets) == secrets
    assert main(["config", "key", str(key_file)]) == 0
    path.write_text(f'{path.read_text()}\n[secrets]\nkey_file = "onebroker.key"\n')
    with Serving(path, port, data) as serving:
        assert serving.token in secrets
        serving.wait_live(*CODES)
        assert tokens_of(serving, [key_file.read_text().strip()]) <= secrets
        assert serving.stored("dhan").startswith(b"fernet:")
        until = time.monotonic() + PATIENCE_SECONDS
        while left := found_in(data, secrets):
            assert time.monotonic() < until, f"{len(left)} of {len(secrets)} secrets are still in a file"
            time.sleep(0.2)
