"""The calls that `/docs` shows run as they stand, by curl and by Python, against a demo."""

import http.client
import os
import subprocess
import sys
from datetime import datetime, timedelta
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import pytest

from onebroker.config.clock import IST
from onebroker.http.docs_page.example_calls import MEANINGS
from onebroker.http.route_table import ROUTES
from tests.demo.conftest import KEY, SECRET

pytestmark = pytest.mark.long

CALL_SECONDS = 60.0
LOGIN_SECONDS = 90.0
"""icicidirect allows 100 calls a minute: the call that proves a login may wait for the next."""
NEEDS_AN_ORDER = ("ORDER_ID", "PARENT_ID", "INTENT_ID")
REFUSED = 22
"""curl's exit status for an answer of 400 or above."""
TIMED_OUT = 28
"""curl's exit status when `--max-time` ended it: a stream has no end of its own."""


class Calls(HTMLParser):
    """The two calls of each section of the page, by the section's anchor."""

    def __init__(self, page):
        super().__init__()
        self.calls, self._section, self._block = {}, None, None
        self._depth = 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag == "section":
            self._section = dict(attributes)["id"]
        elif tag == "details":
            self._depth += 1
        elif tag == "pre" and not self._depth:
            self._block = ""

    def handle_endtag(self, tag):
        if tag == "details":
            self._depth -= 1
        elif tag == "pre" and self._block is not None:
            self.calls.setdefault(self._section, []).append(self._block)
            self._block = None

    def handle_data(self, data):
        if self._block is not None:
            self._block += data


@pytest.fixture(scope="module")
def calls(demo):
    return Calls(demo.ask("GET", "/docs").body.decode()).calls


@pytest.fixture(scope="module")
def known(demo):
    """The variables that hold all day."""
    share = demo.share()
    expiries = demo.read("/api/instruments/expiries", underlying_symbol="DESH", exchange="nse")["options"]
    now = datetime.now(IST).replace(microsecond=0, tzinfo=None)
    return {
        "ONEBROKER": f"http://127.0.0.1:{demo.port}",
        "API_KEY": KEY,
        "API_SECRET": SECRET,
        "INSTRUMENT": share["instrument_id"],
        "UNDERLYING": "DESH",
        "DAY": str(now.date()),
        "EXPIRY": expiries[0]["expiry_date"],
        "PRICE": str(demo.at_price(share, -3)),
        "BROKER": "zerodha",
        "START": str(now - timedelta(minutes=1)),
        "END": str(now),
    }


def variables_of(demo, known, call):
    """Return the environment of a call; an order that it is about is placed for it alone."""
    demo.token = demo.connect()  # another route's call may have ended the last one
    found = {**known, "TOKEN": demo.token}
    if any(name in call for name in NEEDS_AN_ORDER):
        answer = demo.place(**demo.limit_buy(demo.share(1), -3))
        assert answer.status == 200, answer
        found |= {name: answer.json[name.lower()] for name in NEEDS_AN_ORDER}
        demo.until_status(answer.json["order_id"], "OPEN")
    if "REDIRECT" in call:
        found["REDIRECT"] = sent_back(demo, "zerodha")
    return found


def sent_back(demo, broker):
    """Log in at a broker's page; return the path and query that a browser brings back to the service."""
    page = demo.ask("POST", f"/api/brokers/{broker}/login").json
    place = urlsplit(page["page"])
    connection = http.client.HTTPConnection(place.netloc, timeout=CALL_SECONDS)
    try:
        connection.request("GET", f"{place.path}?{place.query}")
        location = connection.getresponse().headers["location"]
    finally:
        connection.close()
    return f"{page['redirect']}?{urlsplit(location).query}"


def run(words, variables, folder):
    environment = {"PATH": os.environ["PATH"], "CURL_HOME": str(folder), **variables}
    return subprocess.run(words, env=environment, capture_output=True, timeout=CALL_SECONDS, check=False, cwd=folder)


@pytest.fixture
def folder(tmp_path):
    """Where curl finds that an answer of 400 or above is a failure."""
    (tmp_path / ".curlrc").write_text("fail-with-body\n")
    return tmp_path


@pytest.fixture
def around(demo, request):
    """What a route needs before its call, and what it leaves behind."""
    name = request.getfixturevalue("name")
    yield (
        lambda: (
            demo.ask("POST", "/api/orders/halt", {"confirm": "HALT", "reason": "a test"})
            if name == "resume_trading"
            else None
        )
    )
    if name == "halt_trading":
        demo.ask("DELETE", "/api/orders/halt", {"confirm": "RESUME"})


@pytest.mark.parametrize("name", [row.operation_id for row in ROUTES])
@pytest.mark.parametrize("by", ["curl", "Python"])
def test_the_call_is_answered(demo, calls, known, folder, around, name, by):
    by_curl, by_python = calls[name]
    call = by_curl if by == "curl" else by_python
    variables = variables_of(demo, known, call)
    around()
    words = ["sh", "-c", call] if by == "curl" else [sys.executable, "-c", call]
    ended = run(words, variables, folder)
    told = ended.stdout[:500], ended.stderr[-500:]
    if by == "curl" and name == "open_stream":
        assert ended.returncode == TIMED_OUT, told
        assert b'"type":"started"' in ended.stdout
    elif name == "try_alerts":  # the demo of these tests has no receiver
        assert ended.returncode != 0, told
        assert b"alerts.to names no receiver" in ended.stdout if by == "curl" else b"409" in ended.stderr, told
    else:
        assert ended.returncode == 0, told
        assert ended.stdout.strip() or name == "disconnect", told


def logins_done(demo, broker):
    """How often the audit says that a broker's session proved a login."""
    cursor, count = None, 0
    while True:
        page = demo.read("/api/audit", limit=1000, **({} if cursor is None else {"cursor": cursor}))
        count += sum((line["event"], line.get("broker")) == ("login.done", broker) for line in page["lines"])
        if not page["lines"]:
            return count
        cursor = page["cursor"]


@pytest.mark.parametrize("broker", ["zerodha", "upstox", "fyers", "icicidirect", "shoonya"])
def test_a_person_s_login_in_a_browser_reaches_the_broker_s_session_once(demo, broker):
    demo.token = demo.connect()
    before = logins_done(demo, broker)
    back = sent_back(demo, broker)
    come = lambda: demo.ask("GET", urlsplit(back).path, headers={}, **dict(parse_qsl(urlsplit(back).query)))  # noqa: E731
    assert (come().status, come().status) == (200, 404)
    demo.until(lambda: logins_done(demo, broker) == before + 1, "the new login", LOGIN_SECONDS)
    assert demo.read("/api/health")["brokers"][broker]["login"] == "live"


def test_a_call_that_is_refused_fails(demo, calls, known, folder):
    variables = {**known, "TOKEN": "not-the-token"}
    by_curl, by_python = calls["get_funds"]
    assert run(["sh", "-c", by_curl], variables, folder).returncode == REFUSED
    assert run([sys.executable, "-c", by_python], variables, folder).returncode == 1


def test_every_variable_of_the_page_is_used(calls):
    text = "".join(each for both in calls.values() for each in both)
    assert [name for name in MEANINGS if f"${name}" not in text] == []
