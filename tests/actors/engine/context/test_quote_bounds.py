"""The sorted bounds of all plans find the plans that the rule for one plan finds (`is_calm`), and each keeps what its next look must see."""

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.actors.engine.context.quote_bounds import MOST_AT_ONCE, PlanQuotes, QuoteBounds
from onebroker.actors.engine.context.seen_quotes import SeenQuotes
from onebroker.actors.engine.plan.machine.advance import is_calm
from onebroker.actors.engine.plan.market import Calm
from onebroker.actors.engine.plan.parts import QuoteField
from onebroker.actors.quotes.followers import Followers
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.sessions.tick_backlog import MOST_UNREAD
from onebroker.brokers.records import DepthLevel, Tick


class LiveQuotes:
    """The quote book's followers, and which quotes may be acted on."""

    def __init__(self):
        self.followers = Followers()
        self.attach, self.detach, self.when_taken = self.followers.add, self.followers.remove, self.followers.when_taken
        self.guard, self.unguard = self.followers.guard, self.followers.unguard
        self.usable = True
        self.fetched = None

    def is_usable(self, instrument_id, quote):
        return self.usable

    def usable_quote(self, instrument_id):
        return (self.fetched or object()) if self.usable else None


class World:
    def __init__(self):
        self.quotes = LiveQuotes()
        self.seen = SeenQuotes()
        self.bounds = QuoteBounds(self.quotes, self.seen)
        self.told, self.looked = [], []

    def plan(self, name, calm=None, *, is_exit=False, of=("a",)):
        """A plan that has looked at `of`; `calm` None: it has not looked yet."""
        plan = PlanQuotes(
            self.bounds,
            is_exit=is_exit,
            look=lambda: self.looked.append(name),
            tell=lambda: (self.told.append(name), plan.stir()),
        )
        plan.follow(of)
        if calm is not None:
            plan.rest(calm)
        return plan

    def quote(self, *ticks, of="a"):
        """Take ticks that come together; return the quotes."""
        quotes = [
            Quote(
                broker="alpha",
                tick=tick if isinstance(tick, Tick) else Tick(broker_token="1", last_price=tick),
                received_at=1.0,
            )
            for tick in ticks
        ]
        for quote in quotes:
            self.quotes.followers.changed(of, quote)
        self.quotes.followers.taken()
        return quotes


def above(level):
    return Calm(above=Decimal(level))


# --- the same plans as by asking each -----------------------------------------------------------------------------------

levels = st.none() | st.integers(-1, 6).map(Decimal)
calms = st.builds(
    Calm,
    field=st.sampled_from([QuoteField.LAST_PRICE, QuoteField.LAST_PRICE, QuoteField.BID, QuoteField.MID, QuoteField.OI]),
    least=levels, most=levels, above=levels, below=levels,
)  # fmt: skip
books = st.none() | st.lists(
    st.builds(DepthLevel, price=st.integers(1, 5).map(float), quantity=st.just(5), orders=st.just(1)), max_size=2
).map(tuple)
ticks = st.builds(
    Tick,
    broker_token=st.just("1"),
    last_price=st.integers(1, 5).map(float),
    buy=books, sell=books, oi=st.none() | st.integers(0, 5),
)  # fmt: skip
singles = st.builds(
    lambda field, bound, level: Calm(field=field, **{bound: Decimal(level)}),
    st.sampled_from([QuoteField.LAST_PRICE, QuoteField.BID]),
    st.sampled_from(["least", "most", "above", "below"]),
    st.integers(1, 5),
)
waiting = st.lists(st.none() | st.lists(calms, max_size=4) | st.lists(singles, max_size=2), min_size=1, max_size=8)


@given(waiting, waiting, st.lists(ticks, min_size=1, max_size=6))
@settings(max_examples=150)
def test_a_quote_concerns_the_plans_that_it_would_concern_if_each_were_asked(before, bounds, quotes):
    world = World()
    plans = [world.plan(number, {"a": calm}) for number, calm in enumerate(before)]
    del bounds[len(plans) :]
    for plan, calm in zip(plans, bounds, strict=False):
        plan.rest({"a": calm})  # another look has given other bounds
    held = [*bounds, *before[len(bounds) :]]
    for tick in quotes:
        world.told.clear()
        (quote,) = world.quote(tick)
        seen = world.seen.of(quote)
        concerned = [number for number, calm in enumerate(held) if not is_calm({"a": calm}, "a", seen)]
        assert sorted(world.told) == concerned
        assert [number for number, plan in enumerate(plans) if plan.unread("a")] == concerned
        for plan, calm in zip(plans, held, strict=True):
            plan.forget("a")
            plan.rest({"a": calm})
    for plan in plans:
        plan.close()
    assert list(world.quotes.followers) == []
    assert world.bounds._of == {}


# --- what is kept -------------------------------------------------------------------------------------------------------


def prices(plan, of="a"):
    return [quote.tick.last_price for quote in plan.unread(of)]


def test_a_plan_that_has_not_looked_yet_or_has_other_news_keeps_every_quote():
    world = World()
    new, resting = world.plan("new"), world.plan("resting", {"a": [above(1)]})
    world.quote(5.0)
    assert (prices(new), prices(resting)) == ([5.0], [])
    resting.stir()
    world.quote(6.0, 7.0)
    assert (prices(new), prices(resting)) == ([5.0, 6.0, 7.0], [6.0, 7.0])
    resting.forget("a")
    resting.rest({"a": [above(1)]})
    world.quote(8.0)
    assert prices(resting) == []


def test_what_comes_with_a_quote_that_breaks_a_bound_is_kept_before_the_plan_looks():
    world = World()
    plan = world.plan("stop", {"a": [above(3)]})
    seen = []
    plan.look = lambda: seen.append(prices(plan))
    world.quote(4.0, 2.0, 5.0)
    assert seen == [[2.0, 5.0]], "the touch, and the price that stands"


def test_of_more_than_can_be_kept_the_first_lowest_highest_and_newest_stay():
    world = World()
    plan = world.plan("new")
    for price in (100.0, 90.0, 110.0, *([100.0] * 300), 101.0):
        world.quote(price)
        assert len(plan.unread("a")) <= MOST_UNREAD
    assert (prices(plan)[:3], prices(plan)[-1]) == ([100.0, 90.0, 110.0], 101.0)


def test_what_is_no_longer_watched_is_neither_kept_nor_on_the_feeds():
    world = World()
    plan = world.plan("plan", {"a": None, "b": [above(3)]}, of=("a", "b"))
    world.quote(1.0)
    plan.follow(["b"])
    assert (list(world.quotes.followers), prices(plan)) == (["b"], [])
    plan.follow(["a", "b"])
    assert prices(plan) == []
    plan.close()
    assert list(world.quotes.followers) == []


def test_an_unusable_quote_wakes_nobody_and_a_resting_plan_does_not_keep_it():
    world = World()
    plan = world.plan("stop", {"a": [above(3)]})
    world.quotes.usable = False
    world.quote(2.0)
    assert (world.told, world.looked, prices(plan)) == ([], [], [])


def test_a_quote_that_is_told_again_or_has_not_changed_concerns_nobody():
    world = World()
    plan = world.plan("peg", {"a": None})
    (quote,) = world.quote(2.0)
    plan.forget("a")
    world.quotes.followers.changed("a", quote)
    world.quotes.followers.changed("a")
    assert (world.told, prices(plan)) == (["peg"], [])


# --- who looks ----------------------------------------------------------------------------------------------------------


def test_exits_look_first_and_the_others_in_their_order():
    world = World()
    for name, is_exit in (("entry 1", False), ("exit 1", True), ("entry 2", False), ("exit 2", True)):
        world.plan(name, {"a": [above(3)]}, is_exit=is_exit)
    world.plan("calm", {"a": [above(1)]}, is_exit=True)
    world.quote(2.0)
    assert world.looked[:2] in (["exit 1", "exit 2"], ["exit 2", "exit 1"])
    assert sorted(world.looked[2:]) == ["entry 1", "entry 2"]


def test_a_quote_that_breaks_hundreds_of_bounds_lets_some_look_at_once_and_tells_all():
    world, exits = World(), set(range(300 - MOST_AT_ONCE // 2, 300))
    for number in range(300):
        world.plan(number, {"a": [above(3)]}, is_exit=number in exits)
    world.quote(2.0)
    assert len(world.looked) == MOST_AT_ONCE
    assert set(world.looked) > exits
    assert sorted(world.told) == list(range(300))


def test_a_plan_that_every_quote_concerns_looks_once_in_the_next_round():
    world = World()
    world.plan("peg", {"a": None})
    world.quote(2.0, 3.0)
    assert (world.looked, set(world.told)) == ([], {"peg"})


def test_a_look_may_close_plans():
    world = World()
    plans = [world.plan(number, {"a": [above(3)]}) for number in range(3)]
    for plan in plans:
        plan.look = lambda: [other.close() for other in plans]
    world.quote(2.0)
    assert world.bounds._of == {}


def test_an_exit_is_told_once_when_its_quote_becomes_unusable_without_a_new_quote():
    world = World()
    world.plan("exit", {"a": ()}, is_exit=True)
    world.plan("entry", {"a": ()})
    world.bounds.tell_blind()
    world.quotes.usable = False
    world.bounds.tell_blind()
    world.bounds.tell_blind()
    assert world.told == ["exit"]


def test_the_exits_of_a_guarded_instrument_are_told_once_of_a_quote_over_rest():
    world = World()
    stop, other = world.plan("stop", {"a": ()}, is_exit=True), world.plan("other", {"a": ()}, is_exit=True)
    world.plan("entry", {"a": ()})
    (world.quotes.fetched,) = world.quote(1.0)
    world.bounds.tell_blind()
    assert world.told == []
    stop.guard(["a"])
    other.guard(["a"])
    assert world.quotes.followers.is_guarded("a")
    world.bounds.tell_blind()
    assert world.told == [], "a live quote is told when it comes"
    world.quotes.fetched = Quote(broker="alpha", tick=Tick(broker_token="1", last_price=0.5), received_at=20.0)
    world.bounds.tell_blind()
    world.bounds.tell_blind()
    assert sorted(world.told) == ["other", "stop"]
    stop.close()
    assert world.quotes.followers.is_guarded("a")
    other.close()
    assert not world.quotes.followers.is_guarded("a")
