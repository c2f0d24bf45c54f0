"""What must hold of an order after anything, by the exchange's ledger; what became of it in words; and leaving nothing of it behind."""

import time
from collections import defaultdict

from tests.demo.lives.run import ENDED_LEG, FINAL, LIVE_LEG, POLL_SECONDS

RESTS = ("open", "trigger_pending", "after_market")
"""What the ledger says of an order that still works."""
AGREE_SECONDS = 45.0
"""How long a book that is read now and then may lag behind the exchange."""


def judged(run):
    """Hold what must hold of it, once its record and the exchange tell the same moment; return the ledger."""
    until = time.monotonic() + AGREE_SECONDS
    while True:
        ledger = run.demo.ledger()
        try:
            judge(run, ledger)
        except (AssertionError, KeyError):
            if time.monotonic() > until:
                raise
            time.sleep(POLL_SECONDS)
        else:
            return ledger


def judge(run, ledger):
    """Nothing was sent twice, no order is without a leg, parent and ledger say the same, and nothing rests under a parent that has ended
    well (rules 2.3; order-engine 2.3)."""
    record = run.record()
    orders = {(one["broker"], one["order_id"]): one for one in ledger["orders"]}
    legs = {(leg["broker"], leg["order_id"]): leg for leg in record["legs"] if leg["order_id"]}
    placed = [one for one in run.messages(ledger) if one["verb"] == "place"]
    tags = [one["tag"] for one in placed]
    assert len(tags) == len(set(tags)), f"{run.name} sent an order twice: {placed}"
    loose = [one for one in placed if one["order_id"] and (one["broker"], one["order_id"]) not in legs]
    assert loose == [], f"{run.name}: orders without a leg: {loose}, {run._told()}"
    for name, leg in legs.items():
        order = orders[name]
        assert leg["filled_quantity"] == order["filled_quantity"], (run.name, leg, order)
        if leg["state"] in LIVE_LEG:
            assert order["status"] in RESTS, (run.name, leg, order)
            assert record["state"] not in ("completed", "cancelled", "rejected"), (run.name, record["state"], leg)
        elif leg["state"] in ENDED_LEG:
            assert order["status"] not in RESTS, (run.name, leg, order)


def assert_nothing_rests(run):
    """Of an order that was not taken nothing is at a broker."""
    ledger = run.demo.ledger()
    named = {
        (one["broker"], one["order_id"]) for one in run.messages(ledger) if one["verb"] == "place" and one["order_id"]
    }
    found = [one for one in ledger["orders"] if (one["broker"], one["order_id"]) in named]
    assert found == [], (run.name, run.answer, found)


def outcome(run, ledger):
    """What became of it, in words: the parent's state, the net units that its orders have traded, and what rests."""
    record = run.record()
    orders = {(one["broker"], one["order_id"]): one for one in ledger["orders"]}
    mine = [orders[leg["broker"], leg["order_id"]] for leg in record["legs"] if leg["order_id"]]
    words = [record["state"]]
    for number, instrument in enumerate(run.instruments, 1):
        own = [one for one in mine if one["instrument_id"] == instrument]
        net = sum((1 if one["side"] == "BUY" else -1) * one["filled_quantity"] for one in own)
        if net:
            words.append(f"{net:+d}" + (f" of the {'other' if number == 2 else 'option'}" if number > 1 else ""))
    resting = [one["order_type"] for one in mine if one["status"] in RESTS]
    if resting:
        words.append(f"{len(resting)} at the broker")
    return ", ".join(words)


def said_in_words(run):
    """How an order was refused."""
    return f"{run.answer.status} {run.answer.json.get('error') or run.answer.json.get('status_message')}"


def clean_up(run):
    """Cancel what still works, and trade back what the run has left of its instruments, so that others may use them."""
    for order_id in run.beside:
        _cancel(run, order_id, run.broker)
    if run.parent_id is None:
        return
    record, ledger = run.record(), run.demo.ledger()
    if record["state"] not in FINAL:
        cancel_parent(run)
    resting = {(one["broker"], one["order_id"]) for one in ledger["orders"] if one["status"] in RESTS}
    for leg in record["legs"]:
        if (leg["broker"], leg["order_id"]) in resting:
            _cancel(run, leg["order_id"], leg["broker"])
    net = defaultdict(int, run.before)
    for fill in run.demo.ledger()["fills"]:
        own = any(
            (leg["broker"], leg["order_id"]) == (fill["broker"], fill["order_id"]) for leg in run.record()["legs"]
        )
        if own:
            key = fill["broker"], fill["instrument_id"]
            net[key] += fill["quantity"] if fill["side"] == "BUY" else -fill["quantity"]
    for (broker, instrument), units in net.items():
        if units:
            side = "SELL" if units > 0 else "BUY"
            most = next(one["freeze_quantity"] for one in run.traded if one["instrument_id"] == instrument)
            for left in range(abs(units), 0, -most):
                _close(
                    run, instrument_id=instrument, transaction_type=side, product="MIS", order_type="MARKET",
                    quantity=min(left, most), broker=broker, closes_position=True,
                )  # fmt: skip


def _cancel(run, order_id, broker):
    """Cancel an order once there is room for that; it may have ended."""
    run.demo.until(lambda: run.demo.cancel(order_id, broker=broker).status != 503, "a cancel to be taken", 60)


def _close(run, **order):
    """Place an order, once there is room for it and a whole quote."""
    run.demo.until(lambda: run.demo.place(**order).status != 503, "an order to be taken", 60)


def cancel_parent(run):
    """Cancel it as a caller does; a broker whose book lags may need to be asked again (rules 2.4.6: 207)."""

    def cancelled():
        answer = run.demo.ask("DELETE", "/api/orders/parents", body={"parent_id": run.parent_id})
        state = run.record()["state"]
        assert answer.status in (200, 207) or (answer.status == 409 and state in FINAL), answer
        return state in FINAL

    run.demo.until(cancelled, f"{run.name} to be cancelled", 120)
