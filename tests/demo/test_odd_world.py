"""The world acts over HTTP, in real time: a person takes units off, a stop is ended by hand, a close closes at every holder, a quote stays away.
What the health says is compared with the exchange's ledger."""

from datetime import datetime, timedelta

import pytest

from onebroker.config.clock import IST

pytestmark = pytest.mark.long

SOON = 12.0
"""A look, a read of the positions and a push; the rule is 5 s."""


@pytest.fixture
def running(demo):
    demo.until_ready()
    yield demo
    demo.heal()
    answer = demo.ask("POST", "/api/orders/flatten", {"confirm": "FLATTEN"})
    assert answer.status == 200, answer


def problems(demo, parent_id=None):
    rows = demo.read("/api/health")["order_problems"]
    return [row["message"] for row in rows if parent_id in (None, row["parent_id"])]


def orders_of(demo, share, *statuses):
    orders = [each for each in demo.ledger()["orders"] if each["instrument_id"] == share["instrument_id"]]
    return [each for each in orders if each["status"] in statuses]


def exits(demo, share):
    return [each for each in orders_of(demo, share, "open", "trigger_pending") if each["side"] == "SELL"]


def net(demo, share, code=None):
    rows = demo.ledger()["positions"]
    return sum(
        row["quantity"]
        for broker, own in rows.items()
        for row in own
        if broker == (code or broker) and row["instrument_id"] == share["instrument_id"]
    )


def bracket(demo, number, quantity=10, **more):
    """A bracket whose entry fills now; return (share, parent id, broker)."""
    share = demo.share(number)
    demo.move(share["instrument_id"], share["last_price"], 3600)
    levels = {"stop_price": -4, "stop_limit_price": -6, "target_price": 4}
    synthetic = {"type": "bracket", **{name: demo.at_price(share, percent) for name, percent in levels.items()}}
    body = demo.limit_buy(share, 1, product="MIS", quantity=quantity, synthetic=synthetic, **more)
    answer = demo.place(**body)
    assert answer.status in (200, 202), answer
    demo.until(lambda: net(demo, share) == quantity, "the entry to fill")
    demo.until(lambda: exits(demo, share), "an exit to rest")
    return share, answer.json["parent_id"], exits(demo, share)[0]["broker"]


def person(demo, broker, verb, **what):
    demo.control("POST", "/person", {"broker": broker, "verb": verb, **what})


def test_exits_follow_a_person_who_closes_in_the_app_and_the_health_says_so(running):
    share, parent_id, code = bracket(running, 11)
    person(running, code, "reduce", instrument=share["instrument_id"], product="MIS", quantity=4)
    said = f"{code} holds 6 of the 10 units that this order guards"
    running.until(lambda: problems(running, parent_id) == [said], said, SOON)
    running.until(lambda: {each["quantity"] for each in exits(running, share)} == {6}, "the exits to shrink", SOON)
    person(running, code, "reduce", instrument=share["instrument_id"], product="MIS")
    running.until(lambda: not exits(running, share), "the exits to end", SOON)
    running.until(lambda: problems(running, parent_id) == [], "the problem to be over", SOON)
    assert net(running, share) == 0


def test_a_caller_who_ends_a_stop_is_warned_and_reads_it_in_the_health(running):
    share, parent_id, code = bracket(running, 12)
    stop = next(each for each in exits(running, share) if each["trigger_price"] is not None)
    warned = f"this is the stop of bracket {parent_id}: 10 units stay open without it"
    tried = running.cancel(stop["order_id"], broker=code, dry_run="true")
    assert (tried.status, tried.json["warnings"]) == (200, [warned])
    assert stop["order_id"] in {each["order_id"] for each in exits(running, share)}
    answer = running.cancel(stop["order_id"], broker=code)
    assert (answer.status, answer.json["warnings"]) == (200, [warned])
    running.until(lambda: problems(running, parent_id), "the health to say it", SOON)
    (said,) = problems(running, parent_id)
    assert said == "its stop was ended by hand while 10 units were open"
    cancelled = running.ask("DELETE", "/api/orders/cancel", parent_id=parent_id)
    assert (cancelled.status, cancelled.json["open_units"]) == (200, {share["instrument_id"]: 10})
    person(running, code, "reduce", instrument=share["instrument_id"], product="MIS")
    running.until(lambda: problems(running, parent_id) == [], "the problem to be over", 2 * SOON)


def test_a_close_of_one_instrument_ends_at_every_holder_and_leaves_the_others(running):
    share, _, code = bracket(running, 13, broker="zerodha")
    other, _, _ = bracket(running, 14)
    more = running.place(**running.limit_buy(share, 1, product="MIS", quantity=5, broker="upstox"))
    assert more.status == 200, more
    running.until(lambda: net(running, share) == 15, "both brokers to hold")
    wanted = {"instrument_id": share["instrument_id"]}
    refused = running.ask("POST", "/api/orders/close", wanted)
    assert refused.status == 400, refused
    assert net(running, share) == 15
    tried = running.ask("POST", "/api/orders/close", {**wanted, "confirm": "CLOSE", "dry_run": True})
    assert tried.status == 200, tried
    assert net(running, share) == 15
    closed = running.ask("POST", "/api/orders/close", {**wanted, "confirm": "CLOSE"})
    assert (closed.status, closed.json["flat"]) == (200, True), closed
    assert (net(running, share, code), net(running, share, "upstox"), exits(running, share)) == (0, 0, [])
    assert (net(running, other), bool(exits(running, other))) == (10, True)
    running.assert_sent_once()


def test_a_due_close_that_finds_no_bidder_is_told_within_seconds_and_closes_with_the_first(running):
    share, _, code = bracket(running, 15)
    due = datetime.now(IST) + timedelta(seconds=6)
    close = running.place(
        instrument_id=share["instrument_id"], transaction_type="SELL", product="MIS", order_type="MARKET", broker=code,
        synthetic={"type": "square_off", "at_time": f"{due:%H:%M:%S}"},
    )  # fmt: skip
    assert close.status == 202, close
    parent_id = close.json["parent_id"]
    running.control("POST", "/empty-side", {"instrument": share["instrument_id"], "side": "BUY", "seconds": 25})
    said = (
        "what is due waits: nobody is bidding for this instrument, so the SELL could not be priced and nothing was sent"
    )
    running.until(lambda: said in problems(running, parent_id), said, 6 + SOON)
    running.until(lambda: net(running, share) == 0, "the first bidder to be sold to", 40)
    running.until(lambda: problems(running, parent_id) == [], "the problem to be over", SOON)
    running.until(lambda: running.read("/api/orders/parents", parent_id=parent_id)["state"] == "completed", "its end")
    assert exits(running, share) == []
