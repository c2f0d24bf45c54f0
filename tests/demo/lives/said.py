"""What a life expects brokers to be told, and whether they were: the messages of the exchange's ledger."""

from itertools import permutations

import attrs

ANY = ...
"""A price that is not looked at."""


@attrs.frozen
class Said:
    """A message that a life expects; a field that is ANY is not looked at."""

    verb: str
    side: str = ANY
    quantity: int | None = ANY
    price: float | None = ANY
    trigger_price: float | None = ANY
    number: int = 1

    def fits(self, told):
        verb, side, quantity, price, trigger, *number = told
        wanted = (self.verb, self.side, self.quantity, self.price, self.trigger_price)
        pairs = zip(wanted, (verb, side, quantity, price, trigger), strict=True)
        return (number or [1]) == [self.number] and all(mine is ANY or mine == theirs for mine, theirs in pairs)


def place(side, quantity, price=ANY, trigger=ANY, number=1):
    return Said("place", side, quantity, price, trigger, number)


def modify(side=ANY, quantity=ANY, price=ANY, trigger=ANY, number=1):
    return Said("modify", side, quantity, price, trigger, number)


def cancel(side=ANY, number=1):
    return Said("cancel", side, ANY, ANY, ANY, number)


def assert_said(run, expected, ledger=None):
    """The ledger's messages are these, in this order; those of a set (a list where some are alike) in any order among themselves."""
    told = run.said(ledger)
    left, fits = list(told), True
    for wanted in expected:
        group = list(wanted) if isinstance(wanted, (set, frozenset, list)) else [wanted]
        here, left = left[: len(group)], left[len(group) :]
        fits = fits and len(here) == len(group) and any(_in_order(order, here) for order in permutations(group))
    assert (fits, left) == (True, []), f"{run.name} said {told}, not {expected}"


def _in_order(group, told):
    return all(one.fits(each) for one, each in zip(group, told, strict=True))
