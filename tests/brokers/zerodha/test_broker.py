"""Zerodha as one value."""

from onebroker.brokers.broker import LoginKind, Windows
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind
from onebroker.brokers.zerodha.broker import ZERODHA
from onebroker.config.instruments import ORDERABLE_SEGMENTS, bare_segment
from onebroker.config.vocabulary import OrderType, Validity


def test_the_registry_knows_it_by_its_code():
    assert build_registry()["zerodha"] is ZERODHA


def test_its_limits_are_the_published_ones():
    windows = ZERODHA.order_windows
    assert (windows.second, windows.minute, windows.day) == (10, 200, 3000)
    kinds = ZERODHA.kind_windows
    assert (kinds[CallKind.QUOTE], kinds[CallKind.HISTORY]) == (Windows(second=1), Windows(second=3))
    assert (ZERODHA.cadence.orders, ZERODHA.cadence.trades, ZERODHA.cadence.positions) == (1.0, 2.0, 2.0)
    assert (ZERODHA.cadence.funds, ZERODHA.cadence.holdings, ZERODHA.profile_seconds) == (5.0, 60.0, 60.0)
    assert (ZERODHA.feed.sockets, ZERODHA.feed.per_socket) == (3, 3000)


def test_it_takes_orders_only_in_segments_and_words_that_can_be_ordered():
    able = ZERODHA.capabilities
    assert {bare_segment(segment) for segment in able.segments} <= ORDERABLE_SEGMENTS
    assert not any(segment.startswith("ncdex") for segment in able.segments)
    assert all(words <= set(OrderType) for words in able.order_types.values())
    assert able.validities <= set(Validity)
    assert ZERODHA.login_kind is LoginKind.ASSISTED
    assert ZERODHA.feed_carries_orders
    assert ZERODHA.order_feed is None
