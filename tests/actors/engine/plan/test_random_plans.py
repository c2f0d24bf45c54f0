"""Random plans on a random market with a random broker (order-engine 2): nothing is sent beyond what was asked for, exits never exceed
what they close and are not closed themselves, an ended plan leaves nothing at a broker, and a plan always comes to rest."""

from decimal import Decimal as D

import attrs
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.plan.execution_kinds import Iceberg, Ladder, Participation, TopUp, Twap
from onebroker.actors.engine.plan.machine.advance import is_calm
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING
from onebroker.actors.engine.plan.parts import (
    Direction,
    FromFill,
    Lifetime,
    OnEnd,
    OrderPart,
    PriceAt,
    Rule,
    SequencePart,
    Share,
    Units,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import (
    Chase,
    ExitOrder,
    FromFillPrice,
    FromParentFill,
    Marketable,
    NativeStop,
    Peg,
    Trail,
)
from tests.actors.engine.plan.trees import oco, order, together
from tests.actors.engine.plan.world import Runner
from tests.support.further import searched

LIMITS = st.sampled_from((98, 99, 100, 101, 102))
SPLIT = st.sampled_from(
    (
        Iceberg(slice_quantity=7, randomise_percent=D(20)),
        Twap(slices=3, over_minutes=D(3)),
        TopUp(piece_quantity=9),
        Participation(percent=D(20)),
        Ladder(from_price=D(100), to_price=D(98), steps=4),
        Ladder(from_price=D(100), to_price=D(98), steps=4, one_at_a_time=True),
    )
)
ENTRY_PRICES = st.one_of(
    LIMITS, st.just(Marketable(follow=True)), st.just(Peg()), st.just(Chase(start_price=None)), st.just(Marketable())
)
STOPS = st.sampled_from(
    (
        NativeStop(trigger_price=D(96), limit_price=D("95.5")),
        Trail(points=D(2), limit_offset=D("0.5")),
        FromParentFill(distance=D(3), order=ExitOrder.STOP, limit_offset=D("0.5")),
    )
)
TARGETS = st.sampled_from((104, FromParentFill(percent=D(2), order=ExitOrder.LIMIT), Marketable(follow=True)))
WHENS = st.one_of(
    st.none(),
    st.builds(
        lambda level, direction: PriceAt(instrument_id="I", level=D(level), direction=direction),
        st.integers(98, 102),
        st.sampled_from((None, *Direction)),
    ),
)
LIFETIMES = st.one_of(
    st.none(),
    st.builds(
        lambda minutes, end: Lifetime(after_minutes=D(minutes), on_end=end), st.integers(1, 9), st.sampled_from(OnEnd)
    ),
)


@st.composite
def exits(draw, path):
    """What hangs on an entry."""
    kind = draw(st.sampled_from(("none", "stop", "oco", "targets", "fills", "hedge")))
    if kind == "none":
        return None
    if kind == "stop":
        return order(path, "SELL", FromFill(), draw(STOPS), is_exit=True)
    if kind == "fills":
        price = FromFillPrice(distance=D(1), order=ExitOrder.LIMIT)
        return order(path, "SELL", FromFill(), price, is_exit=True)
    if kind == "hedge":
        return order(path, "SELL", FromFill(ratio=D("0.5")), Marketable(follow=True), of="F")
    stop = order(f"{path}.children.0", "SELL", FromFill(), draw(STOPS), is_exit=True)
    if kind == "oco":
        target = order(f"{path}.children.1", "SELL", FromFill(), draw(TARGETS), hold=draw(st.booleans()), is_exit=True)
        return oco(path, stop, target)
    targets = [order(f"{path}.children.{n}", "SELL", Share(D("0.5")), 103 + n, is_exit=True) for n in (1, 2)]
    return oco(path, stop, *targets, breakeven_after=draw(st.sampled_from((None, 1))))


@st.composite
def entries(draw, path):
    execution = draw(st.one_of(st.none(), SPLIT))
    more = {} if execution is None else {"execution": execution}
    price = draw(ENTRY_PRICES)
    return order(
        path, "BUY", draw(st.integers(12, 60)), price, each_fill=draw(exits(f"{path}.each_fill")), when=draw(WHENS),
        lifetime=draw(LIFETIMES), hold=draw(st.booleans()), **more,
    )  # fmt: skip


@st.composite
def plans(draw):
    kind = draw(st.sampled_from(("one", "one", "together", "oca", "sequence", "trigger")))
    whole = {"when": draw(st.one_of(st.none(), WHENS)), "lifetime": draw(LIFETIMES)}
    if kind == "one":
        return draw(entries("root"))
    if kind == "sequence":
        then = order("root.then", "SELL", FromFill(), draw(TARGETS), is_exit=True)
        return SequencePart(path="root", first=draw(entries("root.first")), then=then, **whole)
    if kind == "trigger":
        hidden = order(
            "root.children.0", "SELL", 20, Marketable(follow=True), is_exit=True,
            when=PriceAt(instrument_id="I", level=D(99), direction=Direction.BELOW),
        )  # fmt: skip
        back = order("root.children.1", "SELL", 20, NativeStop(trigger_price=D(97), limit_price=D(96)), is_exit=True)
        return oco("root", hidden, back, rule=Rule.TRIGGER)
    children = [draw(entries(f"root.children.{n}")) for n in range(2)]
    return (
        together("root", *children, **whole)
        if kind == "together"
        else oco("root", *children, rule=Rule.CANCEL, **whole)
    )


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ("quote", "fill", "complete", "cancelled", "rejected", "expired", "time", "cancel part", "caller")
        ),
        st.integers(0, 10**6),
    ),
    max_size=30,
)


def quoted(run, of, middle, **more):
    """Quote an instrument. Where the last look said that this changes nothing, nothing may come of it."""
    before, calm = run.parts, {} if run.outcome is None else dict(run.outcome.calm)
    said, first = len(run.log), run.outcome is None
    run.quote(middle, middle - D("0.05"), middle + D("0.05"), of=of, **more)
    if not first and is_calm(calm, of, run.world.quotes[of]):
        assert (run.parts, len(run.log)) == (before, said), "a quote that nobody had to look at has changed something"


def happen(run, event, number):
    resting = run.resting
    leg = resting[number % len(resting)] if resting else None
    match event:
        case "quote":
            middle = 95 + D(number % 200) / 20
            for of, more in (("I", {"volume": number}), ("F", {})):
                quoted(run, of, middle, **more)
        case "time":
            run.at(run.world.now - run.started + 1 + number % 100)
        case "fill" if leg is not None and leg.unfilled > 1:
            run.book(leg.leg_id, filled=leg.filled + 1 + number % (leg.unfilled - 1), average=leg.price or 100)
        case "complete" if leg is not None:
            run.book(leg.leg_id, "complete", average=leg.price or 100)
        case "cancelled" if leg is not None:
            run.book(leg.leg_id, "cancelled")
        case "rejected" | "expired" if leg is not None and not leg.filled:
            run.book(leg.leg_id, event)
        case "cancel part":
            open_parts = [path for path, record in run.parts.items() if not record.state.final]
            if open_parts and number % 5 == 0:
                run.cancel_part(open_parts[number % len(open_parts)])
        case "caller" if leg is not None and leg.state is LegState.OPEN:
            run.cancel_leg(leg.leg_id, leg.filled)


def confirm_cancels(run):
    for _ in range(20):
        under_way = [leg for leg in run.legs if leg.state is LegState.CANCELLING]
        if not under_way:
            return
        for leg in under_way:
            run.book(leg.leg_id, "cancelled")


def check(run):
    for part in walk(run.root):
        if not isinstance(part, OrderPart):
            continue
        own = [leg for leg in run.legs if leg.part == part.path and leg.instance != CLOSING]
        committed = sum(leg.committed for leg in own)
        if isinstance(part.quantity, Units):
            assert committed <= part.quantity.quantity, part.path
        link = part.each_fill
        if link is not None:
            filled = sum(leg.filled for leg in own)
            for child in (one for one in walk(link) if isinstance(one, OrderPart) and one.instrument_id == "I"):
                out = sum(leg.committed for leg in run.legs if leg.part == child.path)
                assert out <= filled, f"{child.path} has {out} out for {filled} filled"
    exits = {part.path for part in walk(run.root) if isinstance(part, OrderPart) and part.is_exit}
    assert not [leg for leg in run.legs if leg.instance == CLOSING and leg.part in exits], "an exit was closed again"
    if run.over():
        assert not [leg for leg in run.resting if leg.state is not LegState.CANCELLING], "an ended plan left an order"


@searched(60, 120)
@given(plans(), EVENTS)
def test_random_plans_send_no_more_than_was_asked_and_come_to_rest(plan, events):
    run = Runner(plan)
    run.world.fill_prices = FillPrices(run)
    run.quote(100, 99.95, 100.05, volume=1000)
    run.quote(100, 99.95, 100.05, of="F")
    for event, number in events:
        happen(run, event, number)
        check(run)
        confirm_cancels(run)
        check(run)
    run.at(23_000)
    for _ in range(200):
        confirm_cancels(run)
        if not run.resting:
            break
        for leg in run.resting:
            run.book(leg.leg_id, "expired")
    run.quote(100, 99.95, 100.05)
    for leg in run.resting:
        run.book(leg.leg_id, "complete", average=100)
    check(run)
    assert run.over(), {path: record.state for path, record in run.parts.items()}
    assert all(record.state.final for record in run.parts.values())
    assert PartState(run.state()).final


class FillPrices(dict):
    """The average of a leg stands in for its trades."""

    def __init__(self, run):
        self.run = run

    def get(self, leg_id):
        return self.run.leg(leg_id).average


def test_a_look_changes_nothing_that_it_has_been_given():
    run = Runner(order()).look()
    before = attrs.evolve(run.parts["root"])
    run.look()
    assert run.parts["root"] == before


@given(plan=plans(), walk_of=st.lists(st.integers(-8, 8), min_size=20, max_size=60), fills=st.integers(2, 12))
@searched(30, 60)
def test_a_quote_that_the_last_look_called_calm_changes_nothing(plan, walk_of, fills):
    run, middle = Runner(plan), D(100)
    run.world.fill_prices = FillPrices(run)
    run.look()
    for number, step in enumerate(walk_of):
        middle = max(D(90), middle + D(step) / 20)
        quoted(run, "I", middle, volume=number)
        quoted(run, "F", middle)
        run.at(run.world.now - run.started + 1)
        if number % fills == 0 and run.resting:
            happen(run, "fill", number)
