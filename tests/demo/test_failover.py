"""The primary behind a sentinel is killed ten times while orders are placed: by the exchange's ledger nothing is sent twice and nothing is lost. What
the replica did not have yet is missing in the store then, and the service says so."""

import itertools
import os
import signal
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import redis

from tests.demo.by_url import ServiceByUrl, simulator
from tests.support.held_port import held_port
from tests.support.real_servers import RealServer

pytestmark = pytest.mark.long

FAILOVERS = 10
WITH_LAG = (3, 7)
"""Failovers before which the replica is held, so that it misses orders that the primary has acknowledged."""
THREADS = 3
MOST_EACH = 400
FAILOVER_SECONDS = 60.0
SETTLED_SECONDS = 300.0
"""After a loss the engine reads the books for `unknown_settle_seconds`, and asks brokers by token for as long."""
SOON = "[engine]\nunknown_settle_seconds = 10"
SERVER = "appendonly yes\nappendfsync always\nrepl-diskless-sync-delay 0\n"
SENTINEL = (
    "sentinel monitor orders 127.0.0.1 {} 1\nsentinel down-after-milliseconds orders 2000\n"
    "sentinel failover-timeout orders 4000\n"
)


class Pair:
    """A primary, its replica and a sentinel; `port` is the sentinel's."""

    def __init__(self, folder, stack):
        ports = [stack.enter_context(held_port()) for _ in range(3)]
        self.port = ports[2]
        self._servers = {
            port: RealServer(folder / f"server {port}".replace(" ", "-"), port, SERVER) for port in ports[:2]
        }
        first, second = self._servers.values()
        sentinel = RealServer(folder / "sentinel", self.port, SENTINEL.format(first.port), "--sentinel")
        for server in (first, second, sentinel):
            stack.callback(server.kill)
        first.start()
        self._start_as_replica(second, first)
        sentinel.start()

    @property
    def url(self):
        return f"redis+sentinel://127.0.0.1:{self.port}/orders"

    def primary(self):
        with redis.Redis(port=self.port) as client:
            return self._servers[int(client.sentinel_get_master_addr_by_name("orders")[1])]

    def replica(self):
        primary = self.primary()
        return next(server for server in self._servers.values() if server is not primary)

    def is_whole(self):
        """Whether the replica follows the primary, and the sentinel knows it."""
        with redis.Redis(port=self.port) as client:
            known = client.sentinel_slaves("orders")
        replica = self.replica()
        with redis.Redis(port=replica.port) as client:
            follows = client.info("replication").get("master_link_status") == "up"
        return follows and any(each["port"] == replica.port and each["flags"] == "slave" for each in known)

    def come_back(self, killed):
        self._start_as_replica(killed, self.primary())

    @staticmethod
    def _start_as_replica(server, primary):
        server.start()
        with redis.Redis(port=server.port) as client:
            client.replicaof("127.0.0.1", str(primary.port))


class Load:
    """Orders of some threads at once, each with a quantity of its own share that no other order has."""

    def __init__(self, service, shares, pool):
        self._service, self._ended = service, threading.Event()
        self.answers = {}
        self._threads = [pool.submit(self._place, share) for share in shares]

    def _place(self, share):
        for quantity in itertools.count(1):
            if self._ended.is_set() or quantity > MOST_EACH:
                return
            answer = self._service.place(**self._service.limit_buy(share, -3, quantity=quantity))
            self.answers[share["instrument_id"], quantity] = answer
            self._ended.wait(0.1 if answer.status == 200 else 0.5)

    def accepted(self):
        """Return how many orders were taken so far."""
        for thread in self._threads:
            if thread.done():
                thread.result()
                pytest.fail(f"a thread has ended: {Counter(answer.status for answer in self.answers.values())}")
        return sum(1 for answer in list(self.answers.values()) if answer.status == 200)

    def end(self):
        self._ended.set()
        for thread in self._threads:
            thread.result()


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """The service after ten failovers under load: with the answers to all orders, and what was acknowledged and not replicated."""
    folder = tmp_path_factory.mktemp("failover")
    with ExitStack() as stack:
        simulated = stack.enter_context(simulator(folder / "simulator"))
        pair = Pair(folder, stack)
        service = ServiceByUrl(folder / "data", simulated, pair.url, SOON)
        stack.callback(service.clean_up)
        service.until(pair.is_whole, "the replica to follow")
        service.start().until_ready()
        shares = service.shares()
        told = {"service": service, "lost": []}
        load = Load(service, shares[:THREADS], stack.enter_context(ThreadPoolExecutor(THREADS)))
        stack.callback(load.end)
        for number in range(FAILOVERS):
            told["lost"] += fail_over(service, pair, shares[THREADS + number] if number in WITH_LAG else None, load)
        load.end()
        told["answers"] = load.answers
        yield told


def fail_over(service, pair, lagging, load):
    """Kill the primary, and return the orders that were acknowledged while the replica was held."""
    before = load.accepted()
    service.until(
        lambda: load.accepted() >= before + 3,
        lambda: f"orders to be taken: {list(load.answers.values())[-1]}",
        SETTLED_SECONDS,
    )
    primary, held = pair.primary(), pair.replica()
    said = []
    if lagging is not None:
        os.kill(held.pid, signal.SIGSTOP)
        with redis.Redis(port=primary.port) as client:
            client.client_kill_filter(_type="replica")  # what is in its socket would still reach it
        said = [service.place(**service.limit_buy(lagging, -3, quantity=quantity)) for quantity in (1, 2, 3)]
    primary.kill()
    if lagging is not None:
        os.kill(held.pid, signal.SIGCONT)
    service.until(lambda: pair.primary() is held, "another primary", FAILOVER_SECONDS)
    pair.come_back(primary)
    service.until(pair.is_whole, "the replica to follow", FAILOVER_SECONDS)
    service.until(lambda: service.read("/api/health")["store"]["reachable"], "the service to use the new primary")
    return [answer.json for answer in said if answer.status == 200]


def test_no_order_was_sent_twice_and_each_answer_is_true(story):
    service, answers = story["service"], story["answers"]
    messages = service.assert_sent_once()
    statuses = [answer.status for answer in answers.values()]
    assert {200, 503} <= set(statuses) <= {200, 503, 504}, set(statuses)
    for (instrument_id, quantity), answer in answers.items():
        found = [each for each in messages if (each["instrument_id"], each["quantity"]) == (instrument_id, quantity)]
        assert len(found) in {200: (1,), 503: (0,), 504: (0, 1)}[answer.status], (answer, found)


def test_no_order_is_lost_and_those_that_the_replica_had_not_are_told(story):
    service = story["service"]
    service.until(lambda: service.read("/api/health")["engine"]["running"], "the engine to run", SETTLED_SECONDS)
    placed = {each["order_id"] for each in service.placed() if each["order_id"]}

    def lacking():
        known = {row["order_id"] for row in service.orders() if row["engine_parent_id"]}
        strangers = {each["order_id"] for each in service.read("/api/health")["unknown_orders"]}
        return placed - known - strangers

    service.until(lambda: not lacking(), lambda: f"orders that nobody knows: {lacking()}", SETTLED_SECONDS)
    lost = {each["order_id"] for each in story["lost"]}
    assert lost
    strangers = {each["order_id"] for each in service.read("/api/health")["unknown_orders"]}
    rows = {row["order_id"]: row for row in service.orders()}
    assert all(order_id in strangers or rows[order_id]["engine_parent_id"] for order_id in lost)
    service.assert_sent_once()


def test_the_loss_is_told_at_the_start_and_when_it_happened(story):
    said = story["service"].log.read_text()
    assert "writes that no replica has yet are lost at a failover" in said
    assert "Redis came back without its last writes" in said
