"""Each area of the API once, over HTTP on one running demo: the first command's part of what the other files here do at length.

Judged on documents and the exchange's ledger, never on time: every wait is for a condition, an answer that could not come in time is
settled by what the documents show, and only what was certainly not sent is sent again. So a machine that stands still for seconds
changes nothing here.
"""

import itertools
import os
import signal

import msgspec
import pytest
import trio
from trio_websocket import ConnectionClosed, HandshakeError, open_websocket_url

from onebroker.config.events import OrderAnswered, OrderSent
from onebroker.http.metrics.event_counts import VERBS, EventCounts
from onebroker.http.metrics.names import ALL, OF_A_REPLICA
from onebroker.http.metrics.request_counts import RequestCounts
from onebroker.http.route_table import ROUTES
from tests.support.monitoring_page import names_in
from tests.support.scraped import families, scraped

PATIENCE_SECONDS = 120.0
MOST_BYTES = 64 * 1024 * 1024
DOCUMENTS = {
    "funds": "/api/portfolio/funds",
    "holdings": "/api/portfolio/holdings",
    "positions": "/api/portfolio/positions",
    "orders": "/api/orders/details",
    "trades": "/api/orders/trades",
}
_numbers = itertools.count(1)


def until(demo, condition, what):
    return demo.until(condition, what, PATIENCE_SECONDS)


def shown(demo, path, **query):
    """Return a document once it is served: it is not while a broker, the store or the service itself stands still."""
    served = lambda: (answer := demo.ask("GET", path, **query)).status == 200 and answer  # noqa: E731
    return until(demo, served, f"{path} to be served").json


def row_of(demo, tag):
    return next((row for row in shown(demo, "/api/orders/details")["orders"] if row["tag"] == tag), None)


def taken(demo, body):
    """Place an order until a broker has it; return its row.

    An unknown outcome is waited for: the order appears in the book, or its parent ends without one. A refusal that says that nothing was
    sent is tried again."""

    def placed():
        tag = f"Area{next(_numbers)}"
        answer = demo.place(**body, tag=tag)
        assert answer.status in (200, 202, 422, 503, 504), answer
        if answer.status in (422, 503):  # nothing was sent, or no connection could be opened
            assert row_of(demo, tag) is None
            return None
        return (
            until(demo, lambda: row_of(demo, tag) or _ended(demo, tag), f"{tag} to be in the book or to have ended")
            or None
        )

    row = until(demo, placed, "an order to be taken")
    return row if isinstance(row, dict) else taken(demo, body)


def _ended(demo, tag):
    """Whether no open parent has that tag any more: what was not sent by then never is."""
    parents = shown(demo, "/api/orders/parents")["parents"]
    return "ended" if all(parent["body"].get("tag") != tag for parent in parents) else None


def in_status(demo, order_id, status):
    def row():
        rows = shown(demo, "/api/orders/details", order_id=order_id)["orders"]
        return next((each for each in rows if each["status"] == status), None)

    return until(demo, row, f"order {order_id} to be {status}")


def parent_in(demo, parent_id, state):
    def parent():
        found = shown(demo, "/api/orders/parents", parent_id=parent_id)
        return found if found["state"] == state else None

    return until(demo, parent, f"parent {parent_id} to be {state}")


def quoted_at(demo, share, price):
    """Hold the market at a price, and wait until the service quotes it."""
    demo.move(share["instrument_id"], price, 3600)
    quoted = lambda: shown(demo, "/api/instruments/ltp", instrument_id=share["instrument_id"])["last_price"] == price  # noqa: E731
    until(demo, quoted, f"{share['symbol']} to be quoted at {price}")


def cancelled(demo, order_id):
    """Cancel an order until it is; asking twice is answered that it is already."""
    answer = until(
        demo, lambda: (said := demo.cancel(order_id)).status in (200, 409) and said, "the cancel to be taken"
    )
    in_status(demo, order_id, "CANCELLED")
    return answer


def net(demo, share):
    rows = shown(demo, "/api/portfolio/positions")["net"]
    return sum(row["quantity"] for row in rows if row["instrument_id"] == share["instrument_id"])


def test_session_one_token_a_day_and_none_for_wrong_keys(demo):
    assert demo.connect() == demo.token
    assert shown(demo, "/api/session/status")["status"] == "connected"
    for headers in ({}, {"api-key": "demo-key"}, {"api-key": "demo-key", "api-secret": "wrong"}):
        answer = demo.ask("POST", "/api/session/connect", headers=headers)
        assert (answer.status, answer.json) == (401, {"error": "Invalid API key or secret"})
    assert demo.ask("GET", "/api/portfolio/funds", headers={}).status == 401


def test_documents_show_every_broker_and_what_the_exchange_holds(demo):
    for path in DOCUMENTS.values():
        until(demo, lambda path=path: demo.all_ok(path), f"every broker to be ok in {path}")
    truth = {row["instrument_id"] for rows in demo.ledger()["holdings"].values() for row in rows}
    named = lambda: {row["instrument_id"] for row in shown(demo, DOCUMENTS["holdings"])["holdings"]} == truth  # noqa: E731
    until(demo, named, "the catalogue to name what is held")


def test_reference_documents_are_served_from_the_start(demo):
    for name in ("users", "brokers", "exchanges"):
        assert shown(demo, f"/api/{name}/details")


def test_instruments_are_found_by_id_by_fields_and_by_search(demo):
    share = demo.share(1)
    fields = {name: share[name] for name in ("exchange", "segment", "symbol")}
    by_id = shown(demo, "/api/instruments/details", instrument_id=share["instrument_id"])
    assert by_id == shown(demo, "/api/instruments/details", **fields)
    assert set(by_id["brokers"]) == set(share["brokers"])
    unknown = "00000000-0000-5000-8000-000000000000"
    assert demo.ask("GET", "/api/instruments/details", instrument_id=unknown).status == 404


def test_quotes_follow_the_market(demo):
    share = demo.share(2)
    for percent in (1, -1):
        quoted_at(demo, share, demo.at_price(share, percent))
    quote = shown(demo, "/api/instruments/quote", instrument_id=share["instrument_id"])
    assert quote["depth"]["buy"][0]["price"] < quote["last_price"] < quote["depth"]["sell"][0]["price"]
    items = {"instruments": [{"instrument_id": share["instrument_id"]}, 7]}
    answer = demo.ask("POST", "/api/instruments/ltp", items)
    assert [each["status"] for each in answer.json["results"]] == [200, 400]


def test_an_order_rests_is_changed_fills_and_is_found_everywhere(demo):
    share = demo.share(3)
    quoted_at(demo, share, demo.at_price(share, 0))
    row = taken(demo, demo.limit_buy(share, -2, quantity=10))
    order_id, parent_id = row["order_id"], row["engine_parent_id"]
    in_status(demo, order_id, "OPEN")

    def changed():
        demo.ask("PUT", "/api/orders/modify", {"order_id": order_id, "quantity": 6})
        return in_status(demo, order_id, "OPEN")["quantity"] == 6

    until(demo, changed, "the order to be of six")
    (true,) = [each for each in demo.ledger()["orders"] if each["order_id"] == order_id]
    assert (true["quantity"], true["status"]) == (6, "open")
    quoted_at(demo, share, demo.at_price(share, -3))
    assert in_status(demo, order_id, "COMPLETE")["filled_quantity"] == 6
    traded = lambda: sum(  # noqa: E731
        each["quantity"] for each in shown(demo, "/api/orders/trades", order_id=order_id)["trades"]
    )
    until(demo, lambda: traded() == 6, "the trades")
    until(demo, lambda: net(demo, share) == 6, "the position")
    assert parent_in(demo, parent_id, "completed")["legs"][0]["order_id"] == order_id


def test_a_cancel_ends_an_order_once(demo):
    share = demo.share(4)
    row = taken(demo, demo.limit_buy(share, -4))
    in_status(demo, row["order_id"], "OPEN")
    cancelled(demo, row["order_id"])
    again = demo.cancel(row["order_id"])
    assert (again.status, again.json["error"]) == (409, "the order is already CANCELLED")
    parent_in(demo, row["engine_parent_id"], "cancelled")


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"transaction_type": "HOLD"}, 400, "transaction_type must be one of BUY, SELL"),
        ({"quantity": 0}, 400, "quantity must be a whole number of at least 1"),
        ({"price": None}, 400, "a LIMIT order needs a price"),
        ({"instrument_id": "x"}, 400, "instrument_id must be a UUID"),
        ({"synthetic": {"type": "plan", "root": {"part": "orders"}}}, 400,
         "root: part must be one of order, sequence, together, one_cancels_others, preset"),
    ],
)  # fmt: skip
def test_a_bad_order_is_refused_with_its_sentence_and_a_dry_run_sends_nothing(demo, fields, status, error):
    before = len(demo.placed())
    share = demo.share(5)
    answer = demo.place(**{**demo.limit_buy(share), **fields})
    assert (answer.status, answer.json["error"]) == (status, error)
    dry = until(
        demo, lambda: (said := demo.place(**demo.limit_buy(share), dry_run=True)).status == 200 and said, "a dry run"
    )
    assert dry.json["dry_run"] is True
    assert len(demo.placed()) == before


def test_a_list_sends_each_good_order_once(demo):
    share = demo.share(6)
    since = demo.ledger()["next"]
    tags = [f"List{number}" for number in range(3)]
    good = [demo.limit_buy(share, -5, tag=tag) for tag in tags]
    answer = demo.ask("POST", "/api/orders/place", {"orders": [good[0], "x", good[1], good[2]]})
    assert answer.json["results"][1]["status"] == 400
    sent = [each for each in answer.json["results"] if each["status"] in (200, 504)]
    until(
        demo,
        lambda: len(demo.placed(since)) >= sum(each["status"] == 200 for each in sent),
        "the accepted ones to be sent",
    )
    assert len(demo.placed(since)) <= len(sent)
    for row in [row for row in shown(demo, DOCUMENTS["orders"])["orders"] if row["tag"] in tags]:
        cancelled(demo, row["order_id"])


def test_a_bracket_lives_its_life(demo):
    share = demo.share(7)
    quoted_at(demo, share, demo.at_price(share, 0))
    body = {
        **demo.limit_buy(share, -1, quantity=6, product="MIS"),
        "synthetic": {"type": "plan", "hold_limits": False, "root": demo.entry_with_exits(share)},
    }
    row = taken(demo, body)
    parent_id = row["engine_parent_id"]
    quoted_at(demo, share, demo.at_price(share, -2))
    sent = lambda: shown(demo, "/api/orders/parents", parent_id=parent_id)["legs"]  # noqa: E731
    until(demo, lambda: len(sent()) >= 3, "both exits to be sent")
    until(demo, lambda: net(demo, share) == 6, "the position")
    quoted_at(demo, share, demo.at_price(share, 5))
    parent_in(demo, parent_id, "completed")
    until(demo, lambda: net(demo, share) == 0, "nothing to be held")


MOST_SAMPLES = 2_100
"""Of the demo with its ten brokers: what a scrape may bring."""


def len_of(family):
    return len(family.samples)


def every_message(demo):
    """The times of order messages, when every broker has had every kind of message."""
    counts = EventCounts()
    for broker, verb in itertools.product(demo.read("/api/health")["brokers"], VERBS):
        counts.hear(OrderSent(broker=broker, verb=verb, prepared_ms=1.0, queued_ms=1.0))
        counts.hear(OrderAnswered(broker=broker, verb=verb, outcome="accepted", broker_ms=1))
    return [metric for metric in counts.collect() if metric.name == "onebroker_order_seconds"]


def every_route():
    """The times of requests, when every route was asked, and two statuses of each."""
    counts = RequestCounts()
    for route, status in itertools.product(ROUTES, (200, 400)):
        counts.answered(route.counted_as or route.path, route.method, status, 0.01)
    return counts.collect()


def test_the_metrics_show_what_the_board_and_the_alerts_ask_for_after_one_bracket(demo):
    """The bracket of the test before."""
    reacted = lambda: scraped(demo)["onebroker_trigger_to_wire_seconds_count", frozenset()] > 0  # noqa: E731
    until(demo, reacted, "its exits to have left")
    read = families(demo)
    assert all(family.documentation for family in read)
    names = {f"{family.name}_total" if family.type == "counter" else family.name for family in read}
    assert {name.name for name in ALL if name not in OF_A_REPLICA} == {
        name for name in names if not name.startswith("process_")
    }
    assert names_in("grafana.json") | names_in("alerts.rules.yml") <= names
    rest = [family for family in read if family.name not in ("onebroker_order_seconds", "onebroker_http_seconds")]
    most = sum(map(len_of, (*rest, *every_message(demo), *every_route())))
    assert sum(map(len_of, read)) < most < MOST_SAMPLES
    brokers = {sample.labels["broker"] for family in read for sample in family.samples if "broker" in sample.labels}
    assert brokers == set(demo.read("/api/health")["brokers"])
    routes = {sample.labels["route"] for family in read for sample in family.samples if "route" in sample.labels}
    assert routes <= {"unknown", *(route.path for route in ROUTES)}


def test_a_waiting_order_is_armed_and_cancelled_without_leaving_anything(demo):
    share = demo.share(8)
    quoted_at(demo, share, demo.at_price(share, 0))
    since = demo.ledger()["next"]
    synthetic = {"type": "limit_if_touched", "trigger_price": demo.at_price(share, -3)}
    body = {**demo.limit_buy(share, -3), "synthetic": synthetic}
    answer = until(demo, lambda: (said := demo.place(**body)).status == 202 and said, "it to be armed")
    assert answer.json["outcome"] == "armed"
    stop = {"parent_id": answer.json["parent_id"]}
    ended = lambda: demo.ask("DELETE", "/api/orders/parents", stop).status in (200, 409)  # noqa: E731
    until(demo, ended, "the cancel to be taken")
    parent_in(demo, answer.json["parent_id"], "cancelled")
    assert demo.placed(since) == []


async def test_the_stream_tells_an_orders_life(demo):
    share = await trio.to_thread.run_sync(lambda: demo.share(9))
    with trio.fail_after(PATIENCE_SECONDS):
        events = await _heard_on_the_stream(demo, share)
    assert {"OPEN", "CANCELLED"} <= events


def _placed_and_cancelled(demo, share):
    order_id = taken(demo, demo.limit_buy(share, -4))["order_id"]
    in_status(demo, order_id, "OPEN")
    cancelled(demo, order_id)
    return order_id


async def _heard_on_the_stream(demo, share):
    """Return the statuses of an order that is placed and cancelled, as the stream tells them; a cut stream is opened again."""
    seen: set[str] = set()
    order_id = ""
    while not {"OPEN", "CANCELLED"} <= seen:
        try:
            async with open_websocket_url(
                f"ws://127.0.0.1:{demo.port}/stream",
                extra_headers=[("access-token", demo.token)],
                max_message_size=MOST_BYTES,
            ) as socket:
                await socket.send_message('{"subscribe": "orders"}')
                while not {"OPEN", "CANCELLED"} <= seen:
                    message = msgspec.json.decode(await socket.get_message())
                    if message["type"] == "orders" and "orders" in message and not order_id:
                        order_id = await trio.to_thread.run_sync(_placed_and_cancelled, demo, share)
                    rows = [
                        *message.get("orders", ()),
                        *(event.get("order", {}) for event in message.get("events", ())),
                    ]
                    seen |= {row["status"] for row in rows if row.get("order_id") == order_id}
        except (ConnectionClosed, HandshakeError, OSError):
            await trio.sleep(0.1)
    return seen


def test_a_person_finds_an_option_reads_its_chain_and_places_an_order_by_its_id(demo):
    demo.until(lambda: demo.ask("GET", "/api/instruments/find", q="desh").status == 200, "the index of the search")
    first = demo.read("/api/instruments/find", q="desh ce", limit=5)["instruments"][0]
    assert (first["underlying_symbol"], first["option_type"], first["exchange"]) == ("DESH", "CE", "nse")
    expiries = demo.read("/api/instruments/expiries", underlying_symbol="desh", exchange="nse")
    assert first["expiry_date"] == expiries["options"][0]["expiry_date"]
    # On the day of its expiry an option out of the money is worth nothing: nobody bids for it.
    later = next(one["expiry_date"] for one in expiries["options"] if one["expiry_date"] > expiries["mapping_date"])
    where = {"underlying_symbol": "DESH", "exchange": "nse", "expiry_date": later, "strikes": 6}

    def full_chain():
        chain = demo.read("/api/instruments/option_chain", **where)
        cells = [cell for row in chain["rows"] for cell in (row["ce"], row["pe"]) if cell is not None]
        known = cells and all(cell["last_price"] is not None and cell["bid"] is not None for cell in cells)
        return chain if known and chain["totals"]["atm_strike"] is not None else None

    chain = demo.until(full_chain, "the feeds to bring the quotes of the chain")
    assert chain["forward"]["source"] in ("future", "parity")
    assert chain["totals"]["strikes_with_volume"] > 0
    row = next(row for row in chain["rows"] if row["strike_price"] == chain["totals"]["atm_strike"])
    option = row["ce"]
    assert option["implied_volatility"] is None or option["delta"] is not None
    details = demo.read("/api/instruments/details", instrument_id=option["instrument_id"])
    assert (details["strike_price"], details["option_type"]) == (row["strike_price"], "CE")
    answer = demo.place(
        instrument_id=option["instrument_id"], transaction_type="BUY", product="NRML", order_type="LIMIT",
        quantity=details["lot_size"], price=option["bid"],
    )  # fmt: skip
    assert answer.status == 200, answer


def test_the_store_killed_heals_and_loses_nothing(demo):
    row = taken(demo, demo.limit_buy(demo.share(10), -4))
    (server,) = demo.redis_servers()
    os.kill(server, signal.SIGKILL)
    until(demo, lambda: set(demo.redis_servers()) - {server}, "another server")
    kept = shown(demo, "/api/orders/parents", parent_id=row["engine_parent_id"])
    assert kept["legs"][0]["order_id"] == row["order_id"]
    cancelled(demo, taken(demo, demo.limit_buy(demo.share(10), -4))["order_id"])
    cancelled(demo, row["order_id"])


def test_the_service_killed_goes_on_where_it_stood(demo):
    row = taken(demo, demo.limit_buy(demo.share(11), -4))
    sent = demo.assert_sent_once()
    token = demo.token
    demo.kill()
    demo.start()
    assert demo.token == token
    assert demo.assert_sent_once() == sent
    in_status(demo, row["order_id"], "OPEN")
    assert (
        shown(demo, "/api/orders/parents", parent_id=row["engine_parent_id"])["legs"][0]["order_id"] == row["order_id"]
    )
    cancelled(demo, row["order_id"])


def test_flatten_leaves_nothing_open(demo):
    demo.until_ready()
    taken(demo, demo.limit_buy(demo.share(12), -4))
    for body in ({}, {"confirm": "flatten"}):
        assert demo.ask("POST", "/api/orders/flatten", body).status == 400

    def flat():
        answer = demo.ask("POST", "/api/orders/flatten", {"confirm": "FLATTEN"})
        assert answer.status in (200, 207, 503)
        return answer.status == 200 and answer.json["flat"]

    until(demo, flat, "a flatten to end flat")
    ledger = demo.ledger()
    assert [each for each in ledger["orders"] if each["status"] in ("open", "trigger_pending")] == []
    assert [each for rows in ledger["positions"].values() for each in rows if each["quantity"]] == []


def test_no_order_was_sent_twice_and_no_actor_crashed(demo):
    demo.assert_sent_once()
    assert shown(demo, "/api/health")["crashes"] == []


def test_a_signal_ends_it_in_order_and_leaves_nothing_running(demo):
    assert demo.end() == 0
    assert demo.processes() == []
    assert "Traceback" not in demo.log.read_text()
