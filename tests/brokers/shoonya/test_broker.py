"""Shoonya as one value."""

from onebroker.brokers.broker import LoginKind, Windows
from onebroker.brokers.registry import build_registry
from onebroker.brokers.shoonya.broker import SHOONYA
from onebroker.config.instruments import ORDERABLE_SEGMENTS, bare_segment
from onebroker.config.vocabulary import OrderType, Validity


def test_the_registry_knows_it_by_its_code():
    assert build_registry()["shoonya"] is SHOONYA


def test_its_limits_and_cadence_are_those_of_the_design():
    assert SHOONYA.order_windows == Windows(second=10, minute=200)
    assert SHOONYA.call_windows == Windows(second=10)
    assert (SHOONYA.cadence.orders, SHOONYA.cadence.trades, SHOONYA.cadence.positions) == (2.0, 4.0, 4.0)
    assert (SHOONYA.cadence.funds, SHOONYA.cadence.holdings, SHOONYA.profile_seconds) == (10.0, 60.0, 60.0)
    assert (SHOONYA.feed.sockets, SHOONYA.feed.per_socket, SHOONYA.quotes.most_per_call) == (1, 100, 1)


def test_it_takes_orders_only_in_segments_and_words_that_can_be_ordered():
    able = SHOONYA.capabilities
    assert {bare_segment(segment) for segment in able.segments} <= ORDERABLE_SEGMENTS
    assert any(segment.startswith("ncdex") for segment in able.segments)
    assert set(able.order_types.values()) == {frozenset({OrderType.LIMIT, OrderType.SL})}
    assert able.validities <= set(Validity)


def test_its_quotes_are_held_back_and_its_one_socket_carries_the_orders():
    assert SHOONYA.quotes_in_service is False
    assert SHOONYA.feed_carries_orders
    assert SHOONYA.order_feed is None
    assert SHOONYA.login_kind is LoginKind.ASSISTED
    assert SHOONYA.all_credential_keys == {"client_id", "secret_code", "user_id"}
