"""A second host: `onebroker serve` twice on one Redis server, each with a data directory of its own, as on two machines. The first trades and is killed;
the second takes the engine, and with it every open order. The simulator's ledger is the judge."""

import contextlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.demo.by_url import ServiceByUrl, simulator
from tests.support.held_port import held_port
from tests.support.real_servers import real_server

pytestmark = pytest.mark.long

TAKES_OVER_SECONDS = 90.0
"""30 s until the lock has run out, then the books of brokers with open orders are read; and a machine that is busy."""
BURST = 30


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """The first service, which has the engine, and the second, which waits for it."""
    folder = tmp_path_factory.mktemp("hosts")
    with (
        held_port() as port,
        simulator(folder / "simulator") as simulated,
        real_server(folder / "server", port, "appendonly yes\nappendfsync always"),
        contextlib.ExitStack() as stack,
    ):
        url = f"redis://127.0.0.1:{port}/0"
        first, second = (ServiceByUrl(folder / name, simulated, url) for name in ("first", "second"))
        for host in (first, second):
            stack.callback(host.clean_up)
        first.start().until_ready()
        second.start()
        for path in ("/api/portfolio/funds", "/api/orders/details"):
            second.until(lambda path=path: second.all_ok(path), f"the second to serve {path}")
        yield first, second


def engine_runs(service):
    return service.read("/api/health")["engine"]["running"]


def say(what, seconds):
    sys.stdout.write(f"{what}: {seconds:.1f} s\n")


def test_while_the_first_lives_the_second_reads_and_does_not_trade(hosts):
    first, second = hosts
    said = first.place(**first.limit_buy(first.share(0), -3)).json
    assert second.until_status(said["order_id"], "OPEN")["engine_parent_id"] == said["parent_id"]
    assert said["parent_id"] in {one["parent_order_id"] for one in second.read("/api/orders/parents")["parents"]}
    before = second.assert_sent_once()
    refused = second.place(**second.limit_buy(second.share(1), -3))
    assert refused.status == 503, refused
    assert not engine_runs(second)
    assert second.assert_sent_once() == before


def test_the_second_takes_over_in_the_middle_of_orders(hosts):
    first, second = hosts
    shares = first.shares()
    bracket = {
        "type": "bracket",
        "stop_price": first.at_price(shares[2], -2.0),
        "stop_limit_price": first.at_price(shares[2], -4.0),
        "target_price": first.at_price(shares[2], 4.0),
    }
    entered = first.place(**first.limit_buy(shares[2], 1.0) | {"product": "MIS", "quantity": 10, "synthetic": bracket})
    assert entered.status == 200, entered
    parent_id = entered.json["parent_id"]

    def protected():
        legs = first.read("/api/orders/parents", parent_id=parent_id)["legs"]
        return len([leg for leg in legs if leg["transaction_type"] == "SELL" and leg["order_id"]]) >= 1

    first.until(protected, "the bracket's exits to be at the broker")
    answers = []

    def place(number):
        try:
            answers.append(first.place(**first.limit_buy(shares[number % len(shares)], -3)))
        except first.lost:
            answers.append(None)

    with ThreadPoolExecutor(8) as pool:
        for number in range(BURST):
            pool.submit(place, number)
        first.until(lambda: len(answers) >= BURST // 3, "a third of the burst to be answered")
        first.kill()
        began = time.monotonic()
    accepted = [answer.json for answer in answers if answer is not None and answer.status == 200]
    assert accepted

    second.until(lambda: engine_runs(second), "the second to have the engine", TAKES_OVER_SECONDS)
    say("from the kill to the running engine", time.monotonic() - began)

    def taken():
        answer = second.place(**second.limit_buy(shares[1], -3))
        assert answer.status in (200, 503), answer
        return answer.status == 200 and answer.json

    said = second.until(taken, "the second to take an order", TAKES_OVER_SECONDS)
    say("from the kill to the first order of the second", time.monotonic() - began)

    second.until_status(said["order_id"], "OPEN")
    for one in accepted:
        row = second.until_status(one["order_id"], "OPEN")
        assert row["engine_parent_id"] == one["parent_id"], "each order has its parent"
    second.until(
        lambda: second.read("/api/health")["engine"].get("unknown_orders", []) == [],
        "every lost answer to be found out",
    )
    second.assert_sent_once()

    # The bracket lives on: its stop is hit, and the other exit goes.
    second.move(shares[2]["instrument_id"], second.at_price(shares[2], -3.0))

    def ended():
        parent = second.read("/api/orders/parents", parent_id=parent_id)
        return parent["state"] == "completed" and parent

    second.until(ended, "the bracket to end", 60)

    def sold():
        fills = second.read("/api/orders/trades", parent_id=parent_id)["trades"]
        return sum(fill["quantity"] for fill in fills if fill["transaction_type"] == "SELL")

    second.until(lambda: sold() >= 10, lambda: f"the exit's fills: {sold()}")
    assert sold() == 10, "sold once"
    second.assert_sent_once()


def test_the_first_that_comes_back_waits_for_the_second(hosts):
    first, second = hosts
    first.start()
    first.until(lambda: first.all_ok("/api/orders/details"), "the first to read again")
    before = first.assert_sent_once()
    assert first.place(**first.limit_buy(first.share(3), -3)).status == 503
    assert not engine_runs(first)
    assert engine_runs(second)
    assert first.assert_sent_once() == before
    began = time.monotonic()
    assert second.end() == 0
    first.until(lambda: engine_runs(first), "the first to have the engine again", TAKES_OVER_SECONDS)
    say("from an orderly end to the running engine of the other", time.monotonic() - began)
    first.assert_sent_once()
