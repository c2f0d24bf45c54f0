"""Both clients over real sockets, sync and under asyncio and trio, against a scripted server on loopback: the same behaviour from one scenario."""

import msgspec
import pytest

from onebroker.http.answers import parents, place
from tests.clients.scripted_server import CUT, FakeStream, ScriptedServer
from tests.demo.conftest import free_port

pytestmark = pytest.mark.sdk

KINDS = ("sync", "asyncio", "trio")
SESSION = {"access-token": "token", "expires_at": "2026-11-28 07:00:00.000000"}
LENGTH = 12
KEY = {"api_key": "demo-key", "api_secret": "demo-secret"}
LTP = (
    b'{"instrument_id":"c073","exchange":"nse","segment":"nse_equities","shape":"security","symbol":"INFY",'
    b'"underlying_symbol":null,"expiry_date":null,"strike_price":null,"option_type":null,"last_price":1501.10,'
    b'"last_trade_time":null,"received_at":1795408210.25,"source":"cache","broker":"dhan","broker_token":"1"}'
)


@pytest.fixture
def server():
    with ScriptedServer() as running:
        running.say("POST", "/api/session/connect", (200, SESSION))
        yield running


@pytest.mark.parametrize("kind", KINDS)
def test_calls_are_answered_repeated_refused_and_settled(kind, server, drive):
    server.say("GET", "/api/orders/halt", (401, {"error": "old"}), (200, {"halted": False}))
    server.say("GET", "/api/", CUT, (503, {"error": "starting"}), (200, {"message": "hello"}))
    server.say("DELETE", "/api/orders/cancel", (404, {"error": "no such order"}))
    server.say("GET", "/api/instruments/ltp", (200, LTP))
    server.say("POST", "/api/orders/place", CUT)
    intent = f"/api/orders/intents/{place.INTENT_ID}"
    server.say("GET", intent, (202, place.WAITING_EXAMPLE), (200, place.KEPT_EXAMPLE))
    server.say("GET", "/api/orders/details", (503, {"error": "starting"}))
    server.say("GET", "/api/orders/parents", (200, {"parents": []}))
    _show_the_parent_of_the_order(server)

    steps = drive(kind, "calls", server.url, options={**KEY, "decimals": True})

    assert steps == {
        "halt": False,
        "flaky": "hello",
        "refused": ["NotFound", 404, "no such order"],
        "price": ["Decimal", "1501.10"],
        "unknown": [None, None],
        "settled": [place.INTENT_ID, "accepted"],
    }
    (sent,) = server.sent("POST", "/api/orders/place")
    assert b'"price":1501.10' in sent[2]
    assert len(msgspec.json.decode(sent[2])["tag"]) == 20
    assert len(server.sent("POST", "/api/session/connect")) == 2
    assert sent[3]["access-token"] == "token"


def _show_the_parent_of_the_order(server):
    """Show a parent with the tag of the order that was placed, from then on."""
    usual = server.next_entry

    def entry(method, path):
        placed = server.sent("POST", "/api/orders/place")
        if path == "/api/orders/parents" and placed:
            body = msgspec.json.decode(placed[0][2])
            return (200, {"parents": [{**parents.EXAMPLE, "body": body, "intent_id": place.INTENT_ID}]})
        return usual(method, path)

    server.next_entry = entry


@pytest.mark.parametrize("kind", KINDS)
def test_an_order_to_a_service_that_is_not_there_was_not_sent(kind, drive):
    steps = drive(kind, "nowhere", f"http://127.0.0.1:{free_port()}", options={"token": "token"})
    assert steps["order"][0] == "Unreachable"
    assert steps["bounded"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", [LENGTH, 3, 1])
def test_a_stream_that_is_cut_gives_the_events_of_one_that_is_not(kind, after, server, drive):
    server.stream = FakeStream(LENGTH, after)
    steps = drive(kind, "stream", server.url, options=KEY, length=LENGTH)
    assert steps["events"] == [["Subscribed", None], *(["Lagged", number] for number in range(1, LENGTH + 1))]
    assert server.stream.connections == LENGTH // after
    assert server.stream.pongs == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_the_service_forgot_tells_its_gap(kind, server, drive):
    server.stream = FakeStream(LENGTH, LENGTH - 2, forgets=True)
    usual = server.stream.talk

    def talk(connection):
        if server.stream.connections == 1:
            server.stream.after = LENGTH
        usual(connection)

    server.stream.talk = talk
    events = drive(kind, "stream", server.url, options=KEY, length=LENGTH)["events"]
    gap = events.index(["Gap", "the stream is not kept", LENGTH])
    assert events[:gap] == [["Subscribed", None], *(["Lagged", number] for number in range(1, LENGTH - 1))]
    assert events[gap + 1 :] == [["Subscribed", None], *(["Lagged", number] for number in range(1, LENGTH + 1))]


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_cancelled_wait_for_an_event_skips_nothing(kind, server, drive):
    server.stream = FakeStream(LENGTH, 4)
    steps = drive(kind, "cancelled", server.url, options=KEY, length=LENGTH)
    assert steps["events"] == [["Subscribed", None], *(["Lagged", number] for number in range(1, LENGTH + 1))]
