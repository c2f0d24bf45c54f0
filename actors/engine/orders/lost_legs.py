"""Orders of ours that the store may have forgotten: the leg that a parent may have sent, and the order that a broker has (order-engine 2.5,
K19). Values only.
"""

import attrs


@attrs.frozen(kw_only=True)
class NextLeg:
    """A leg that a parent may have sent without its record knowing it."""

    token: str
    part: str
    """Part path."""
    number: int
    """Its running number within its parent."""
    instrument_id: str
    broker: str | None
    """The one broker that it can have been sent to; None: any."""


@attrs.frozen(kw_only=True)
class FoundOrder:
    """Such a leg that a broker has, and no book shows yet."""

    parent_id: str
    leg: NextLeg
    broker: str
    order_id: str | None
    """None where the broker did not name it."""
    instrument_token: str
    tradingsymbol: str
    segment: str
