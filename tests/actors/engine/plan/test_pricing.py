"""What pricing kinds come to: published values, an independent calculation, and what must always hold (order-engine 1.4)."""

import itertools
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal as D

import attrs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onebroker.actors.engine.orders.part_state import Bars, Memory
from onebroker.actors.engine.plan.market import Level, Seen, Terms
from onebroker.actors.engine.plan.price_kinds import (
    Atr,
    ExitOrder,
    FromParentFill,
    Marketable,
    Milestone,
    Peg,
    Stages,
    Touch,
    Trail,
)
from onebroker.actors.engine.plan.pricing.bars import BarRule, fold_bars
from onebroker.actors.engine.plan.pricing.black76 import Option, forward_of_spot, premium, years_left
from onebroker.actors.engine.plan.pricing.moving_limits import from_fill
from onebroker.actors.engine.plan.pricing.moving_stops import staged, trail_memory, trailed, watch
from onebroker.actors.engine.plan.pricing.touch import crossing_cost_bps, on_touch, past_touch, pegged, within_reach
from onebroker.config.vocabulary import Side
from tests.support.every_case import every_case

TERMS = Terms(tick=D("0.05"))
NOW = 1_795_405_800.0
PRICES = st.integers(1_800, 2_200).map(lambda ticks: D(ticks) / 20)
SIDES = st.sampled_from(list(Side))


def option(strike, *, call, days=7):
    expires = datetime.fromtimestamp(NOW, UTC) + timedelta(days=days)
    return Option(strike=strike, call=call, expires=expires)


# --- Black-76 ------------------------------------------------------------------------------------------------------------


def independent(forward, strike, volatility, rate, years, *, call):
    """The premium as the mean of the payoff over the log-normal distribution, by Simpson's rule: no formula of Black's."""
    spread, steps, reach = volatility * math.sqrt(years), 20_000, 10.0
    width = 2 * reach / steps

    def payoff(z):
        at_expiry = forward * math.exp(spread * z - spread * spread / 2)
        gain = max(0.0, at_expiry - strike) if call else max(0.0, strike - at_expiry)
        return gain * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    points = [payoff(-reach + n * width) for n in range(steps + 1)]
    total = points[0] + points[-1] + 4 * sum(points[1:-1:2]) + 2 * sum(points[2:-1:2])
    return math.exp(-rate * years) * total * width / 3


@pytest.mark.parametrize(
    ("forward", "strike", "volatility", "rate", "call", "worth"),
    [(24000, 24000, 0.12, 0.0, True, 159.11), (24000, 24200, 0.12, 0.065, False, 278.94)],
)
def test_the_check_values_of_the_design(forward, strike, volatility, rate, call, worth):
    one = option(strike, call=call)
    assert premium(one, forward, volatility=volatility, rate=rate, years=years_left(one, NOW)) == pytest.approx(
        worth, abs=0.005
    )


@every_case("call", [True, False])
@every_case("strike", [22000, 24000, 26000])
@every_case("volatility", [0.08, 0.45])
def test_a_premium_is_the_mean_of_what_the_option_pays(call, strike, volatility):
    one = option(strike, call=call, days=40)
    years = years_left(one, NOW)
    ours = premium(one, 24100, volatility=volatility, rate=0.06, years=years)
    assert ours == pytest.approx(independent(24100, strike, volatility, 0.06, years, call=call), rel=1e-5, abs=1e-4)


@given(st.floats(10, 500), st.floats(10, 500), st.floats(0.01, 3), st.floats(0, 0.2), st.integers(0, 400))
def test_call_less_put_is_the_discounted_forward_less_strike(forward, strike, volatility, rate, days):
    call, put = option(strike, call=True, days=days), option(strike, call=False, days=days)
    years = years_left(call, NOW)
    parity = [premium(one, forward, volatility=volatility, rate=rate, years=years) for one in (call, put)]
    assert parity[0] - parity[1] == pytest.approx(math.exp(-rate * years) * (forward - strike), abs=1e-6)
    assert min(parity) >= -1e-9


def test_an_expired_option_is_worth_what_it_pays():
    gone = option(100, call=True, days=-1)
    assert years_left(gone, NOW) == 0
    assert premium(gone, 130, volatility=0.2, rate=0.1, years=0) == 30
    assert forward_of_spot(100, 0.1, 1) == pytest.approx(110.517, abs=0.001)


# --- bars and Wilder's average true range ------------------------------------------------------------------------------------


def heard(last, at):
    return Seen(last_price=D(str(last)), received_at=at)


def test_the_average_true_range_of_a_published_series():
    """Ranges as in Wilder's own definition: the first average is the mean, each next one (13 x before + range) / 14."""
    bars = [(48.70, 47.79, 48.16), (48.72, 48.14, 48.61), (48.90, 48.39, 48.75), (48.87, 48.37, 48.63),
            (48.82, 48.24, 48.74), (49.05, 48.64, 49.03), (49.20, 48.94, 49.07), (49.35, 48.86, 49.32),
            (49.92, 49.50, 49.91), (50.19, 49.87, 50.13), (50.12, 49.20, 49.53), (49.66, 48.90, 49.50),
            (49.88, 49.43, 49.75), (50.19, 49.73, 50.03), (50.36, 49.26, 50.31), (50.57, 50.09, 50.52)]  # fmt: skip
    rule = BarRule(seconds=60, opened=NOW, armed_at=NOW, periods=14)
    state, ranges, before = Bars(), [], None
    for number, (high, low, close) in enumerate(bars):
        for second, price in ((0, low), (20, high), (40, close)):
            at = NOW + 60 * number + second
            state = fold_bars(state, heard(price, at), at, rule)
        if before is not None:
            ranges.append(max(high - low, abs(high - before), abs(low - before)))
        before = close
    state = fold_bars(state, None, NOW + 60 * len(bars), rule)
    first = sum(ranges[:14]) / 14
    assert float(state.atr) == pytest.approx((first * 13 + ranges[14]) / 14, abs=1e-9)
    assert state.closed == len(bars)


def test_a_bar_that_began_before_arming_does_not_count():
    rule = BarRule(seconds=300, opened=NOW, armed_at=NOW + 100)
    state = fold_bars(Bars(), heard(10, NOW + 100), NOW + 100, rule)
    state = fold_bars(state, heard(11, NOW + 300), NOW + 300, rule)
    assert (state.closed, state.last_close) == (0, None)
    state = fold_bars(state, heard(12, NOW + 600), NOW + 600, rule)
    assert (state.closed, state.last_close) == (1, D(11))


def test_a_quote_from_before_the_arming_makes_no_bar_of_the_one_that_begins_with_it():
    rule = BarRule(seconds=60, opened=NOW, armed_at=NOW + 120)
    state = Bars()
    for second in (120, 150, 180, 240):
        state = fold_bars(state, heard(10, NOW + 100), NOW + second, rule)
    assert (state.closed, state.last_close) == (0, None)


def test_a_bar_that_passed_without_a_tick_is_none():
    """One quote, looked at for five minutes: one bar. The next true range is measured from that bar's close."""
    rule = BarRule(seconds=60, opened=NOW, armed_at=NOW, periods=2)
    state = Bars()
    for second in range(5, 300, 20):
        state = fold_bars(state, heard(10, NOW + 5), NOW + second, rule)
    assert (state.closed, state.last_close, state.ranges) == (1, D(10), ())
    state = fold_bars(state, heard(12, NOW + 310), NOW + 360, rule)
    assert (state.closed, state.last_close, state.ranges) == (2, D(12), (D(2),))


def test_a_quote_that_is_looked_at_late_goes_into_the_bar_in_which_it_was_received():
    rule = BarRule(seconds=60, opened=NOW, armed_at=NOW)
    state = fold_bars(Bars(), heard(10, NOW + 5), NOW + 5, rule)
    state = fold_bars(state, heard(11, NOW + 59), NOW + 61, rule)
    assert (state.closed, state.last_close, state.open_bar) == (1, D(11), None)


def test_a_quote_older_than_the_bars_changes_none_of_them():
    """Of two brokers the first one's quote goes before the other's newer one for a moment."""
    rule = BarRule(seconds=60, opened=NOW, armed_at=NOW)
    state = fold_bars(Bars(), heard(10, NOW + 59), NOW + 60, rule)
    late = fold_bars(state, heard(20, NOW + 58), NOW + 61, rule)
    assert late == state
    state = fold_bars(state, heard(11, NOW + 130), NOW + 130, rule)
    assert fold_bars(state, heard(20, NOW + 119), NOW + 131, rule) == state


def plain_bars(ticks, rule):
    """The bars of a list of (seconds, price), counted by hand: interval -> (high, low, close) where one began armed."""
    by_bar = {}
    for at, price in ticks:
        by_bar.setdefault((at - rule.opened) // rule.seconds, []).append(price)
    whole = [number for number in sorted(by_bar) if rule.opened + number * rule.seconds >= rule.armed_at]
    return [(max(by_bar[one]), min(by_bar[one]), by_bar[one][-1]) for one in whole]


def plain_average(bars, periods):
    ranges = [
        max(high - low, abs(high - before), abs(low - before))
        for (_, _, before), (high, low, _) in itertools.pairwise(bars)
    ]
    if len(ranges) < periods:
        return None
    average = sum(ranges[:periods]) / periods
    for one in ranges[periods:]:
        average = (average * (periods - 1) + one) / periods
    return average


@given(
    st.lists(st.tuples(st.integers(0, 1_800), PRICES), min_size=1, max_size=30, unique_by=lambda one: one[0]),
    st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1)), max_size=30),
    st.integers(0, 300),
)
def test_any_split_of_the_same_ticks_over_looks_gives_the_same_bars(ticks, looks, armed):
    """Each tick is looked at once or oftener until the next comes, early or late, before and after its bar's end."""
    rule = BarRule(seconds=60, opened=NOW, armed_at=NOW + armed, periods=2)
    ticks = sorted((NOW + at, price) for at, price in ticks)
    ends = [at for at, _ in ticks[1:]] + [NOW + 2_000]
    state = Bars()
    for number, ((at, price), end) in enumerate(zip(ticks, ends, strict=True)):
        own = sorted(share for tick, share in looks if tick == number) or [0.5]
        for share in own:
            state = fold_bars(state, heard(price, at), at + share * (end - at) * 0.999, rule)
    state = fold_bars(state, heard(ticks[-1][1], ticks[-1][0]), NOW + 2_000, rule)
    bars = plain_bars(ticks, rule)
    average = plain_average(bars, 2)
    assert (state.closed, state.last_close) == (len(bars), bars[-1][2] if bars else None)
    assert (state.atr is None) == (average is None)
    assert average is None or abs(state.atr - average) < D("1e-20")


# --- stops ---------------------------------------------------------------------------------------------------------------


@given(SIDES, st.lists(PRICES, min_size=1, max_size=40), st.booleans())
def test_a_trailing_stop_never_moves_back_and_stays_behind_the_best_price(side, path, with_atr):
    atr = Atr(periods=2, bar_minutes=D(1), multiple=D(2)) if with_atr else None
    trail = Trail(points=D(3), limit_offset=D("0.5"), atr=atr)
    memory, before = Memory(), None
    for number, last in enumerate(path):
        memory = trail_memory(trail, memory, heard(last, NOW + 20 * number), side, NOW + 20 * number, NOW)
        stop, memory = trailed(trail, memory, side, TERMS)
        if before is not None:
            assert (stop.trigger - before) * side.sign <= 0
        assert (stop.limit - stop.trigger) * side.sign >= 0
        if not with_atr:
            best = max(path[: number + 1]) if side is Side.SELL else min(path[: number + 1])
            assert abs(best - stop.trigger) <= 3 + D("0.05")
        before = stop.trigger


@given(st.lists(PRICES, min_size=1, max_size=30))
def test_stages_only_ever_move_in_the_positions_favour(path):
    rules = (Milestone(gain=D(2), stop_at_gain=D(0)), Milestone(gain=D(5), trail_points=D(2)))
    stages = Stages(entry_price=D(100), stop_price=D(95), limit_offset=D(1), rules=rules)
    memory, before = Memory(), None
    for last in path:
        memory = watch(memory, last, Side.SELL, None)
        stop, memory = staged(stages, D(100), memory, Side.SELL, TERMS)
        assert before is None or stop.trigger >= before
        before = stop.trigger
    assert before >= 95


def test_a_staged_stop_that_its_caller_puts_further_away_stays_there_until_the_next_milestone():
    rules = (Milestone(gain=D(2), stop_at_gain=D(0)), Milestone(gain=D(4), trail_points=D(2)))
    stages = Stages(entry_price=D(100), stop_price=D(95), limit_offset=D(1), rules=rules)

    def triggers(memory, *path):
        for last in path:
            memory = watch(memory, D(last), Side.SELL, None)
            stop, memory = staged(stages, D(100), memory, Side.SELL, TERMS)
            yield stop.trigger, memory

    put = attrs.evolve(Memory(), stop=D(93), own_price=D(93))
    (first, _), (passed, memory) = triggers(put, 101, 102)
    assert (first, passed) == (93, 100), "the first milestone ends it"
    put = attrs.evolve(memory, stop=D(98), own_price=D(98))
    (stays, _), (trails, memory) = triggers(put, "103.9", 104)
    assert (stays, trails) == (98, 102)
    put = attrs.evolve(memory, stop=D(101), own_price=D(101))
    assert [trigger for trigger, _ in triggers(put, 104, 105, 104)] == [101, 102, 102], (
        "it trails from where it was put"
    )
    put = attrs.evolve(memory, stop=D(103), own_price=D(103))
    assert [trigger for trigger, _ in triggers(put, 104, "104.5", 106)] == [103, 103, 104], (
        "nearer: until the rule is there"
    )


# --- the book --------------------------------------------------------------------------------------------------------------


def book(bids, offers, last=100):
    levels = (tuple(Level(*one) for one in side) for side in (bids, offers))
    return Seen(last_price=D(last), received_at=NOW, **dict(zip(("buy", "sell"), levels, strict=True)))


@given(SIDES, PRICES, st.integers(1, 40), st.integers(0, 20), st.sampled_from(list(Touch)), st.integers(-5, 5))
def test_prices_from_the_book_are_on_the_tick_and_on_their_side(side, bid, spread, buffer, touch, offset):
    offer = bid + D(spread) / 20
    quote = book([(bid, 10)], [(offer, 10)])
    crossing = past_touch(Marketable(buffer_ticks=buffer), side, 5, quote, TERMS)
    assert (crossing - quote.opposite(side)) * side.sign == buffer * D("0.05")
    resting = pegged(Peg(reference=touch, offset_ticks=offset), side, quote, TERMS)
    assert resting % D("0.05") == 0
    if touch is Touch.OWN_TOUCH:
        assert (quote.own(side) - resting) * side.sign == offset * D("0.05")


@given(SIDES, PRICES, PRICES)
def test_a_peg_never_goes_past_its_cap(side, bid, cap):
    quote = book([(bid, 10)], [(bid + D("0.10"), 10)])
    price = pegged(Peg(reference=Touch.OPPOSITE_TOUCH, cap_price=cap), side, quote, TERMS)
    assert (price - cap) * side.sign <= 0


def test_our_own_order_is_left_out_of_the_touch_when_it_stands_there_alone():
    quote = book([(D("99.90"), 10), (D("99.50"), 70)], [(D("100.10"), 10)])
    mine = Level(D("99.90"), 10)
    assert pegged(Peg(), Side.BUY, quote, TERMS, own=mine) == D("99.50")
    assert pegged(Peg(), Side.BUY, quote, TERMS, own=Level(D("99.90"), 4)) == D("99.90")


def test_reach_looks_through_the_levels_and_costs_are_measured_from_the_middle():
    quote = book([(D(99), 10)], [(D(101), 4), (D(102), 6)])
    assert past_touch(Marketable(buffer_ticks=0, reaches_size=True), Side.BUY, 10, quote, TERMS) == 102
    assert crossing_cost_bps(quote, Side.BUY, 10) == D("160")
    assert crossing_cost_bps(quote, Side.BUY, 11) is None
    assert within_reach(quote, Side.BUY, D(101), TERMS).quantity == 4
    assert within_reach(quote, Side.BUY, D(100), TERMS) is None


@given(SIDES, PRICES, PRICES)
def test_a_held_limit_is_released_when_the_other_side_or_the_last_price_is_there(side, limit, last):
    assume(last != limit)
    quote = Seen(last_price=last, received_at=NOW, buy=(), sell=())
    assert on_touch(quote, side, limit) == ((last - limit) * side.sign < 0)


def test_exits_lie_on_their_side_of_the_fill():
    """A SELL exit closes a long: its limit lies above, its stop below; a BUY exit the other way round."""

    def level(side, kind):
        return from_fill(FromParentFill(percent=D(2), order=kind), D(200), side)

    assert [level(side, kind) for side in (Side.SELL, Side.BUY) for kind in (ExitOrder.LIMIT, ExitOrder.STOP)] == [
        204,
        196,
        196,
        204,
    ]
