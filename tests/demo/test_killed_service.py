"""Kill -9 of the service at any moment; the same data directory starts again as if nothing had been: one Redis server, one
simulator on its old ports, the same token, the same open orders, and nothing sent twice (lessons 21 and 30)."""

import pytest

pytestmark = pytest.mark.long

READY_SECONDS = 60.0
OWN_SECONDS = 150.0
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


MOST_BURSTS = 4
"""Until one is cut in the middle: whoever kills may be held up longer than a burst takes."""
STEADY_READS = 4
"""Of its broker's book, since the order's stream has spoken of it: some streams say less than the book."""


def settled(demo, order_id):
    """Return the row of an open order once some reads have not changed it: as the book shows it, not only the stream."""
    seen = {"row": None, "reads": set()}

    def steady():
        row = demo.until_status(order_id, "OPEN")
        brokers = demo.read("/api/orders/details", order_id=order_id)["brokers"]
        if row != seen["row"]:
            seen.update(row=row, reads=set())
        seen["reads"] |= {each["as_of"] for each in brokers if each["broker"] == row["broker"]}
        return row if len(seen["reads"]) >= STEADY_READS else None

    return demo.until(steady, "the order's row to be steady")


def test_resting_orders_are_the_same_afterwards_and_still_obey(killed):
    share = killed.share(2)
    said = [killed.place(**killed.limit_buy(share, percent, tag="Kept")).json for percent in (-3, -5)]
    rows = [settled(killed, each["order_id"]) for each in said]
    before = killed.assert_sent_once()
    killed.kill()
    start_again(killed)
    for each, row in zip(said, rows, strict=True):
        again = settled(killed, each["order_id"])
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


@pytest.mark.parametrize(
    ("burst", "moment"),
    list(
        enumerate(({"answers": 3}, {"answers": None}, {"messages": 1}, {"messages": 8}, {"slow": 0.4, "messages": 4}))
    ),
)
def test_a_burst_cut_in_the_middle_sends_every_order_at_most_once(killed, together, chance, burst, moment):
    share = killed.share(4 + burst)
    for _ in range(MOST_BURSTS):
        since = killed.ledger()["next"]
        answers = cut_in_a_burst(killed, together, chance, share, moment)
        start_again(killed)
        if None in answers.values():
            break
    assert None in answers.values(), "it was killed after the burst, not in it"

    messages = killed.assert_sent_once()[-len(killed.placed(since)) :]
    for quantity, answer in answers.items():
        found = [each for each in messages if each["quantity"] == quantity and each["n"] >= since]
        assert len(found) <= 1
        if answer is not None and answer.status != 504:  # a slow machine may not know of one
            assert answer.status in (200, 503), answer
            assert [each["order_id"] for each in found] == [answer.json["order_id"]] * (answer.status == 200)
    order_ids = {each["order_id"] for each in messages if each["order_id"]}
    killed.until(lambda: order_ids <= known_to_parents(killed), "every order to be known to its parent", OWN_SECONDS)
    killed.assert_sent_once()


def cut_in_a_burst(demo, together, chance, share, moment):
    """Kill it at a moment of a burst of orders; return quantity -> the answer, None of those that it was killed before."""
    since = demo.ledger()["next"]
    if "slow" in moment:  # so that many are on the wire when it ends
        demo.fault("all", "latency", delay_seconds=moment["slow"])
    bodies = {quantity: demo.limit_buy(share, -3, quantity=quantity) for quantity in range(1, 31)}
    sent = {quantity: together.submit(ask_to_place, demo, body) for quantity, body in bodies.items()}
    if "messages" in moment:
        demo.until(lambda: demo.ledger()["next"] >= since + moment["messages"], "messages")
    else:
        enough = moment["answers"] or chance.randrange(5, 20)
        demo.until(lambda: sum(1 for each in sent.values() if each.done()) >= enough, "answers")
    demo.kill()
    return {quantity: each.result() for quantity, each in sent.items()}


def ask_to_place(demo, body):
    """The answer, or None when the service was dead before it came."""
    try:
        return demo.place(**body)
    except demo.lost:
        return None


def known_to_parents(demo):
    """The orders whose row names a parent that names them as its leg."""
    return {
        row["order_id"]
        for row in demo.orders()
        if row["engine_parent_id"] and row["order_id"] in legs_of(demo, row["engine_parent_id"])
    }


def legs_of(demo, parent_id):
    return [leg["order_id"] for leg in demo.read("/api/orders/parents", parent_id=parent_id)["legs"]]


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
    demo.until(moments[moment], moment, READY_SECONDS)


def test_in_the_end_exactly_the_resting_orders_have_open_parents(killed):
    """What was written as sending and never reached a broker is settled as not sent, and nothing is sent for it."""
    before = killed.assert_sent_once()
    differing = set()

    def settled():
        """Read both sides again each time: the market goes on, and an order may be filled meanwhile."""
        parents = killed.read("/api/orders/parents")["parents"]
        known = {leg["order_id"] for parent in parents for leg in parent["legs"]}
        resting = {each["order_id"] for each in killed.ledger()["orders"] if each["status"] == "open"}
        differing.clear()
        differing.update(known ^ resting)
        return resting and not differing

    killed.until(settled, lambda: f"no leg in doubt: {differing} on {killed.ledger()['orders']}", OWN_SECONDS)
    assert killed.assert_sent_once() == before
    assert killed.read("/api/health")["crashes"] == []
