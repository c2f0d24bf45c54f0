"""What positions have earned whose rows their broker shows no more. Pure."""

from datetime import datetime

import msgspec
import pytest

from onebroker.actors.engine.context.hidden_results import HiddenResults
from onebroker.actors.engine.context.position_days import RowKey
from onebroker.config.clock import IST
from tests.actors.engine.orders.test_another_hand import ROW

NOW = datetime(2026, 11, 23, 11, 0, tzinfo=IST)


def filled(side, quantity, price, product="MIS"):
    more = {"transaction_type": side, "filled_quantity": quantity, "average_price": price, "product": product}
    return msgspec.structs.replace(ROW, order_timestamp=None, **more)


@pytest.mark.parametrize(
    ("orders", "carried", "expected"),
    [
        ([filled("BUY", 10, 100.0), filled("SELL", 10, 103.0)], 0, 3_000),
        ([filled("SELL", 10, 103.0)], 10, None),  # its cost is not known
        ([filled("SELL", 10, 103.0, "CNC")], 0, 0),  # out of the holdings
        ([filled("BUY", 10, 100.0)], 0, 0),
        ([], 10, 0),
    ],
)
def test_only_what_is_flat_by_its_fills_has_a_result_of_its_own(orders, carried, expected):
    key = RowKey(ROW.instrument_token, "intraday")
    found = HiddenResults().of("alpha", (), orders, {key: carried}, now=NOW, result_of=lambda _: None)
    assert found == expected
