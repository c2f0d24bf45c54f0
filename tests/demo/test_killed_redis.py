"""Kill -9 of the embedded Redis, and one that hangs: reads go on, orders are refused and not sent, it heals, nothing acknowledged is lost."""

import os
import signal

import pytest

pytestmark = pytest.mark.long

READS = (
    "/api/portfolio/funds",
    "/api/portfolio/holdings",
    "/api/portfolio/positions",
    "/api/orders/details",
    "/api/orders/trades",
    "/api/orders/parents",
    "/api/session/status",
    "/api/health",
)


@pytest.fixture(scope="module")
def resting(demo):
    """An order that rests through everything."""
    said = demo.place(**demo.limit_buy(demo.share(), -3)).json
    demo.until_status(said["order_id"], "OPEN")
    return said


def assert_reads_go_on(demo):
    for path in READS:
        answer = demo.ask("GET", path)
        assert answer.status in (200, 503), (path, answer)
        assert answer.status == 200 or answer.json["error"]


def assert_healed(demo, resting):
    """One server runs again, a new order works, and what was acknowledged is still there."""
    demo.until(lambda: len(demo.redis_servers()) == 1, "one server")
    said = demo.until(lambda: accepted(demo), "an order to be taken again")
    demo.until_status(said["order_id"], "OPEN")
    for each in (said, resting):
        assert demo.read("/api/orders/parents", parent_id=each["parent_id"])["legs"][0]["order_id"] == each["order_id"]
    assert demo.connect() == demo.token
    assert demo.read("/api/health")["store"]["reachable"] is True
    demo.assert_sent_once()


def accepted(demo):
    answer = demo.place(**demo.limit_buy(demo.share(1), -3))
    assert answer.status in (200, 503), answer
    return answer.json if answer.status == 200 else None


def test_killed_again_and_again_it_heals_and_refused_orders_were_not_sent(demo, resting):
    share, answers = demo.share(2), {}
    for quantity in range(1, 31):
        for server in demo.redis_servers():
            os.kill(server, signal.SIGKILL)
        answers[quantity] = demo.place(**demo.limit_buy(share, -3, quantity=quantity))
        assert_reads_go_on(demo)
    statuses = [answer.status for answer in answers.values()]
    assert 503 in statuses, statuses
    assert_matches_the_ledger(demo, share, answers)
    assert_healed(demo, resting)
    assert_matches_the_ledger(demo, share, answers)


def test_a_server_that_hangs_holds_nobody_up_and_heals(demo, resting, together):
    share, server = demo.share(3), demo.redis_servers()[0]
    os.kill(server, signal.SIGSTOP)
    try:
        sent = {
            quantity: together.submit(demo.place, **demo.limit_buy(share, -3, quantity=quantity))
            for quantity in range(1, 6)
        }
        while not all(each.done() for each in sent.values()):
            assert_reads_go_on(demo)
    finally:
        os.kill(server, signal.SIGCONT)
    answers = {quantity: each.result() for quantity, each in sent.items()}
    assert all(answer.status in (503, 504) for answer in answers.values()), answers
    assert_healed(demo, resting)
    assert_matches_the_ledger(demo, share, answers)


def assert_matches_the_ledger(demo, share, answers):
    """An accepted order was sent once, a refused one never, an unknown one at most once."""
    messages = [each for each in demo.assert_sent_once() if each["instrument_id"] == share["instrument_id"]]
    for quantity, answer in answers.items():
        assert answer.status in (200, 503, 504), answer
        times = sum(1 for each in messages if each["quantity"] == quantity)
        assert times in {200: (1,), 503: (0,), 504: (0, 1)}[answer.status], answer


def test_orders_placed_during_all_this_are_settled(demo, resting):
    known = {each["order_id"] for each in demo.placed() if each["order_id"]}

    def settled():
        rows = {row["order_id"]: row for row in demo.orders()}
        return all(order_id in rows and rows[order_id]["engine_parent_id"] for order_id in known)

    demo.until(settled, "every order to have its parent")
