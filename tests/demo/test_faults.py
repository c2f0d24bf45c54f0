"""Brokers that fail, as the API shows them: the other goes on, orders are neither lost nor doubled, and everything heals by itself."""

import time

import pytest

pytestmark = pytest.mark.long

HEALED_SECONDS = 75.0
"""A login by one-time code waits for the next code, up to 30 s, and silence is a problem until it has ended for a while."""


@pytest.fixture(autouse=True)
def _healed(demo):
    """Every test leaves the brokers as it found them."""
    yield
    demo.heal()
    demo.until_ready()


def pinned(demo, share, broker, **more):
    return demo.place(**demo.limit_buy(share, -3, broker=broker, **more))


def test_a_dropped_answer_is_an_unknown_outcome_and_the_order_is_adopted(demo):
    share = demo.share()
    for broker in ("zerodha", "upstox"):
        since = demo.ledger()["next"]
        demo.fault(broker, "drop_after_accept", count=1)
        answer = pinned(demo, share, broker, tag="Dropped")
        assert (answer.status, answer.json["outcome"]) == (504, "unknown"), answer
        assert "error" not in answer.json, "a broker was reached"
        (message,) = demo.placed(since)
        assert message["delivered"] is False
        row = demo.until_status(message["order_id"], "OPEN")
        assert (row["engine_parent_id"], row["tag"]) == (answer.json["parent_id"], "Dropped")
        until_adopted(demo, answer.json["parent_id"], message["order_id"])
        assert demo.cancel(message["order_id"]).json["outcome"] == "accepted"
        assert len(demo.placed(since)) == 1
    demo.assert_sent_once()


def until_adopted(demo, parent_id, order_id):
    """Wait until a parent whose leg was in doubt names the order as its own."""
    demo.until(
        lambda: demo.read("/api/orders/parents", parent_id=parent_id)["legs"][0]["order_id"] == order_id,
        "the parent to adopt it",
    )


@pytest.mark.parametrize("kind", ["garbage_body", "http_500"])
def test_an_answer_that_says_nothing_is_an_unknown_outcome(demo, kind):
    """Lesson 20: an empty or unreadable answer says nothing; the book does. Nothing is sent again."""
    share, since = demo.share(1), demo.ledger()["next"]
    # One each: after three a minute the engine leaves a broker out.
    broker, worked = {"garbage_body": ("upstox", 1), "http_500": ("zerodha", 0)}[kind]
    demo.fault(broker, kind)
    answer = pinned(demo, share, broker)
    assert (answer.status, answer.json["outcome"]) == (504, "unknown"), answer
    demo.heal()
    assert len(demo.placed(since)) == worked
    for message in demo.placed(since):
        until_adopted(demo, answer.json["parent_id"], message["order_id"])
        demo.cancel(message["order_id"])
    assert len(demo.placed(since)) == worked


def test_refused_orders_are_rejected_in_the_brokers_words(demo):
    share = demo.share(2)
    for broker in ("zerodha", "upstox"):
        demo.fault(broker, "reject_orders", count=1)
        answer = pinned(demo, share, broker)
        assert (answer.status, answer.json["outcome"]) == (422, "rejected"), answer
        assert answer.json["status_message"]
        parent = demo.read("/api/orders/parents", parent_id=answer.json["parent_id"])
        assert parent["state"] == "rejected"


def test_a_refused_cancel_leaves_the_order_resting(demo):
    said = pinned(demo, demo.share(3), "zerodha").json
    demo.until_status(said["order_id"], "OPEN")
    demo.fault("zerodha", "reject_cancels", count=1)
    answer = demo.cancel(said["order_id"])
    assert (answer.status, answer.json["outcome"]) == (422, "rejected"), answer
    assert demo.cancel(said["order_id"]).json["outcome"] == "accepted"
    demo.until_status(said["order_id"], "CANCELLED")


@pytest.mark.parametrize("broker", ["zerodha", "upstox", "all"])
def test_an_expired_session_is_logged_in_again_by_itself(demo, broker):
    logins = lambda: {each["login"] for each in demo.read("/api/health")["brokers"].values()}  # noqa: E731
    demo.until(lambda: logins() == {"live"}, "every login to be live")
    demo.fault(broker, "expire_session")
    for code in ("zerodha", "upstox") if broker == "all" else (broker,):
        said = demo.until(lambda code=code: taken(demo, code), "orders to be taken again")
        demo.until_status(said["order_id"], "OPEN")
        assert demo.cancel(said["order_id"]).json["outcome"] == "accepted"
    demo.until_ready()
    demo.assert_sent_once()


def taken(demo, broker):
    """The answer of an accepted order; until then refusals that say why and send nothing."""
    answer = pinned(demo, demo.share(4), broker)
    assert answer.status in (200, 409, 422, 503), answer
    return answer.json if answer.status == 200 else None


def test_a_broker_that_refuses_connections_costs_only_itself(demo):
    share = demo.share(5)
    demo.fault("upstox", "refuse_connections")
    said = demo.until(lambda: free_choice(demo, share), "orders to go to the other broker")
    assert said["broker"] != "upstox"
    since = demo.ledger()["next"]
    answer = pinned(demo, share, "upstox")
    assert answer.status in (409, 422, 503), answer
    assert demo.placed(since) == []
    demo.until_status(said["order_id"], "OPEN")
    assert demo.cancel(said["order_id"]).json["outcome"] == "accepted"
    quoted = lambda: demo.read("/api/instruments/quote", instrument_id=share["instrument_id"])["broker"]  # noqa: E731
    demo.until(lambda: quoted() != "upstox", "the other broker's quote to follow the last one of upstox")
    errors = demo.until(lambda: demo.read("/api/health")["brokers"]["upstox"]["read_errors"], "health to say so")
    assert errors


def free_choice(demo, share):
    answer = demo.place(**demo.limit_buy(share, -3))
    assert answer.status in (200, 422), answer
    return answer.json if answer.status == 200 else None


@pytest.mark.parametrize("kind", ["stall_stream", "drop_stream", "corrupt_frame"])
def test_quotes_follow_the_market_again_after_a_broken_stream(demo, kind):
    share = demo.share(6)
    demo.fault("all", kind, seconds=1)
    price = demo.at_price(share, 1 if price_of(demo, share) < share["last_price"] * 1.005 else -1)
    demo.move(share["instrument_id"], price, 30)

    def follows():
        quoted = demo.read("/api/instruments/quote", instrument_id=share["instrument_id"])
        fresh = not quoted["stale"] and time.time() - quoted["received_at"] < 5
        return fresh and abs(quoted["last_price"] - price) < share["last_price"] * 0.003

    demo.until(follows, "the quote to follow")


def price_of(demo, share):
    return demo.read("/api/instruments/ltp", instrument_id=share["instrument_id"])["last_price"]


def test_fill_events_that_come_twice_and_books_that_come_late_count_once(demo):
    share = demo.share(7)
    demo.fault("all", "duplicate_fill_events")
    demo.fault("all", "late_book", delay_seconds=1.5)
    said = demo.place(**demo.limit_buy(share, -1, quantity=9)).json
    demo.until_status(said["order_id"], "OPEN")
    demo.move(share["instrument_id"], demo.at_price(share, -3))
    assert demo.until_status(said["order_id"], "COMPLETE")["filled_quantity"] == 9
    leg = demo.until(lambda: done(demo, said["parent_id"]), "the parent to end")
    assert leg["filled_quantity"] == 9
    held = [row for row in demo.ledger()["positions"][said["broker"]] if row["instrument_id"] == share["instrument_id"]]
    demo.heal()
    demo.until(lambda: net(demo, share) == sum(row["quantity"] for row in held) == 9, "the position")


def done(demo, parent_id):
    parent = demo.read("/api/orders/parents", parent_id=parent_id)
    return parent["legs"][0] if parent["state"] == "completed" else None


def net(demo, share):
    rows = demo.read("/api/portfolio/positions")["net"]
    return sum(row["quantity"] for row in rows if row["instrument_id"] == share["instrument_id"])


@pytest.mark.parametrize(
    ("kind", "problem", "more"),
    [("http_500", "data", {}), ("drop_stream", "feed", {}), ("wrong_date", "clock", {"delay_seconds": 60})],
)
def test_a_fault_degrades_the_health_and_its_end_restores_it(demo, kind, problem, more):
    health = lambda: demo.read("/api/health")  # noqa: E731
    demo.until(lambda: health()["status"] == "ok", lambda: f"no problem: {health()['problems']}", HEALED_SECONDS)
    demo.fault("zerodha", kind, **more)

    def shown():
        body = health()
        found = [each for each in body["problems"] if each["kind"] == problem]
        assert (body["status"] == "degraded") == bool(body["problems"])
        return found

    (first, *_) = demo.until(shown, f"a problem {problem}")
    assert set(first) == {"what", "broker", "since", "do", "kind", "subject"}
    assert first["broker"] == (None if problem == "clock" else "zerodha")
    demo.heal()
    demo.until(lambda: health()["status"] == "ok", lambda: f"the end of {health()['problems']}", HEALED_SECONDS)


def test_no_order_was_sent_twice_and_no_actor_crashed(demo):
    demo.assert_sent_once()
    assert demo.read("/api/health")["crashes"] == []
