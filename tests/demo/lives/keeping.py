"""Keeps brokers in while answers are lost: one that leaves three orders in a row unanswered takes none for a minute (order-engine 4.1),
and what other orders of that minute come to would hang on it."""

import threading
from contextlib import contextmanager

LOOK_SECONDS = 0.3


@contextmanager
def brokers_kept_in(demo):
    """After every lost answer its broker is given an order that it answers, in an instrument that no life trades."""
    fund = _fund(demo)
    done = threading.Event()

    def keep():
        since = demo.ledger(1 << 60)["next"]
        while not done.wait(LOOK_SECONDS):
            told = demo.ledger(since)
            since = told["next"]
            for broker in _lost(told["messages"]):
                _buy_one(demo, broker, fund)

    keeper = threading.Thread(target=keep)
    keeper.start()
    try:
        yield
    finally:
        done.set()
        keeper.join()


def _lost(messages):
    """The brokers whose answer to a new order was lost."""
    return sorted({one["broker"] for one in messages if one["verb"] == "place" and not one["delivered"]})


def _fund(demo):
    """A fund that every broker lists."""
    listed = demo.control("GET", "/instruments?shape=security&limit=1000")
    return next(one for one in listed if one["segment"] == "nse_exchange_traded_funds" and len(one["brokers"]) == 10)


def _buy_one(demo, broker, fund):
    demo.place(
        instrument_id=fund["instrument_id"], transaction_type="BUY", product="MIS", order_type="MARKET", quantity=1, broker=broker,
        synthetic={"type": "simple"},
    )  # fmt: skip
