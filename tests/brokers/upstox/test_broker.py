"""The assembled value, and that the registry holds it."""

from onebroker.brokers.broker import LoginKind, Windows
from onebroker.brokers.registry import build_registry
from onebroker.brokers.upstox.broker import UPSTOX
from onebroker.config.instruments import ORDERABLE_SEGMENTS, bare_segment


def test_it_is_registered_under_its_code():
    assert build_registry()["upstox"] is UPSTOX


def test_it_is_what_the_design_says_it_is():
    assert (UPSTOX.name, UPSTOX.login_kind, UPSTOX.quotes_in_service) == ("Upstox", LoginKind.ASSISTED, True)
    assert UPSTOX.credential_keys == {"api_key", "api_secret", "redirect_url"}
    assert UPSTOX.order_windows == Windows(second=10, minute=500, half_hour=2000)
    assert UPSTOX.order_feed is not None
    assert not UPSTOX.feed_carries_orders


def test_its_reads_stay_within_its_own_call_window():
    cadence = UPSTOX.cadence
    # Holdings are two calls; the profile one more a minute.
    per_minute = 60 / cadence.orders + 60 / cadence.trades + 60 / cadence.positions + 60 / cadence.funds
    per_minute += 2 * 60 / cadence.holdings + 1
    assert per_minute * 30 <= (UPSTOX.call_windows.half_hour or 0)


def test_it_takes_orders_only_for_segments_that_can_be_ordered():
    assert {bare_segment(segment) for segment in UPSTOX.capabilities.segments} <= ORDERABLE_SEGMENTS
    assert {segment.partition("_")[0] for segment in UPSTOX.capabilities.segments} == {"nse", "bse", "mcx"}
