"""Kite's value tables beyond test_value_tables.py."""

from onebroker.brokers.zerodha import values
from onebroker.config.vocabulary import OrderStatus


def test_a_stop_waiting_for_its_trigger_is_pending_and_an_unknown_status_passes_through_upper_cased():
    assert values.STATUSES.read("TRIGGER PENDING") == OrderStatus.PENDING
    assert values.STATUSES.read("LAPSED") == OrderStatus.EXPIRED
    assert values.STATUSES.read("half done") == "HALF DONE"
