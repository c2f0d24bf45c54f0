"""Kill -9 of the service at any moment; the same data directory starts again as if nothing had been: one Redis server, one
simulator on its old ports, the same token, the same open orders, and nothing sent twice (lessons 21 and 30)."""

import pytest

OWN_SECONDS = 90.0
"""By then every order that reached a broker is known to the parent that sent it."""


@pytest.fixture(scope="module")
def killed(new_demo):
    """A demo that is killed and started again and again."""
    demo = new_demo().start()
    demo.until_ready()
    return demo


def start_again(demo):
    """Start on the same directory after a kill, with everything that must hold each time."""
    token, control_url = demo.token, demo.control_url
    demo.start()
    assert (demo.token, demo.control_url) == (token, control_url)
    assert len(demo.redis_servers()) == 1
    demo.until_ready()
    assert len(demo.redis_servers()) == 1
    demo.until(lambda: len(demo.simulators()) == 1, "the old simulator to be gone")
    assert demo.read("/api/health")["crashes"] == []


def test_an_idle_service_comes_back(killed):
    killed.kill()
    killed.until(lambda: killed.simulators() == [], "the simulator to end itself")
    start_again(killed)
    assert killed.placed() == []


def test_resting_orders_are_the_same_afterwards_and_still_obey(killed):
    share = killed.share(2)
    said = [killed.place(**killed.limit_buy(share, percent, tag="Kept")).json for percent in (-3, -5)]
    rows = [killed.until_status(each["order_id"], "OPEN") for each in said]
    before = killed.assert_sent_once()
    killed.kill()
    start_again(killed)
    for each, row in zip(said, rows, strict=True):
        again = killed.until_status(each["order_id"], "OPEN")
        unsteady = {"exchange_timestamp"}
        assert {k: v for k, v in again.items() if k not in unsteady} == {
            k: v for k, v in row.items() if k not in unsteady
        }
        parent = killed.read("/api/orders/parents", parent_id=each["parent_id"])
        assert parent["legs"][0]["order_id"] == each["order_id"]
    assert killed.assert_sent_once() == before
    killed.move(share["instrument_id"], killed.at_price(share, -4))
    killed.until_status(said[0]["order_id"], "COMPLETE")
    killed.until(
        lambda: killed.read("/api/orders/parents", parent_id=said[0]["parent_id"])["state"] == "completed",
        "the fill to reach its parent",
    )
    assert killed.cancel(said[1]["order_id"]).json["outcome"] == "accepted"
    killed.until_status(said[1]["order_id"], "CANCELLED")


def test_fills_while_the_service_is_dead_are_found(killed):
    share = killed.share(3)
    said = killed.place(**killed.limit_buy(share, -2, quantity=7)).json
    killed.until_status(said["order_id"], "OPEN")
    killed.move(share["instrument_id"], killed.at_price(share, -4))
    killed.kill()
    start_again(killed)
    assert killed.until_status(said["order_id"], "COMPLETE")["filled_quantity"] == 7
    killed.until(
        lambda: killed.read("/api/orders/parents", parent_id=said["parent_id"])["state"] == "completed", "its parent"
    )


@pytest.mark.parametrize("burst", range(4))
def test_a_burst_cut_in_the_middle_sends_every_order_at_most_once(killed, together, chance, burst):
    answers_before_the_kill = (0, 3, 12, chance.randrange(1, 25))[burst]
    share = killed.share(4 + burst)
    quantities = range(100 * (burst + 1), 100 * (burst + 1) + 30)
    since = killed.ledger()["next"]
    sent = {
        quantity: together.submit(ask_to_place, killed, killed.limit_buy(share, -5, quantity=quantity))
        for quantity in quantities
    }
    killed.until(
        lambda: sum(1 for each in sent.values() if each.done()) >= answers_before_the_kill, "answers", seconds=20
    )
    killed.kill()
    answers = {quantity: each.result() for quantity, each in sent.items()}
    start_again(killed)

    messages = {quantity: [] for quantity in quantities}
    for message in killed.assert_sent_once():
        if message["n"] >= since:
            messages[message["quantity"]].append(message)
    for quantity, answer in answers.items():
        assert len(messages[quantity]) <= 1
        if answer is None:
            continue
        assert answer.status in (200, 503), answer
        assert len(messages[quantity]) == (answer.status == 200)
        if answer.status == 200:
            assert messages[quantity][0]["order_id"] == answer.json["order_id"]
    order_ids = {each["order_id"] for found in messages.values() for each in found if each["order_id"]}
    killed.until(lambda: order_ids <= set(owned(killed)), "every order to have its parent", OWN_SECONDS)
    for order_id, parent_id in owned(killed).items():
        parent = killed.read("/api/orders/parents", parent_id=parent_id)
        assert order_id in [leg["order_id"] for leg in parent["legs"]]
    killed.assert_sent_once()
    assert killed.read("/api/health")["crashes"] == []


def ask_to_place(demo, body):
    """The answer, or None when the service was dead before it came."""
    try:
        return demo.place(**body)
    except demo.lost:
        return None


def owned(demo):
    """Order id -> parent, of the orders whose parent is known."""
    return {row["order_id"]: row["engine_parent_id"] for row in demo.orders() if row["engine_parent_id"]}


def test_killed_while_it_starts_it_starts_the_next_time(killed, chance):
    before = killed.assert_sent_once()
    for _ in range(3):
        killed.kill()
        killed.launch()
        wait_for_any(killed, chance.choice(("simulator", "redis", "answers")))
    killed.kill()
    start_again(killed)
    assert killed.assert_sent_once() == before


def wait_for_any(demo, moment):
    """Wait until the start has come to a moment."""
    moments = {"simulator": demo.simulators, "redis": demo.redis_servers, "answers": demo.answers}
    demo.until(moments[moment], moment)
