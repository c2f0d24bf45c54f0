"""A halt by hand over HTTP, in real time: entries stop, a running bracket leaves its position, a kill changes nothing. The exchange's ledger
is the judge."""

import time

import pytest

from tests.support.type_examples import examples

pytestmark = pytest.mark.long

PATH = "/api/orders/halt"
REASON = "the feed is wrong"
SENTENCE = f"trading is halted: {REASON}"


@pytest.fixture(scope="module")
def halted(new_demo):
    """A demo that is halted, killed and started again."""
    demo = new_demo().start()
    demo.until_ready()
    return demo


def bracket(demo, share):
    """Place a bracket whose entry fills now, and wait until an exit rests at the exchange; return the parent's id."""
    prices = {"stop_price": -4, "stop_limit_price": -6, "target_price": 4}
    synthetic = {"type": "bracket", **{name: demo.at_price(share, percent) for name, percent in prices.items()}}
    answer = demo.place(**demo.limit_buy(share, 1, product="MIS", synthetic=synthetic))
    assert answer.status in (200, 202), answer
    demo.until(lambda: net(demo, share) == 1, "the entry to fill")
    demo.until(lambda: len(resting(demo, share)) > 0, "an exit to rest")
    return answer.json["parent_id"]


def net(demo, share):
    """The units of a share that the exchange's ledger shows as held by all its orders of this demo."""
    orders = [each for each in demo.ledger()["orders"] if each["instrument_id"] == share["instrument_id"]]
    return sum(each["filled_quantity"] * (1 if each["side"] == "BUY" else -1) for each in orders)


def resting(demo, share):
    orders = [each for each in demo.ledger()["orders"] if each["instrument_id"] == share["instrument_id"]]
    return [each for each in orders if each["status"] in ("open", "trigger_pending")]


def buys_since(demo, since):
    return [each for each in demo.placed(since) if each["side"] == "BUY"]


def test_a_halt_stops_entries_lets_exits_go_and_outlives_a_kill(halted):
    demo = halted
    share, other = demo.share(1), demo.share(2)
    parent_id = bracket(demo, share)
    assert demo.read(PATH) == {"halted": False}

    answer = demo.ask("POST", PATH, {"confirm": "HALT", "reason": REASON})
    assert answer.status == 200, answer
    told = answer.json
    assert told.pop("entries_under_way") is False
    assert told == demo.read(PATH) == demo.read("/api/health")["halt"]
    assert (told["halted"], told["mode"], told["reason"]) == (True, "reduce_only", REASON)
    since = demo.ledger()["next"]

    refused = demo.place(**demo.limit_buy(other))
    assert (refused.status, refused.json["error"]) == (403, SENTENCE)

    demo.move(share["instrument_id"], demo.at_price(share, -5), 3600)
    demo.until(lambda: net(demo, share) == 0, "the bracket's stop to close the position")
    parent = lambda: demo.read("/api/orders/parents", parent_id=parent_id)["state"]  # noqa: E731
    demo.until(lambda: parent() == "completed", "the bracket to be completed")

    demo.kill()
    demo.start()
    demo.until_ready()
    assert demo.read(PATH) == told
    refused = demo.place(**demo.limit_buy(other))
    assert (refused.status, refused.json["error"]) == (403, SENTENCE)
    assert buys_since(demo, since) == []

    assert demo.ask("DELETE", PATH).json == {"halted": False}
    assert demo.ask("DELETE", PATH).status == 409
    assert demo.read("/api/health")["halt"]["halted"] is False
    placed = demo.place(**demo.limit_buy(other))
    assert placed.status == 200, placed
    assert [each["order_id"] for each in buys_since(demo, since)] == [placed.json["order_id"]]
    demo.assert_sent_once()


RACERS = (
    "bracket",
    "twap",
    "iceberg",
    "trailing_entry",
    "basket",
    "ladder",
    "legged_spread",
    "oca",
    "market_if_touched",
    "chaser",
)
EACH = 4
"""Orders of each type that race the halt."""


def racing(demo, share, other):
    """The bodies of the race: orders of ten types in turn, whose entries leave at once, on a price, by the clock, or after a fill."""
    at = lambda percent: demo.at_price(share, percent)  # noqa: E731
    known = examples(at, other["instrument_id"], lambda _: "23:59:00")
    base = {
        "instrument_id": share["instrument_id"],
        "transaction_type": "BUY",
        "product": "MIS",
        "order_type": "MARKET",
        "quantity": 10,
    }
    return [{**base, **known[name].body, "synthetic": {"type": name, **known[name].settings}} for name in RACERS] * EACH


def entries_since(demo, since, other):
    """Messages that may open or enlarge: new purchases, new orders in the second instrument, and changes of purchases."""
    ledger = demo.ledger(since)
    sides = {(each["broker"], each["order_id"]): each["side"] for each in ledger["orders"]}
    return [
        each
        for each in ledger["messages"]
        if each["verb"] != "cancel"
        and (sides.get((each["broker"], each["order_id"]), each["side"]) == "BUY" or each["instrument_id"] == other["instrument_id"])
    ]  # fmt: skip


def test_orders_of_ten_types_that_race_a_halt_enter_nothing_after_it_nor_after_a_kill(halted, together):
    demo = halted
    share, other, held = demo.share(3), demo.share(4), demo.share(5)
    for each in (share, other):
        demo.move(each["instrument_id"], each["last_price"], 3600)
    parent_id = bracket(demo, held)

    answers = [together.submit(demo.place, **body) for body in racing(demo, share, other)]
    demo.until(lambda: sum(each.done() for each in answers) >= 5, "some orders to be answered")
    answer = demo.ask("POST", PATH, {"confirm": "HALT", "reason": REASON})
    since = demo.ledger()["next"]
    assert (answer.status, answer.json["entries_under_way"]) == (200, False), answer
    statuses = [each.result().status for each in answers]
    assert statuses.count(200) + statuses.count(202) >= 5, statuses

    demo.move(share["instrument_id"], demo.at_price(share, -3.5), 3600)
    demo.until(lambda: net(demo, share) > 0, "an order that rested before the halt to fill")
    time.sleep(3)  # clocks of slices and chases run on
    assert entries_since(demo, since, other) == []

    demo.kill()
    demo.start()
    demo.until_ready()
    assert demo.read(PATH)["halted"] is True
    demo.move(share["instrument_id"], demo.at_price(share, 2), 3600)
    demo.move(held["instrument_id"], demo.at_price(held, -5), 3600)
    demo.until(lambda: net(demo, held) == 0, "the bracket's stop to close the position")
    demo.until(
        lambda: demo.read("/api/orders/parents", parent_id=parent_id)["state"] == "completed",
        "the bracket to be completed",
    )
    assert entries_since(demo, since, other) == []
    assert demo.ask("DELETE", PATH).status == 200
    demo.assert_sent_once()
