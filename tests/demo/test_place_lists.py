"""Lists of orders and references on the running demo, judged by the simulator's ledger (rules 2.4.2, 2.6)."""

import socket
import time
from collections import Counter

import msgspec
import pytest

from onebroker.actors.engine.orders.leg_tokens import leg_token

pytestmark = pytest.mark.long

PLACE = "/api/orders/place"
RATE_FULL = "the order rate budget is full, so this order was not sent; try again in a moment"
BUSY = "engine is too busy to take this up, so nothing was done; try again in a moment"
WAIT_SECONDS = 5.0


def cheapest(demo):
    return min(demo.shares(), key=lambda share: share["last_price"])


def resting(demo, count):
    share = cheapest(demo)
    return [demo.limit_buy(share, percent=-5.0, tag=f"n{number}") for number in range(count)]


def test_every_order_of_a_long_list_is_answered_and_what_was_refused_is_never_sent(demo):
    """How many find room is the machine's: `tests/actors/engine/days/simple/test_lists.py` says it on a clock of its own."""
    since = demo.ledger()["next"]
    answer = demo.ask("POST", PLACE, {"orders": resting(demo, 500)})
    entries = answer.json["results"]
    assert [entry["request_index"] for entry in entries] == list(range(500))
    statuses = Counter(entry["status"] for entry in entries)
    assert answer.status == (200 if set(statuses) == {200} else 207)
    assert set(statuses) <= {200, 503, 504}, (statuses, entries[-1])
    assert {entry["response"]["error"] for entry in entries if entry["status"] == 503} <= {RATE_FULL, BUSY}
    time.sleep(WAIT_SECONDS + 1.0)  # longer than any of them could have waited
    sent = Counter(message["tag"] for message in demo.placed(since))
    assert set(sent.values()) <= {1}
    tokens = {status: {token(entry) for entry in entries if entry["status"] == status} for status in (200, 503)}
    assert tokens[200] <= set(sent)
    assert not tokens[503] & set(sent)
    demo.assert_sent_once()
    assert demo.read("/api/health")["crashes"] == []


def token(entry):
    """What the broker's tag field carries of an order of this entry."""
    return leg_token(entry["response"]["intent_id"], "entry", 0)


def test_the_orders_of_a_list_carry_the_callers_tags_in_the_book(demo):
    items = resting(demo, 3)
    answer = demo.ask("POST", PLACE, {"orders": items})
    assert (answer.status, [entry["response"]["tag"] for entry in answer.json["results"]]) == (200, ["n0", "n1", "n2"])
    for entry in answer.json["results"]:
        row = demo.until_status(entry["response"]["order_id"], "OPEN")
        assert row["tag"] == f"n{entry['request_index']}"
        assert row["intent_id"] == entry["response"]["intent_id"]
        kept = demo.read(f"/api/orders/intents/{row['intent_id']}")
        assert (kept["status"], kept["response"]) == (200, entry["response"])


def test_what_is_wrong_with_one_order_keeps_no_other_from_being_sent(demo):
    since = demo.ledger()["next"]
    good = resting(demo, 2)
    answer = demo.ask("POST", PLACE, {"orders": [good[0], "x", {**good[0], "quantity": 0}, good[1]]})
    assert answer.status == 207
    assert [entry["status"] for entry in answer.json["results"]] == [200, 400, 400, 200]
    assert len(demo.placed(since)) == 2


def test_a_dry_run_of_a_list_sends_nothing(demo):
    since = demo.ledger()["next"]
    answer = demo.ask("POST", PLACE, {"orders": resting(demo, 20), "dry_run": True})
    assert answer.status == 200
    assert all(entry["response"]["dry_run"] for entry in answer.json["results"])
    assert demo.placed(since) == []


def test_a_client_that_leaves_in_the_middle_of_a_list_leaves_no_order_twice_and_no_order_without_a_parent(demo):
    since = demo.ledger()["next"]
    body = msgspec.json.encode({"orders": resting(demo, 200)})
    head = (
        f"POST {PLACE} HTTP/1.1\r\nHost: 127.0.0.1\r\naccess-token: {demo.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", demo.port)) as client:
        client.sendall(head.encode() + body)
        demo.until(lambda: demo.placed(since), "the first of the list to be sent")
    time.sleep(WAIT_SECONDS + 1.0)
    sent = demo.placed(since)
    demo.assert_sent_once()
    demo.until(lambda: known(demo) >= {message["order_id"] for message in sent}, "every order to have its parent")
    assert demo.read("/api/health")["crashes"] == []
    demo.until(lambda: demo.place(**resting(demo, 1)[0]).status == 200, "orders to be taken as before")


def known(demo):
    """Order ids of the legs of open parents."""
    return {leg["order_id"] for parent in demo.read("/api/orders/parents")["parents"] for leg in parent["legs"]}


# --- references ----------------------------------------------------------------------------------------------------------


def by_reference(share, price, **more):
    return {
        "instrument_id": share["instrument_id"],
        "transaction_type": "BUY",
        "product": "CNC",
        "order_type": "LIMIT",
        "quantity": 2,
        "price_reference": price,
        **more,
    }


def once_readable(demo, **order):
    """Place an order once its quote is there and the positions can be read everywhere: after a list of 500 a broker's calls of the
    minute may be spent, and until then it is refused with nothing sent."""

    def answered():
        answer = demo.place(**order)
        return None if answer.status == 503 else answer

    return demo.until(answered, "quote and positions to be readable", 90)


def test_a_position_is_opened_and_closed_by_reference_and_closed_once(demo):
    share = cheapest(demo)
    opened = once_readable(demo, **by_reference(share, {"kind": "Marketable", "buffer_percent": 1}))
    assert opened.status == 200, opened
    demo.until_status(opened.json["order_id"], "COMPLETE")
    since = demo.ledger()["next"]
    liquidate = by_reference(
        share, {"kind": "marketable", "buffer_percent": 1}, quantity_reference={"kind": "liquidate_position"}
    )
    shown = once_readable(demo, **liquidate, dry_run=True)
    assert (shown.status, shown.json["order"]["transaction_type"], shown.json["order"]["quantity"]) == (200, "SELL", 2)
    closed = once_readable(demo, **liquidate)
    assert closed.status == 200, closed
    demo.until_status(closed.json["order_id"], "COMPLETE")
    again = once_readable(demo, **liquidate)
    assert (again.status, again.json["error"]) == (
        409,
        "a liquidate_position quantity_reference found no open position in this instrument, so there is nothing to close",
    )
    (sent,) = demo.placed(since)
    assert (sent["broker"], sent["side"], sent["quantity"]) == (opened.json["broker"], "SELL", 2)
    record = demo.read("/api/orders/parents", parent_id=closed.json["parent_id"])
    assert (record["body"]["transaction_type"], record["body"]["quantity"]) == ("SELL", 2)
    assert not {"price_reference", "quantity_reference"} & set(record["body"])


def test_a_held_price_is_worked_out_to_the_tick(demo):
    share = demo.share(3)
    price = demo.at_price(share, 1.0)
    demo.move(share["instrument_id"], price, 600)
    quoted = lambda: demo.read("/api/instruments/ltp", instrument_id=share["instrument_id"])["last_price"]  # noqa: E731
    demo.until(lambda: quoted() == price, "the price to be quoted")
    since = demo.ledger()["next"]
    answer = once_readable(demo, **by_reference(share, {"kind": "last", "offset_percent": -2, "offset_ticks": 1}))
    assert answer.status == 200, answer
    ticks = int(price / share["tick_size"] * 0.98 + 1e-6) + 1
    assert demo.placed(since)[0]["price"] == round(ticks * share["tick_size"], 2)


# --- after-market orders -------------------------------------------------------------------------------------------------


def test_an_after_market_order_at_the_market_price_stays_one(demo):
    """Marketable limits are for orders that a market is there for (order-engine 4.8)."""
    since = demo.ledger()["next"]
    share = cheapest(demo)
    order = {**demo.limit_buy(share), "order_type": "MARKET", "price": None, "after_market": True, "tag": "Evening1"}
    shown = demo.place(**order, dry_run=True)
    assert (shown.status, shown.json["order"]["order_type"], shown.json["order"]["price"]) == (200, "MARKET", None)
    answer = demo.place(**order)
    assert (answer.status, answer.json["tag"]) == (200, "Evening1"), answer
    assert len(demo.placed(since)) == 1
    (row,) = [each for each in demo.ledger()["orders"] if each["order_id"] == answer.json["order_id"]]
    assert (row["order_type"], row["price"], row["after_market"]) == ("MARKET", None, True)
    assert row["tag"] != "Evening1"  # the engine's own token stands there
    demo.until(
        lambda: [each for each in demo.orders(order_id=answer.json["order_id"]) if each["tag"] == "Evening1"], "the tag"
    )
