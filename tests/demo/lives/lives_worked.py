"""Lives of a few types of every sort, worked as examples for the others."""

from tests.demo.lives.lives import life
from tests.demo.lives.said import cancel, place


@life("bracket", "armed", "protected")
def bracket(run):
    run.place()
    yield "armed"
    run.move(-2)
    run.working(1, "root.each_fill.children.0")
    yield "protected"
    run.move(4)
    run.ends()
    return [
        place("BUY", 10, run.at(-2)),
        place("SELL", 10, run.at(-5), run.at(-4)),
        place("SELL", 10, run.at(4)),
        cancel("SELL"),
    ]


@life("twap", "the first slice works", "the second slice works", lull=4)
def twap(run):
    run.place({"slices": 2, "over_minutes": 0.1})
    run.begins()
    yield "the first slice works"
    run.fill()
    run.working(1)
    yield "the second slice works"
    run.fill()
    run.ends()
    return [place("BUY", 5, run.at(-3)), place("BUY", 5, run.at(-3))]
