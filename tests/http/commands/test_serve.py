"""`onebroker serve` that cannot start: one sentence and its exit code."""

import socket
import subprocess
import sys


def test_a_redis_that_is_not_there_is_said_in_a_sentence(tmp_path):
    path = tmp_path / "onebroker.toml"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused, and nobody else gets the port
        port = taken.getsockname()[1]
        path.write_text(
            f'[service]\ndata_dir = "{tmp_path / "data"}"\napi_key = "k"\napi_secret = "s"\n'
            f'[redis]\nurl = "redis://127.0.0.1:{port}/0"\n'
        )
        path.chmod(0o600)
        done = subprocess.run(
            [sys.executable, "-m", "onebroker.http", "serve", "--config", str(path)],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    assert done.returncode == 4
    assert done.stderr.startswith("Redis could not be reached: ")
    assert done.stderr.count("\n") == 1
