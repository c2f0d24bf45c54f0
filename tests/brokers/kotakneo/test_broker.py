"""Kotak Neo as one value: what it offers, its limits and its cadence (architecture 13)."""

from onebroker.brokers.broker import Cadence, LoginKind, Windows
from onebroker.brokers.codec.display_names import CODES_BY_DISPLAY_NAME
from onebroker.brokers.kotakneo.broker import KOTAKNEO
from onebroker.brokers.requests import CallKind


def test_it_logs_in_by_itself_with_the_keys_of_its_section():
    assert (KOTAKNEO.code, KOTAKNEO.login_kind) == ("kotakneo", LoginKind.UNATTENDED)
    assert KOTAKNEO.all_credential_keys == {"access_token", "mobile_number", "ucc", "mpin", "totp_secret"}
    assert set(KOTAKNEO.endpoints.others) == {"config_url"}
    assert CODES_BY_DISPLAY_NAME[KOTAKNEO.name] == "kotakneo"


def test_budgets_and_cadence_are_those_settled():
    assert KOTAKNEO.call_windows == Windows(second=10, minute=300)
    assert KOTAKNEO.order_windows == Windows(second=10)
    assert KOTAKNEO.kind_windows == {CallKind.HISTORY: Windows(second=1)}
    assert KOTAKNEO.cadence == Cadence(orders=2.0, trades=4.0, positions=4.0, funds=10.0, holdings=60.0)
    assert KOTAKNEO.profile_seconds is None
    assert KOTAKNEO.quotes_in_service is True
    assert (KOTAKNEO.feed.sockets, KOTAKNEO.feed.per_socket, KOTAKNEO.feed_carries_orders) == (1, 3000, False)


def test_currency_and_stops_at_market_are_not_offered():
    offered = KOTAKNEO.capabilities
    assert not any("currency" in segment or "fixed_income_" in segment for segment in offered.segments)
    assert {"nse_equities", "bse_equity_index_options", "mcx_commodity_futures"} <= offered.segments
    assert offered.order_types["equity"] == {"MARKET", "LIMIT", "SL"}
    assert offered.order_types["currency"] == frozenset()
    assert offered.validities == {"DAY", "IOC"}
