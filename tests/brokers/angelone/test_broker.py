"""The assembled value, and that the registry holds it."""

from onebroker.brokers.angelone.broker import ANGELONE
from onebroker.brokers.broker import Cadence, LoginKind, Windows
from onebroker.brokers.codec.display_names import CODES_BY_DISPLAY_NAME
from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.host.lookup import DIALECTS
from onebroker.config.instruments import ORDERABLE_SEGMENTS, bare_segment


def test_it_is_registered_under_its_code():
    assert build_registry()["angelone"] is ANGELONE
    assert "angelone" in DIALECTS
    assert CODES_BY_DISPLAY_NAME[ANGELONE.name] == ANGELONE.code


def test_it_is_what_the_design_says_it_is():
    assert (ANGELONE.login_kind, ANGELONE.quotes_in_service) == (LoginKind.UNATTENDED, True)
    assert ANGELONE.credential_keys == {"api_key", "client_code", "pin", "totp_secret"}
    assert ANGELONE.order_windows == Windows(second=9, minute=500, hour=1000)
    assert ANGELONE.call_windows == Windows(second=10)
    assert ANGELONE.cadence == Cadence(orders=2, trades=3, positions=3, funds=5, holdings=60)
    assert ANGELONE.profile_seconds == 60
    assert ANGELONE.order_feed is not None
    assert not ANGELONE.feed_carries_orders


def test_it_takes_orders_only_for_segments_that_can_be_ordered():
    assert {bare_segment(segment) for segment in ANGELONE.capabilities.segments} <= ORDERABLE_SEGMENTS
    assert {segment.partition("_")[0] for segment in ANGELONE.capabilities.segments} == {"nse", "bse", "ncdex"}
    assert "disclosed_quantity" not in ANGELONE.capabilities.modifiable
