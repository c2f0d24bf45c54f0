"""What several lives wait for, and how long."""

TIMED_PATIENCE_SECONDS = 35.0
"""For what comes with the clock, even when it was struck."""
SOON_MINUTES = 0.3
"""When an order of a life falls due: late enough to be struck before."""


def parts_work(run, *parts):
    """Wait until orders of exactly these parts work, one of each."""
    run.wait(lambda: sorted(leg["part"] for leg in run.legs()) == sorted(parts), f"orders of {parts} to work")


def rests_at(run, price, part=None):
    """Wait until its newest order (of a part) works at that price."""
    run.wait(
        lambda: (run.leg(part)["state"], run.leg(part)["price"]) == ("open", price), f"an order to rest at {price}"
    )
