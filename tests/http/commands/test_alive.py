"""`onebroker alive`: the service answers or not, over plain text and TLS, at the addresses that settings can name."""

import socketserver
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from onebroker.http.__main__ import main
from onebroker.http.commands.alive import _reached_by
from tests.support.held_port import held_port

pytestmark = pytest.mark.unit

TLS = Path(__file__).parents[2] / "data" / "tls"


class Handler(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self):
        self.send_response(self.status if self.path == "/health" else 404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def listener(status=200, certificate=None):
    """A listener at a free port of the loopback; yields the port."""
    server = HTTPServer(("127.0.0.1", 0), type("Answers", (Handler,), {"status": status}))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings(folder, port, **more):
    file = folder / "onebroker.toml"
    lines = "".join(f"{name} = {value!r}\n" for name, value in more.items())
    file.write_text(f"[service]\nport = {port}\n{lines}")
    return str(file)


def test_a_service_that_answers_is_alive(tmp_path, capsys):
    with listener() as port:
        assert main(["alive", "--config", settings(tmp_path, port)]) == 0
        assert main(["alive", "--config", settings(tmp_path, port, host="0.0.0.0")]) == 0
        assert main(["alive", "--config", settings(tmp_path, port, host="localhost")]) == 0
    said = [f"{host}:{port} answers" for host in ("127.0.0.1", "0.0.0.0", "localhost")]
    assert capsys.readouterr() == ("\n".join([*said, ""]), "")


def test_a_service_with_tls_is_asked_over_tls(tmp_path, capsys):
    certificate, key = TLS / "certificate.pem", TLS / "key.pem"
    with listener(certificate=(certificate, key)) as port:
        tls = {"tls_certificate": str(certificate), "tls_key": str(key)}
        assert main(["alive", "--config", settings(tmp_path, port, **tls)]) == 0
        assert main(["alive", "--config", settings(tmp_path, port)]) == 4
    assert f"127.0.0.1:{port} does not answer: " in capsys.readouterr().err


def test_a_service_that_is_away_or_answers_something_else_is_not_alive(tmp_path, capsys):
    with held_port() as port:
        assert main(["alive", "--config", settings(tmp_path, port), "--seconds", "2"]) == 4
    assert f"127.0.0.1:{port} does not answer: " in capsys.readouterr().err
    with listener(status=503) as port:
        assert main(["alive", "--config", settings(tmp_path, port)]) == 4
    assert capsys.readouterr().err == f"127.0.0.1:{port} answers /health with 503\n"


def test_a_listener_that_never_answers_is_not_waited_for_for_ever(tmp_path, capsys):
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        port = server.server_address[1]
        assert main(["alive", "--config", settings(tmp_path, port), "--seconds", "0.2"]) == 4
    assert "timed out" in capsys.readouterr().err


def test_a_port_that_the_system_chooses_is_not_known(tmp_path, capsys):
    assert main(["alive", "--config", settings(tmp_path, 0)]) == 2
    assert capsys.readouterr().err == "service.port is 0, so the port of the running service is not known\n"


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("0.0.0.0", "127.0.0.1"),
        ("::", "::1"),
        ("[::]", "::1"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("10.0.0.5", "10.0.0.5"),
        ("trading.example", "trading.example"),
    ],
)
def test_a_listener_is_reached_by_its_address_or_by_the_loopback(host, address):
    assert _reached_by(host) == address
