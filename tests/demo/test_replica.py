"""`onebroker replica` beside a running demo: the same answers, nothing stale served as live, and nothing sent to a broker. The demo's own answers
and the simulator's ledger are the judges."""

import subprocess
import sys
import threading

import msgspec
import pytest
import trio

from onebroker.config.messages import replica as sentences
from onebroker.http.replica.answers import ReplicaState
from onebroker.http.replica.mirror import SILENCE_SECONDS
from tests.demo.cable import Cable
from tests.demo.conftest import DOCUMENTS
from tests.demo.replica import Replica
from tests.demo.test_stream import connected, event_of
from tests.support.tls_proxy import CERTIFICATE, tls_proxy

pytestmark = pytest.mark.long

READERS = 200


@pytest.fixture(scope="module")
def replica(demo, tmp_path_factory):
    with Replica(demo, tmp_path_factory.mktemp("replica")) as running:
        assert running.ask("/api/portfolio/funds").status == 200, "the first request finds the documents"
        yield running


def same(demo, replica, path, **query):
    """Return the body that both answer, as soon as both have the same version. A document changes between two reads."""

    def found():
        ours, theirs = replica.ask(path, **query), demo.ask("GET", path, **query)
        return (ours.status, ours.body) == (theirs.status, theirs.body) and ours

    return demo.until(found, f"the replica to answer {path} as the demo")


def test_documents_have_the_bytes_of_the_service(demo, replica):
    share = demo.share()
    placed = demo.place(**demo.limit_buy(share))
    assert placed.status == 200
    order_id, parent_id = placed.json["order_id"], placed.json["parent_id"]
    demo.until_status(order_id, "OPEN")
    for path in DOCUMENTS:
        assert same(demo, replica, path).status == 200
    same(demo, replica, "/api/orders/parents")
    same(demo, replica, "/api/orders/parents", parent_id=parent_id)
    assert same(demo, replica, "/api/orders/details", order_id=order_id).json["page"]["matched"] == 1
    assert same(demo, replica, "/api/orders/details", status="OPEN", limit=1).json["orders"]
    assert same(demo, replica, "/api/orders/details", limit="x").status == 400
    assert demo.cancel(order_id).status == 200
    demo.until(
        lambda: replica.ask("/api/orders/details", order_id=order_id).json["orders"][0]["status"] == "CANCELLED",
        "the replica to show the end of the order",
    )


def test_quotes_are_those_of_the_service(demo, replica):
    share = demo.share(1)
    name = {"exchange": "nse", "segment": "equities", "symbol": share["symbol"]}
    demo.move(share["instrument_id"], demo.at_price(share, 1.0), 120.0)

    def figures(answer):
        return {key: value for key, value in answer.json.items() if key not in ("unified_at", "received_at")}

    for path in ("/api/instruments/quote", "/api/instruments/ltp", "/api/instruments/ohlc"):
        demo.until(
            lambda path=path: (
                (ours := replica.ask(path, **name)).status == 200
                and figures(ours) == figures(demo.ask("GET", path, **name))
            ),
            f"{path} of the replica to be that of the demo",
        )
    wrong = [{**name, "symbol": "NOSUCH"}, {"exchange": "nse"}, {"instrument_id": "x"}, 7, name]
    ours, theirs = (
        replica.ask("/api/instruments/ltp", "POST", {"instruments": wrong}).json["results"],
        demo.ask("POST", "/api/instruments/ltp", {"instruments": wrong}).json["results"],
    )
    assert ours[:4] == theirs[:4]
    assert ours[4]["status"] == theirs[4]["status"] == 200
    one = replica.ask("/api/instruments/ltp", **wrong[0])
    assert (one.status, one.body) == (
        (theirs := demo.ask("GET", "/api/instruments/ltp", **wrong[0])).status,
        theirs.body,
    )


def test_a_replica_only_reads(demo, replica):
    share, before = demo.share(2), len(demo.placed())
    refused = sentences.only_reads(f"http://127.0.0.1:{demo.port}")
    for method, path in (
        ("POST", "/api/orders/place"),
        ("POST", "/api/orders/flatten"),
        ("PUT", "/api/orders/modify"),
        ("DELETE", "/api/orders/cancel"),
        ("POST", "/api/session/connect"),
        ("DELETE", "/api/session/disconnect"),
        ("GET", "/api/health"),
        ("GET", "/api/instruments/details"),
        ("GET", "/api/history/candles"),
    ):
        answer = replica.ask(path, method, demo.limit_buy(share) if method == "POST" else None)
        if answer.status not in (404, 405):  # the demo has no such route either
            assert (answer.status, answer.json) == (403, {"error": refused}), (method, path)
        else:
            assert demo.ask(method, path).status == answer.status, (method, path)
    assert len(demo.placed()) == before
    assert demo.read("/api/portfolio/funds"), "the demo's session goes on"


def test_it_describes_itself_and_shows_its_figures(demo, replica):
    described = replica.ask("/openapi.json", token="").json["paths"]
    assert {"/api/replica", "/api/portfolio/funds", "/api/instruments/ltp"} <= described.keys()
    assert "/api/orders/place" not in described
    msgspec.json.decode(replica.ask("/api/replica").body, type=ReplicaState)
    state = replica.heard()
    assert (state["status"], state["why_not"]) == ("ok", None)
    assert all(age < 60 for age in state["document_age_seconds"].values())
    figures = replica.ask("/metrics").body.decode()
    assert "onebroker_replica_hears 1.0" in figures
    assert 'onebroker_document_timestamp_seconds{document="funds"}' in figures
    assert "onebroker_http_requests_total" in figures


def test_wrong_tokens_are_refused(demo, replica):
    for token, sentence in (("wrong", "Invalid access token"), ("", "Invalid access token")):
        answer = replica.ask("/api/portfolio/funds", token=token)
        assert (answer.status, answer.json["error"]) == (401, sentence)


async def test_its_stream_tells_what_the_services_stream_tells(demo, replica):
    share = await trio.to_thread.run_sync(demo.share)
    async with connected(replica) as talk:
        await talk.until(lambda message: message["type"] == "started")
        await talk.say(subscribe="orders")
        await talk.say(subscribe="parents")
        await talk.say(subscribe="quotes", mode="depth", instruments=[{"instrument_id": share["instrument_id"]}])
        assert (await talk.until(lambda message: message.get("results")))[0]["status"] == 200
        await talk.say(subscribe="chain", underlying_symbol="NIFTY", exchange="nse", expiry_date="2030-01-01")
        assert (await talk.until(lambda message: message["type"] == "error" and message))["status"] == 403
        price = demo.at_price(share, 1.5)
        await trio.to_thread.run_sync(lambda: demo.move(share["instrument_id"], price))
        await talk.until(
            lambda message: any(not one["stale"] and one["last_price"] == price for one in message.get("quotes", ()))
        )
        answer = await trio.to_thread.run_sync(lambda: demo.place(**demo.limit_buy(share)))
        order_id = answer.json["order_id"]
        await talk.until(event_of(order_id, "OPEN"))
        await trio.to_thread.run_sync(lambda: demo.cancel(order_id))
        await talk.until(event_of(order_id, "CANCELLED"))


def test_two_hundred_streams_and_the_trading_process_has_one(demo, replica):
    before = demo.read("/api/health")["streams"]["connections"]

    async def one(done: trio.Event, nursery: trio.Nursery, *, task_status=trio.TASK_STATUS_IGNORED) -> None:
        async with connected(replica) as talk:
            await talk.say(subscribe="documents", documents=["funds"])
            await talk.until(lambda message: message["type"] == "document")
            task_status.started()
            await done.wait()

    async def all_of_them() -> None:
        done = trio.Event()
        async with trio.open_nursery() as nursery:
            for _ in range(READERS):
                await nursery.start(one, done, nursery)
            assert replica.heard()["streams"] >= READERS
            assert demo.read("/api/health")["streams"]["connections"] == before
            done.set()

    trio.run(all_of_them)


def test_a_cut_cable_leaves_nothing_stale_served_as_live(demo, tmp_path):
    share = demo.share()
    asked = {"instrument_id": share["instrument_id"]}
    with Cable(demo.port) as cable, Replica(demo, tmp_path, port=cable.port) as replica:
        demo.until(lambda: replica.ask("/api/instruments/ltp", **asked).status == 200, "a quote")
        cable.cut()
        demo.until(
            lambda: replica.ask("/api/instruments/ltp", **asked).status == 503,
            "the quote to be refused",
            SILENCE_SECONDS + 10,
        )
        assert replica.ask("/api/orders/parents").status == 503
        refused = demo.until(
            lambda: (answer := replica.ask("/api/portfolio/funds")).status == 503 and answer,
            "the funds to be too old",
            60,
        )
        assert refused.json["error"].startswith("Funds are out of date: ")
        assert replica.heard()["status"] == "degraded"
        assert replica.heard()["why_not"]
        cable.join()
        demo.until(lambda: replica.heard()["status"] == "ok", "the replica to hear again", 60)
        same(demo, replica, "/api/portfolio/funds")
        demo.until(lambda: replica.ask("/api/instruments/ltp", **asked).status == 200, "the quote to come back")


def test_the_token_is_the_services(demo, tmp_path):
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(demo.token)
    with Replica(demo, tmp_path, "--token-file", str(file)) as replica:
        demo.until(lambda: "hears http" in replica.log.read_text(), "the replica to hear without any client")
        old = demo.token
        assert demo.ask("DELETE", "/api/session/disconnect").status == 200
        demo.until(lambda: replica.ask("/api/portfolio/funds", token=old).status == 401, "the old token to be refused")
        demo.token = demo.connect()
        assert demo.token != old
        assert replica.ask("/api/portfolio/funds", token=old).status == 401
        assert replica.ask("/api/portfolio/funds").status == 200, "the first client with the new token brings it"
        assert replica.ask("/api/portfolio/funds", token=old).status == 401
        assert replica.end() == 0


def test_the_end_and_the_return_of_the_service(new_demo, tmp_path):
    demo = new_demo().start()
    demo.until_ready()
    with Replica(demo, tmp_path) as replica:
        assert replica.ask("/api/portfolio/funds").status == 200
        demo.kill()
        demo.until(lambda: replica.heard()["status"] == "degraded", "the replica to notice")
        late = replica.ask("/api/instruments/ltp", exchange="nse", segment="equities", symbol="ANY")
        assert (late.status, late.json["error"]) == (503, sentences.not_connected(f"http://127.0.0.1:{demo.port}"))
        demo.start()
        demo.until(lambda: replica.heard()["status"] == "ok", "the replica to hear the service again", 60)
        demo.until_ready()
        same(demo, replica, "/api/portfolio/funds")


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--of", "127.0.0.1:8000"], 2, "--of must be http:// or https:// with host and port"),
        (["--of", "http://127.0.0.1:8000/api"], 2, "--of must be http:// or https:// with host and port"),
        (["--of", "https://127.0.0.1:8000", "--ca", "/nothing.pem"], 2, "/nothing.pem cannot be used"),
    ],
)
def test_a_wrong_command_says_why(options, code, sentence):
    ended = subprocess.run(
        [sys.executable, "-m", "onebroker.http", "replica", *options], capture_output=True, timeout=60
    )
    assert ended.returncode == code
    assert sentence in ended.stderr.decode()


async def test_the_services_certificate_is_checked(demo, tmp_path):
    def answers(*options):
        with Replica(demo, tmp_path, *options, port=proxy.port, scheme="https") as replica:
            return [replica.ask("/api/portfolio/funds") for _ in range(2)], replica.log.read_text()

    async with tls_proxy(demo.port) as proxy:
        refused, said = await trio.to_thread.run_sync(answers)
        assert [answer.status for answer in refused] == [503, 503]
        assert "could not be checked" in refused[1].json["error"]
        assert "certificate" in refused[1].json["error"]
        assert "Traceback" not in said
        served, _ = await trio.to_thread.run_sync(answers, "--ca", str(CERTIFICATE))
        assert [answer.status for answer in served] == [200, 200]


def test_a_client_of_a_replica_whose_service_is_away_is_told_so(demo, tmp_path):
    with Replica(demo, tmp_path, port=1) as replica:
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(replica.ask("/api/portfolio/funds"))) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [answer.status for answer in answers] == [503] * 3
        assert "the access token could not be checked" in answers[0].json["error"]
