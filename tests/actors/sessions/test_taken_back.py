"""When a lower fill is believed: two whole books and the positions agree (order-engine 2.3)."""

import msgspec
import pytest

from onebroker.actors.sessions.order_fold import OrderFold
from onebroker.actors.sessions.taken_back import STANDS_SECONDS, TakenBack
from onebroker.brokers.records import OrderRow, PositionRow

FULL = OrderRow(
    order_id="1", status="COMPLETE", transaction_type="BUY", product="MIS", order_type="LIMIT", validity="DAY",
    instrument_token="7", tradingsymbol="A", exchange="NSE", quantity=100, filled_quantity=100, average_price=50.0,
)  # fmt: skip
LESS = msgspec.structs.replace(FULL, filled_quantity=60)


def position(quantity, **more):
    fields = {"product": "MIS", "view": "net", "overnight_quantity": 0, **more}
    return PositionRow(
        position_key="k", instrument_token="7", tradingsymbol="A", exchange="NSE", quantity=quantity, **fields
    )


def watched(*books, folded=None):
    """Books of one order, a read of `STANDS_SECONDS` / 2 after the other; what is believed after each, with positions that agree."""
    watch, found = TakenBack(), []
    for number, row in enumerate(books, 1):
        began = number * STANDS_SECONDS / 2
        watch.book([row], folded or {"1": FULL}, began)
        found.append(watch.agreed(folded or {"1": FULL}, [position(60)], began + 1))
    return found


def test_a_lower_fill_is_believed_once_it_has_stood_long_enough():
    assert watched(LESS, LESS, LESS) == [[], [], [LESS]]


@pytest.mark.parametrize("between", [FULL, msgspec.structs.replace(LESS, filled_quantity=70)])
def test_a_book_between_that_shows_another_figure_begins_it_anew(between):
    assert watched(LESS, between, LESS, LESS) == [[]] * 4


@pytest.mark.parametrize(
    "positions",
    [
        [position(100)],  # the position still has all units
        [],
        [position(None)],
        [position(100, product="CNC")],
        [position(55), position(None, product="CNC")],
        [position(60, view="day")],
        [position(60, overnight_quantity=10)],
    ],
)
def test_positions_that_do_not_agree_change_nothing(positions):
    watch = TakenBack()
    for began in (0.0, STANDS_SECONDS):
        watch.book([LESS], {"1": FULL}, began)
    assert watch.agreed({"1": FULL}, positions, STANDS_SECONDS + 1) == []
    assert watch.agreed({"1": FULL}, [position(60)], STANDS_SECONDS + 1) == [LESS]


def test_positions_read_before_the_first_lower_book_do_not_count():
    watch = TakenBack()
    for began in (5.0, 5.0 + STANDS_SECONDS):
        watch.book([LESS], {"1": FULL}, began)
    assert watch.agreed({"1": FULL}, [position(60)], 4.0) == []
    assert watch.agreed({"1": FULL}, [position(60)], None) == []


def test_what_was_carried_in_and_the_other_orders_count():
    sold = msgspec.structs.replace(FULL, order_id="2", transaction_type="SELL", filled_quantity=20, quantity=20)
    folded = {"1": FULL, "2": sold}
    watch = TakenBack()
    for began in (0.0, STANDS_SECONDS):
        watch.book([LESS, sold], folded, began)
    assert watch.agreed(folded, [position(45, overnight_quantity=5)], STANDS_SECONDS + 1) == [LESS]


def test_units_that_were_converted_are_in_no_fill_so_the_products_count_together():
    watch = TakenBack()
    for began in (0.0, STANDS_SECONDS):
        watch.book([LESS], {"1": FULL}, began)
    converted = [position(5, product="CNC")]
    assert watch.agreed({"1": FULL}, [position(95), *converted], STANDS_SECONDS + 1) == []
    assert watch.agreed({"1": FULL}, [position(55), *converted], STANDS_SECONDS + 1) == [LESS]


def test_the_fold_takes_a_corrected_order_and_keeps_its_tag():
    tagged = msgspec.structs.replace(FULL, tag="t")
    fold = OrderFold.of([tagged], at=0.0).corrected(LESS, at=1.0)
    assert (fold.rows["1"].filled_quantity, fold.rows["1"].tag) == (60, "t")
    again = fold.event(LESS, at=2.0, day_start=0.0)
    assert (again.rows["1"].filled_quantity, again.contradictions) == (60, 0)
