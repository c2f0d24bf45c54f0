"""A newcomer's session, as the README tells it: every route of part 1 answers, and a share is bought and found again."""

import msgspec
import pytest

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def share(demo):
    return demo.share()


def test_the_demo_welcomes_and_says_where_to_look(demo):
    assert set(demo.ask("GET", "/api/", headers={}).json) == {"message"}
    said = demo.log.read_text()
    for word in (f"http://127.0.0.1:{demo.port}/api/", "demo-key", "demo-secret", demo.control_url, "/docs"):
        assert word in said


def test_connecting_again_gives_the_same_token_and_wrong_keys_none(demo):
    assert demo.connect() == demo.token
    assert demo.read("/api/session/status")["status"] == "connected"
    for headers in ({}, {"api-key": "demo-key"}, {"api-key": "demo-key", "api-secret": "wrong"}):
        answer = demo.ask("POST", "/api/session/connect", headers=headers)
        assert (answer.status, answer.json) == (401, {"error": "Invalid API key or secret"})


def test_every_document_shows_every_broker_as_read(demo):
    for path in ("portfolio/funds", "portfolio/holdings", "portfolio/positions", "orders/details", "orders/trades"):
        assert demo.all_ok(f"/api/{path}")
    funds = demo.read("/api/portfolio/funds")
    assert funds["summary"]["available_balance"] == pytest.approx(1e8, rel=0.01), "a crore at each of ten"
    named = lambda: all(row["instrument_id"] for row in demo.read("/api/portfolio/holdings")["holdings"])  # noqa: E731
    demo.until(named, "the catalogue to name what is held")
    holdings = demo.read("/api/portfolio/holdings")
    truth = demo.ledger()["holdings"]
    held = {row["instrument_id"] for rows in truth.values() for row in rows}
    assert holdings["summary"]["holdings_count"] == len(holdings["holdings"]) == len(held)
    assert sum(len(rows) for rows in truth.values()) == 8 * len(truth) > len(held), "some are held at several brokers"
    positions = demo.read("/api/portfolio/positions")
    assert any(row["quantity"] < 0 for row in positions["net"]), "one carried position is short"


def test_an_instrument_has_details_and_a_live_price_by_id_and_by_fields(demo, share):
    by_id = {"instrument_id": share["instrument_id"]}
    by_fields = {name: share[name] for name in ("exchange", "segment", "symbol")}
    for naming in (by_id, by_fields):
        details = demo.read("/api/instruments/details", **naming)
        assert details["instrument_id"] == share["instrument_id"]
        assert set(details["brokers"]) == set(share["brokers"])
        assert demo.read("/api/instruments/ltp", **naming)["last_price"] > 0
        document = demo.read("/api/instruments/quote", **naming)
        assert document["depth"]["buy"][0]["price"] < document["depth"]["sell"][0]["price"]
        assert document["stale"] is False


def test_a_limit_order_rests_fills_when_the_market_comes_and_is_found_everywhere(demo, share):
    answer = demo.place(**demo.limit_buy(share, quantity=10, tag="Newcomer1"))
    assert answer.status == 200, answer
    said = answer.json
    assert (said["outcome"], said["tag"]) == ("accepted", "Newcomer1")
    order_id = said["order_id"]
    row = demo.until_status(order_id, "OPEN")
    assert row["tag"] == "Newcomer1"
    assert (row["engine_parent_id"], row["intent_id"]) == (said["parent_id"], said["intent_id"])
    assert row["leg_role"] == "entry"
    assert said["parent_id"] in [each["parent_order_id"] for each in demo.read("/api/orders/parents")["parents"]]

    demo.move(share["instrument_id"], demo.at_price(share, -4))
    row = demo.until_status(order_id, "COMPLETE")
    assert row["filled_quantity"] == 10
    (fills,) = [demo.until(lambda: trades(demo, order_id, 10), "the trades")]
    for trade in fills:
        assert (trade["engine_parent_id"], trade["intent_id"]) == (said["parent_id"], said["intent_id"])
        assert trade["leg_role"] == "entry"
    assert sum(trade["quantity"] for trade in fills) == 10
    demo.until(lambda: bought(demo, share) >= 10, "the position")
    parent = demo.until(lambda: finished(demo, said["parent_id"]), "the parent to end")
    assert parent["state"] == "completed"
    assert parent["legs"][0]["order_id"] == order_id


def trades(demo, order_id, quantity):
    rows = demo.read("/api/orders/trades", order_id=order_id)["trades"]
    return rows if sum(row["quantity"] for row in rows) == quantity else None


def bought(demo, share):
    net = demo.read("/api/portfolio/positions")["net"]
    return sum(row["quantity"] for row in net if row["instrument_id"] == share["instrument_id"])


def finished(demo, parent_id):
    parent = demo.read("/api/orders/parents", parent_id=parent_id)
    return parent if parent["state"] == "completed" else None


def test_a_resting_order_is_cancelled_once(demo):
    share = demo.share(1)
    said = demo.place(**demo.limit_buy(share, -3)).json
    order_id = said["order_id"]
    demo.until_status(order_id, "OPEN")
    dry = demo.cancel(order_id, dry_run="true")
    assert (dry.status, dry.json["dry_run"], set(dry.json["request"])) == (200, True, {"method", "url"})
    answer = demo.cancel(order_id)
    assert (answer.status, answer.json["outcome"]) == (200, "accepted"), answer
    demo.until_status(order_id, "CANCELLED")
    again = demo.cancel(order_id)
    assert (again.status, again.json["error"]) == (409, "the order is already CANCELLED")
    cancels = [each for each in demo.ledger()["messages"] if each["verb"] == "cancel" and each["order_id"] == order_id]
    assert len(cancels) == 1
    demo.until(
        lambda: demo.read("/api/orders/parents", parent_id=said["parent_id"])["state"] == "cancelled", "the parent"
    )


def test_a_dry_run_sends_nothing(demo, share):
    before = demo.ledger()["next"]
    answer = demo.place(**demo.limit_buy(share), dry_run=True)
    assert answer.status == 200, answer
    assert answer.json["dry_run"] is True
    assert demo.ledger()["next"] == before


@pytest.mark.parametrize(
    ("fields", "status", "error"),
    [
        ({"transaction_type": "HOLD"}, 400, "transaction_type must be one of BUY, SELL"),
        ({"product": "BO"}, 400, "product must be one of CNC, MIS, NRML"),
        ({"order_type": "ICEBERG"}, 400, "order_type must be one of MARKET, LIMIT, SL, SL-M"),
        ({"validity": "GTC"}, 400, "validity must be one of DAY, IOC"),
        ({"quantity": None}, 400, "quantity is required"),
        ({"quantity": 0}, 400, "quantity must be a whole number of at least 1"),
        ({"quantity": 1.5}, 400, "quantity must be a whole number of at least 1"),
        ({"price": None}, 400, "a LIMIT order needs a price"),
        ({"price": -1}, 400, "price must be a number of at least 0"),
        ({"trigger_price": 1}, 400, "a LIMIT order takes no trigger_price"),
        ({"tag": "no spaces"}, 400, "tag must be 1 to 20 letters and digits"),
        ({"dry_run": "perhaps"}, 400, "dry_run must be true or false"),
        ({"instrument_id": "x"}, 400, "instrument_id must be a UUID"),
        ({"disclosed_quantity": 2}, 400, "disclosed_quantity cannot be more than quantity"),
    ],
)
def test_a_malformed_order_is_refused_with_its_sentence_and_not_sent(demo, share, fields, status, error):
    before = demo.ledger()["next"]
    answer = demo.place(**{**demo.limit_buy(share), **fields})
    assert (answer.status, answer.json["error"]) == (status, error)
    assert demo.ledger()["next"] == before


def test_an_order_off_the_tick_an_unknown_share_and_an_unknown_order_are_refused(demo, share):
    answer = demo.place(**{**demo.limit_buy(share), "price": demo.at_price(share, -2) + 0.001})
    assert (answer.status, answer.json["error"]) == (
        400,
        f"price must be a whole number of ticks of {share['tick_size']}",
    )
    unknown = "00000000-0000-5000-8000-000000000000"
    for answer in (
        demo.place(**{**demo.limit_buy(share), "instrument_id": unknown}),
        demo.ask("GET", "/api/instruments/ltp", instrument_id=unknown),
    ):
        assert answer.status == 404
        assert answer.json["error"].startswith(f"no instrument {unknown} is mapped on ")
    assert demo.cancel("no-such-order").status == 404
    assert demo.ask("GET", "/api/orders/parents", parent_id=unknown).status == 404


def test_unknown_paths_and_methods_are_the_frameworks_pages(demo):
    for method, path, status in (("GET", "/api/nothing", 404), ("PATCH", "/api/portfolio/funds", 405)):
        answer = demo.ask(method, path)
        assert (answer.status, answer.content_type.split(";")[0]) == (status, "text/html")


def test_filters_of_the_order_book_page_through_it(demo):
    page = demo.read("/api/orders/details", limit=1)["page"]
    assert (page["returned"], page["cursor"]) == (1, 0)
    answer = demo.ask("GET", "/api/orders/details", limit="many")
    assert (answer.status, answer.json["error"]) == (400, "limit must be a whole number, not 'many'")


def test_nothing_crashed_and_no_order_was_sent_twice(demo):
    demo.assert_sent_once()
    health = demo.read("/api/health")
    assert health["crashes"] == []
    assert msgspec.json.encode(health).find(b"demo-secret") == -1


def test_the_reference_documents_are_there_from_the_start_and_the_profiles_once_read(demo):
    exchanges = demo.read("/api/exchanges/details")
    assert [each["exchange"] for each in exchanges] == ["nse", "bse", "mcx", "ncdex"]
    assert all(each["calendar_years"] and each["calendar_copied_at"] for each in exchanges)
    codes = {each["broker_name"] for each in demo.read("/api/brokers/details")}
    assert codes >= {"zerodha", "upstox"}
    assert demo.read("/api/users/details")["user_details"]

    def profiles():
        return demo.read("/api/users/details")["broker_profiles"] or {}

    demo.until(lambda: all(profiles().get(code) for code in ("zerodha", "upstox")), "the brokers' profiles")
    assert set(profiles()) == codes
