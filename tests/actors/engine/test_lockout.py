"""The daily loss lockout: what the day's loss is, from when new orders are refused, and what keeps the day locked (order-engine 4.7)."""

from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.context.day_loss import DayLoss, Figure, Locked, LossFold
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.sessions.slices import Slice
from onebroker.brokers.records import FundsRow
from onebroker.config.clock import IST, latest_boundary
from onebroker.config.vocabulary import ReadStatus
from tests.support.every_case import every_case

TEN = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
LIMIT = Decimal(5000)
DOWN = "the day is down 5200.00, which is past the 5000.00 limit, so no new order is being placed"
NOT_AVAILABLE = "the day's profit and loss is not available, so no new order is being placed"


def read(broker, figure, at, status=ReadStatus.OK, unrealized=0.0):
    """What the funds document holds of a broker; `figure` None: it gives no result."""
    row = FundsRow(available_balance=1.0, realized=figure, unrealized=None if figure is None else unrealized)
    error = "refused" if status is ReadStatus.UNREADABLE else None
    held = Slice(broker=broker, resource="funds", rows=None if error else row, received_at=at.timestamp(), error=error)
    return BrokerRead(broker=broker, status=status, slice=None if status is ReadStatus.MISSING else held)


class Days:
    """A fold whose documents are told one by one."""

    def __init__(self, at=TEN, locked=None):
        self.fold = LossFold(LIMIT)
        self.now = at
        self.day = None
        self.locked = locked
        self.positions = {}
        """Broker -> what its positions come to."""

    def see(self, *reads, after=5, opened=True):
        """Fold what is read `after` seconds after the document before; figures given as numbers are fresh."""
        self.now += timedelta(seconds=after)
        today = latest_boundary(self.now).date()
        if today != self.day:
            self.fold.begin_day(today, self.locked)
            self.day, self.locked = today, None
        made = [
            one if isinstance(one, BrokerRead) else read(f"broker {n}", one, self.now) for n, one in enumerate(reads)
        ]
        return self.fold.fold(made, self.now, opened=opened, positions=self.positions.get)

    @property
    def is_locked(self):
        return self.fold.locked is not None


def test_the_loss_is_what_all_brokers_have_realized_and_not():
    days = Days()
    assert days.see(read("a", -4000.0, TEN, unrealized=-1200.0), read("b", 300.05, TEN)) == Decimal("4899.95")


def test_a_profit_is_a_negative_loss():
    assert Days().see(250.5) == Decimal("-250.5")


def test_without_any_brokers_figure_there_is_none():
    days = Days()
    assert days.see(None, None) is None
    assert days.see(None, -1.0) is None, "zero is not what a broker that tells nothing has lost"
    days.positions["broker 0"] = Figure(0, days.now.timestamp())
    assert days.see(None, -1.0) == 1


def test_the_day_is_locked_when_the_limit_is_passed_twice_in_a_row():
    days = Days()
    assert days.see(-5200.0) == 5200
    assert not days.is_locked
    days.see(-5200.0)
    assert days.fold.locked == Locked(loss=Decimal(5200), limit=LIMIT)
    days.see(-10.0)
    assert days.is_locked


def test_a_figure_that_is_taken_back_locks_nothing():
    days = Days()
    for figure in (-5200.0, -4000.0, -5200.0, -4999.99, -5000.0):
        days.see(figure)
    assert not days.is_locked


def test_the_same_reading_in_a_second_document_is_no_second_figure():
    days = Days()
    for _ in range(20):
        days.see(read("a", -5200.0, TEN), after=0.5)
    assert not days.is_locked
    days.see(-5200.0)
    assert days.is_locked


def test_a_second_figure_is_wanted_of_every_broker_that_loses():
    days = Days()
    days.see(read("a", -3000.0, TEN), read("b", -3000.0, TEN))
    days.see(read("a", -3000.0, TEN + timedelta(seconds=9)), read("b", -3000.0, TEN))
    assert not days.is_locked
    days.see(read("a", -3000.0, TEN + timedelta(seconds=9)), read("b", -3000.0, TEN + timedelta(seconds=20)))
    assert days.is_locked


@pytest.mark.parametrize("status", [ReadStatus.MISSING, ReadStatus.UNREADABLE])
def test_a_broker_that_cannot_be_read_any_more_counts_with_its_last_figure(status):
    days = Days()
    days.see(-4000.0, -600.0)
    assert days.see(read("broker 0", None, days.now, status), -600.0) == 4600
    days.see(read("broker 0", None, days.now, status), -1600.0)
    assert not days.is_locked
    days.see(read("broker 0", None, days.now, status), -1600.0)
    assert days.is_locked


def test_a_broker_that_stops_telling_its_result_counts_with_its_last_figure():
    days = Days()
    days.see(-4000.0)
    assert days.see(None) == 4000


def test_brokers_that_all_went_silent_lock_nothing_more():
    days = Days()
    days.see(-5200.0)
    for _ in range(3):
        days.see(read("broker 0", None, days.now, ReadStatus.MISSING))
    assert not days.is_locked


# --- the night ---------------------------------------------------------------------------------------------------------

SEVEN = datetime(2026, 11, 24, 7, 0, tzinfo=IST)


def before_seven(figure=-6000.0):
    days = Days(at=SEVEN - timedelta(minutes=1))
    for _ in range(3):
        days.see(figure)
    assert days.is_locked
    return days


def test_at_seven_the_lock_ends_and_yesterdays_figure_does_not_lock_the_new_day():
    days = before_seven()
    for _ in range(5):
        assert days.see(-6000.0, after=60, opened=False) == 0
    assert not days.is_locked


def test_from_the_first_opening_it_counts():
    days = before_seven()
    days.see(-6000.0, after=60, opened=False)
    days.see(-6000.0, after=7200)
    assert days.see(-6000.0) == 6000
    assert days.is_locked


def test_a_figure_that_has_changed_since_is_todays():
    days = before_seven()
    assert days.see(-6000.0, after=60, opened=False) == 0
    assert days.see(-5500.0, opened=False) == 5500
    assert days.see(-6000.0, opened=False) == 6000
    assert days.is_locked


def test_a_figure_received_before_seven_is_never_todays():
    days = Days(at=SEVEN + timedelta(hours=3))
    stale = read("a", -6000.0, SEVEN - timedelta(hours=8), ReadStatus.STALE)
    for _ in range(3):
        assert days.see(stale) == 0
    assert not days.is_locked


def test_after_a_restart_in_the_morning_the_stored_reading_tells_what_is_yesterdays():
    days = Days(at=SEVEN + timedelta(hours=1))
    days.see(read("broker 0", -6000.0, SEVEN - timedelta(hours=9), ReadStatus.STALE), opened=False)
    assert days.see(-6000.0, opened=False) == 0


def test_a_day_that_was_locked_before_a_restart_stays_locked():
    days = Days(locked=Locked(loss=Decimal(5200), limit=LIMIT))
    days.see(-1.0)
    assert days.is_locked


@given(st.lists(st.tuples(st.integers(-7000, 1000), st.integers(-7000, 1000)), min_size=1, max_size=30))
def test_over_any_day_the_lock_comes_with_the_second_figure_in_a_row_and_stays(figures):
    days, row, locked = Days(), 0, False
    for one, other in figures:
        loss = days.see(float(one), float(other))
        assert loss == -(one + other)
        row = row + 1 if loss > LIMIT else 0
        locked = locked or row >= 2
        assert days.is_locked is locked


# --- refusing ----------------------------------------------------------------------------------------------------------


def refusal(now=100.0, **state):
    found = DayLoss(**{"limit": LIMIT, "loss": Decimal(0), "figure_at": 99.0, **state}).refusal(now)
    return None if found is None else (found.status, found.body["error"])


@every_case(
    ("state", "answer"),
    [
        ({}, None),
        ({"loss": LIMIT}, None),
        ({"loss": Decimal(5200)}, (403, DOWN)),
        ({"loss": Decimal("-300.00")}, None),
        ({"loss": None}, (503, NOT_AVAILABLE)),
        ({"figure_at": None}, (503, NOT_AVAILABLE)),
        ({"figure_at": 69.9}, (503, NOT_AVAILABLE)),
        ({"figure_at": 70.0}, None),
        ({"loss": Decimal(5200), "figure_at": 69.9}, (503, NOT_AVAILABLE)),
        ({"locked": Locked(loss=Decimal(5200), limit=LIMIT)}, (403, DOWN)),
        ({"locked": Locked(loss=Decimal(5200), limit=LIMIT), "loss": None}, (403, DOWN)),
        ({"locked": Locked(loss=Decimal(9000), limit=LIMIT), "loss": Decimal(5200)}, (403, DOWN)),
        ({"limit": None, "loss": Decimal(5200)}, None),
        ({"limit": None, "figure_at": None}, None),
    ],
)
def test_a_new_order_is_refused_for_a_loss_past_the_limit_and_for_a_figure_that_is_not_there(state, answer):
    assert refusal(**state) == answer


def test_a_broker_whose_funds_tell_no_result_counts_with_its_positions_and_keeps_the_sum_unknown_until_these_are():
    days = Days()
    silent = lambda: read("b", None, days.now)  # noqa: E731
    assert days.see(read("a", -100.0, TEN), silent()) is None
    assert (days.fold.untold, days.is_locked) == ({"b"}, False)
    days.positions["b"] = Figure(-500_000, (TEN + timedelta(seconds=9)).timestamp())
    assert days.see(read("a", -100.0, TEN), silent()) == 5100
    assert not days.fold.untold
    del days.positions["b"]
    assert days.see(read("a", -100.0, TEN), silent()) == 5100  # its last counts: a loss cannot vanish


def test_half_a_result_is_none():
    days = Days()
    half = Slice(broker="b", resource="funds", rows=FundsRow(realized=-10.0), received_at=TEN.timestamp())
    half = BrokerRead(broker="b", status=ReadStatus.OK, slice=half)
    assert days.see(half) is None
    days.positions["b"] = Figure(-700_000, TEN.timestamp())
    assert days.see(half) == 7000
