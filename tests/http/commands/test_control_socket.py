"""The control socket of a running service: what no command would send is answered with an error, and ends nothing."""

import contextlib
import json
import socket

import pytest

from tests.support.patience import PATIENCE_SECONDS

WRONG = {
    "no JSON": b"hello",
    "no object": b"[1]",
    "not UTF-8": b'{"command": "\xff"}',
    "no texts": b'{"command": 1}',
    "no command": b"{}",
    "another command": b'{"command": "stop"}',
    "a broker that is none": b'{"command": "check", "brokers": "nobody"}',
    "a file elsewhere": b'{"command": "take", "kind": "ticks", "file": "/etc/passwd"}',
    "a file that can be none": b'{"command": "take", "kind": "ticks", "file": "a\\u0000b"}',
    "a file with too long a name": b'{"command": "take", "kind": "ticks", "file": "%s"}' % (b"a" * 5000),
    "no order": b'{"command": "backfill", "order": "{"}',
}


def ask(config, line):
    """Send a line and return the last line of the answer."""
    with socket.socket(socket.AF_UNIX) as handle:
        handle.settimeout(PATIENCE_SECONDS)
        handle.connect(str(config[0].parent / "data" / "control.sock"))
        handle.sendall(line + b"\n")
        return json.loads(handle.makefile("rb").read().splitlines()[-1])


@pytest.fixture
def codes():
    return ("upstox",)


def test_what_no_command_sends_is_answered_and_ends_nothing(config, service):
    for what, line in WRONG.items():
        assert list(ask(config, line)) == ["error"], what
    with contextlib.suppress(OSError):  # it has read enough
        ask(config, b"x" * 200_000)
    assert list(ask(config, b'{"command": "check"}')) == ["done"]
