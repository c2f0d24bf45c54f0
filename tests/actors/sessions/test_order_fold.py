"""Folding one broker's orders: what only grows, what never reopens, and what a day's turn drops."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.sessions.order_fold import MISSING_SECONDS, Channel, OrderFold
from onebroker.brokers.records import OrderRow
from onebroker.config.vocabulary import is_finished

DAY = 1_000_000.0
"""07:00 of the day, epoch seconds."""
QUANTITY = 100


def row(order_id="1", status="OPEN", filled=0, **more):
    fields = {"pending_quantity": 0 if is_finished(status) else QUANTITY - filled, **more}
    return OrderRow(
        order_id=order_id, status=status, transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
        instrument_token="1", tradingsymbol="A", exchange="NSE", quantity=QUANTITY, filled_quantity=filled,
        average_price=100.0 if filled else 0.0, **fields,
    )  # fmt: skip


def events(*rows, at=DAY + 1):
    fold = OrderFold()
    for one in rows:
        fold = fold.event(one, at=at, day_start=DAY)
    return fold


def read(fold, rows, at=DAY + 2, day_start=DAY):
    return fold.read(list(rows), began=at, at=at, day_start=day_start)


@pytest.mark.parametrize("status", ["COMPLETE", "CANCELLED", "REJECTED", "EXPIRED"])
def test_a_finished_order_stays_finished_and_the_contradiction_is_counted(status):
    fold = read(read(OrderFold(), [row(status=status)]), [row(status="OPEN")])
    assert fold.rows["1"].status == status
    assert fold.contradictions == 1


def test_a_lower_filled_quantity_changes_nothing_and_is_counted():
    fold = events(row(filled=50), row(filled=20))
    assert fold.rows["1"] == row(filled=50)
    assert fold.contradictions == 1


def test_an_end_with_a_late_figure_ends_the_order_with_the_greater_fill():
    fold = events(row(filled=50), row(status="CANCELLED", filled=20, cancelled_quantity=80))
    held = fold.rows["1"]
    assert (held.status, held.filled_quantity, held.cancelled_quantity, held.pending_quantity) == (
        "CANCELLED",
        50,
        50,
        0,
    )


def test_a_fill_that_comes_after_the_cancellation_is_not_missed():
    cancelled = row(status="CANCELLED", filled=20, cancelled_quantity=80)
    held = events(cancelled, row(status="OPEN", filled=50)).rows["1"]
    assert (held.status, held.filled_quantity, held.cancelled_quantity) == ("CANCELLED", 50, 50)


def test_the_same_report_again_keeps_the_very_row():
    fold = events(row(filled=5))
    again = read(fold.event(row(filled=5), at=DAY + 3, day_start=DAY), [row(filled=5)])
    assert again.rows["1"] is fold.rows["1"]
    assert again.contradictions == 0


def test_a_tag_once_learnt_is_kept_whichever_report_brings_it():
    assert events(row(tag="ob1"), row(filled=5)).rows["1"].tag == "ob1"
    assert events(row(status="COMPLETE", filled=100), row(tag="ob1")).rows["1"].tag == "ob1"


def test_a_changed_open_order_takes_the_newest_figures():
    assert events(row(price=10.0), row(price=11.0)).rows["1"].price == 11.0


def test_an_order_that_a_late_book_does_not_show_yet_is_kept_and_its_fill_is_never_lowered():
    fold = events(row(filled=50))
    behind = read(fold, [])
    assert behind.rows["1"].filled_quantity == 50
    late = read(behind, [row(filled=0)], at=DAY + 4)
    assert late.rows["1"].filled_quantity == 50


def test_an_order_missing_for_long_is_not_shown_but_what_is_known_of_it_is_remembered():
    fold = read(events(row(status="COMPLETE", filled=100)), [], at=DAY + 1 + MISSING_SECONDS)
    assert fold.rows == {}
    assert read(fold, [row(status="OPEN")], at=DAY + 100).rows["1"].status == "COMPLETE"


def test_orders_of_an_earlier_day_go_with_the_first_read_that_does_not_show_them():
    fold = OrderFold.of([row("1", "COMPLETE", 100), row("2")], at=DAY - 5)
    fold = read(fold, [row("2"), row("3")], at=DAY + 1)
    assert set(fold.rows) == {"2", "3"}
    # Nothing of them is remembered either: memory does not grow with the days.
    for day in range(1, 5):
        start = DAY + day * 86_400
        fold = read(fold, [row(f"{day}x")], at=start + 5, day_start=start)
    assert set(fold.rows) == {"4x"}
    assert len(msgspec.json.encode(fold._reported)) < 50
    assert not fold._gone


def test_an_id_used_again_on_another_day_is_another_order():
    fold = OrderFold.of([row("1", "COMPLETE", 100)], at=DAY - 5)
    assert read(fold, [row("1", "OPEN")], at=DAY + 1).rows["1"] == row("1", "OPEN")
    assert fold.event(row("1", "OPEN"), at=DAY + 1, day_start=DAY).contradictions == 0


YESTERDAY, TODAY = "2026-11-23T15:10:00+05:30", "2026-11-24T09:16:00+05:30"
TOKEN = "ob0123456789abcd"


@pytest.mark.parametrize("reported", [DAY - 5, DAY + 1], ids=["last seen yesterday", "shown this morning too"])
@pytest.mark.parametrize("channel", list(Channel))
def test_an_order_with_the_id_of_an_order_of_another_day_takes_neither_its_tag_nor_its_fills(reported, channel):
    before = OrderFold.of([row(filled=60, tag=TOKEN, order_timestamp=YESTERDAY)], at=reported)
    other = row(filled=20, order_timestamp=TODAY)
    after = before.event(other, at=DAY + 2, day_start=DAY, channel=channel)
    assert (after.rows["1"], after.contradictions) == (other, 0)
    assert after.fills_beyond(before, [other], day_start=DAY)
    again = after.event(row(order_timestamp=TODAY, filled=30), at=DAY + 3, day_start=DAY)
    assert (again.rows["1"].tag, again.contradictions) == (None, 0)


def test_an_order_that_says_no_time_is_another_one_when_its_id_was_last_seen_yesterday():
    before = OrderFold.of([row(tag=TOKEN)], at=DAY - 5)
    assert before.event(row(filled=5), at=DAY + 1, day_start=DAY).rows["1"].tag is None


def test_an_order_of_the_evening_before_is_the_same_one_in_the_morning():
    before = OrderFold.of([row("1", "PENDING", tag=TOKEN, order_timestamp=YESTERDAY)], at=DAY - 5)
    filled = row(filled=20, order_timestamp=YESTERDAY)
    after = before.event(filled, at=DAY + 1, day_start=DAY)
    assert (after.rows["1"].tag, after.rows["1"].filled_quantity) == (TOKEN, 20)
    late = after.event(row(order_timestamp=YESTERDAY), at=DAY + 2, day_start=DAY)
    assert late.rows["1"].filled_quantity == 20
    assert not late.fills_beyond(after, [filled], day_start=DAY)


STATUSES = ["PENDING", "OPEN", "COMPLETE", "CANCELLED", "REJECTED", "EXPIRED"]
reports = st.lists(
    st.builds(
        row, st.sampled_from(["1", "2", "3"]), st.sampled_from(STATUSES), st.integers(min_value=0, max_value=QUANTITY)
    ),
    max_size=12,
)


@given(reports, st.randoms(use_true_random=False))
def test_in_any_order_the_same_reports_end_as_finished_and_as_filled(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one, other = events(*rows), read(OrderFold(), shuffled)
    assert set(one.rows) == set(other.rows) == {each.order_id for each in rows}
    for order_id in one.rows:
        mine = [each for each in rows if each.order_id == order_id]
        for fold in (one, other):
            held = fold.rows[order_id]
            assert held.filled_quantity == max(each.filled_quantity for each in mine)
            assert is_finished(held.status) == any(is_finished(each.status) for each in mine)


@given(reports)
def test_step_by_step_nothing_finished_reopens_and_no_fill_shrinks(rows):
    fold = OrderFold()
    for number, one in enumerate(rows):
        after = fold.event(one, at=DAY + number, day_start=DAY)
        for order_id, held in fold.rows.items():
            now = after.rows[order_id]
            assert now.filled_quantity >= held.filled_quantity
            assert is_finished(now.status) or not is_finished(held.status)
        fold = after


@given(reports)
def test_reporting_what_is_held_changes_nothing(rows):
    fold = events(*rows)
    again = read(fold, list(fold.rows.values()))
    assert again.rows == fold.rows
    assert again.contradictions == fold.contradictions
    assert all(again.rows[order_id] is held for order_id, held in fold.rows.items())


def test_a_stream_that_runs_behind_the_book_tells_old_news_and_contradicts_nothing():
    fold = OrderFold().read([row("1", "COMPLETE", filled=10)], began=DAY, at=DAY, day_start=DAY)
    for status in ("PENDING", "OPEN", "COMPLETE"):
        fold = fold.event(row("1", status, filled=10 if status == "COMPLETE" else 0), at=DAY + 1, day_start=DAY)
        assert fold.rows["1"].status == "COMPLETE"
        assert fold.rows["1"].filled_quantity == 10
    assert fold.contradictions == 0
    fold = fold.event(row("1", "OPEN"), at=DAY + 2, day_start=DAY)  # this stream had said COMPLETE itself
    assert fold.contradictions == 1
    assert fold.rows["1"].status == "COMPLETE"


def test_a_book_that_runs_behind_the_stream_tells_old_news_and_contradicts_nothing():
    fold = OrderFold().event(row("1", "COMPLETE", filled=10), at=DAY, day_start=DAY)
    fold = fold.read([row("1", "OPEN")], began=DAY, at=DAY + 1, day_start=DAY)
    assert (fold.contradictions, fold.rows["1"].status) == (0, "COMPLETE")
    fold = fold.read([row("1", "COMPLETE", filled=10)], began=DAY, at=DAY + 2, day_start=DAY)
    fold = fold.read([row("1", "COMPLETE", filled=4)], began=DAY, at=DAY + 3, day_start=DAY)
    assert (fold.contradictions, fold.rows["1"].filled_quantity) == (1, 10)


@pytest.mark.parametrize("second", ["CANCELLED", "REJECTED", "EXPIRED"])
def test_a_finished_order_keeps_the_end_it_came_to_whatever_other_end_is_told(second):
    fold = read(read(OrderFold(), [row(status="COMPLETE", filled=100)]), [row(status=second, filled=100)])
    assert (fold.rows["1"].status, fold.contradictions) == ("COMPLETE", 1)


def test_a_late_fill_of_a_cancelled_order_is_taken_and_its_end_is_not():
    first = row(status="CANCELLED", filled=20, cancelled_quantity=80)
    held = (fold := read(read(OrderFold(), [first]), [row(status="COMPLETE", filled=100)])).rows["1"]
    assert (held.status, held.filled_quantity, held.cancelled_quantity, fold.contradictions) == ("CANCELLED", 100, 0, 1)
