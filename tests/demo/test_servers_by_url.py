"""The whole service over a server by URL: it gets ready, takes orders, is killed and starts again, and so does its server."""

import pytest

from tests.demo.by_url import ServiceByUrl, simulator
from tests.support.held_port import held_port
from tests.support.real_servers import BINARIES, real_server

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=BINARIES)
def running(request, tmp_path_factory):
    """A server with its file, and the service over it."""
    folder = tmp_path_factory.mktemp("by_url")
    with (
        held_port() as port,
        simulator(folder / "simulator") as simulated,
        real_server(folder / "server", port, "appendonly yes\nappendfsync always", binary=request.param) as server,
    ):
        service = ServiceByUrl(folder / "data", simulated, f"redis://127.0.0.1:{port}/0")
        try:
            service.start().until_ready()
            yield service, server
        finally:
            service.clean_up()


def take_an_order(service, number, seconds=60.0):
    """Place an order as soon as orders are taken; return its answer."""

    def accepted():
        answer = service.place(**service.limit_buy(service.share(number), -3))
        assert answer.status in (200, 503), answer
        return answer.json if answer.status == 200 else None

    return service.until(accepted, "an order to be taken", seconds)


def assert_kept(service, said):
    assert service.until_status(said["order_id"], "OPEN")["engine_parent_id"] == said["parent_id"]
    legs = service.read("/api/orders/parents", parent_id=said["parent_id"])["legs"]
    assert [leg["order_id"] for leg in legs] == [said["order_id"]]


def test_it_gets_ready_and_takes_orders(running):
    service, _ = running
    assert_kept(service, take_an_order(service, 0))
    assert "store        every write on disk" in service.log.read_text()
    assert service.redis_servers() == [], "no server of its own"


def test_a_killed_service_starts_again_with_its_orders_and_its_token(running):
    service, _ = running
    said, token = take_an_order(service, 1), service.token
    before = service.assert_sent_once()
    service.kill()
    service.start().until_ready()
    assert service.token == token
    assert_kept(service, said)
    assert service.assert_sent_once() == before


def test_a_killed_server_that_comes_back_costs_nothing_that_was_acknowledged(running):
    service, server = running
    said = take_an_order(service, 2)
    server.kill()
    service.until(lambda: not service.read("/api/health")["store"]["reachable"], "the loss to be seen")
    before = service.assert_sent_once()
    assert service.place(**service.limit_buy(service.share(3), -3)).status == 503
    assert service.assert_sent_once() == before
    server.start()
    assert_kept(service, take_an_order(service, 3))
    assert_kept(service, said)
    service.assert_sent_once()
    assert service.read("/api/health")["crashes"] == []


def test_a_start_without_its_server_says_so(running):
    service, server = running
    assert service.end() == 0
    server.kill()
    assert service.launch().wait(60) == 4
    assert "Redis could not be reached: no connection (Connection refused)" in service.log.read_text()
    server.start()
    service.start().until_ready()
