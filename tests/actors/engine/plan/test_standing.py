"""Parts whose instrument is not in today's list, parts in a contract that is over, and markets of which no session is known."""

from decimal import Decimal as D

import pytest

from onebroker.actors.engine.plan.execution_kinds import Daily
from onebroker.actors.engine.plan.market import Standing
from onebroker.actors.engine.plan.parts import AppliesTo, Direction, FromPosition, Lifetime, PriceAt
from onebroker.actors.engine.plan.price_kinds import Fixed, NativeStop
from onebroker.config.clock import from_epoch
from tests.actors.engine.plan.trees import oco, order
from tests.actors.engine.plan.world import MORNING, Runner, World

pytestmark = pytest.mark.unit
DAY_SECONDS = 86_400.0
NAME = "NIFTY 2026-11-24"
MISSING = f"{NAME} is not in today's list of instruments"
WAITING_DAYS = Lifetime(after_days=30, applies_to=AppliesTo.WAITING)


def gtt(**more):
    condition = PriceAt(instrument_id="I", level=D(90), direction=Direction.BELOW)
    return order("root", "SELL", 10, 89, when=condition, lifetime=WAITING_DAYS, **more)


def daily_stop(days=30):
    price = NativeStop(trigger_price=D(95), limit_price=D(94))
    return order("root", "SELL", 10, price, execution=Daily(valid_days=days), is_exit=True)


PARTS = [gtt(), daily_stop(), oco("root", gtt(), daily_stop(), order("root.children.2", hold=True))]


def unlisted(world, ends_at=None):
    world.standings["I"] = Standing(name=NAME, is_listed=False, ends_at=ends_at)


@pytest.mark.parametrize("part", [gtt(), daily_stop()])
def test_an_unlisted_instrument_is_told_until_it_is_listed_again(part):
    run = Runner(part).quote(100, 99.95, 100.05).at(60)
    assert run.outcome.untold == ()
    unlisted(run.world)
    run.look()
    assert run.outcome.untold == (MISSING,)
    assert run.parts["root"].status_message == MISSING
    assert run.state() in ("waiting", "working")
    run.world.standings["I"] = Standing(name=NAME)
    run.look()
    assert (run.outcome.untold, run.parts["root"].status_message) == ((), None)


def test_a_trail_or_a_waiting_stop_goes_on_with_the_last_known_terms_and_sessions():
    run = Runner(gtt()).quote(100, 99.95, 100.05).at(60)
    unlisted(run.world)
    assert run.look().quote(89.5, 89.45, 89.55).sent() == ["PLACE alpha SELL 10 LIMIT 89 -> A1"]


@pytest.mark.parametrize(
    "part", [gtt(), daily_stop(), order("root", hold=True, price=50, lifetime=Lifetime(after_days=30))]
)
@pytest.mark.parametrize("listed", [True, False])
def test_a_part_in_a_contract_that_is_over_expires_and_cancels_its_orders(part, listed):
    run = Runner(part).quote(100, 99.95, 100.05).at(60)
    live = len(run.resting)
    over = MORNING + 2 * DAY_SECONDS
    run.world.standings["I"] = Standing(name=NAME, is_listed=listed, ends_at=over)
    run.look()
    assert not run.over()
    run.at(2 * DAY_SECONDS + 1)
    assert run.sent()[-live:] == ["CANCEL A1"] * live or not live
    for leg in run.resting:
        run.book(leg.leg_id, "cancelled")
    assert run.state() == "expired"
    assert run.parts["root"].status_message in (f"{NAME} has expired", None)


def test_a_service_that_was_away_over_the_last_close_ends_what_waits_in_the_contract():
    world = World()
    unlisted(world, ends_at=MORNING - 3600)
    run = Runner(gtt(), world).look()
    assert (run.state(), run.sent()) == ("expired", [])
    assert run.parts["root"].status_message == f"{NAME} has expired"


def test_a_close_of_all_positions_does_not_end_with_the_contract_that_names_the_plan():
    world = World()
    unlisted(world, ends_at=MORNING - 3600)
    form = FromPosition(product=None, instrument_ids=(), every_instrument=True)
    run = Runner(order("root", "SELL", form, is_exit=True), world).look()
    assert not run.over()
    assert run.outcome.untold == ()


@pytest.mark.parametrize(
    ("part", "days"),
    [
        (gtt(), 30),
        (daily_stop(), 30),
        (order("root", price=50, hold=True), 7),
        (order("root", price=Fixed(D(50)), hold=True), 7),
    ],
)
def test_where_no_session_is_known_a_part_ends_by_the_calendar(part, days):
    run = Runner(part)
    run.world.sessions = []
    run.look()
    assert run.outcome.wake_at < float("inf")
    run.at(days * DAY_SECONDS)
    assert not run.over()
    run.at((days + 1) * DAY_SECONDS)
    assert run.state() == "expired"
    assert from_epoch(run.world.now).date() > from_epoch(MORNING).date()
