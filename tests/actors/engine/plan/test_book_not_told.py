"""A feed that has told no book is no market without bids and offers: what the book decides waits for it."""

from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.plan.execution_kinds import BookDepth, Ladder
from onebroker.actors.engine.plan.market import Seen
from onebroker.actors.engine.plan.price_kinds import Chase, Crossing, Fixed, Marketable, Peg, Touch
from tests.actors.engine.plan.trees import order
from tests.actors.engine.plan.world import Runner

NOT_TOLD = "the live quote of this instrument tells no depth, so the BUY could not be priced and nothing was sent"
NOBODY = "nobody is offering this instrument, so the BUY could not be priced and nothing was sent"
LADDER = Ladder(from_price=D(-1), to_price=D(-2), steps=2, from_middle=True)
BY_THE_BOOK = {
    "at the market": {"price": Marketable()},
    "a peg": {"price": Peg(reference=Touch.OWN_TOUCH, passive=True)},
    "a chase": {"price": Chase(start_price=D(103), step_ticks=1, step_seconds=D(5))},
    "post only": {"price": Fixed(D(103), Crossing.REFUSE)},
    "moved": {"price": Fixed(D(103), Crossing.REST)},
    "a grid": {"price": Peg(reference=Touch.MID), "execution": LADDER},
}


def told(run, buy, sell, last=100):
    run.world.quotes["I"] = Seen(last_price=D(last), received_at=run.world.now, buy=buy, sell=sell)
    return run.look()


@pytest.mark.parametrize("kind", BY_THE_BOOK)
@pytest.mark.parametrize(("buy", "sell"), [(None, None), ((), None), (None, ())])
def test_what_the_book_decides_waits_until_the_feed_has_told_it(kind, buy, sell):
    run = Runner(order(side="BUY", quantity=10, **BY_THE_BOOK[kind]))
    told(run, buy, sell)
    assert run.sent() == []
    refused = run.outcome.reasons["root"]
    assert (refused.status, refused.sentence) == (503, NOT_TOLD)
    assert run.outcome.bookless == {"I"}
    assert run.parts["root"].refusal is None
    run.quote(100, 99.95, 100.05)
    if kind == "post only":
        crossing = "post_only_crosses: a BUY at 103 would trade at once against 100.05, so nothing was sent"
        assert (run.sent(), run.parts["root"].refusal) == ([], crossing)
    else:
        assert run.sent()[0].startswith("PLACE alpha BUY")


def test_an_empty_side_that_is_told_is_nobody_there():
    run = Runner(order(side="BUY", quantity=10, price=Marketable()))
    told(run, (), ())
    refused = run.outcome.reasons["root"]
    assert (refused.status, refused.sentence) == (409, NOBODY)
    assert run.outcome.bookless == set()


def test_a_strike_at_what_is_shown_waits_too():
    depth = BookDepth(limit_price=D(103), minimum_quantity=1)
    run = Runner(order(side="BUY", quantity=10, price=Fixed(D(103)), execution=depth))
    told(run, None, None)
    assert run.sent() == []


def test_what_rests_stays_where_it_is_while_a_tick_tells_no_book():
    run = Runner(order(side="BUY", quantity=10, price=Peg(reference=Touch.OWN_TOUCH)))
    run.quote(100, 99.95, 100.05)
    run.sent()
    run.world.now += 5
    told(run, None, None, last=98)
    assert (run.sent(), run.state()) == ([], "working")
    run.world.quotes["I"] = attrs.evolve(run.world.quotes["I"], buy=(), sell=())
    assert run.look().sent() == []
