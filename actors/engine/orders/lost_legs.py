"""Orders of ours that the store may have forgotten: a leg that a parent may have sent, and the order that a broker has for it
(order-engine 2.5, K19). Values only.
"""

import attrs


@attrs.frozen(kw_only=True)
class NextLeg:
    """A leg that a parent may have sent although the parent's record does not hold it."""

    token: str
    part: str
    """Part path."""
    number: int
    """The leg's running number within its parent."""
    instrument_id: str
    broker: str | None
    """The only broker to which the leg can have been sent; None: any broker."""


@attrs.frozen(kw_only=True)
class FoundOrder:
    """Such a leg that a broker has, but that no book shows yet."""

    parent_id: str
    leg: NextLeg
    broker: str
    order_id: str | None
    """None where the broker did not give an order id."""
    instrument_token: str
    tradingsymbol: str
    segment: str
