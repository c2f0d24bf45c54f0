"""The assembled value, and that the registry holds it."""

from onebroker.brokers.broker import LoginKind, Windows
from onebroker.brokers.groww import feed
from onebroker.brokers.groww.broker import GROWW
from onebroker.brokers.registry import build_registry
from onebroker.config.instruments import ORDERABLE_SEGMENTS, bare_segment


def test_it_is_registered_under_its_code():
    assert build_registry()["groww"] is GROWW


def test_it_is_what_the_design_says_it_is():
    assert (GROWW.name, GROWW.login_kind, GROWW.quotes_in_service) == ("Groww", LoginKind.UNATTENDED, False)
    assert GROWW.missing_credentials({"totp_key", "totp_secret"}) == frozenset()
    assert GROWW.missing_credentials({"api_key", "api_secret"}) == frozenset()
    assert GROWW.missing_credentials({"api_key"}) == {"api_secret"}
    assert GROWW.order_windows == Windows(second=10, minute=250)
    assert GROWW.order_feed is None
    assert GROWW.feed_carries_orders


def test_its_reads_stay_within_its_own_call_window():
    cadence = GROWW.cadence
    # Orders are three lists, and the trade book begins with the same three.
    per_minute = 3 * 60 / cadence.orders + 3 * 60 / cadence.trades + 60 / cadence.positions + 60 / cadence.funds
    per_minute += 60 / cadence.holdings + 1
    assert per_minute <= (GROWW.call_windows.minute or 0) / 2  # the rest is for the trades of orders with fills


def test_it_takes_orders_only_for_shares_and_equity_derivatives():
    assert {bare_segment(segment) for segment in GROWW.capabilities.segments} <= ORDERABLE_SEGMENTS
    assert {segment.partition("_")[0] for segment in GROWW.capabilities.segments} == {"nse", "bse"}
    assert not GROWW.capabilities.after_market
    assert not GROWW.capabilities.disclosed_quantity
    assert GROWW.capabilities.validities == {"DAY"}


def test_all_its_subjects_fit_into_the_broker_s_thousand():
    assert 3 * feed.per_socket + 3 <= 1000
    assert (feed.sockets, feed.per_socket) == (1, 332)
