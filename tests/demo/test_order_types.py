"""Every order type over HTTP on the demo in real time: what it shows before it is sent, its first answer, and a cancel that leaves nothing
behind; judged on the ledger (rules 2.7; order-engine 3)."""

from datetime import datetime, timedelta

import pytest

from onebroker.actors.engine.presets.registry import PRESETS
from tests.support.type_examples import examples

pytestmark = pytest.mark.long

MORNING = "2026-11-23T11:00:00+05:30"
OUTCOMES = {200: "accepted", 202: "armed"}


@pytest.fixture(scope="module")
def demo(new_demo):
    demo = new_demo("--now", MORNING).start()
    demo.until_ready()
    return demo


def near(minutes):
    moment = datetime.fromisoformat(MORNING) + timedelta(minutes=5 + minutes)
    return moment.strftime("%H:%M:%S")


def option(demo):
    """An option that every broker lists."""
    listed = demo.control("GET", "/instruments?shape=option&limit=500")
    return next(one for one in listed if len(one["brokers"]) > 5)


def order(demo, number, name):
    """The example of a type on a share of its own, whose price is held, as a body of place; with the example."""
    share, other = demo.share(2 * (number % 8)), demo.share(2 * (number % 8) + 1)
    for one in (share, other):
        quoted(demo, one)
    example = examples(lambda percent: demo.at_price(share, percent), other["instrument_id"], near)[name]
    traded = share if example.instrument == "share" else option(demo)
    body = {
        "instrument_id": traded["instrument_id"], "transaction_type": "BUY", "product": "MIS", "order_type": "MARKET",
        "quantity": 10 if example.instrument == "share" else traded["lot_size"], **example.body,
    }  # fmt: skip
    body = {field: value for field, value in body.items() if value is not None}
    return {**body, "synthetic": {"type": name, **example.settings}}, example


def quoted(demo, share):
    """Hold a share's price, and wait until the service quotes it."""
    demo.move(share["instrument_id"], share["last_price"], 600)

    def shown():
        answer = demo.ask("GET", "/api/instruments/ltp", instrument_id=share["instrument_id"])
        return answer.status == 200 and answer.json["last_price"] == share["last_price"]

    demo.until(shown, f"{share['symbol']} to be quoted at {share['last_price']}")


def once_quoted(demo, **body):
    """Place it; again as long as the answer says that nothing was sent for want of a whole quote, or of room at the brokers. That a
    broker's positions could not be read is no such answer: reads that somebody waits for go first."""

    def answered():
        answer = demo.place(**body)
        again = (
            answer.status == 503 and "outcome" not in answer.json and "could not be read" not in answer.json["error"]
        )
        return None if again else answer

    return demo.until(answered, "an answer other than to try again")


@pytest.mark.parametrize(("number", "name"), list(enumerate(PRESETS)))
def test_a_type_shows_itself_begins_and_is_cancelled_without_leaving_an_order(demo, number, name):
    body, example = order(demo, number, name)
    since = demo.ledger()["next"]
    shown = once_quoted(demo, **body, dry_run=True)
    assert demo.placed(since) == [], "a dry run sends nothing"
    answer = once_quoted(demo, **body)
    assert (answer.status, answer.json.get("error")) == (example.status, answer.json.get("error")), answer
    if example.status not in OUTCOMES:
        assert shown.status == example.status
        assert answer.json["error"] == shown.json["error"]
        assert demo.placed(since) == []
        return
    assert (shown.status, shown.json["synthetic_type"], shown.json["routed_from"]) == (200, "plan", name), shown
    assert len(shown.json["requests"]) == (0 if example.status == 202 else len(answer.json.get("legs", [1])))
    assert answer.json["outcome"] == OUTCOMES[example.status]
    parent_id = answer.json["parent_id"]
    kept = demo.read("/api/orders/parents", parent_id=parent_id)
    assert kept["routed_from"] == name
    assert set(example.settings) <= set(kept["parameters"])
    ends_itself(demo, parent_id) if name == "marketable_limit" else cancelled(demo, parent_id)
    ours = {row["order_id"] for row in demo.orders(parent_id=parent_id)}
    resting = lambda: {row["order_id"] for row in demo.orders(status="open")} & ours  # noqa: E731
    demo.until(lambda: not resting(), "nothing of it to rest")


def cancelled(demo, parent_id):
    """Cancel it; a broker whose book is read once a minute may not show an order yet, then asking again cancels the rest."""
    state = lambda: demo.read("/api/orders/parents", parent_id=parent_id)["state"]  # noqa: E731

    def cancel():
        answer = demo.ask("DELETE", "/api/orders/parents", body={"parent_id": parent_id})
        assert answer.status in (200, 207) or (answer.status == 409 and state() == "cancelled"), answer
        return answer.status != 207

    demo.until(cancel, "every order of it to be cancelled", 120)
    demo.until(lambda: state() == "cancelled", "it to be cancelled")


def ends_itself(demo, parent_id):
    demo.until(lambda: demo.read("/api/orders/parents", parent_id=parent_id)["state"] == "completed", "it to be filled")


def test_all_orders_were_sent_once(demo):
    demo.assert_sent_once()
