"""The assembled value, and that the registry holds it."""

from onebroker.brokers.broker import Cadence, LoginKind, Windows
from onebroker.brokers.fyers.broker import FYERS
from onebroker.brokers.registry import build_registry
from onebroker.config.instruments import ORDERABLE_SEGMENTS, bare_segment


def test_it_is_registered_under_its_code():
    assert build_registry()["fyers"] is FYERS


def test_it_is_what_the_design_says_it_is():
    assert (FYERS.name, FYERS.login_kind, FYERS.quotes_in_service) == ("Fyers", LoginKind.ASSISTED, True)
    assert FYERS.credential_keys == {"app_id", "secret", "redirect_url"}
    assert FYERS.all_credential_keys == {"app_id", "secret", "redirect_url", "pin"}
    assert FYERS.call_windows == Windows(second=10, minute=200)
    assert set(FYERS.endpoints.others) == {"data_url"}
    assert FYERS.order_feed is not None
    assert not FYERS.feed_carries_orders


def test_its_reads_are_those_of_the_design_and_stay_within_its_window():
    cadence = FYERS.cadence
    assert cadence == Cadence(orders=2.0, trades=4.0, positions=4.0, funds=15.0, holdings=60.0)
    per_minute = 60 / cadence.orders + 60 / cadence.trades + 60 / cadence.positions + 60 / cadence.funds
    assert per_minute + 60 / cadence.holdings == 65
    assert per_minute + 2 <= (FYERS.call_windows.minute or 0)


def test_it_takes_orders_only_for_segments_that_can_be_ordered_and_never_changes_a_validity():
    assert {bare_segment(segment) for segment in FYERS.capabilities.segments} <= ORDERABLE_SEGMENTS
    assert {segment.partition("_")[0] for segment in FYERS.capabilities.segments} == {"nse", "bse", "mcx"}
    assert "bse_currency_futures" not in FYERS.capabilities.segments
    assert "validity" not in FYERS.capabilities.modifiable
