"""`onebroker history plot`: a well-formed picture of what the service answers, and the service's own words when it refuses."""

import json
import socket
import threading
import xml.etree.ElementTree as ElementTree
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from urllib.parse import parse_qsl, urlsplit

import pytest

from onebroker.config.instruments import security
from onebroker.http.__main__ import main
from onebroker.http.commands.history.chart import MOST_CANDLES, chart

SHARE = security("nse", "equities", "M&M")
COLUMNS = ["time", "open", "high", "low", "close", "volume", "oi", "price_factor"]
SVG = "{http://www.w3.org/2000/svg}"


def answer(*rows, interval="day"):
    return SHARE.fields() | {
        "interval": interval, "from": "2026-11-01", "to": "2026-11-20", "price_basis": "adjusted", "columns": COLUMNS,
        "candles": list(rows),
    }  # fmt: skip


def row(number, opened=100.0, close=101.0, volume=10):
    return [f"2026-11-{number % 28 + 1:02}T09:15:00+05:30", opened, max(opened, close) + 1, min(opened, close) - 1, close,
            volume, None, 1.0]  # fmt: skip


def drawn(text):
    root = ElementTree.fromstring(text)
    return root, list(root.iter(f"{SVG}path")), [one.text for one in root.iter(f"{SVG}text")]


def test_every_candle_is_drawn_with_its_wick_and_the_instrument_is_named():
    _, wicks, texts = drawn(chart(answer(row(1), row(2, 101.0, 99.0), row(3, volume=None))))
    assert len(wicks) == 3
    assert len({one.get("stroke") for one in wicks}) == 2, "rising and falling differ"
    assert texts[0] == "M&M (nse, day, 2026-11-01 to 2026-11-20, adjusted)"
    assert "2026-11-02" in texts


def test_a_higher_price_is_drawn_higher_and_all_stays_inside_the_picture():
    root, wicks, _ = drawn(chart(answer(row(1, 10.0, 20.0), row(2, 30.0, 40.0))))
    heights = [float(one.get("d").split()[1].split("V")[0]) for one in wicks]
    assert heights[1] < heights[0]
    for one in root.iter(f"{SVG}rect"):
        assert 0 <= float(one.get("y", 0)) <= 640


@pytest.mark.parametrize("rows", [[row(1, 100.0, 100.0, 0)], [row(n) for n in range(MOST_CANDLES + 50)]])
def test_one_flat_candle_and_more_than_can_be_shown_are_drawn(rows):
    _, wicks, _ = drawn(chart(answer(*rows, interval="1minute")))
    assert len(wicks) == min(len(rows), MOST_CANDLES)


@contextmanager
def service(status, body, location=None):
    """What answers as the service does, and the requests it got."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            assert (self.headers["api-key"], self.headers["api-secret"]) == ("k", "s")
            self.say(200, {"access-token": "t", "expires_at": ""})

        def do_GET(self):
            assert self.headers["access-token"] == "t"
            asked.append(dict(parse_qsl(urlsplit(self.path).query)))
            self.say(status, body)

        def say(self, status, body):
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            if location is not None:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def plot(url, *arguments):
    out, error = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(error):
        code = main(["history", "plot", "--url", url, *map(str, arguments)])
    return code, out.getvalue() + error.getvalue()


@pytest.fixture(autouse=True)
def secrets(monkeypatch, tmp_path):
    for name, value in {"API_KEY": "k", "API_SECRET": "s", "DATA_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(f"ONEBROKER_SERVICE_{name}", value)


def test_the_route_is_asked_for_what_was_typed_and_the_picture_is_written(tmp_path):
    with service(200, answer(row(1), row(2))) as (url, asked):
        output = tmp_path / "chart.svg"
        code, said = plot(
            url, "--exchange", "nse", "--segment", "equities", "--symbol", "M&M", "--days", 30, "--output", output
        )
    assert (code, said) == (0, f"2 candles: {output}\n")
    assert asked == [{"exchange": "nse", "segment": "equities", "symbol": "M&M", "days": "30", "interval": "day"}]
    assert len(drawn(output.read_text())[1]) == 2


@pytest.mark.parametrize(
    ("status", "body", "code", "sentence"),
    [
        (400, {"error": "from and to are required, or days"}, 2, "from and to are required, or days"),
        (503, {"error": "no instruments have been mapped yet"}, 4, "no instruments have been mapped yet"),
        (502, [], 4, "the service answered 502"),
        (200, answer(), 2, "nothing is stored from 2026-11-01 to 2026-11-20"),
    ],
)
def test_what_the_service_refuses_is_said_in_its_words(status, body, code, sentence, tmp_path):
    with service(status, body) as (url, _):
        assert plot(url, "--output", tmp_path / "chart.svg") == (code, f"{sentence}\n")
    assert not (tmp_path / "chart.svg").exists()


def test_the_secret_goes_through_no_proxy_of_the_environment(tmp_path, monkeypatch):
    with socket.socket() as proxy:
        proxy.bind(("127.0.0.1", 0))
        proxy.listen()
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        with service(200, answer(row(1))) as (url, asked):
            assert plot(url, "--output", tmp_path / "chart.svg")[0] == 0
        assert asked
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()


def test_the_secret_is_not_sent_on_to_where_an_answer_points(tmp_path):
    with service(200, answer(row(1))) as (elsewhere, asked), service(302, {}, location=elsewhere) as (url, _):
        assert plot(url, "--output", tmp_path / "chart.svg") == (2, "the service answered 302\n")
    assert not asked


def test_a_service_that_is_not_there_is_said():
    code, said = plot("http://127.0.0.1:1")
    assert code == 4
    assert said.startswith("the service does not answer")
