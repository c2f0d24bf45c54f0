"""Lives of what closes or turns positions that are there already."""

from tests.demo.lives.lives import life
from tests.demo.lives.prices import past_touch, points
from tests.demo.lives.said import cancel, place
from tests.demo.lives.waiting import SOON_MINUTES


@life("close_on_trigger", "armed beside a resting order")
def close_on_trigger(run):
    run.buy_first(10)
    run.rest_first("SELL", 10, run.at(4))
    run.place(status=202)
    yield "armed beside a resting order"
    run.move(-4)
    closing = place("SELL", 10, past_touch(run, "SELL"))
    run.ends()
    return [cancel("SELL"), closing]


@life("square_off", "it waits for its time beside a resting order", lull=20)
def square_off(run):
    run.buy_first(10)
    run.rest_first("SELL", 10, run.at(4))
    run.place({"at_time": run.near(SOON_MINUTES)})
    yield "it waits for its time beside a resting order"
    run.ends()
    return [cancel("SELL"), place("SELL", 10, past_touch(run, "SELL"))]


@life("stop_and_reverse", "armed beside a resting order")
def stop_and_reverse(run):
    run.buy_first(10)
    run.rest_first("SELL", 10, run.at(4))
    run.place(status=202)
    yield "armed beside a resting order"
    run.move(-4)
    run.ends()
    return [cancel("SELL"), place("SELL", 20, past_touch(run, "SELL"))]


@life("strategy_stop", "it watches beside a resting order")
def strategy_stop(run):
    run.buy_first(10)
    run.buy_first(5, run.other)
    run.rest_first("SELL", 10, run.at(4))
    guarded = [run.share["instrument_id"], run.other["instrument_id"]]
    run.place({"instrument_ids": guarded, "max_loss": -10 * points(run, -2)}, status=202)
    yield "it watches beside a resting order"
    run.move(-3)
    run.ends()
    other = place("SELL", 5, past_touch(run, "SELL", run.other), number=2)
    return [cancel("SELL"), {place("SELL", 10, past_touch(run, "SELL")), other}]
