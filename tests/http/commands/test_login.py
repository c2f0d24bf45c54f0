"""`onebroker login`: a person's redirect reaches the running service over its control socket, or the store without one."""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from urllib.parse import parse_qs, urlsplit

import pytest

from onebroker.http.__main__ import main
from tests.support.held_port import held_port
from tests.support.patience import PATIENCE_SECONDS

ONEBROKER = (sys.executable, "-m", "onebroker.http")


def wait_for(condition, what, seconds=PATIENCE_SECONDS):
    ends = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < ends, what
        time.sleep(0.05)
    return found


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *details):
        return None


def redirect_of(page):
    """Log in at the simulator's page and return where it sends us back to."""
    try:
        urllib.request.build_opener(_Stay).open(page, timeout=PATIENCE_SECONDS)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.headers["location"]
    raise AssertionError("the page did not send us back")


def login(path, *more, stdin=""):
    return subprocess.run(
        [*ONEBROKER, "login", "zerodha", "--config", str(path), *more],
        input=stdin, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip


def page_of(result):
    return next(word for word in result.stderr.split() if word.startswith("http"))


def broker_login(port, token):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/health", headers={"access-token": token})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)["brokers"]["zerodha"]["login"]


def connect(port):
    url = f"http://127.0.0.1:{port}/api/session/connect"
    request = urllib.request.Request(url, method="POST", headers={"api-key": "k", "api-secret": "a secret for tests"})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)["access-token"]


def test_a_redirect_makes_the_running_service_live(config, service):
    path, _ = config
    token = connect(service)
    wait_for(lambda: broker_login(service, token) == "login needed", "the broker needs a login")
    asked = login(path, stdin="\n")
    assert asked.returncode == 4  # an empty line is no redirect
    done = login(path, "--redirect", redirect_of(page_of(asked)), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["user_id"]
    wait_for(lambda: broker_login(service, token) == "live", "the broker is live")


def test_a_redirect_without_a_code_is_refused_with_a_sentence(config, service):
    path, _ = config
    done = login(path, "--redirect", "https://example.com/?status=failure")
    assert done.returncode == 4
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


def test_without_a_service_the_login_is_stored_for_its_next_start(config):
    path, port = config
    page = page_of(login(path, stdin="\n"))
    done = login(path, "--redirect", redirect_of(page))
    assert done.returncode == 0, done.stderr
    process = subprocess.Popen([*ONEBROKER, "serve", "--config", str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert "is running" in process.stdout.readline()
        token = connect(port)
        wait_for(lambda: broker_login(port, token) == "live", "the stored login is used")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        process.stdout.close()


@contextlib.contextmanager
def caught(path, port):
    command = [*ONEBROKER, "login", "zerodha", "--config", str(path), "--listen", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_redirect_can_be_caught_on_a_loopback_port(config, service):
    path, _ = config
    with held_port() as port, caught(path, port) as process:
        process.stderr.readline()
        page = process.stderr.readline().strip()
        query = redirect_of(page).partition("?")[2]

        def browser_came():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/?{query}", timeout=PATIENCE_SECONDS) as answer:
                    return answer.status == 200
            except OSError:
                return False

        wait_for(browser_came, "the command listens")
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0
        assert "logged in as" in out


def test_a_redirect_of_another_login_is_not_taken(config, service):
    """As a page in the person's browser would bring it: with a code of its author's account."""
    path, _ = config
    with held_port() as port, caught(path, port) as process:
        process.stderr.readline()
        page = process.stderr.readline().strip()
        assert len(parse_qs(parse_qs(urlsplit(page).query)["redirect_params"][0])["state"][0]) >= 20
        own = redirect_of(page).partition("?")[2]
        other = redirect_of(page.partition("&redirect_params=")[0]).partition("?")[2]
        wait_for(lambda: listening(port), "the command listens")
        for query in (other, f"{other}&state=", f"{other}&state=guessed", f"{own}&state=guessed"):
            with pytest.raises(urllib.error.HTTPError, match="404") as refused:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/?{query}", timeout=PATIENCE_SECONDS)
            refused.value.close()
        assert process.poll() is None
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/?{own}", timeout=PATIENCE_SECONDS) as answer:
            assert answer.status == 200
        process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0


def test_a_pasted_address_of_another_login_is_refused_and_nothing_is_sent(config):
    done = login(config[0], stdin="https://127.0.0.1/?status=success&request_token=another&state=another\n")
    assert done.returncode == 4
    assert done.stderr.endswith(
        "the address is not that of this login: open the page that was printed, and log in there\n"
    )


def listening(port):
    with socket.socket() as browser:
        return browser.connect_ex(("127.0.0.1", port)) == 0


def send_and_reset(port, said):
    """Say something on a connection of its own and break it off at once."""
    with socket.socket() as browser:
        browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        browser.connect(("127.0.0.1", port))
        browser.sendall(said)


@pytest.mark.long
def test_only_this_machine_may_bring_the_redirect_and_a_browser_that_breaks_off_ends_nothing(config, service):
    path, _ = config
    with held_port() as port, caught(path, port) as process:
        process.stderr.readline()
        query = redirect_of(process.stderr.readline().strip()).partition("?")[2]
        wait_for(lambda: listening(port), "the command listens")
        with socket.socket() as stranger, pytest.raises(ConnectionRefusedError):
            stranger.connect(("127.0.0.2", port))  # as any address of this machine but the one it should listen on
        for said in (b"", b"GET", b"GET /favicon.ico HTTP/1.1\r\n\r\n", b"GET http://[?a=b HTTP/1.1\r\n\r\n"):
            send_and_reset(port, said)
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE_SECONDS)
        refused.value.close()
        send_and_reset(port, f"GET /?{query} HTTP/1.1\r\n\r\n".encode())
        out, _ = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0
        assert "logged in as" in out


def test_without_any_input_no_address_was_given(config):
    done = login(config[0], stdin="")
    assert done.returncode == 2
    assert done.stderr.endswith("no address was given\n")
    assert "Traceback" not in done.stderr


def test_the_control_socket_is_for_its_owner_only(config, service):
    mode = os.stat(config[0].parent / "data" / "control.sock").st_mode & 0o777
    assert mode == 0o600


def test_a_broker_that_is_not_configured_is_wrong_use(config):
    done = subprocess.run(
        [*ONEBROKER, "login", "nosuch", "--config", str(config[0])],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 2
    assert "zerodha" in done.stderr


def test_a_login_without_brokers_says_where_they_are_looked_for(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["login", "nosuch"]) == 2
    assert capsys.readouterr().err == (
        "there is no broker to log in to: no settings file was given (--config FILE), so only ONEBROKER_ variables of the "
        "environment count\n"
    )
    path = tmp_path / "onebroker.toml"
    path.write_text("[service]\nport = 1\n")
    assert main(["login", "nosuch", "--config", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"there is no broker to log in to: {path} has no section [brokers.CODE] (docs/first-broker/)\n"
    )
