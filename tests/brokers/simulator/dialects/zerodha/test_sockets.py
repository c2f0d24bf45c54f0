"""Kite's server over the real exchange: its sockets."""

import hashlib
import struct
from datetime import timedelta

import msgspec
import pytest

from tests.support.every_case import every_case


# the ticker -----------------------------------------------------------------------------------------------------------
def subscribe(session, mode, *tokens):
    session.received(msgspec.json.encode({"a": "subscribe", "v": tokens}).decode())
    session.received(msgspec.json.encode({"a": "mode", "v": [mode, tokens]}).decode())


def packets(frame):
    (count,) = struct.unpack_from(">H", frame)
    at, found = 2, []
    for _ in range(count):
        (size,) = struct.unpack_from(">H", frame, at)
        found.append(frame[at + 2 : at + 2 + size])
        at += 2 + size
    assert at == len(frame)
    return found


@pytest.mark.parametrize(("mode", "share_size", "index_size"), [("ltp", 8, 8), ("quote", 44, 28), ("full", 184, 32)])
def test_a_mode_tells_the_size_of_a_packet(kite, mode, share_size, index_size):
    share, index = kite.share, kite.listed(lambda each: each.is_index)
    wire, session = kite.open_socket()
    subscribe(session, mode, share.token, index.token)
    one, other = packets(wire.frames[-1])
    assert (len(one), len(other)) == (share_size, index_size)
    market = kite.account.market(share.contract.instrument_id)
    assert struct.unpack_from(">II", one) == (share.token, round(market.last_price * 100))
    assert struct.unpack_from(">I", other)[0] & 0xFF == 9


def test_only_what_is_subscribed_and_moved_is_sent(kite):
    share, crude = kite.share, kite.crude
    wire, session = kite.open_socket()
    subscribe(session, "full", share.token)
    wire.frames.clear()
    session.markets_moved(frozenset({share.contract.instrument_id, crude.contract.instrument_id}))
    assert len(packets(wire.frames.pop())) == 1
    session.received(msgspec.json.encode({"a": "unsubscribe", "v": [share.token]}).decode())
    session.markets_moved(frozenset({share.contract.instrument_id}))
    session.beat()
    assert wire.frames == [b"\x00"]


def test_a_currency_price_is_scaled_by_ten_million(kite):
    dollar = kite.listed(lambda each: each.identity.underlying_symbol == "USDINR")
    wire, session = kite.open_socket()
    subscribe(session, "ltp", dollar.token)
    market = kite.account.market(dollar.contract.instrument_id)
    assert struct.unpack(">II", packets(wire.frames[-1])[0]) == (dollar.token, int(market.last_price * 10_000_000))


def test_order_changes_come_as_postbacks_on_the_same_socket(kite):
    wire, session = kite.open_socket()
    order_id = kite.data("POST", "/orders/regular", kite.order_form(kite.share))["order_id"]
    session.order_changed(kite.account.order(order_id), None)
    message = msgspec.json.decode(wire.frames[-1])
    row = message["data"]
    assert (message["type"], row["order_id"], row["status"], row["unfilled_quantity"]) == ("order", order_id, "OPEN", 1)
    signed = f"{order_id}{row['order_timestamp']}{kite.secret}"
    assert row["checksum"] == hashlib.sha256(signed.encode()).hexdigest()


@every_case(
    "message",
    ["", "x", "[]", '{"a":"subscribe","v":["408065"]}', '{"a":"dance","v":[1]}', '{"a":"mode","v":["deep",[1]]}'],
)
def test_a_message_kite_does_not_know_is_answered_with_an_error(kite, message):
    wire, session = kite.open_socket()
    session.received(message)
    assert [msgspec.json.decode(frame)["type"] for frame in wire.frames] == ["error"]


def test_a_socket_needs_a_live_token(kite):
    _, refused = kite.open_socket(token="dead")
    assert refused.status == 403
    kite.wall.now += timedelta(days=1).total_seconds()
    _, refused = kite.open_socket()
    assert refused.status == 403
