"""Mornings of a corporate action: what waits over days in the share is scaled by the known factor or ends, and never acts on the gap."""

from datetime import date, time
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.part_state import Memory
from onebroker.actors.engine.plan.execution_kinds import Daily, Iceberg
from onebroker.actors.engine.plan.machine.share_actions import WAIT_SECONDS
from onebroker.actors.engine.plan.market import NO_ACTION, ShareAction, Standing
from onebroker.actors.engine.plan.parts import (
    AllOf,
    AppliesTo,
    BarClosed,
    Direction,
    FromFill,
    Lifetime,
    PriceAt,
    QuoteField,
    Rule,
    SequencePart,
    TimeOfDay,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import Fixed, NativeStop, Peg, Trail
from tests.actors.engine.plan.trees import oco, order
from tests.actors.engine.plan.world import DAY, MORNING, Runner, World

pytestmark = pytest.mark.unit
NIGHT = DAY.closes - MORNING + 3600
OPENING = 86_400.0 - 300
"""Seconds after MORNING at which the next day opens."""
WAITING_DAYS = Lifetime(after_days=30, applies_to=AppliesTo.WAITING)
SENTENCE = "RELIANCE has a corporate action today"
SPLIT = ShareAction(happened=True, price_factor=D("0.2"), units_factor=D(5))
BONUS = ShareAction(happened=True, price_factor=D("0.9090909"), units_factor=D("1.1"))
SHOWN = ShareAction(happened=True)
"""The previous close tells it, and no factor is known."""


def below(level, of="I", field=QuoteField.LAST_PRICE):
    return PriceAt(instrument_id=of, level=D(str(level)), direction=Direction.BELOW, field=field)


def gtt(path="root", side="SELL", price=90, level=96, quantity=10, **more):
    more = {"when": below(level), "lifetime": WAITING_DAYS, **more}
    return order(path, side, quantity, price, **more)


def daily_stop(path="root", quantity=10):
    price = NativeStop(trigger_price=D(96), limit_price=D(95))
    return order(path, "SELL", quantity, price, execution=Daily(arm_at=time(9, 20)), is_exit=True)


def world(action=None):
    made = World()
    made.standings["I"] = Standing(name="RELIANCE")
    if action is not None:
        made.actions["I"] = action
    return made


def overnight(part, action):
    """Place the part at 100, let a night pass, and come to the next opening with the fact known."""
    run = Runner(part, world()).quote(100, 99.95, 100.05).at(NIGHT)
    for leg in run.resting:
        run.book(leg.leg_id, "expired")
    run.sent()
    run.world.quotes.clear()
    run.world.actions["I"] = action
    return run.at(OPENING + 1)


@pytest.mark.parametrize("part", [gtt(), gtt(side="BUY", price=96), daily_stop()])
def test_without_a_known_factor_a_part_of_an_earlier_day_ends_and_never_acts_on_the_gap(part):
    run = overnight(part, SHOWN)
    assert (run.state(), run.parts["root"].status_message) == ("cancelled", SENTENCE)
    run.quote(20, 19.95, 20.05).at(OPENING + 3600)
    assert run.sent() == []


def test_a_gtt_is_scaled_by_a_split_and_fires_at_the_same_value():
    run = overnight(gtt(), SPLIT)
    run.quote(20, 19.95, 20.05).at(OPENING + 60)
    assert (run.sent(), run.state()) == ([], "waiting")
    assert run.parts["root"].status_message == f"{SENTENCE}: prices and units are scaled by its factor"
    assert run.quote(19.2, 19.15, 19.25).sent() == ["PLACE alpha SELL 50 LIMIT 18 -> A1"]


def test_a_bonus_gives_whole_ticks_and_whole_units_away_from_the_market():
    run = overnight(gtt(), BONUS)
    assert (run.root.when.level, run.root.price.price, run.root.quantity.quantity) == (D("87.25"), D("81.85"), 11)
    run.quote(90.9, 90.85, 90.95).at(OPENING + 60)
    assert run.sent() == []


def test_a_daily_stop_is_scaled_and_sent_on_the_same_morning():
    run = overnight(daily_stop(), SPLIT)
    assert run.quote(20, 19.95, 20.05).at(OPENING + 600).sent() == ["PLACE alpha SELL 50 SL 19.2/19 -> A2"]


def test_it_is_scaled_once_a_day_and_again_on_the_next_ex_date():
    run = overnight(gtt(), SPLIT).quote(20, 19.95, 20.05).look().look()
    assert run.root.when.level == D("19.2")
    run.at(OPENING + 40_000)
    run.at(OPENING + 86_400 + 1)
    assert run.root.when.level == D("3.80")


def test_a_callers_own_figures_are_scaled_too():
    run = Runner(gtt(), world()).quote(100, 99.95, 100.05)
    run.modify_part("root", quantity=8, price=91).at(NIGHT)
    run.world.actions["I"] = SPLIT
    run.at(OPENING + 1)
    assert (run.parts["root"].quantity, run.parts["root"].price) == (40, D("18.2"))


@pytest.mark.parametrize(
    "part",
    [
        gtt(quantity=7, price=90),
        gtt(price=Peg()),
        gtt(execution=Iceberg(slice_quantity=2)),
        gtt(price=Trail(points=D(2), limit_offset=D(1))),
    ],
    ids=["units with a rest", "peg", "iceberg", "trail"],
)
def test_figures_that_cannot_be_scaled_end_the_part(part):
    run = overnight(part, BONUS)
    assert (run.state(), run.sent()) == ("cancelled", [])
    assert run.parts["root"].status_message == SENTENCE


def test_units_that_filled_before_end_the_part():
    run = Runner(daily_stop(), world()).quote(100, 99.95, 100.05).at(60)
    run.book("A1", filled=4).at(NIGHT)
    run.book("A1", "expired", filled=4)
    run.world.actions["I"] = SPLIT
    run.at(OPENING + 1)
    assert (run.state(), run.parts["root"].status_message) == (
        "completed",
        None,
    )  # a stop that has traded is not sent again


def test_exits_of_units_that_filled_before_end_where_the_units_change():
    then = attrs.evolve(daily_stop("root.each_fill"), quantity=FromFill())
    run = Runner(gtt(side="BUY", price=96, each_fill=then, lifetime=Lifetime(after_days=30)), world())
    run.quote(95, 94.95, 95.05).at(60)
    run.book("A1", "complete").at(NIGHT)
    for leg in run.resting:
        run.book(leg.leg_id, "expired")
    run.sent()
    run.world.actions["I"] = SPLIT
    run.at(OPENING + 1)
    assert run.parts["root.each_fill"].status_message == SENTENCE
    assert run.outcome.unprotected == {"I": 10}
    run.quote(19, 18.95, 19.05).at(OPENING + 600)
    assert run.sent() == []


def test_what_then_waits_is_scaled_with_what_it_waits_for():
    first = gtt("root.first", side="BUY", price=96)
    part = SequencePart(
        path="root", first=first, then=order("root.then", "SELL", FromFill(), 110), lifetime=WAITING_DAYS
    )
    run = overnight(part, SPLIT)
    assert (run.root.first.price.price, run.root.then.price.price) == (D("19.2"), D(22))


def test_a_pair_is_scaled_as_a_whole():
    pair = oco("root", gtt("root.children.0"), gtt("root.children.1", price=110, level=110), rule=Rule.TRIGGER)
    over = PriceAt(instrument_id="I", level=D(110), direction=Direction.ABOVE)
    pair = attrs.evolve(pair, children=(pair.children[0], attrs.evolve(pair.children[1], when=over)))
    run = overnight(pair, SPLIT)
    assert [part.when.level for part in walk(run.root) if part.when] == [D("19.2"), D(22)]
    assert run.quote(22, 21.95, 22.05).sent() == ["PLACE alpha SELL 50 LIMIT 22 -> A1"]


def test_a_level_of_a_watched_share_is_scaled_and_the_order_in_another_share_keeps_its_figures():
    when = AllOf((below(96), below(50, "OTHER"), BarClosed(instrument_id="I", level=D(97), direction=Direction.BELOW)))
    run = overnight(gtt(of="OTHER", when=when), SPLIT)
    levels = [condition.level for condition in run.root.when.conditions]
    assert (levels, run.root.price.price, run.root.quantity.quantity) == ([D("19.2"), D(50), D("19.4")], D(90), 10)


def test_orders_of_today_and_orders_of_one_day_are_left_alone():
    run = Runner(gtt(), world(SPLIT)).quote(20.5, 20.45, 20.55).at(60)
    assert run.root.when.level == D(96)
    day = order("root", "SELL", 10, 99, hold=True)
    run = Runner(day, world()).quote(90, 89.95, 90.05).at(NIGHT)
    run.world.actions["I"] = SPLIT
    run.at(OPENING + 1)
    assert run.state() == "expired"


def test_a_time_for_tomorrow_is_no_part_that_waits_over_days():
    when = TimeOfDay(time(9, 20), day="2026-11-24")
    run = Runner(order("root", "BUY", 10, 100, when=when), world()).at(NIGHT)
    run.world.actions["I"] = ShareAction(is_known=False, asked_at=MORNING + OPENING)
    run.at(OPENING + 400)
    assert run.sent() == ["PLACE alpha BUY 10 LIMIT 100 -> A1"]


@pytest.mark.parametrize(("fact", "state"), [(SHOWN, "cancelled"), (ShareAction(), "working")])
def test_a_condition_that_would_fire_at_the_opening_waits_for_the_fact(fact, state):
    run = overnight(gtt(), ShareAction(is_known=False, asked_at=MORNING + OPENING - 600))
    run.quote(90.9, 90.85, 90.95)
    assert (run.sent(), run.state()) == ([], "waiting")
    run.world.now += 3
    run.world.actions["I"] = fact
    run.quote(90.9, 90.8, 90.95)
    assert run.state() == state
    assert len(run.sent()) == (state == "working")


@pytest.mark.parametrize(
    "part", [gtt(), daily_stop(), attrs.evolve(gtt(), lifetime=Lifetime(after_days=9, when=below(95)))]
)
def test_it_waits_half_a_minute_at_most(part):
    run = overnight(part, ShareAction(is_known=False, asked_at=MORNING + OPENING - 600))
    run.quote(90.9, 90.85, 90.95)
    assert run.outcome.wake_at <= MORNING + OPENING + WAIT_SECONDS
    run.at(OPENING + WAIT_SECONDS - 1)
    assert (run.sent(), run.over()) == ([], False)
    run.at(OPENING + 600)
    assert run.sent() or run.over()


def test_after_a_restart_in_the_session_it_waits_from_then_on():
    run = overnight(gtt(), ShareAction())
    run.at(OPENING + 7200)
    run.world.actions["I"] = ShareAction(is_known=False, asked_at=run.world.now)
    run.quote(90.9, 90.85, 90.95)
    assert run.sent() == []
    run.at(OPENING + 7200 + WAIT_SECONDS)
    assert len(run.sent()) == 1


def test_a_group_of_days_that_waits_for_the_share_ends_with_it():
    pair = oco(
        "root",
        order("root.children.0"),
        order("root.children.1", price=Fixed(D(80))),
        when=below(96),
        lifetime=WAITING_DAYS,
    )
    run = overnight(pair, SHOWN)
    assert (run.state(), run.parts["root"].status_message) == ("cancelled", SENTENCE)
    run = overnight(pair, SPLIT)
    assert (run.root.when.level, run.root.children[1].price.price) == (D("19.2"), D(16))


def test_a_price_rule_with_a_memory_of_before_is_not_scaled():
    run = Runner(gtt(), world()).quote(100, 99.95, 100.05).at(NIGHT)
    run.parts["root"] = attrs.evolve(run.parts["root"], memory=Memory(watermark=D(101)))
    run.world.actions["I"] = SPLIT
    run.at(OPENING + 1)
    assert run.state() == "cancelled"


# --- days on which the service was away ------------------------------------------------------------------------------------

DAY_SECONDS = 86_400.0
TUESDAY, WEDNESDAY, THURSDAY = date(2026, 11, 24), date(2026, 11, 25), date(2026, 11, 26)


class DatedWorld(World):
    """Knows ex-dates as the store does, and writes down since when it was asked."""

    def __init__(self):
        super().__init__()
        self.standings["I"] = Standing(name="RELIANCE")
        self.factors = {}
        """Ex-date -> the factors of prices and units."""
        self.asked = []

    def action(self, instrument_id, since):
        today = date(2026, 11, 23 + int((self.now - MORNING + 9.4 * 3600) // DAY_SECONDS))
        self.asked.append(since)
        days = [day for day in self.factors if since.given < day <= today]
        if instrument_id != "I" or not days:
            return self.actions.get(instrument_id, NO_ACTION)
        price = units = D(1)
        for day in days:
            price, units = price * self.factors[day][0], units * self.factors[day][1]
        until = None if max(days) == today else max(days)
        return ShareAction(happened=True, price_factor=price, units_factor=units, until=until)


def after_days(part, days, factors):
    """Place the part at 100 on a Monday; the service sleeps from the evening on, until so many days later."""
    run = Runner(part, DatedWorld()).quote(100, 99.95, 100.05).at(NIGHT)
    for leg in run.resting:
        run.book(leg.leg_id, "expired")
    run.sent()
    run.world.quotes.clear()
    run.world.factors = factors
    run.world.now = run.started + OPENING + 1 + (days - 1) * DAY_SECONDS
    return run.look()


def later(run, days):
    """The same, for a run that goes on: the service is there each day."""
    return run.at(OPENING + 1 + (days - 1) * DAY_SECONDS)


FIFTH = {TUESDAY: (D("0.2"), D(5))}


@pytest.mark.parametrize("part", [gtt(), daily_stop()])
def test_an_ex_date_on_which_the_service_was_away_scales_the_part(part):
    run = after_days(part, 2, FIFTH)
    assert run.parts["root"].status_message == f"{SENTENCE}: prices and units are scaled by its factor"
    run.quote(20, 19.95, 20.05).at(OPENING + 600 + DAY_SECONDS)
    assert [line.split(" -> ")[0] for line in run.sent()] == (
        ["PLACE alpha SELL 50 SL 19.2/19"] if run.root.when is None else []
    )


def test_the_factors_of_several_days_are_multiplied():
    run = after_days(gtt(), 3, {TUESDAY: (D("0.5"), D(2)), WEDNESDAY: (D("0.5"), D(2)), THURSDAY: (D("0.5"), D(2))})
    assert (run.root.when.level, run.root.price.price, run.root.quantity.quantity) == (D(12), D("11.25"), 80)


def test_the_same_action_never_scales_twice():
    run = later(after_days(gtt(), 2, FIFTH), 4).look()
    assert run.root.when.level == D("19.2")


def test_a_service_that_was_there_on_the_ex_date_has_scaled_already():
    run = later(later(after_days(gtt(), 1, FIFTH), 2), 3)
    assert run.root.when.level == D("19.2")


def test_an_action_of_today_counts_beside_one_of_a_day_away():
    run = after_days(gtt(), 2, FIFTH)
    assert run.root.when.level == D("19.2")
    run.world.actions["I"] = SHOWN
    run.quote(10, 9.95, 10.05)
    assert (run.state(), run.sent()) == ("cancelled", [])


def test_a_part_that_was_placed_after_the_ex_date_keeps_its_figures():
    world = DatedWorld()
    world.factors = {date(2026, 11, 20): (D("0.2"), D(5)), date(2026, 11, 23): (D("0.2"), D(5))}
    run = later(Runner(gtt(), world).quote(100, 99.95, 100.05), 2)
    assert run.root.when.level == D(96)


def test_a_record_of_an_earlier_version_counts_from_its_last_scaling():
    run = Runner(gtt(), DatedWorld()).quote(100, 99.95, 100.05).at(NIGHT)
    run.parts["root"] = attrs.evolve(run.parts["root"], action_day=TUESDAY.isoformat())
    run.world.factors = {**FIFTH, WEDNESDAY: (D("0.5"), D(2))}
    run.world.now += 2 * DAY_SECONDS
    run.look()
    assert (run.root.when.level, run.root.quantity.quantity) == (D(48), 20)


def test_closes_are_compared_from_the_last_session_in_which_the_part_was_there():
    run = later(after_days(gtt(), 1, {}), 2)
    run.world.asked.clear()
    run.world.now += 2 * DAY_SECONDS
    run.look()
    assert {(since.given.day, since.seen.day) for since in run.world.asked[:1]} == {(23, 25)}


def test_a_morning_before_the_opening_is_no_session_in_which_it_was_there():
    run = after_days(gtt(), 1, {})
    assert run.parts["root"].actions_seen == TUESDAY.isoformat()
    run.at(OPENING + DAY_SECONDS - 60)
    assert run.parts["root"].actions_seen == TUESDAY.isoformat()


def test_a_factor_that_is_loaded_after_the_ex_date_scales_what_still_waits():
    run = after_days(gtt(), 1, {})
    run.world.factors = FIFTH
    assert later(run, 2).root.when.level == D("19.2")


@pytest.mark.parametrize("ex_date", [TUESDAY, WEDNESDAY])
def test_figures_of_before_and_after_the_ex_date_end_the_part(ex_date):
    run = after_days(gtt(), 1, {}).modify_part("root", price=18)
    run.world.factors = {ex_date: (D("0.2"), D(5))}
    later(run, 2)
    assert run.state() == ("cancelled" if ex_date == TUESDAY else "waiting")


def test_a_change_of_the_resting_order_on_the_ex_date_gives_figures_too():
    run = after_days(daily_stop(), 1, {}).quote(100, 99.95, 100.05).at(OPENING + 600)
    (leg,) = run.resting
    run.modify_leg(leg.leg_id, trigger_price=19, price=18)
    run.book(leg.leg_id, "expired")
    run.sent()
    run.world.factors = FIFTH
    later(run, 2)
    assert (run.state(), run.sent()) == ("cancelled", [])


def test_a_share_that_is_not_known_yet_is_asked_for_after_the_other_was_scaled():
    run = Runner(gtt(of="OTHER", when=AllOf((below(96), below(50, "OTHER")))), DatedWorld()).at(NIGHT)
    run.world.factors = FIFTH
    run.world.actions["OTHER"] = ShareAction(is_known=False, asked_at=run.world.now)
    run.at(OPENING + 1)
    assert run.root.when.conditions[0].level == D("19.2")
    run.world.actions["OTHER"] = SHOWN
    assert run.look().state() == "cancelled"


def test_the_quantity_of_a_group_is_scaled_with_its_orders():
    pair = oco("root", gtt("root.children.0"), gtt("root.children.1"), lifetime=Lifetime(after_days=9))
    run = Runner(pair, DatedWorld()).quote(100, 99.95, 100.05)
    run.parts["root"] = attrs.evolve(run.parts["root"], quantity=8)
    run.world.factors = FIFTH
    run.world.now += 2 * DAY_SECONDS
    run.look().look()
    assert (run.parts["root"].quantity, run.root.children[0].quantity.quantity) == (40, 50)
