"""Whether the rows that a broker shows agree with its fills (order-engine 4.11): by hand, and over drawn days with late and left-out rows."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.context.position_days import (
    CONFIRMED_CLOSED_SECONDS,
    CONFIRMED_SECONDS,
    CONVERTED_SECONDS,
    GAP_SECONDS,
    LATE_SECONDS,
    Book,
    PositionDay,
    Read,
    RowKey,
)
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.config.clock import IST

NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
SHARE = RowKey("A", "intraday")
DELIVERY = RowKey("A", "delivery")


class Broker:
    """A broker's day as the engine sees it, one call for each read."""

    def __init__(self):
        self.day = PositionDay(day=NOW.date())
        self.orders = {}
        self.at = 1_000.0

    def fill(self, units, product="MIS", token="A", **more):
        number = f"o{len(self.orders)}"
        row = OrderRow(
            order_id=number, status="COMPLETE", transaction_type="BUY" if units > 0 else "SELL", product=product,
            order_type="MARKET", validity="DAY", instrument_token=token, tradingsymbol=token, exchange="NSE", quantity=abs(units),
            filled_quantity=abs(units), **{"order_timestamp": "2026-11-23T09:30:00+05:30", **more},
        )  # fmt: skip
        self.orders = {**self.orders, number: row}
        return number

    def shows(self, *rows, after=1.0, whole=True, trading=True, orders=0.0):
        """Judge a read begun `after` seconds from the last; rows as (units, product, overnight). `orders`: the orders were read so long after it."""
        self.at += after
        read = Read(rows=tuple(row(*one) for one in rows), whole=whole, began=self.at)
        return self.again(read, trading=trading, orders=orders)

    def again(self, read, *, trading=True, orders=0.0):
        moment = NOW + timedelta(seconds=self.at - 1_000)
        return self.day.judge(
            read,
            self.orders,
            now=moment,
            book=Book(now=self.at, began=self.at + orders, filled_at=None),
            trading=trading,
        )


def row(units, product="MIS", overnight=None, token="A"):
    return PositionRow(
        position_key=f"{token}:{product}", view="net", product=product, instrument_token=token, tradingsymbol=token,
        exchange="NSE", quantity=units, overnight_quantity=overnight,
    )  # fmt: skip


def acting(found, key=SHARE):
    """The units by which a caller acts."""
    words = {"MIS": "intraday", "CNC": "delivery", "NRML": "carry"}
    return sum(one.quantity for one in found.rows if (one.instrument_token, words[one.product]) == key)


@pytest.fixture
def broker():
    return Broker()


def test_a_fill_that_the_row_does_not_show_yet_is_doubted_and_acted_by(broker):
    broker.shows()
    broker.fill(100)
    late = broker.shows()
    doubt = late.doubts[SHARE]
    assert (doubt.shown, doubt.by_fills, doubt.late, acting(late), doubt.certain) == (0, 100, True, 100, 0)
    assert doubt.tradingsymbol == "A"
    still = broker.shows(after=2)
    assert still.doubts[SHARE].since == doubt.since
    assert still.doubts[SHARE].as_of == broker.at
    assert broker.shows((100,)).doubts == {}


def test_a_sale_that_the_row_does_not_show_yet_leaves_nothing_to_close(broker):
    broker.shows()
    broker.fill(100)
    broker.shows((100,))
    broker.fill(-100)
    late = broker.shows((100,))
    assert (late.doubts[SHARE].late, acting(late), late.doubts[SHARE].certain) == (True, 0, 0)


def test_a_round_trip_between_two_reads_leaves_nothing_to_close(broker):
    broker.shows()
    broker.fill(100)
    broker.fill(-100)
    assert acting(broker.shows((100,))) == 0
    assert acting(broker.shows((40,))) == 0


def test_a_row_that_is_left_out_is_kept(broker):
    broker.shows((75, "NRML", 75))
    gone = broker.shows()
    key = RowKey("A", "carry")
    assert (gone.doubts[key].shown, gone.doubts[key].by_fills, gone.doubts[key].late) == (0, 75, False)
    assert acting(gone, key) == 75
    assert gone.rows[0].position_key == "A:NRML"
    assert broker.shows((75, "NRML", 75)).doubts == {}


def test_a_row_that_shrinks_without_a_trade_is_doubted(broker):
    broker.shows((100,))
    less = broker.shows((40,))
    assert (acting(less), less.doubts[SHARE].certain) == (100, 40)


def test_an_order_of_another_hand_may_be_in_the_positions_first(broker):
    broker.shows()
    more = broker.shows((50,))
    assert (more.doubts[SHARE].late, acting(more), more.doubts[SHARE].certain) == (False, 50, 0)
    broker.fill(50)
    assert broker.shows((50,)).doubts == {}
    assert broker.day.carried.get(SHARE, 0) == 0


def test_a_conversion_is_believed_at_the_next_read(broker):
    broker.shows()
    broker.fill(100)
    broker.shows((100,))
    broker.at += CONVERTED_SECONDS
    moved = broker.shows((0,), (100, "CNC"))
    assert moved.doubts == {}
    assert {(doubt.key, doubt.by_fills, doubt.shown) for doubt in moved.believed} == {
        (SHARE, 100, 0),
        (DELIVERY, 0, 100),
    }
    broker.fill(-100, "CNC")
    assert broker.shows((0,), (0, "CNC")).doubts == {}


def test_a_conversion_right_after_a_fill_is_acted_by_at_once_and_believed_at_the_second_read(broker):
    broker.shows()
    broker.fill(80)
    broker.shows((80,))
    first = broker.shows((45,), (35, "CNC"))
    assert (acting(first), acting(first, DELIVERY)) == (45, 35)
    assert first.doubts
    second = broker.shows((45,), (35, "CNC"))
    assert (second.doubts, acting(second), acting(second, DELIVERY)) == ({}, 45, 35)


def test_a_row_of_before_a_conversion_is_late_and_no_conversion_back(broker):
    broker.shows((100,))
    assert broker.shows((50,), (50, "CNC")).doubts == {}
    back = broker.shows((100,))
    assert (acting(back), acting(back, DELIVERY)) == (50, 50)
    assert broker.shows((50,), (50, "CNC")).doubts == {}
    broker.shows((50,), (50, "CNC"), after=CONVERTED_SECONDS)
    assert broker.shows((100,)).doubts == {}


def test_a_conversion_beside_a_plan_that_fills_all_the_time_is_believed(broker):
    broker.shows()
    broker.fill(80)
    broker.shows((80,))
    for bought in range(2, 10, 2):
        broker.fill(2)
        found = broker.shows((45 + bought,), (35, "CNC"), after=8.0)
    assert (found.doubts, acting(found), acting(found, DELIVERY)) == ({}, 53, 35)


def test_units_that_came_without_an_order_are_believed_beside_a_plan_that_fills_all_the_time(broker):
    broker.shows((100,))
    for bought in range(0, 160, 10):
        broker.fill(10)
        found = broker.shows((150 + bought + 10,), after=10.0)
    assert found.doubts == {}


def test_fills_in_two_products_that_are_late_are_no_conversion(broker):
    broker.shows((100,))
    broker.fill(-100)
    broker.fill(100, "CNC")
    late = broker.shows((100,))
    assert (acting(late), acting(late, DELIVERY)) == (0, 100)


def test_delivery_sold_out_of_the_holdings(broker):
    broker.shows()
    broker.fill(-5, "CNC")
    assert broker.shows((-5, "CNC", 0)).doubts == {}


def test_a_figure_that_nothing_explains_is_believed_after_two_minutes(broker):
    broker.shows((100,))
    broker.shows((40,))
    first = broker.at
    while broker.at + 10 < first + CONFIRMED_SECONDS:
        assert broker.shows((40,), after=10).doubts
    told = broker.shows((40,), after=10)
    assert [(doubt.shown, doubt.by_fills) for doubt in told.believed] == [(40, 100)]
    assert told.doubts == {}
    assert acting(broker.shows((40,))) == 40


def test_reads_that_differ_confirm_nothing(broker):
    broker.shows((100,))
    for _ in range(60):
        assert broker.shows((40,), after=5).doubts
        assert broker.shows((30,), after=5).doubts


def test_a_late_figure_is_not_believed_however_often_it_is_shown(broker):
    broker.shows()
    broker.fill(100)
    for _ in range(int(LATE_SECONDS / 10) - 1):
        assert acting(broker.shows(after=10)) == 100


def test_outside_trading_hours_a_second_read_is_enough(broker):
    broker.shows((100, "CNC", 100))
    assert broker.shows(trading=False).doubts
    assert broker.shows(after=CONFIRMED_CLOSED_SECONDS, trading=False).doubts == {}


def test_a_broker_that_tells_no_carried_units(broker):
    broker.fill(30)
    assert broker.shows((130,)).unjudged == {SHARE}
    assert broker.shows((130,), after=GAP_SECONDS).unjudged == set()
    broker.fill(-130)
    assert broker.shows().doubts == {}


def test_a_first_read_that_lacks_a_fill_of_just_before_teaches_nothing(broker):
    broker.fill(100)
    for after in (1, 5):
        found = broker.shows(after=after)
        assert (found.unjudged, found.doubts, broker.day.learnt) == ({SHARE}, {}, False)
    assert broker.shows((100,)).unjudged == set()
    assert (broker.day.learnt, broker.day.carried[SHARE]) == (True, 0)
    assert acting(broker.shows()) == 100


def test_first_reads_that_are_late_for_longer_are_corrected(broker):
    broker.fill(100)
    broker.shows()
    broker.shows(after=GAP_SECONDS)
    assert broker.day.carried[SHARE] == -100
    assert broker.shows((100,)).doubts == {}
    assert acting(broker.shows((100,))) == 100


def test_that_nothing_was_carried_in_is_stored_too(broker):
    broker.shows()
    assert (broker.day.learnt, broker.day.dirty) == (True, True)


@pytest.mark.parametrize("overnight", [None, 0])
def test_a_first_read_that_shows_a_fill_before_the_orders_do_is_no_carried_position(broker, overnight):
    first = broker.shows((-35, "NRML", overnight), orders=-1)
    assert (first.doubts, first.unjudged) == ({}, {RowKey("A", "carry")})
    broker.fill(-35, "NRML")
    assert broker.shows((-35, "NRML", overnight)).doubts == {}
    assert broker.day.carried[RowKey("A", "carry")] == 0


def test_a_late_first_read_of_a_position_that_filled_is_doubted_where_the_row_tells_what_was_carried_in(broker):
    broker.fill(100)
    assert acting(broker.shows((50, "MIS", 50))) == 150


def test_a_row_left_out_soon_after_the_first_read_corrects_nothing(broker):
    broker.fill(100)
    broker.shows((100,))
    assert acting(broker.shows()) == 100


def test_stored_carried_units_make_a_late_first_read_visible(broker):
    broker.day.carried, broker.day.learnt = {}, True
    broker.fill(100)
    assert acting(broker.shows()) == 100


def test_an_order_that_the_book_leaves_out_keeps_its_fills(broker):
    broker.shows()
    number = broker.fill(100)
    broker.shows((100,))
    broker.orders = {name: one for name, one in broker.orders.items() if name != number}
    assert broker.shows((100,)).doubts == {}


def test_yesterdays_orders_do_not_count(broker):
    broker.fill(100, order_timestamp="2026-11-20T15:00:00+05:30")
    broker.shows()
    assert broker.day.carried.get(SHARE, 0) == 0


def test_an_order_placed_yesterday_that_the_exchange_worked_today_counts(broker):
    broker.shows()
    broker.fill(100, order_timestamp="2026-11-22T20:00:00+05:30", exchange_timestamp="2026-11-23T09:15:00+05:30")
    assert broker.shows((100,)).doubts == {}


def test_rows_without_units_and_absent_rows_of_a_partial_answer_are_not_judged(broker):
    broker.shows((100,), (5, "NRML", 5))
    untold = broker.shows((None,), whole=False)
    assert (untold.doubts, untold.unjudged) == ({}, {SHARE, RowKey("A", "carry")})
    assert len(untold.rows) == 1


def test_the_newest_of_several_net_rows_carries_the_difference(broker):
    broker.shows((60,), (40, "MIS"))
    broker.fill(-100)
    assert acting(broker.shows((60,), (40, "MIS"))) == 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("fill"), st.integers(-100, 100).filter(bool)),
        st.tuples(st.just("read"), st.integers(0, 3)),
        st.tuples(st.just("left out"), st.just(0)),
    ),
    max_size=30,
)


@given(carried=st.integers(-100, 100), steps=STEPS)
def test_what_is_not_doubted_is_what_is_held(carried, steps):
    """Reads show the state of up to three fills ago, or leave the row out; the carried units are told by the row or learnt."""
    broker, states = Broker(), [carried]
    broker.shows((carried, "MIS", carried))
    for step, number in steps:
        if step == "fill":
            broker.fill(number)
            states.append(states[-1] + number)
            continue
        lag = min(number, len(states) - 1)
        found = broker.shows(*(() if step == "left out" else [(states[-1 - lag], "MIS", carried)]))
        held = states[-1]
        if SHARE not in found.doubts:
            assert acting(found) == held
        else:
            assert acting(found) == held or not found.doubts[SHARE].late
            assert found.doubts[SHARE].by_fills == held
            assert abs(found.doubts[SHARE].certain) <= abs(held)
            assert found.doubts[SHARE].certain * held >= 0
        if step == "read":
            assert acting(found) == held
