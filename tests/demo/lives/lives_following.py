"""Lives of orders whose price follows the market: chaser, pegs and volatility."""

from tests.demo.lives.lives import life
from tests.demo.lives.prices import down, exact, points
from tests.demo.lives.said import ANY, modify, place
from tests.demo.lives.waiting import TIMED_PATIENCE_SECONDS, rests_at


@life("chaser", "it rests where it began", "it rests at its cap", lull=10)
def chaser(run):
    """Two steps of a little more than half the way to its cap, the second cut short by it."""
    tick = run.share["tick_size"]
    step = round((run.at(-2) - run.at(-3)) / tick) // 2 + 1
    run.place({"step_ticks": step, "step_seconds": 8, "cap_price": run.at(-2)})
    run.working(1)
    yield "it rests where it began"
    run.patience = TIMED_PATIENCE_SECONDS
    run.wait(lambda: run.leg()["price"] == run.at(-2), "the order to reach its cap")
    yield "it rests at its cap"
    run.fill()
    run.ends()
    steps = [modify("BUY", ANY, round(run.at(-3) + step * tick, 2)), modify("BUY", ANY, run.at(-2))]
    return [place("BUY", 10, run.at(-3)), *steps]


@life("peg", "it rests at the bid", "it has followed", "it stands at its cap")
def peg(run):
    bid, _ = run.offer()
    run.place({"cap_price": run.at(1)})
    run.working(1)
    yield "it rests at the bid"
    run.move(0.5)
    followed, _ = run.offer()
    run.wait(lambda: run.leg()["price"] == followed, "the order to follow")
    yield "it has followed"
    run.move(2)
    run.wait(lambda: run.leg()["price"] == run.at(1), "the order to stand at its cap")
    yield "it stands at its cap"
    run.fill()
    run.ends()
    return [place("BUY", 10, bid), modify("BUY", ANY, followed), modify("BUY", ANY, run.at(1))]


@life("underlying_peg", "it rests", "it has followed", "it stands at its highest price")
def underlying_peg(run):
    one, other = points(run, 1), round(run.at(1, run.other) - run.at(0, run.other), 2)
    delta = round(one / other, 4)
    followed = down(run, exact(run.at(-3)) + exact(delta) * exact(other))
    run.place({"delta": delta, "highest_price": run.at(-1)})
    run.working(1)
    yield "it rests"
    run.move(1, run.other)
    rests_at(run, followed)
    yield "it has followed"
    run.move(4, run.other)
    rests_at(run, run.at(-1))
    yield "it stands at its highest price"
    run.fill()
    run.ends()
    return [place("BUY", 10, run.at(-3)), modify("BUY", ANY, followed), modify("BUY", ANY, run.at(-1))]


@life("volatility", "it rests", "it has followed", "it stands at the worst price accepted")
def volatility(run):
    """With next to no volatility an option in the money is worth what exercising it gives, whatever time is left."""
    strike, lot = run.option["strike_price"], run.option["lot_size"]
    deeper = 1 if run.option["option_type"] == "CE" else -1
    worth = lambda percent: round(abs(run.at(deeper * percent, run.other) - strike), 2)  # noqa: E731
    settings = {"volatility": 0.1, "lowest_price": None, "highest_price": None}
    run.place(settings, price=worth(2))
    run.working(1)
    yield "it rests"
    run.move(deeper, run.other)
    rests_at(run, worth(1))
    yield "it has followed"
    run.move(4 * deeper, run.other)
    rests_at(run, worth(2))
    yield "it stands at the worst price accepted"
    run.fill()
    run.ends()
    return [place("BUY", lot, worth(0)), modify("BUY", ANY, worth(1)), modify("BUY", ANY, worth(2))]
