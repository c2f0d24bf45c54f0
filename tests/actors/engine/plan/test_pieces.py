"""How quantities are cut: what must always hold, and the design's own figures (order-engine 1.3, 1.5, 3.22, 3.24)."""

from decimal import Decimal as D

from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.plan.execution_kinds import FrontLoaded, Ladder, Twap, Vwap
from onebroker.actors.engine.plan.market import Terms
from onebroker.actors.engine.plan.pieces.cutting import (
    due_time,
    freeze_pieces,
    piece_due,
    randomised,
    rounded_lots,
    rungs,
    shared,
    timed_ends,
)
from onebroker.config.vocabulary import Side

LOTS = st.sampled_from((1, 25, 75))
SLICES = st.integers(2, 60)


@st.composite
def timed(draw):
    slices = draw(SLICES)
    weights = draw(st.lists(st.integers(0, 9), min_size=slices, max_size=slices).filter(any))
    return draw(
        st.sampled_from(
            (
                Twap(slices=slices, over_minutes=D(30)),
                Vwap(slices=slices, over_minutes=D(30), volume_profile=tuple(map(D, weights))),
                FrontLoaded(slices=slices, over_minutes=D(30), urgency=draw(st.integers(0, 10)) / D(10)),
            )
        )
    )


@given(timed(), st.integers(1, 5_000), LOTS)
def test_timed_pieces_are_whole_lots_and_add_up(execution, lots, lot):
    units = lots * lot
    ends = timed_ends(execution, units, Terms(tick=D("0.05"), lot=lot))
    assert len(ends) == execution.slices
    assert list(ends) == sorted(ends)
    assert ends[-1] == units
    assert all(end % lot == 0 for end in ends)


@given(timed(), st.floats(0, 4_000))
def test_the_newest_due_piece_is_due_and_the_next_one_is_not(execution, after):
    piece = piece_due(execution, 100.0, 100.0 + after)
    assert due_time(execution, 100.0, piece) <= 100.0 + after + 1e-6
    if piece < execution.slices - 1:
        assert due_time(execution, 100.0, piece + 1) > 100.0 + after - 1e-6


def test_shrinking_slices_are_those_of_the_design():
    ends = timed_ends(FrontLoaded(slices=4, over_minutes=D(4)), 100, Terms(tick=None))
    assert ends == (53, 79, 92, 100)


@given(st.integers(1, 20_000), LOTS, st.integers(1, 40))
def test_pieces_each_fit_the_freeze_quantity_and_add_up(units, lot, most):
    terms = Terms(tick=None, lot=lot, freeze=most * lot + lot // 2)
    pieces = freeze_pieces(units, terms)
    assert sum(pieces) == units
    assert all(0 < piece <= most * lot for piece in pieces)
    assert freeze_pieces(units, Terms(tick=None, lot=lot)) == (units,)


@given(st.integers(1, 500), LOTS, st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_shares_that_make_the_whole_are_exact(lots, lot, weights):
    shares = [D(weight) / sum(weights) for weight in weights[:-1]]
    shares.append(1 - sum(shares, D(0)))
    parts = shared(lots * lot, shares, Terms(tick=None, lot=lot))
    assert sum(parts) == lots * lot
    assert all(part >= 0 and part % lot == 0 for part in parts)


def test_rungs_are_those_of_the_design():
    ladder = Ladder(from_price=D(100), to_price=D(98), steps=5)
    made = rungs(ladder, 103, Side.BUY, Terms(tick=D("0.05")))
    assert [(rung.price, rung.quantity) for rung in made] == [
        (D(100), 21), (D("99.5"), 21), (D(99), 21), (D("98.5"), 20), (D(98), 20),
    ]  # fmt: skip


@given(st.integers(1, 100), LOTS, st.integers(0, 50), st.floats(0, 1))
def test_a_drawn_size_stays_within_its_bounds(lots, lot, percent, draw):
    size = randomised(lots * lot, D(percent), draw, Terms(tick=None, lot=lot))
    assert size % lot == 0
    assert size >= lot
    assert abs(size - lots * lot) <= lots * lot * percent / 100 + lot / 2


def test_lots_are_rounded_as_said():
    assert [rounded_lots(D(450), 300, way) for way in ("nearest", "down", "up")] == [600, 300, 600]
