"""Kite's value tables beyond test_value_tables.py."""

from onebroker.brokers.zerodha import values
from onebroker.config.vocabulary import OrderStatus


def test_a_stop_waiting_for_its_trigger_is_pending_and_an_unknown_status_passes_through_upper_cased():
    assert values.status("TRIGGER PENDING") == OrderStatus.PENDING
    assert values.status("LAPSED") == OrderStatus.EXPIRED
    assert values.status("half done") == "HALF DONE"
