"""The types that guard or close what is held, from their settings to their end in the machine, message by message (order-engine 3;
6.2, 6.3, 6.5, 6.6, 6.15)."""

from datetime import time
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.execution_kinds import Daily
from onebroker.actors.engine.plan.parts import (
    BarClosed,
    Direction,
    FromFill,
    Lifetime,
    OnEnd,
    OrderPart,
    PriceAt,
    Rule,
    Share,
    Units,
    orders_of,
)
from onebroker.actors.engine.plan.price_kinds import (
    Atr,
    ExitOrder,
    Fixed,
    FromParentFill,
    Marketable,
    Milestone,
    NativeStop,
    Stages,
    Trail,
)
from onebroker.config.refusal import Refusal
from tests.support.every_case import every_case
from tests.support.type_bodies import order_of, run

STOPS = {"stop_price": 95, "stop_limit_price": 94.5}
BUY = {"transaction_type": "BUY"}
BUY_AT_100 = {**BUY, "order_type": "LIMIT", "price": 100}
STOP = NativeStop(trigger_price=D(95), limit_price=D("94.5"))


def plan(kind, settings, **body):
    return order_of({"type": kind, **settings}, **body).plan


def looks(part):
    """What an order part is, without what the body gives."""
    return part.path, part.transaction_type, part.quantity, part.price


# --- trees -----------------------------------------------------------------------------------------------------------------


def test_a_trailing_entry_is_a_trail_on_the_entry_s_side_that_closes_nothing():
    root = plan("trailing_entry", {"trail_percent": 1, "stop_limit_offset": 0.5, "activate_at": 98}, **BUY)
    price = Trail(percent=D(1), limit_offset=D("0.5"), activate_at=D(98))
    assert looks(root) == ("root", "BUY", Units(10), price)
    assert not root.is_exit


def test_an_atr_trail_is_a_trail_by_bars():
    root = plan(
        "atr_trail", {"trail_points": 2, "stop_limit_offset": 0.5, "bar_minutes": 1, "periods": 3, "atr_multiple": 1.5}
    )
    price = Trail(points=D(2), limit_offset=D("0.5"), atr=Atr(bar_minutes=D(1), periods=3, multiple=D("1.5")))
    assert looks(root) == ("root", "SELL", Units(10), price)


def test_a_stepped_stop_is_a_stop_by_stages_that_closes():
    rules = [{"gain": 2, "stop_at_gain": 0}, {"gain": 4, "trail_points": 3}]
    root = plan(
        "stepped_stop",
        {"entry_price": 100, "stop_price": 97, "stop_limit_offset": 0.5, "rules": rules, "step_ticks": 2},
    )
    stages = Stages(
        entry_price=D(100), stop_price=D(97), limit_offset=D("0.5"), step_ticks=2,
        rules=(Milestone(gain=D(2), stop_at_gain=D(0)), Milestone(gain=D(4), trail_points=D(3))),
    )  # fmt: skip
    assert looks(root) == ("root", "SELL", Units(10), stages)
    assert root.is_exit


def test_an_oco_is_a_shrinking_pair_that_closes():
    root = plan("oco", {**STOPS, "target_price": 110})
    assert (root.path, root.rule) == ("root", Rule.SHRINK)
    assert [looks(child) for child in root.children] == [
        ("root.children.0", "SELL", Units(10), STOP),
        ("root.children.1", "SELL", Units(10), Fixed(D(110))),
    ]
    assert all(child.is_exit and not child.hold for child in root.children)
    assert all(child.hold for child in plan("oco", {**STOPS, "target_price": 110, "hold_limits": True}).children[1:])


def test_a_bracket_s_exits_hang_on_its_entry():
    root = plan("bracket", {**STOPS, "target_price": 110}, **BUY_AT_100)
    assert looks(root) == ("root", "BUY", Units(10), Fixed(D(100)))
    assert [looks(child) for child in root.each_fill.children] == [
        ("root.each_fill.children.0", "SELL", FromFill(), STOP),
        ("root.each_fill.children.1", "SELL", FromFill(), Fixed(D(110))),
    ]
    assert (root.hold, root.is_exit, [child.hold for child in root.each_fill.children]) == (True, False, [False, True])
    assert all(child.is_exit for child in root.each_fill.children)


def test_a_cover_s_stop_hangs_on_its_entry():
    root = plan("cover", STOPS, **BUY_AT_100)
    assert looks(root.each_fill) == ("root.each_fill", "SELL", FromFill(), STOP)
    assert (root.each_fill.is_exit, root.each_fill.compulsory, root.compulsory) == (True, True, False)


def test_a_scale_out_shares_what_fills_out_over_its_targets():
    settings = {**STOPS, "target_prices": [110, 112, 114], "breakeven_after": 1, "target_quantities": [5, 3, 2]}
    root = plan("scale_out", settings, **BUY_AT_100)
    group = root.each_fill
    assert (group.rule, group.breakeven_after) == (Rule.SHRINK, 1)
    assert [looks(child)[2:] for child in group.children] == [
        (FromFill(), STOP), (Share(D("0.5")), Fixed(D(110))), (Share(D("0.3")), Fixed(D(112))), (Share(D("0.2")), Fixed(D(114))),
    ]  # fmt: skip


@every_case("count", range(2, 11))
def test_shares_of_any_number_of_targets_come_to_exactly_one(count):
    prices = [110 + n for n in range(count)]
    for quantity in (count, count + 1, 7 * count + 3, 997):
        root = plan("scale_out", {**STOPS, "target_prices": prices}, **{**BUY_AT_100, "quantity": quantity})
        assert sum(child.quantity.share for child in root.each_fill.children[1:]) == 1


def test_a_hidden_stop_waits_in_the_engine_with_or_without_a_backstop():
    falls = PriceAt(instrument_id="I", level=D(95), direction=Direction.BELOW)
    root = plan("hidden_stop", {"trigger_price": 95, "buffer_ticks": 3})
    assert looks(root) == ("root", "SELL", Units(10), Marketable(buffer_ticks=3, follow=True))
    assert (root.when, root.is_exit) == (falls, True)
    rises = plan("hidden_stop", {"trigger_price": 95}, **BUY)
    assert rises.when == PriceAt(instrument_id="I", level=D(95), direction=Direction.ABOVE)
    pair = plan("hidden_stop", {"trigger_price": 95, "backstop_price": 93, "backstop_limit_price": 92.5})
    assert (pair.rule, pair.children[0].when, pair.children[1].when) == (Rule.TRIGGER, falls, None)
    assert looks(pair.children[1])[3] == NativeStop(trigger_price=D(93), limit_price=D("92.5"))


def test_a_candle_close_stop_waits_for_a_bar():
    root = plan("candle_close_stop", {"trigger_price": 95, "bar_minutes": 15})
    assert root.when == BarClosed(instrument_id="I", level=D(95), direction=Direction.BELOW, bar_minutes=D(15))
    assert root.price == Marketable(buffer_ticks=2, follow=True)


def test_a_daily_stop_is_a_native_stop_day_by_day():
    root = plan("daily_stop", {**STOPS, "arm_at": "09:30", "valid_days": 5})
    assert looks(root) == ("root", "SELL", Units(10), STOP)
    assert (root.execution, root.is_exit) == (Daily(arm_at=time(9, 30), valid_days=5), True)


BREAKOUT = {
    "buy_trigger": 105, "buy_limit": 105.5, "sell_trigger": 95, "sell_limit": 94.5, "stop_distance": 3, "stop_limit_offset": 0.5,
    "target_distance": 6,
}  # fmt: skip


def test_a_breakout_is_two_stop_entries_each_with_exits_by_its_fill():
    root = plan("two_sided_breakout", BREAKOUT)
    assert root.rule is Rule.CANCEL
    buy, sell = root.children
    assert looks(buy)[1:] == ("BUY", Units(10), NativeStop(trigger_price=D(105), limit_price=D("105.5")))
    assert looks(sell)[1:] == ("SELL", Units(10), NativeStop(trigger_price=D(95), limit_price=D("94.5")))
    stop = FromParentFill(order=ExitOrder.STOP, distance=D(3), limit_offset=D("0.5"))
    target = FromParentFill(order=ExitOrder.LIMIT, distance=D(6))
    for entry, side in ((buy, "SELL"), (sell, "BUY")):
        assert entry.each_fill.rule is Rule.SHRINK
        assert [looks(child)[1:] for child in entry.each_fill.children] == [
            (side, FromFill(), stop),
            (side, FromFill(), target),
        ]
    alone = plan("two_sided_breakout", {**BREAKOUT, "target_distance": None}).children[0].each_fill
    assert looks(alone) == ("root.children.0.each_fill", "SELL", FromFill(), stop)


def test_what_is_good_till_a_time_and_what_is_stopped_by_time_end_by_their_lifetimes():
    until = {"until_time": "15:10"}
    assert plan("good_till_time", until).lifetime == Lifetime(at_time=time(15, 10))
    marketable = plan("good_till_time", {**until, "at_expiry": "Marketable"}, **BUY_AT_100)
    assert (marketable.lifetime.on_end, marketable.hold) == (OnEnd.MARKETABLE, True)
    assert plan("time_stop", until).lifetime == Lifetime(at_time=time(15, 10), on_end=OnEnd.CLOSE_FILLED)
    timed = plan("time_stop", {"minutes": 7.5}, **BUY)
    assert timed.lifetime == Lifetime(after_minutes=D("7.5"), on_end=OnEnd.CLOSE_FILLED)


SEES_MARKET = {
    "trailing_stop": {"trail_points": 2, "stop_limit_offset": 0.5},
    "trailing_entry": {"trail_points": 2, "stop_limit_offset": 0.5},
    "atr_trail": {"trail_points": 2, "stop_limit_offset": 0.5},
    "stepped_stop": {
        "entry_price": 100,
        "stop_price": 97,
        "stop_limit_offset": 0.5,
        "rules": [{"gain": 2, "trail_points": 1}],
    },
    "hidden_stop": {"trigger_price": 95, "backstop_price": 93, "backstop_limit_price": 92.5},
    "good_till_time": {"until_time": "15:10"},
    "time_stop": {"until_time": "15:10"},
}


@pytest.mark.parametrize("kind", ["oco", "bracket", "cover", "scale_out", "stepped_stop", "hidden_stop", "time_stop"])
def test_in_a_plan_each_of_them_stands_at_its_own_path_and_takes_what_has_filled(kind):
    settings = {
        "oco": {**STOPS, "target_price": 110}, "bracket": {**STOPS, "target_price": 110}, "cover": STOPS,
        "scale_out": {**STOPS, "target_prices": [110, 112]}, **SEES_MARKET,
    }[kind]  # fmt: skip
    entry = {"transaction_type": "BUY", "order_type": "MARKET"} if kind in ("bracket", "cover", "scale_out") else {}
    inner = {"part": "preset", "type": kind, "transaction_type": "SELL", **settings, **entry}
    root = order_of({"type": "plan", "root": {"each_fill": inner}}, **BUY_AT_100).plan
    first = next(orders_of(root.each_fill))
    assert first.path.startswith("root.each_fill")
    assert first.quantity == FromFill()
    assert all(isinstance(part, OrderPart) for part in orders_of(root))


# --- lives -----------------------------------------------------------------------------------------------------------------


def test_a_held_bracket_as_in_the_worked_example():
    settings = {"type": "bracket", "stop_price": 245, "stop_limit_price": 244.5, "target_price": 260}
    day = run(settings, **BUY, order_type="LIMIT", price=250, quantity=100)
    day.quote(250.15, 250.10, 250.20)
    assert (day.sent(), day.state(), day.state("root.each_fill")) == ([], "held", "pending")
    day.at(60).quote(250.10, 249.95, 250)
    day.book("A1", filled=40)
    day.book("A1", "complete")
    assert day.sent() == [
        "PLACE alpha BUY 100 LIMIT 250 -> A1", "PLACE alpha SELL 40 SL 245/244.5 -> A2", "MODIFY A2 quantity 100",
    ]  # fmt: skip
    day.at(400).quote(260, 260, 260.10)
    day.book("A3", filled=70)
    day.book("A3", "complete")
    day.book("A2", "cancelled")
    assert day.sent() == ["PLACE alpha SELL 100 LIMIT 260 -> A3", "MODIFY A2 quantity 30", "CANCEL A2"]
    assert day.state() == "completed"


def test_a_bracket_whose_entry_is_cancelled_half_filled_keeps_its_exits_and_unfilled_drops_them():
    settings = {"type": "bracket", **STOPS, "target_price": 110, "hold_limits": False}
    day = run(settings, **BUY_AT_100)
    day.quote(100.5, 100.45, 100.55)
    day.book("A1", filled=4)
    day.cancel_part("root")
    day.book("A1", "cancelled", filled=4)
    assert day.sent() == [
        "PLACE alpha BUY 10 LIMIT 100 -> A1", "PLACE alpha SELL 4 SL 95/94.5 -> A2", "PLACE alpha SELL 4 LIMIT 110 -> A3", "CANCEL A1",
    ]  # fmt: skip
    day.book("A2", "complete")
    day.book("A3", "cancelled")
    assert (day.sent(), day.over()) == (["CANCEL A3"], True)
    other = run(settings, **BUY_AT_100)
    other.quote(100.5, 100.45, 100.55)
    other.cancel_part("root")
    other.book("A1", "cancelled")
    assert (other.state("root.each_fill"), other.state()) == ("cancelled", "cancelled")


def test_an_oco_shrinks_with_a_caller_s_change_and_with_fills_as_in_the_worked_example():
    day = run({"type": "oco", **STOPS, "target_price": 110}, quantity=50, order_type="LIMIT", price=110)
    day.quote(100, 99.95, 100.05)
    assert day.sent() == ["PLACE alpha SELL 50 SL 95/94.5 -> A1", "PLACE alpha SELL 50 LIMIT 110 -> A2"]
    day.at(10).modify_leg("A2", quantity=30)
    assert day.sent() == ["MODIFY A1 quantity 30"]
    with pytest.raises(Refusal, match="an exit can only be reduced, from 30 down"):
        day.modify_leg("A2", quantity=40)
    day.at(20).book("A1", filled=10)
    assert day.sent() == ["MODIFY A2 quantity 20"]
    day.book("A1", "complete")
    assert (day.sent(), day.state("root.children.0")) == (["CANCEL A2"], "completed")
    day.book("A2", "cancelled")
    assert (day.sent(), day.state()) == ([], "completed")


def test_an_oco_s_stop_stays_when_its_target_is_refused():
    day = run({"type": "oco", **STOPS, "target_price": 110})
    day.quote(100, 99.95, 100.05)
    day.sent()
    day.book("A2", "rejected", message="no margin")
    assert (day.sent(), day.state("root.children.0"), day.state("root.children.1")) == ([], "working", "rejected")


def test_a_trailing_stop_s_caller_sets_its_trigger_as_in_the_worked_example():
    settings = {
        "type": "trailing_stop",
        "trail_points": 2,
        "stop_limit_offset": 0.5,
        "step_ticks": 2,
        "activate_at": 105,
    }
    day = run(settings)
    day.quote(103)
    day.at(10).quote(104.95)
    assert (day.sent(), day.state()) == ([], "waiting")
    day.at(11).quote(105)
    assert day.sent() == ["PLACE alpha SELL 10 SL 103/102.5 -> A1"]
    day.at(12).quote(105.05)
    day.at(13).quote(106)
    day.at(14).quote(105.20)
    assert day.sent() == ["MODIFY A1 SL 104/103.5"]
    day.at(20).modify_leg("A1", trigger_price=104.5, price=104)
    day.at(21).quote(106.40)
    assert day.sent() == []
    day.at(22).quote(106.60)
    assert day.sent() == ["MODIFY A1 SL 104.6/104.1"]
    day.at(30).book("A1", "complete", average=104.55)
    assert day.state() == "completed"


def test_a_trail_that_is_active_at_once_is_armed_first_all_the_same():
    day = run({"type": "trailing_stop", "trail_points": 2, "stop_limit_offset": 0.5, "activate_at": 105})
    day.quote(106)
    assert (day.sent(), day.state()) == ([], "waiting")
    day.at(1)
    assert day.sent() == ["PLACE alpha SELL 10 SL 104/103.5 -> A1"]


def test_a_trailing_entry_follows_the_market_down():
    day = run({"type": "trailing_entry", "trail_points": 2, "stop_limit_offset": 0.5}, **BUY)
    day.quote(100)
    day.at(2).quote(97)
    day.at(4).quote(98.95)
    day.at(6).quote(96.95)
    assert day.sent() == ["PLACE alpha BUY 10 SL 102/102.5 -> A1", "MODIFY A1 SL 99/99.5", "MODIFY A1 SL 98.95/99.45"]
    day.book("A1", filled=4)
    assert day.state() == "working"
    day.cancel_part("root")
    day.book("A1", "cancelled", filled=4)
    assert (day.sent(), day.state()) == (["CANCEL A1"], "cancelled")


def test_a_trail_further_away_than_the_price_itself_is_not_sent():
    day = run({"type": "trailing_stop", "trail_points": 100, "stop_limit_offset": 0.5})
    day.quote(100)
    refused = day.outcome.reasons["root"]
    assert (day.sent(), refused.status) == ([], 400)
    assert refused.sentence == "the stop would stand at -0.5, which is not a price an order can carry"


def test_an_atr_trail_takes_over_from_its_points_once_there_are_bars_enough():
    settings = {
        "type": "atr_trail",
        "trail_points": 5,
        "stop_limit_offset": 0.5,
        "bar_minutes": 1,
        "periods": 2,
        "atr_multiple": 2,
    }
    day = run(settings)
    day.quote(100)
    assert day.sent() == ["PLACE alpha SELL 10 SL 95/94.5 -> A1"]
    for minute, (low, high) in enumerate(((99.5, 100), (99.5, 100), (99.5, 100))):
        day.at(60 * minute + 61).quote(high)
        day.at(60 * minute + 80).quote(low)
        day.at(60 * minute + 100).quote(high)
    day.at(239).quote(100)
    # Bars of half a rupee: the distance is twice that from the best price on.
    assert day.sent() == ["MODIFY A1 SL 99/98.5"]
    day.at(239.5).quote(99.2)
    assert day.sent() == []


def test_a_stepped_stop_passes_milestones_as_in_the_worked_example():
    rules = [{"gain": 2, "stop_at_gain": 0}, {"gain": 4, "stop_at_gain": 2}, {"gain": 6, "trail_points": 3}]
    day = run({"type": "stepped_stop", "entry_price": 100, "stop_price": 97, "stop_limit_offset": 0.5, "rules": rules})
    for second, last in enumerate((100.5, 101.95, 104.1, 103, 106, 107)):
        day.at(2 * second).quote(last)
    assert day.sent() == [
        "PLACE alpha SELL 10 SL 97/96.5 -> A1", "MODIFY A1 SL 102/101.5", "MODIFY A1 SL 103/102.5", "MODIFY A1 SL 104/103.5",
    ]  # fmt: skip
    day.book("A1", "complete")
    assert day.state() == "completed"


def cover(**more):
    day = run({"type": "cover", **STOPS, "hold_limits": False}, **BUY_AT_100, **more)
    day.quote(100.5, 100.45, 100.55)
    day.book("A1", filled=4)
    assert day.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1", "PLACE alpha SELL 4 SL 95/94.5 -> A2"]
    return day


STAYS = "the stop of a cover order cannot be cancelled while its entry is open"


def test_a_cover_s_stop_can_be_reduced_but_not_cancelled_while_its_entry_is_open():
    day = cover()
    with pytest.raises(Refusal) as refused:
        day.cancel_part("root.each_fill")
    assert (refused.value.status, refused.value.sentence) == (409, STAYS)
    with pytest.raises(Refusal) as refused:
        day.check_cancel("A2")
    assert (refused.value.status, refused.value.sentence) == (409, STAYS)
    day.check_cancel("A1")
    with pytest.raises(Refusal, match="an exit can only be reduced, from 4 down"):
        day.modify_leg("A2", quantity=5)
    day.modify_leg("A2", quantity=2)
    assert day.sent() == []


def test_a_cover_s_stop_is_free_once_its_entry_has_ended():
    day = cover()
    day.cancel_part("root")
    day.book("A1", "cancelled", filled=4)
    day.check_cancel("A2")
    day.cancel_part("root.each_fill")
    assert day.sent() == ["CANCEL A1", "CANCEL A2"]
    day.book("A2", "cancelled")
    assert day.over()


def test_the_whole_of_a_cover_in_a_plan_can_be_cancelled_at_once():
    inner = {"part": "preset", "type": "cover", **STOPS}
    other = {"price": {"kind": "fixed", "price": 90}}
    day = run({"type": "plan", "root": {"part": "together", "children": [inner, other]}}, **BUY_AT_100)
    day.quote(100.5, 100.45, 100.55)
    day.book("A1", filled=4)
    day.sent()
    day.cancel_part("root.children.0")
    assert day.sent() == ["CANCEL A1"]


def test_a_cover_s_refused_stop_ends_its_entry():
    day = cover()
    day.book("A2", "rejected", message="no margin")
    assert day.sent() == ["CANCEL A1"]
    day.book("A1", "cancelled", filled=4)
    assert day.parts["root"].status_message == "4 units are open without a stop"


def scale_out(**more):
    settings = {
        "type": "scale_out",
        **STOPS,
        "target_prices": [110, 112, 114],
        "breakeven_after": 1,
        "hold_limits": False,
        **more,
    }
    day = run(settings, **BUY_AT_100)
    day.quote(100.5, 100.45, 100.55)
    day.book("A1", "complete", average=99.93)
    assert day.sent() == [
        "PLACE alpha BUY 10 LIMIT 100 -> A1", "PLACE alpha SELL 10 SL 95/94.5 -> A2", "PLACE alpha SELL 4 LIMIT 110 -> A3",
        "PLACE alpha SELL 3 LIMIT 112 -> A4", "PLACE alpha SELL 3 LIMIT 114 -> A5",
    ]  # fmt: skip
    return day


def test_a_filled_target_takes_its_units_off_the_stop_which_goes_to_break_even_with_one_change():
    day = scale_out()
    day.at(5).book("A3", filled=1)
    assert day.sent() == ["MODIFY A2 quantity 9"]
    day.at(6).book("A3", "complete")
    day.at(8)
    # The average bought at is 99.93: down to the tick, the limit as far behind it as before.
    assert day.sent() == ["MODIFY A2 quantity 6", "MODIFY A2 SL 99.9/99.4"]
    day.at(10).book("A2", "complete", average=99.9)
    assert sorted(day.sent()) == ["CANCEL A4", "CANCEL A5"]
    day.book("A4", "cancelled")
    day.book("A5", "cancelled")
    assert day.state() == "completed"


def test_a_stop_s_fill_trims_the_targets_from_the_last_one_back():
    day = scale_out()
    day.book("A2", filled=4)
    assert sorted(day.sent()) == ["CANCEL A5", "MODIFY A4 quantity 2"]


def test_a_stop_that_its_caller_has_brought_nearer_is_never_taken_back_to_break_even():
    day = scale_out()
    day.at(2).modify_leg("A2", trigger_price=105, price=104.5)
    day.at(5).book("A3", "complete")
    day.at(9)
    assert day.sent() == ["MODIFY A2 quantity 6"]


def test_a_stop_at_break_even_goes_where_its_caller_puts_it():
    day = scale_out()
    day.at(5).book("A3", "complete")
    day.at(9)
    day.sent()
    day.at(12).modify_leg("A2", trigger_price=98, price=97)
    day.at(15).quote(101, 100.95, 101.05)
    day.at(20)
    assert day.sent() == []
    day.at(21).modify_leg("A2", price=96.5)
    day.at(25)
    assert (day.sent(), day.leg("A2").trigger, day.leg("A2").price) == ([], 98, D("96.5"))


HIDDEN = {"type": "hidden_stop", "trigger_price": 95, "backstop_price": 93, "backstop_limit_price": 92.5}


def test_a_hidden_stop_with_a_backstop_as_in_the_worked_example():
    day = run(HIDDEN, quantity=20)
    day.quote(97, 96.95, 97.05)
    assert (day.sent(), day.state("root.children.0")) == (["PLACE alpha SELL 20 SL 93/92.5 -> A1"], "waiting")
    day.at(30).quote(94.95, 94.90, 95)
    assert (day.sent(), day.state("root.children.1")) == (["CANCEL A1"], "cancelling")
    day.at(30.5).book("A1", "cancelled")
    assert day.sent() == ["PLACE alpha SELL 20 LIMIT 94.8 -> A2"]
    day.at(31).book("A2", filled=12)
    day.at(35.5).quote(94.7, 94.70, 94.80)
    assert day.sent() == ["MODIFY A2 price 94.6"]
    day.at(36).book("A2", "complete")
    assert (day.sent(), day.state()) == ([], "completed")


def test_a_hidden_stop_whose_backstop_fills_after_all_sells_nothing_more():
    day = run(HIDDEN, quantity=20)
    day.quote(97, 96.95, 97.05)
    day.at(30).quote(94.95, 94.90, 95)
    day.book("A1", "complete")
    assert (day.sent()[-1], day.state()) == ("CANCEL A1", "completed")


def test_a_hidden_stop_without_a_backstop_is_armed_first_and_fires_once():
    day = run({"type": "hidden_stop", "trigger_price": 95})
    day.quote(94, 93.95, 94.05)
    assert (day.sent(), day.state()) == ([], "waiting")
    day.at(1)
    assert day.sent() == ["PLACE alpha SELL 10 LIMIT 93.85 -> A1"]
    day.book("A1", "complete")
    assert day.state() == "completed"


def test_a_candle_close_stop_looks_at_whole_bars_alone():
    day = run({"type": "candle_close_stop", "trigger_price": 95, "bar_minutes": 1})
    day.at(10).quote(97, 96.95, 97.05)
    day.at(70).quote(94, 93.95, 94.05)
    day.at(110).quote(95, 94.95, 95.05)
    day.at(119.9)
    assert day.sent() == []
    day.at(121)
    assert (day.sent(), day.state()) == ([], "waiting")  # closed at the level, not past it
    day.at(130).quote(94.95, 94.90, 95)
    day.at(179.9)
    assert day.sent() == []
    day.at(180)
    assert day.sent() == ["PLACE alpha SELL 10 LIMIT 94.8 -> A1"]


def test_a_candle_close_stop_is_not_judged_by_a_bar_without_a_tick():
    day = run({"type": "candle_close_stop", "trigger_price": 95, "bar_minutes": 1})
    day.quote(94, 93.95, 94.05)
    before = day.world.now - 10  # the last that was heard was so before the bar in which it is armed
    day.world.quotes["I"] = attrs.evolve(day.world.quotes["I"], received_at=before)
    day.parts = {}
    day.at(200)
    assert (day.sent(), day.state()) == ([], "waiting")
    day.at(230).quote(94, 93.95, 94.05)
    day.at(239.9)
    assert day.sent() == []
    day.at(240)
    assert day.sent() == ["PLACE alpha SELL 10 LIMIT 93.85 -> A1"]


def test_an_atr_trail_counts_no_bars_without_a_tick():
    settings = {"trail_points": 5, "stop_limit_offset": 0.5, "bar_minutes": 1, "periods": 2, "atr_multiple": 2}
    day = run({"type": "atr_trail", **settings})
    day.quote(100)
    day.at(65).quote(99.5)
    assert day.sent() == ["PLACE alpha SELL 10 SL 95/94.5 -> A1"]
    day.at(1_200)  # one bar, and a long time in which nothing trades
    assert day.sent() == []
    day.at(1_210).quote(100)
    day.at(1_270).quote(99.5)
    day.at(1_320)
    assert day.sent() == ["MODIFY A1 SL 99/98.5"]


MORNING = 86_400
"""From one 09:20 to the next."""


def daily(**more):
    day = run({"type": "daily_stop", **STOPS, **more})
    day.quote(100, 99.95, 100.05)
    assert (day.sent(), day.state()) == ([], "waiting")
    day.at(1)
    assert day.sent() == ["PLACE alpha SELL 10 SL 95/94.5 -> A1"]
    return day


def test_a_daily_stop_is_armed_each_morning_until_it_has_traded():
    day = daily()
    day.at(22_500).book("A1", "expired")
    day.at(MORNING - 1)
    assert (day.sent(), day.state()) == ([], "waiting")
    day.at(MORNING + 1)
    assert day.sent() == ["PLACE alpha SELL 10 SL 95/94.5 -> A2"]
    day.book("A2", filled=3)
    day.at(MORNING + 22_500).book("A2", "expired", filled=3)
    assert (day.sent(), day.state(), day.outcome.wake_at) == ([], "completed", float("inf"))


def test_a_daily_stop_ends_when_its_days_have_passed():
    day = daily(valid_days=1)
    day.at(22_500).book("A1", "expired")
    day.at(MORNING + 1)
    day.at(MORNING + 22_500).book("A2", "expired")
    assert (len(day.sent()), day.state()) == (1, "expired")
    day.at(2 * MORNING + 1)
    assert day.sent() == []


def test_a_daily_stop_that_was_refused_says_why_and_tries_again_next_morning():
    day = daily()
    day.book("A1", "rejected", message="no margin")
    assert (day.sent(), day.state(), day.parts["root"].status_message) == ([], "waiting", "no margin")
    day.at(MORNING + 1)
    assert (day.sent(), day.parts["root"].status_message) == (["PLACE alpha SELL 10 SL 95/94.5 -> A2"], None)


def test_a_caller_ends_a_daily_stop_by_its_part_or_its_order():
    day = daily()
    day.cancel_part("root")
    day.book("A1", "cancelled")
    assert (day.sent(), day.state()) == (["CANCEL A1"], "cancelled")
    other = daily()
    other.cancel_leg("A1")
    assert other.state() == "cancelled"


def test_a_breakout_s_other_side_is_cancelled_at_the_first_fill_and_the_exits_stand_by_it():
    day = run({"type": "two_sided_breakout", **BREAKOUT})
    day.quote(100, 99.95, 100.05)
    assert day.sent() == ["PLACE alpha BUY 10 SL 105/105.5 -> A1", "PLACE alpha SELL 10 SL 95/94.5 -> A2"]
    day.at(5).quote(105.2, 105.15, 105.25)
    day.book("A1", filled=4, average=105.2)
    assert day.sent() == [
        "CANCEL A2",
        "PLACE alpha SELL 4 SL 102.2/101.7 -> A3",
        "PLACE alpha SELL 4 LIMIT 111.2 -> A4",
    ]
    day.book("A2", "cancelled")
    day.at(8).book("A1", "complete", average=105.2)
    assert day.sent() == ["MODIFY A3 quantity 10", "MODIFY A4 quantity 10"]
    day.at(10).book("A4", "complete")
    day.book("A3", "cancelled")
    assert (day.sent(), day.state()) == (["CANCEL A3"], "completed")


def test_when_both_sides_of_a_breakout_have_fired_each_keeps_its_exits():
    day = run({"type": "two_sided_breakout", **BREAKOUT, "target_distance": None})
    day.quote(100, 99.95, 100.05)
    day.quote(105, 104.95, 105.05)
    day.book("A1", "complete", average=105)
    day.quote(95, 94.95, 95.05)
    day.book("A2", "complete", average=95)
    assert day.sent()[2:] == [
        "CANCEL A2",
        "PLACE alpha SELL 10 SL 102/101.5 -> A3",
        "PLACE alpha BUY 10 SL 98/98.5 -> A4",
    ]


def test_a_good_till_time_order_is_cancelled_or_goes_marketable_at_its_time():
    for settings, then in (({}, ["CANCEL A1"]), ({"at_expiry": "marketable"}, ["MODIFY A1 price 100.65"])):
        day = run({"type": "good_till_time", "until_time": "10:20", "hold_limits": False, **settings}, **BUY_AT_100)
        day.quote(100.5, 100.45, 100.55)
        day.book("A1", filled=4)
        day.sent()
        day.at(3599)
        assert day.sent() == []
        day.at(3600)
        assert day.sent() == then
    assert day.state() == "working"


def test_a_held_good_till_time_order_is_sent_at_its_time_or_ends_unsent():
    for settings, then in (({}, []), ({"at_expiry": "marketable"}, ["PLACE alpha BUY 10 LIMIT 100.65 -> A1"])):
        day = run({"type": "good_till_time", "until_time": "10:20", **settings}, **BUY_AT_100)
        day.quote(100.5, 100.45, 100.55)
        assert (day.sent(), day.state()) == ([], "held")
        day.at(3600)
        assert day.sent() == then


def test_a_stop_that_is_good_till_a_time_is_replaced_by_a_marketable_order():
    stop = {**BUY, "order_type": "SL", "price": 102.5, "trigger_price": 102}
    day = run({"type": "good_till_time", "until_time": "10:20", "at_expiry": "marketable"}, **stop)
    day.quote(100.5, 100.45, 100.55)
    day.at(3600)
    assert day.sent() == ["PLACE alpha BUY 10 SL 102/102.5 -> A1", "CANCEL A1"]
    day.book("A1", "cancelled")
    assert day.sent() == ["PLACE alpha BUY 10 LIMIT 100.65 -> A2"]
    day.book("A2", "complete")
    assert day.state() == "completed"


def timed(**more):
    day = run({"type": "time_stop", "minutes": 10, "hold_limits": False, **more}, **BUY_AT_100)
    day.quote(100.5, 100.45, 100.55)
    assert day.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]
    return day


def test_a_time_stop_closes_an_entry_that_has_filled_altogether():
    day = timed()
    day.at(5).book("A1", "complete")
    day.at(599)
    assert (day.sent(), day.state()) == ([], "working")
    day.at(600)
    assert day.sent() == ["PLACE alpha SELL 10 LIMIT 100.35 -> A2"]
    day.at(606).quote(100, 99.95, 100.05)
    assert day.sent() == ["MODIFY A2 price 99.85"]
    day.book("A2", "complete")
    assert (day.sent(), day.state()) == ([], "completed")
    day.at(2000)
    assert day.sent() == []


def test_a_time_stop_cancels_the_rest_before_it_closes_what_filled():
    day = timed()
    day.book("A1", filled=4)
    day.at(600)
    assert day.sent() == ["CANCEL A1"]
    day.book("A1", "cancelled", filled=5)
    assert day.sent() == ["PLACE alpha SELL 5 LIMIT 100.35 -> A2"]
    day.book("A2", "complete")
    assert day.state() == "completed"


def test_a_time_stop_closes_what_filled_of_an_order_that_its_caller_cancelled():
    day = timed()
    day.cancel_leg("A1", filled=4)
    assert day.state() == "working"
    day.at(600)
    assert day.sent() == ["PLACE alpha SELL 4 LIMIT 100.35 -> A2"]


def test_a_time_stop_without_a_fill_ends_at_its_time_and_one_cancelled_by_its_part_closes_nothing():
    day = timed()
    day.at(600)
    day.book("A1", "cancelled")
    assert (day.sent(), day.over()) == (["CANCEL A1"], True)
    other = timed()
    other.book("A1", "complete")
    other.cancel_part("root")
    other.at(600)
    assert (other.sent(), other.over()) == ([], True)


def test_a_close_that_its_broker_refuses_is_tried_again_by_a_time_stop():
    day = timed()
    day.book("A1", "complete")
    day.at(600)
    day.sent()
    day.put(attrs.evolve(day.leg("A2"), state=LegState.REJECTED, status_message="no margin", ended_at=day.world.now))
    day.look().at(601.9)
    assert (day.sent(), day.over()) == ([], False)
    day.at(602)
    assert day.sent() == ["PLACE alpha SELL 10 LIMIT 100.45 -> A3"]
    day.book("A3", "complete")
    assert day.state() == "completed"


def gapped(settings, **body):
    """A stop entry that fills at a jump of which the quote does not know yet."""
    day = run(settings, **body)
    day.quote(90, 89.95, 90.05)
    day.sent()
    day.at(5).book("A1", "complete", average=105)
    return day


STOP_ENTRY = {**BUY, "order_type": "SL", "price": 105.5, "trigger_price": 105}


def test_a_stop_is_not_taken_for_reached_by_a_quote_that_is_older_than_its_entry_s_fill():
    day = gapped({"type": "cover", **STOPS}, **STOP_ENTRY)
    assert day.sent() == []  # it would be sold at once
    day.at(5.3).quote(105, 104.95, 105.05)
    assert day.sent() == ["PLACE alpha SELL 10 SL 95/94.5 -> A2"]


def test_a_stop_that_was_jumped_over_after_its_entry_s_fill_goes_as_a_limit():
    day = gapped({"type": "cover", **STOPS}, **STOP_ENTRY)
    day.at(5.3).quote(94.9, 94.85, 94.95)
    assert day.sent() == ["PLACE alpha SELL 10 LIMIT 94.5 -> A2"]


def test_without_a_further_quote_the_fill_is_believed_after_a_second():
    day = gapped({"type": "cover", **STOPS}, **STOP_ENTRY)
    day.at(5.9)
    assert day.sent() == []
    day.at(6)
    assert day.sent() == ["PLACE alpha SELL 10 SL 95/94.5 -> A2"]


def test_a_stop_that_its_entry_s_own_fill_has_passed_goes_as_a_limit_at_once():
    day = run({"type": "cover", **STOPS, "hold_limits": False}, **BUY_AT_100)
    day.quote(100.5, 100.45, 100.55)
    day.quote(94, 93.95, 94.05)
    day.sent()
    day.book("A1", "complete", average=94)
    assert day.sent() == ["PLACE alpha SELL 10 LIMIT 94.5 -> A2"]
