"""`onebroker alerts test`, and `serve` with receivers that cannot be used: exit codes, sentences, and no part of a URL."""

import json
import os
import subprocess
import sys

from tests.support.alert_receiver import alert_receiver
from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")


def run(*arguments, **environment):
    return subprocess.run(
        [*ONEBROKER, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, **environment},
    )


def test_each_receiver_says_whether_it_took_the_test_message(tmp_path):
    with alert_receiver() as here:
        here.status["/s3cret-two"] = 503
        urls = f"json://127.0.0.1:{here.port}/s3cret-one, json://127.0.0.1:{here.port}/s3cret-two"
        done = run("alerts", "test", "--json", ONEBROKER_ALERTS_TO=urls)
        assert done.returncode == 1, done.stderr
        assert [(row["receiver"], row["scheme"], row["ok"]) for row in json.loads(done.stdout)] == [
            (1, "json", True),
            (2, "json", False),
        ]
        path = tmp_path / "onebroker.toml"
        path.write_text(f'[alerts]\nto = ["json://127.0.0.1:{here.port}/s3cret-one"]\n')
        path.chmod(0o644)
        loose = run("alerts", "test", "--config", path)
        path.chmod(0o600)
        plain = run("alerts", "test", "--config", path)
        ids = {message["message"].rpartition("message ")[2] for message in here.messages("/s3cret-one")}
        assert len(ids) == 2  # a receiver that is slow to answer gets a message again
    assert (plain.returncode, plain.stdout) == (0, "receiver 1 (json): ok\n")
    assert loose.returncode == 2
    assert "holds secrets (alerts.to)" in loose.stderr
    assert "s3cret" not in done.stdout + done.stderr + loose.stderr + plain.stderr


def test_without_a_receiver_there_is_nothing_to_try():
    done = run("alerts", "test")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("alerts.to names no receiver")


def test_a_service_with_a_receiver_that_cannot_be_used_does_not_start(tmp_path):
    path = tmp_path / "onebroker.toml"
    path.write_text(f'[service]\ndata_dir = "{tmp_path / "data"}"\n[alerts]\nto = ["nosuch://s3cret/t0ken"]\n')
    path.chmod(0o600)
    done = run("serve", "--config", path)
    assert done.returncode == 2
    assert done.stderr == "alerts.to[0] (nosuch) is no URL that Apprise can read: see docs/alerts.md\n"
