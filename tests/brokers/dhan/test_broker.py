"""The assembled value, and that the registry holds it."""

from onebroker.brokers.broker import LoginKind, Windows
from onebroker.brokers.dhan.broker import DHAN
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind
from onebroker.config.instruments import ORDERABLE_SEGMENTS, bare_segment


def test_it_is_registered_under_its_code_behind_the_first_two():
    registry = build_registry()
    assert registry["dhan"] is DHAN
    assert list(registry)[:3] == ["zerodha", "upstox", "dhan"]


def test_it_is_what_the_design_says_it_is():
    assert (DHAN.name, DHAN.login_kind, DHAN.quotes_in_service) == ("Dhan", LoginKind.UNATTENDED, True)
    assert DHAN.order_windows == Windows(second=10, minute=250, hour=1000, day=7000)
    assert DHAN.kind_windows[CallKind.QUOTE] == Windows(second=1)
    assert (DHAN.cadence.orders, DHAN.cadence.trades, DHAN.cadence.positions, DHAN.cadence.funds) == (
        1.0,
        2.0,
        2.0,
        5.0,
    )
    assert (DHAN.cadence.holdings, DHAN.profile_seconds) == (60.0, 60.0)
    assert set(DHAN.endpoints.others) == {"auth_url"}
    assert DHAN.order_feed is not None
    assert not DHAN.feed_carries_orders


def test_pin_and_secret_or_a_pasted_token_are_complete():
    assert not DHAN.missing_credentials({"client_id", "pin", "totp_secret"})
    assert not DHAN.missing_credentials({"client_id", "access_token"})
    assert DHAN.missing_credentials({"client_id", "pin"}) == {"totp_secret"}


def test_its_reads_stay_within_its_own_call_window():
    cadence = DHAN.cadence
    per_second = 1 / cadence.orders + 1 / cadence.trades + 1 / cadence.positions + 1 / cadence.funds + 2 / 60
    assert per_second <= (DHAN.call_windows.second or 0)


def test_it_takes_orders_only_for_segments_that_can_be_ordered():
    assert {bare_segment(segment) for segment in DHAN.capabilities.segments} <= ORDERABLE_SEGMENTS
    assert {segment.partition("_")[0] for segment in DHAN.capabilities.segments} == {"nse", "bse", "mcx"}
