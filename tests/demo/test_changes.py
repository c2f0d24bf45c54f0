"""Modify, cancel, parents and flatten over HTTP at the demo's brokers, the exchange's ledger being the judge."""

from collections import Counter

import pytest

pytestmark = pytest.mark.long

THREE = ("zerodha", "upstox", "fyers")


@pytest.fixture(scope="module")
def shares(demo):
    return dict(zip(THREE, demo.shares()[40:], strict=False))


def put(demo, body, **query):
    return demo.ask("PUT", "/api/orders/modify", body, **query)


def delete(demo, path, body, **query):
    return demo.ask("DELETE", path, body, **query)


def resting(demo, shares, broker, *, percent=-6):
    answer = demo.place(**demo.limit_buy(shares[broker], percent, broker=broker, quantity=4))
    assert (answer.status, answer.json.get("broker")) == (200, broker), answer
    demo.until_status(answer.json["order_id"], "OPEN")
    return answer.json


def true(demo):
    return {(each["broker"], each["order_id"]): each for each in demo.ledger()["orders"]}


def test_a_list_of_changes_at_three_brokers_changes_each_as_asked_and_refuses_the_bad_ones(demo, shares):
    said = {broker: resting(demo, shares, broker) for broker in THREE}
    prices = {broker: demo.at_price(shares[broker], -5) for broker in THREE}
    good = [{"order_id": said[broker]["order_id"], "price": prices[broker], "quantity": 3} for broker in THREE]
    bad = [7, {}, {"order_id": "nobodys", "price": 5}, {"order_id": said["upstox"]["order_id"], "price": -1}]
    dry = put(demo, {"orders": good, "dry_run": True})
    assert [each["status"] for each in dry.json["results"]] == [200, 200, 200]
    assert all(set(each["response"]["request"]) == {"method", "url", "body"} for each in dry.json["results"])
    since = demo.ledger()["next"]
    answer = put(demo, {"orders": [*good, *bad]})
    assert answer.status == 200
    assert [each["status"] for each in answer.json["results"]] == [200, 200, 200, 400, 400, 404, 400]
    for broker, entry in zip(THREE, answer.json["results"], strict=False):
        response = entry["response"]
        assert (response["broker"], response["outcome"], response["parent_id"]) == (
            broker, "accepted", said[broker]["parent_id"],
        )  # fmt: skip
        assert response["instrument"]["instrument_id"] == shares[broker]["instrument_id"]
        assert response["changes"]["quantity"] == {"from": 4, "to": 3}
        assert demo.read(f"/api/orders/intents/{response['intent_id']}")["status"] == 200
        order = true(demo)[broker, said[broker]["order_id"]]
        assert (float(order["price"]), order["quantity"]) == (prices[broker], 3)
    sent = [each for each in demo.ledger(since)["messages"] if each["verb"] == "modify"]
    assert Counter(each["broker"] for each in sent) == dict.fromkeys(THREE, 1)
    same = put(demo, good[0])
    assert (same.status, same.json["changes"], same.json["status_message"]) == (
        200, {}, "the order already has these values",
    )  # fmt: skip
    parents = [{"parent_id": said[broker]["parent_id"]} for broker in THREE]
    listed = delete(demo, "/api/orders/parents", {"parents": parents}, dry_run="true")
    assert [len(each["response"]["resting_legs"]) for each in listed.json["results"]] == [1, 1, 1]
    nameless = delete(demo, "/api/orders/parents", {"parents": [*parents, {}]})
    assert (nameless.status, nameless.json["error"]) == (400, "each entry of parents must name a parent_id")
    ended = delete(demo, "/api/orders/parents", {"parents": [*parents, {"parent_id": "x"}]})
    assert [each["status"] for each in ended.json["results"]] == [200, 200, 200, 400]
    for broker in THREE:
        demo.until_status(said[broker]["order_id"], "CANCELLED")
        assert demo.read("/api/orders/parents", parent_id=said[broker]["parent_id"])["state"] == "cancelled"
    again = delete(demo, "/api/orders/parents", parents[0])
    assert (again.status, again.json["error"]) == (409, "the parent is already cancelled")


def test_a_cancel_list_mixes_orders_and_parents(demo, shares):
    first, second = resting(demo, shares, "zerodha"), resting(demo, shares, "upstox")
    body = {"orders": [{"order_id": first["order_id"]}, {"parent_id": second["parent_id"]}, {"part": "root"}, []]}
    answer = delete(demo, "/api/orders/cancel", body)
    assert (answer.status, [each["status"] for each in answer.json["results"]]) == (200, [200, 200, 400, 400])
    for said in (first, second):
        demo.until_status(said["order_id"], "CANCELLED")
    part = delete(demo, "/api/orders/cancel", {"parent_id": second["parent_id"], "part": "root"})
    assert (part.status, part.json["error"]) == (409, "a simple order has no parts")


def test_flatten_needs_its_word_and_then_leaves_nothing_open(demo, shares):
    said = {broker: resting(demo, shares, broker) for broker in THREE}
    still_open = lambda: {each["parent_order_id"] for each in demo.read("/api/orders/parents")["parents"]}  # noqa: E731
    demo.until(lambda: still_open() == {each["parent_id"] for each in said.values()}, "earlier parents to have ended")
    since = demo.ledger()["next"]
    for body in ({}, {"confirm": "flatten"}, {"confirm": True, "dry_run": True}):
        assert demo.ask("POST", "/api/orders/flatten", body).status == 400
    dry = demo.ask("POST", "/api/orders/flatten", {"confirm": "FLATTEN", "dry_run": True})
    assert (dry.status, dry.json["dry_run"]) == (200, True)
    assert {each["order_id"] for each in dry.json["would_cancel"]} >= {each["order_id"] for each in said.values()}
    assert demo.ledger(since)["messages"] == []
    answer = demo.ask("POST", "/api/orders/flatten", {"confirm": "FLATTEN"})
    body = answer.json
    assert body["halted"] == {"halted_parents": 3}
    assert all(each["sent"] and each["outcome"] == "accepted" for each in body["cancelled"]), body["cancelled"]
    assert (body["still_open_after_waiting"], body["brokers_not_read"]) == ([], [])
    assert [each for each in body["closed"] if each["outcome"] != "accepted"] == []
    assert (answer.status, body["flat"]) == (200, True), body
    for each in said.values():
        assert demo.read("/api/orders/parents", parent_id=each["parent_id"])["state"] == "halted"
    open_positions = {
        (code, one["product"])
        for code, positions in demo.ledger()["positions"].items()
        for one in positions
        if one["quantity"]
    }
    assert open_positions == set()
    assert [one for one in demo.ledger()["orders"] if one["status"] in ("open", "trigger_pending")] == []
    demo.assert_sent_once()
    assert demo.read("/api/health")["crashes"] == []
