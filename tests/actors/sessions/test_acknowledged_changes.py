"""What a broker has acknowledged, over rows that do not show it yet: what is shown, and who has the last word."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.sessions.acknowledged_changes import (
    RUNS_BEHIND_SECONDS,
    Acknowledged,
    Report,
    cancelling,
    changing,
    decode_known,
    encode_known,
    placing,
)
from onebroker.actors.sessions.order_fold import MISSING_SECONDS, OrderFold
from onebroker.brokers.records import OrderRow
from onebroker.config.vocabulary import is_finished

NOW = 1_000.0
PLACED = OrderRow(
    order_id="", status="PENDING", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
    instrument_token="1", tradingsymbol="A", exchange="NSE", quantity=10, pending_quantity=10, price=100.0, tag="ob",
)  # fmt: skip


def row(status="OPEN", filled=0, **more):
    fields = {"pending_quantity": 0 if is_finished(status) else 10 - filled, "tag": None, **more}
    return msgspec.structs.replace(PLACED, order_id="1", status=status, filled_quantity=filled, **fields)


class Broker:
    """One order at one broker: what it said, and what was acknowledged."""

    def __init__(self, *rows):
        self.known = Acknowledged()
        self.rows = {one.order_id: one for one in rows}

    def placed(self, at=NOW):
        self.known.note(placing(PLACED, complete=True), "1", self.rows.get("1"), at)
        return self

    def modified(self, at=NOW, **values):
        stands = self.known.row("1", self.rows.get("1"))
        after = msgspec.structs.replace(stands, **values)
        self.known.note(changing(stands, after), "1", self.rows.get("1"), at)
        return self

    def cancelled(self, at=NOW):
        stands = self.known.row("1", self.rows.get("1"))
        self.known.note(cancelling(stands), "1", self.rows.get("1"), at)
        return self

    def says(self, *rows, at, book=True):
        """Hear a book that began, or an event that came, at `at`; returns what contradicts."""
        said = {one.order_id: one for one in rows}
        self.rows = said if book else {**self.rows, **said}
        return self.known.heard(Report(rows=said, moment=at, whole_book=book), self.rows)

    @property
    def shown(self):
        return next(iter(self.known.over(self.rows)), None)

    @property
    def pure(self):
        return not self.known.orders


# --- places ---------------------------------------------------------------------------------------------------------------


def test_an_accepted_order_is_shown_as_pending_until_its_broker_shows_it():
    broker = Broker().placed()
    assert (broker.shown.order_id, broker.shown.status, broker.shown.price) == ("1", "PENDING", 100.0)
    assert broker.says(at=NOW + 5) == []
    assert broker.shown.status == "PENDING"
    assert broker.says(row(), at=NOW + 8) == []
    assert (broker.shown, broker.pure) == (row(), True)


@pytest.mark.parametrize("status", ["OPEN", "COMPLETE", "REJECTED", "CANCELLED"])
@pytest.mark.parametrize("book", [True, False])
def test_whatever_the_broker_says_of_it_first_counts_at_once(status, book):
    broker = Broker().placed()
    first = row(status, filled=10 if status == "COMPLETE" else 0)
    assert broker.says(first, at=NOW + 0.1, book=book) == []
    assert (broker.shown, broker.pure) == (first, True)


def test_an_order_that_no_book_shows_is_dropped_and_counted():
    broker = Broker().placed()
    assert broker.says(at=NOW + MISSING_SECONDS - 1) == []
    assert broker.says(at=NOW + MISSING_SECONDS) == ["order 1 was accepted, and no book has shown it since"]
    assert (broker.shown, broker.known.contradictions) == (None, 1)


@pytest.mark.parametrize("book", [True, False])
def test_an_order_that_is_shown_by_its_tag_under_another_id_is_not_shown_twice(book):
    broker = Broker().placed()
    other = msgspec.structs.replace(row(tag="OB"), order_id="2")
    assert broker.says(other, at=NOW + 1, book=book) == ["order 1 was accepted, and is order 2"]
    assert (broker.known.over(broker.rows), broker.pure) == ((other,), True)


def test_an_answer_that_comes_after_the_broker_showed_the_order_changes_nothing():
    for status in ("OPEN", "COMPLETE"):
        assert Broker(row(status)).placed().pure


# --- changes --------------------------------------------------------------------------------------------------------------


def test_accepted_values_are_shown_until_the_book_shows_them():
    broker = Broker(row(filled=4)).modified(price=101.0, quantity=8)
    shown = broker.shown
    assert (shown.price, shown.quantity, shown.pending_quantity, shown.filled_quantity) == (101.0, 8, 4, 4)
    assert broker.says(row(filled=5), at=NOW + 2) == []  # behind, but with a fill
    assert (broker.shown.price, broker.shown.pending_quantity, broker.shown.filled_quantity) == (101.0, 3, 5)
    new = row(filled=5, price=101.0, quantity=8, pending_quantity=3)
    assert broker.says(new, at=NOW + 4) == []
    assert (broker.shown, broker.pure) == (new, True)


def test_several_changes_add_up_and_one_back_is_not_taken_for_old_news():
    broker = Broker(row()).modified(price=101.0).modified(at=NOW + 1, price=102.0).modified(at=NOW + 2, price=100.0)
    for behind in (100.0, 101.0, 102.0):
        assert broker.says(row(price=behind), at=NOW + 3, book=False) == []
        assert broker.shown.price == 100.0
    broker.modified(at=NOW + 4, trigger_price=99.0)
    assert (broker.shown.price, broker.shown.trigger_price) == (100.0, 99.0)


def test_a_stream_that_shows_the_new_value_does_not_let_a_late_book_take_it_back():
    broker = Broker(row()).modified(price=101.0)
    broker.says(row(price=101.0), at=NOW + 1, book=False)
    assert broker.says(row(price=100.0), at=NOW + 3) == []
    assert broker.shown.price == 101.0


def test_a_broker_that_goes_on_showing_the_old_value_is_believed_and_counted():
    broker = Broker(row()).modified(price=101.0)
    assert broker.says(row(), at=NOW + RUNS_BEHIND_SECONDS) == ["order 1 shows price 100.0, though 101.0 was accepted"]
    assert (broker.shown, broker.pure, broker.known.contradictions) == (row(), True, 1)


def test_a_value_that_nobody_asked_us_for_counts_at_once():
    broker = Broker(row()).modified(price=101.0)
    assert len(broker.says(row(price=99.0), at=NOW + 1)) == 1
    assert broker.shown.price == 99.0


@pytest.mark.parametrize("status", ["COMPLETE", "CANCELLED", "REJECTED", "EXPIRED"])
def test_an_order_that_ended_stands_as_its_broker_shows_it_whatever_was_accepted(status):
    broker = Broker(row()).modified(price=101.0)
    ended = row(status, filled=10 if status == "COMPLETE" else 0)
    assert broker.says(ended, at=NOW + 0.1) == []
    assert (broker.shown, broker.pure) == (ended, True)


# --- cancels --------------------------------------------------------------------------------------------------------------


def test_an_accepted_cancel_is_shown_until_the_broker_shows_the_end():
    broker = Broker(row(filled=4)).cancelled()
    shown = broker.shown
    assert (shown.status, shown.pending_quantity, shown.cancelled_quantity, shown.filled_quantity) == (
        "CANCELLED",
        0,
        6,
        4,
    )
    assert broker.says(row(filled=5), at=NOW + 9) == []
    assert (broker.shown.status, broker.shown.cancelled_quantity, broker.shown.filled_quantity) == ("CANCELLED", 5, 5)
    ended = row("CANCELLED", filled=5, cancelled_quantity=5)
    assert broker.says(ended, at=NOW + 9.5) == []
    assert (broker.shown, broker.pure) == (ended, True)


def test_an_order_that_filled_before_its_cancel_came_through_is_complete_and_counted():
    broker = Broker(row()).cancelled()
    filled = row("COMPLETE", filled=10)
    assert broker.says(filled, at=NOW + 0.5, book=False) == ["order 1 is COMPLETE, though its cancel was accepted"]
    assert (broker.shown, broker.pure, broker.known.contradictions) == (filled, True, 1)


@pytest.mark.parametrize("book", [True, False])
def test_an_order_that_its_broker_goes_on_showing_open_is_open_again_and_counted(book):
    broker = Broker(row()).cancelled()
    assert broker.says(row(), at=NOW + RUNS_BEHIND_SECONDS - 0.1, book=book) == []
    assert broker.shown.status == "CANCELLED"
    against = broker.says(row(), at=NOW + RUNS_BEHIND_SECONDS, book=book)
    assert against == ["order 1 is OPEN, though its cancel was accepted"]
    assert (broker.shown, broker.pure) == (row(), True)


def test_an_order_placed_changed_and_cancelled_before_any_book_shows_it():
    broker = Broker().placed().modified(at=NOW + 1, price=101.0)
    assert (broker.shown.status, broker.shown.price) == ("PENDING", 101.0)
    broker.cancelled(at=NOW + 2)
    assert (broker.shown.status, broker.shown.price, broker.shown.cancelled_quantity) == ("CANCELLED", 101.0, 10)
    assert broker.says(row(), at=NOW + 5) == []  # a book of before both
    assert (broker.shown.status, broker.shown.price) == ("CANCELLED", 101.0)


# --- any day --------------------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("modify"), st.sampled_from([99.0, 100.0, 101.0])),
        st.tuples(st.just("cancel"), st.none()),
        st.tuples(
            st.sampled_from(["book", "event"]),
            st.builds(
                row,
                st.sampled_from(["PENDING", "OPEN", "COMPLETE", "CANCELLED", "REJECTED"]),
                st.sampled_from([0, 4, 10]),
                price=st.sampled_from([99.0, 100.0, 101.0]),
            ),
        ),
        st.tuples(st.just("without"), st.none()),
    ),
    max_size=12,
)


@given(STEPS, st.lists(st.floats(0, 20), min_size=12, max_size=12))
def test_the_broker_has_the_last_word_on_any_day(steps, gaps):
    fold, known, now = OrderFold(), Acknowledged(), NOW
    known.note(placing(PLACED, complete=True), "1", None, now)
    for (kind, value), gap in zip(steps, gaps, strict=False):
        now += gap
        stands = known.row("1", fold.rows.get("1"))
        if kind in ("modify", "cancel"):
            if stands is None or is_finished(stands.status):
                continue
            when = (
                cancelling(stands)
                if kind == "cancel"
                else changing(stands, msgspec.structs.replace(stands, price=value))
            )
            known.note(when, "1", fold.rows.get("1"), now)
        elif kind == "event":
            fold = fold.event(value, at=now, day_start=0.0)
            known.heard(Report(rows={"1": value}, moment=now, whole_book=False), fold.rows)
        else:
            rows = [value] if kind == "book" else []
            fold = fold.read(rows, began=now, at=now, day_start=0.0)
            known.heard(Report(rows={one.order_id: one for one in rows}, moment=now, whole_book=True), fold.rows)
        shown, told = known.row("1", fold.rows.get("1")), fold.rows.get("1")
        if told is not None and is_finished(told.status):
            assert shown is told  # never open again, and never otherwise than the broker says
        if told is not None:
            assert (shown.filled_quantity, shown.order_id) == (told.filled_quantity, "1")
    last = row(price=55.0)
    fold = fold.read([last], began=now + MISSING_SECONDS, at=now + MISSING_SECONDS, day_start=0.0)
    known.heard(Report(rows={"1": last}, moment=now + MISSING_SECONDS, whole_book=True), fold.rows)
    assert not known.orders
    assert known.over(fold.rows) == tuple(fold.rows.values())


# --- the store ------------------------------------------------------------------------------------------------------------


def test_what_is_known_comes_back_from_the_store_with_its_times():
    broker = Broker().placed().modified(at=NOW + 1, price=101.0, quantity=8).cancelled(at=NOW + 2)
    known = broker.known.orders["1"]
    written = encode_known(known, epoch_ahead=5_000.0)
    fields = [("1", written), ("2", b"{"), ("3", encode_known(known, epoch_ahead=9_999.0))]
    assert decode_known(fields, epoch_ahead=5_000.0, now=NOW + 3) == {"1": known}


def test_what_was_acknowledged_before_the_day_began_is_not_laid_over_an_order_with_the_same_id():
    broker = Broker(row()).cancelled()
    broker.known.forget_before(NOW + 3600)
    assert broker.says(row(), at=NOW + 3601) == []
    assert broker.known.over(broker.rows) == (row(),)
    broker.cancelled(at=NOW + 3602).known.forget_before(NOW + 3600)
    assert [one.status for one in broker.known.over(broker.rows)] == ["CANCELLED"]
