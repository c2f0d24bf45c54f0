"""The course of the market over which each order type is played for its drawing (`tests/support/type_plays.py`).

A course has settings of its own where the type's example stands still, as it must for the tests over HTTP. The drawing names them.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs

Points: TypeAlias = tuple[tuple[float, float], ...]
"""(minute since 09:20, value), in order; straight between them."""
Figure: TypeAlias = Literal["price", "account", "joint"]


@attrs.frozen(kw_only=True)
class Course:
    """What the market does while a type is played."""

    share: Points
    other: Points = ()
    """Of the figure in the strip below the prices."""
    strip: str = ""
    """What `other` is, in words; empty = no strip."""
    figure: Figure = "price"
    """`price`: of the other instrument; `account`: the day's result; `joint`: the joint result of the positions."""
    level: float | None = None
    """At which the figure decides."""
    settings: Mapping[str, Any] = attrs.field(factory=dict)
    """Of the type, besides those of the example."""
    body: Mapping[str, Any] = attrs.field(factory=dict)
    position: int = 0
    """Units held at the beginning, negative = short."""
    freeze: int | None = None
    volume: int = 0
    """Units traded in the market a minute."""
    cut: tuple[float, float] | None = None
    """Minutes that the drawing leaves out: a night."""
    said: str = ""
    """What else the drawing must say of its course."""

    @property
    def begin(self) -> float:
        return self.share[0][0]

    @property
    def end(self) -> float:
        return self.share[-1][0]


def at(points: Points, minute: float) -> float:
    """Return the value of a course at a minute."""
    before = points[0]
    for point in points:
        if point[0] >= minute:
            span = point[0] - before[0]
            share = (minute - before[0]) / span if span else 1.0
            return before[1] + (point[1] - before[1]) * share
        before = point
    return before[1]


DIP: Points = ((0, 100), (20, 96.6), (30, 96.4), (45, 98.5))
"""The market comes down to 96.4 and turns."""
DIVE: Points = ((0, 100), (20, 95.6), (32, 95), (45, 97))
RISE: Points = ((0, 100), (10, 97.4), (18, 98.5), (40, 104.6), (45, 104.2))
"""It fills an entry at 98, and then reaches 104."""
FALL: Points = ((0, 100), (12, 97.4), (18, 98.6), (36, 95.2), (45, 94.6))

COURSES: Mapping[str, Course] = {
    "account_conditional": Course(
        share=((0, 100), (15, 100.8), (30, 99.6), (45, 101)), other=((0, -2e6), (12, 3e6), (30, 10.5e6), (45, 9e6)),
        strip="the day's result", figure="account", level=10e6,
    ),
    "accumulation": Course(share=((0, 100), (15, 96.6), (30, 98.5), (55, 98), (75, 96.4), (90, 97.5))),
    "atr_trail": Course(share=((0, 100), (80, 103), (110, 106), (140, 108), (165, 101), (180, 99))),
    "attached_hedge": Course(share=DIP),
    "basket": Course(share=DIVE, said="both candidates are in one share here"),
    "bracket": Course(share=RISE),
    "candle_close_stop": Course(share=((0, 100), (7, 97), (11.5, 95.4), (13.5, 97.2), (20, 97), (24, 95.2), (32, 94.8))),
    "chaser": Course(
        share=((0, 100), (20, 99.6), (30, 98.85), (40, 98.4)), settings={"step_seconds": 120, "step_ticks": 4}
    ),
    "close_on_trigger": Course(share=FALL, position=10, settings={"trigger_direction": "below"}),
    "closing_price": Course(share=((330, 100), (345, 100.6), (355, 99.8), (369, 100.4))),
    "cover": Course(share=FALL),
    "cross_instrument": Course(
        share=((0, 100), (20, 99.6), (30, 98.7), (45, 99.4)), other=((0, 100), (18, 95.5), (30, 96.5), (45, 98)),
        strip="the watched instrument", level=96, settings={"trigger_price": 96},
    ),
    "daily_stop": Course(
        share=((0, 100), (200, 98), (370, 99.2), (1435, 98.8), (1600, 97), (1700, 95.4), (1790, 95.2)), cut=(370, 1435)
    ),
    "discretionary": Course(share=((0, 100), (20, 98.6), (30, 97.9), (45, 98.6))),
    "exposure_hedge": Course(
        share=((0, 100), (45, 100.5)), other=((0, 100), (20, 108), (30, 112), (45, 108)), strip="the held instrument",
        level=110, settings={"band": 1100}, position=10, said="10 units of the other instrument are held",
    ),
    "freeze_slicer": Course(share=DIP, freeze=4, said="the freeze quantity is 4 here"),
    "good_till_time": Course(share=((0, 100), (30, 98), (50, 99), (75, 98.2))),
    "grid": Course(share=((0, 100), (10, 98.8), (22, 100.2), (30, 101.2), (40, 99.8), (50, 98.8), (60, 100.2))),
    "gtt": Course(share=DIVE),
    "hidden_stop": Course(share=FALL),
    "iceberg": Course(share=((0, 100), (14, 97.2), (14.4, 96.9), (14.8, 97.4), (24, 97.2), (24.4, 96.9), (24.8, 97.6), (36, 97.3), (37, 96.7), (45, 97.8))),
    "implementation_shortfall": Course(
        share=((0, 100), (10, 100.8), (20, 101.2), (30, 101.6)), body={"order_type": "MARKET", "price": None, "quantity": 20},
        settings={"slices": 4, "over_minutes": 24},
    ),
    "indicator_triggered": Course(share=DIVE),
    "ladder": Course(share=DIVE),
    "legged_spread": Course(
        share=((0, 100), (15, 96), (30, 90.5), (45, 92)), other=((0, 100), (20, 101), (45, 100)), strip="the other leg",
    ),
    "limit_if_touched": Course(share=DIVE),
    "liquidity_seeking": Course(share=DIVE),
    "market_if_touched": Course(share=DIVE),
    "marketable_limit": Course(share=((0, 100), (1, 100.1), (2, 99.9))),
    "oca": Course(share=DIP),
    "oco": Course(share=((0, 100), (15, 98), (40, 104.4), (45, 104))),
    "opening_auction": Course(share=((2855, 98.6), (2862, 98.2), (2872, 97.6), (2885, 98.4))),
    "oto": Course(share=((0, 100), (15, 96.6), (40, 103.5), (45, 103.2))),
    "participation": Course(share=((0, 100), (10, 100.6), (30, 99.8)), volume=40),
    "peg": Course(
        share=((0, 100), (10, 100.6), (20, 101.6), (30, 102), (38, 101.2), (38.1, 100.6), (45, 100.8)), settings={"cap_price": 101}
    ),
    "post_only": Course(share=DIP),
    "scale_out": Course(share=RISE),
    "scale_with_profit_taker": Course(share=((0, 100), (15, 96.7), (25, 98.3), (38, 95.8), (50, 97.4))),
    "scheduled": Course(share=((0, 100), (30, 99), (60, 100.5), (75, 101))),
    "square_off": Course(share=((0, 100), (30, 101), (60, 100.2), (75, 100.6)), position=10),
    "stepped_stop": Course(share=((0, 100), (25, 105.5), (38, 101), (46, 99.4), (50, 99))),
    "stop_and_reverse": Course(share=FALL, position=10, settings={"trigger_direction": "below"}),
    "strategy_stop": Course(
        share=((0, 100), (20, 97), (30, 95), (45, 94)), other=((0, 0), (15, -40), (28, -104), (45, -104)),
        strip="the joint result", figure="joint", level=-100, position=10,
    ),
    "time_stop": Course(share=((0, 100), (10, 96.8), (20, 98.2), (30, 97.8))),
    "trailing_entry": Course(share=((0, 100), (20, 94), (40, 99), (48, 99.4))),
    "trailing_stop": Course(share=((0, 100), (25, 106), (40, 100.4), (45, 100))),
    "twap": Course(
        share=((0, 100), (8, 100.6), (16, 99.6), (24, 100.2)), body={"order_type": "MARKET", "price": None, "quantity": 20},
        settings={"slices": 4, "over_minutes": 20},
    ),
    "two_sided_breakout": Course(share=((0, 100), (12, 99), (25, 103.6), (40, 106.6), (45, 106.2))),
    "two_sided_quote": Course(
        share=((0, 100), (12, 100.4), (12.1, 97.9), (24, 98.6), (30, 98.2), (30.1, 100.8), (45, 100.2)),
        said="two jumps of the market fill it",
    ),
    "underlying_peg": Course(
        share=((0, 100), (20, 99.6), (34, 98), (45, 98.5)), other=((0, 100), (20, 103), (45, 103)),
        strip="the watched instrument", settings={"delta": 0.5, "highest_price": 99},
    ),
    "virtual_limit": Course(share=DIP),
    "volatility": Course(
        share=((0, 9), (20, 8.8), (35, 7.2), (45, 7.4)), other=((0, 100), (20, 101.5), (45, 100.5)),
        strip="the watched instrument", settings={"volatility": 65, "lowest_price": 1, "highest_price": 20},
        body={"price": 20},
    ),
    "vwap": Course(
        share=((0, 100), (8, 100.6), (16, 99.6), (24, 100.2)), body={"order_type": "MARKET", "price": None, "quantity": 20},
        settings={"slices": 4, "over_minutes": 20, "volume_profile": [8, 3, 3, 6]},
    ),
}  # fmt: skip
"""Order type -> the market over which it is drawn."""
