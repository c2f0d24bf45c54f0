"""Which delivery rows below zero are sales out of the holdings (rules 1.2.5-38)."""

import msgspec
import pytest

from onebroker.actors.sessions.covered_rows import marked
from onebroker.brokers.records import HoldingRow, PositionRow


def row(quantity, *, token="1", product="CNC", view="net", symbol="A"):
    return PositionRow(
        position_key=f"{view}:{token}:{product}", view=view, product=product, instrument_token=token, tradingsymbol=symbol,
        exchange="NSE", quantity=quantity,
    )  # fmt: skip


def held(settled, t1=0, *, token="1", symbol="A"):
    return HoldingRow(
        instrument_token=token,
        tradingsymbol=symbol,
        exchange="NSE",
        isin="INE1",
        settled_quantity=settled,
        t1_quantity=t1,
    )


def marks(positions, holdings):
    return [one.covered_by_holdings for one in marked(tuple(positions), holdings)]


@pytest.mark.parametrize(
    ("position", "holdings", "covered"),
    [
        (row(-5), [held(5)], True),
        (row(-5), [held(3, 2)], True),
        (row(-5), [held(4)], False),
        (row(-5), [], False),
        (row(5), [held(5)], False),
        (row(0), [held(5)], False),
        (row(None), [held(5)], False),
        (row(-5, product="MIS"), [held(5)], False),
        (row(-5, view="day"), [held(5)], False),
        (row(-5), [held(5, token="2", symbol="B")], False),
        (row(-5), [held(5, token="2")], True),
    ],
)
def test_a_delivery_row_below_zero_is_covered_by_as_many_held_units_of_the_share(position, holdings, covered):
    assert marks([position], holdings) == [covered]


def test_each_held_unit_covers_one_unit():
    assert marks([row(-5), row(-5, token="2")], [held(9)]) == [True, False]
    assert marks([row(-5), row(-5, token="2")], [held(6), held(4, token="2")]) == [True, True]


def test_rows_whose_mark_stays_are_the_same_objects_and_a_mark_goes_with_the_holdings():
    rows = (row(-5), row(10, token="3"))
    first = marked(rows, [held(5)])
    assert first[1] is rows[1]
    assert marked(first, [held(5)]) is first
    assert marked(first, []) == rows
    plain = (row(10),)
    assert marked(plain, [held(5)]) is plain


def test_a_row_stored_before_the_mark_existed_is_read():
    written = msgspec.json.decode(msgspec.json.encode(row(-5)))
    del written["covered_by_holdings"]
    assert msgspec.convert(written, PositionRow) == row(-5)
