"""A halt by hand over HTTP, in real time: entries stop, a running bracket leaves its position, a kill changes nothing. The exchange's ledger
is the judge."""

import pytest

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
