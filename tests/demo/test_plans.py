"""Plans over HTTP on the demo in real time: bad input, a dry run, a bracket's life, a kill in the middle; judged on the ledger
(order-engine 1, 5.4, 6.2)."""

import pytest

from onebroker.config.instruments import security

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def plans(new_demo):
    demo = new_demo().start()
    demo.until_ready()
    return demo


def bracket(demo, share, entry, **more):
    """A held entry, its stop and its held target."""
    at = lambda percent: demo.at_price(share, percent)  # noqa: E731
    exits = {
        "part": "one_cancels_others",
        "rule": "shrink",
        "children": [
            {
                "transaction_type": "SELL",
                "price": {"kind": "native_stop", "trigger_price": at(-5), "limit_price": at(-6)},
            },
            {"transaction_type": "SELL", "price": {"kind": "fixed", "price": at(4)}},
        ],
    }
    root = {"price": {"kind": "fixed", "price": at(entry)}, "each_fill": exits}
    body = demo.limit_buy(share, entry, quantity=6, product="MIS")
    return {**body, "synthetic": {"type": "plan", "hold_limits": True, "root": root}, **more}


def parent(demo, answer):
    return demo.read("/api/orders/parents", parent_id=answer.json["parent_id"])


def part_state(demo, answer, path):
    return parent(demo, answer)["parameters"]["parts"][path]["state"]


def move(demo, share, price):
    """Move the market, and wait until the service's own quote shows it."""
    demo.move(share["instrument_id"], price, 600)

    def shown():
        answer = demo.ask("GET", "/api/instruments/ltp", instrument_id=share["instrument_id"])
        return answer.status == 200 and answer.json["last_price"] == price

    demo.until(shown, f"{share['symbol']} to be quoted at {price}")


def messages(demo, since):
    return [(one["verb"], one["side"], one["quantity"]) for one in demo.ledger(since)["messages"]]


@pytest.mark.parametrize(
    ("root", "sentence"),
    [
        ({"part": "orders"}, "root: part must be one of order, sequence, together, one_cancels_others, preset"),
        ({"part": "sequence", "first": {}}, "root: then is required"),
        ({"price": {"kind": "guess"}}, "root: price kind must be one of fixed, marketable, native_stop"),
        ({"lifetime": {"after_days": 0}}, "root: after_days must be a whole number from 1 to 365"),
        (
            {"quantity": {"position": {"product": "intraday"}}, "price": {"kind": "chase"}},
            "root: a position quantity cannot be used with price kind chase",
        ),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused_where_it_is_wrong_and_nothing_is_sent(plans, root, sentence):
    since = plans.ledger()["next"]
    answer = plans.place(**plans.limit_buy(plans.share(1)), synthetic={"type": "plan", "root": root})
    assert answer.status == 400
    assert answer.json["error"].startswith(sentence)
    assert messages(plans, since) == []


def test_an_instrument_that_no_broker_lists_is_not_found(plans):
    nowhere = security("nse", "equities", "NOWHERE").instrument_id
    answer = plans.place(
        **plans.limit_buy(plans.share(1)), synthetic={"type": "plan", "root": {"instrument_id": nowhere}}
    )
    assert answer.status == 404


def test_a_dry_run_shows_the_tree_and_sends_nothing(plans):
    share, since = plans.share(1), plans.ledger()["next"]
    answer = plans.place(**bracket(plans, share, -1), dry_run=True)
    assert answer.status == 200, answer
    assert answer.json["requests"] == []
    assert answer.json["plan"]["path"] == "root"
    assert answer.json["plan"]["each_fill"]["children"][0]["path"] == "root.each_fill.children.0"
    assert (answer.json["trigger_direction"], answer.json["trigger_level"]) == ("below", plans.at_price(share, -1))
    assert messages(plans, since) == []


def test_a_bracket_lives_its_whole_life_through_the_api(plans):
    share, since = plans.share(2), plans.ledger()["next"]
    move(plans, share, share["last_price"])
    answer = plans.place(**bracket(plans, share, -2, tag="mine"))
    assert (answer.status, answer.json["outcome"], answer.json["tag"]) == (202, "armed", "mine")
    assert messages(plans, since) == []
    move(plans, share, plans.at_price(share, -3))
    plans.until(lambda: part_state(plans, answer, "root.each_fill.children.1") == "held", "the target to be held")
    plans.until(lambda: len(messages(plans, since)) == 2, "the stop to be sent")
    assert messages(plans, since) == [("place", "BUY", 6), ("place", "SELL", 6)]
    own = lambda: plans.orders(parent_id=answer.json["parent_id"])  # noqa: E731
    rows = plans.until(lambda: own() if len(own()) == 2 else None, "both orders in the book")
    assert sorted(row["leg_role"] for row in rows) == ["root", "root.each_fill.children.0"]
    assert {(row["synthetic_type"], row["tag"]) for row in rows} == {("plan", "mine")}
    move(plans, share, plans.at_price(share, 5))
    plans.until(lambda: parent(plans, answer)["state"] == "completed", "the plan to end")
    assert [one[0] for one in messages(plans, since)] == ["place", "place", "place", "cancel"]
    plans.assert_sent_once()


def test_a_plan_goes_on_after_a_kill_where_it_stood(plans):
    share, since = plans.share(3), plans.ledger()["next"]
    move(plans, share, share["last_price"])
    answer = plans.place(**bracket(plans, share, -2))
    move(plans, share, plans.at_price(share, -3))
    plans.until(lambda: len(messages(plans, since)) == 2, "the stop to be sent")
    plans.kill()
    plans.start()
    plans.until_ready()
    plans.until(lambda: part_state(plans, answer, "root.each_fill.children.1") == "held", "the target to be held")
    assert len(messages(plans, since)) == 2
    move(plans, share, plans.at_price(share, 5))
    plans.until(lambda: parent(plans, answer)["state"] == "completed", "the plan to end")
    assert [one[0] for one in messages(plans, since)] == ["place", "place", "place", "cancel"]
    plans.assert_sent_once()
    assert plans.read("/api/health")["crashes"] == []


def test_a_cancelled_plan_sends_nothing_when_its_price_comes(plans):
    share, since = plans.share(4), plans.ledger()["next"]
    move(plans, share, share["last_price"])
    answer = plans.place(**bracket(plans, share, -2))
    stopped = plans.ask("DELETE", "/api/orders/parents", {"parent_id": answer.json["parent_id"]})
    assert (stopped.status, stopped.json["state"], stopped.json["cancelled_legs"]) == (200, "cancelled", [])
    move(plans, share, plans.at_price(share, -3))
    assert messages(plans, since) == []


def test_a_position_is_closed_at_its_broker_after_the_stop_that_rests_there_was_cancelled(plans):
    share, since = plans.share(5), plans.ledger()["next"]
    move(plans, share, share["last_price"])
    other = plans.place(**bracket(plans, share, 1))
    assert other.status == 200, other
    plans.until(lambda: part_state(plans, other, "root.each_fill.children.1") == "held", "the target to be held")
    plans.until(lambda: len(messages(plans, since)) == 2, "the stop to be sent")

    def held():
        rows = plans.read("/api/portfolio/positions")["net"]
        return sum(row["quantity"] for row in rows if row["instrument_id"] == share["instrument_id"])

    plans.until(lambda: held() == 6, "the position to be shown")
    root = {
        "quantity": {"position": {"product": "intraday"}},
        "price": {"kind": "marketable", "follow": True},
    }
    body = {**plans.limit_buy(share, 0, quantity=6, product="MIS"), "synthetic": {"type": "plan", "root": root}}
    closing = plans.place(**body)
    assert closing.status in (200, 202), closing
    plans.until(lambda: parent(plans, closing)["state"] == "completed", "the position to be closed")
    assert [one[:2] for one in messages(plans, since)] == [
        ("place", "BUY"), ("place", "SELL"), ("cancel", "SELL"), ("place", "SELL"),
    ]  # fmt: skip
    plans.until(lambda: parent(plans, other)["state"] == "completed", "the bracket to end")
    assert part_state(plans, other, "root.each_fill.children.1") == "cancelled"
    plans.until(lambda: held() == 0, "nothing to be held any more")
    plans.assert_sent_once()
