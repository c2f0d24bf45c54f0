"""What every server does, on a server without any broker's words."""

from datetime import time

import attrs
import pytest

from onebroker.brokers.simulator.dialects.base import OpenSockets, RestDialect, stream_base
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.rest import Refused, Route, as_json
from onebroker.brokers.simulator.dialects.tokens import Kind
from onebroker.brokers.simulator.dialects.zerodha.naming import KiteNames
from onebroker.brokers.simulator.world.model import RefusalReason, SimRefusal
from tests.support.dialect_client import Wire


class Session:
    """A socket session that holds its socket."""

    def __init__(self):
        self.socket = Wire()


class Plain(RestDialect):
    """A server that says the least."""

    code = "zerodha"
    token_expiry, token_length = time(6, 0), 32

    def __init__(self, account, store, clock):
        super().__init__(account, KiteNames(account), store, clock, 1)
        self.sockets = OpenSockets()

    def _table(self):
        return (
            Route("GET", "/open", lambda request: as_json(200, "open"), is_open=True),
            Route("GET", r"/orders/(\w+)", lambda request, order_id: as_json(200, self._known(order_id).order_id)),
            Route("GET", "/fills", lambda request: as_json(200, len(self._fills()))),
            Route("GET", "/positions", lambda request: as_json(200, len(self._position_book()))),
            Route("POST", "/refused", self._refuse),
        )

    def _refuse(self, request):
        raise SimRefusal(RefusalReason.FORCED, "no")

    def _check(self, request):
        if not self._tokens.is_live(request.headers.get("token", "")):
            raise Refused(as_json(401, "who"))

    def _no_route(self, status):
        return as_json(status, "where")

    def _refusal(self, refusal):
        return as_json(400, refusal.message)

    def _unknown_order(self):
        return Refused(as_json(404, "which"))

    def _close_sockets(self):
        self.sockets.close_all(1008, "over")

    def log_in(self):
        return self._tokens.mint(Kind.ACCESS)


class NotDone(Exception):
    """A refusal that needs more than its words: the call's path."""


class Repeating(Plain):
    """A server whose refusals repeat the call's path."""

    def handle(self, request):
        try:
            return super().handle(request)
        except NotDone as refused:
            return as_json(400, [request.path, str(refused)])

    def _refusal(self, refusal):
        raise NotDone(refusal.message)

    def _unknown_order(self):
        return NotDone("which")


@pytest.fixture
def plain(floor):
    return Plain(floor.account(), floor.exchange.tokens("zerodha"), floor.clock)


def ask(plain, method, path, token=""):
    answer = plain.handle(
        DialectRequest(method=method, base="http://h", path=path, query=(), headers={"token": token}, body=b"")
    )
    return answer.status, answer.body


def test_each_refusal_has_its_own_answer(plain):
    token = plain.log_in()
    assert ask(plain, "GET", "/open") == (200, b'"open"')
    assert ask(plain, "GET", "/orders/1") == (401, b'"who"')
    assert ask(plain, "GET", "/orders/1", token) == (404, b'"which"')
    assert ask(plain, "GET", "/nothing", token) == (404, b'"where"')
    assert ask(plain, "PUT", "/refused", token) == (405, b'"where"')
    assert ask(plain, "POST", "/refused", token) == (400, b'"no"')


def test_a_server_may_answer_its_refusals_itself(floor):
    repeating = Repeating(floor.account(), floor.exchange.tokens("zerodha"), floor.clock)
    token = repeating.log_in()
    assert ask(repeating, "GET", "/orders/1", token) == (400, b'["/orders/1","which"]')
    assert ask(repeating, "POST", "/refused", token) == (400, b'["/refused","no"]')


def test_orders_fills_and_positions_are_the_accounts(plain, floor, monkeypatch):
    """A position in a contract that is no longer listed is left out."""
    token = plain.log_in()
    order = floor.place(floor.contract())
    assert ask(plain, "GET", f"/orders/{order.order_id}", token) == (200, f'"{order.order_id}"'.encode())
    assert ask(plain, "GET", "/fills", token) == (200, str(len(floor.account().fills())).encode())
    shown = floor.account().positions()
    expired = attrs.evolve(shown[0], instrument_id="expired")
    monkeypatch.setattr(plain._account, "positions", lambda: (*shown, expired))
    assert ask(plain, "GET", "/positions", token) == (200, str(len(shown)).encode())


def test_at_expiry_tokens_and_sockets_end(plain):
    token, session = plain.log_in(), plain.sockets.keep(Session())
    plain.expire_session()
    assert ask(plain, "GET", "/fills", token)[0] == 401
    assert session.socket.closed == (1008, "over")
    assert plain.sockets.take_all() == []


def test_a_socket_whose_session_is_gone_is_forgotten():
    sockets = OpenSockets()
    sockets.keep(Session())
    assert sockets.take_all() == []


def test_a_socket_whose_client_is_gone_is_not_counted():
    sockets = OpenSockets()
    first, second = sockets.keep(Session()), sockets.keep(Session())
    assert sockets.connected() == 2
    first.socket.close(1000, "")
    assert sockets.connected() == 1
    assert second.socket.closed is None


def test_socket_addresses():
    assert [stream_base(base) for base in ("http://h:1", "https://h")] == ["ws://h:1", "wss://h"]
