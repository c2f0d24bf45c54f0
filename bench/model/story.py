"""A drawn day as plain data: what happens, in which order and with which pauses. A story is kept as JSON and played again as it is."""

import random
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from bench.model.plots import AT, GUARDED, PLOTS, Plot

BROKERS = ("zerodha", "upstox", "dhan", "fyers", "angelone", "groww", "fivepaisa", "kotakneo", "shoonya", "icicidirect")
GUARDS = ("trailing_stop", "atr_trail", "stepped_stop", "hidden_stop", "daily_stop", "oco", "candle_close_stop")
"""The types that guard a position which somebody else has opened."""
CLOSES = ("square_off", "strategy_stop", "close_on_trigger")
ENTRIES = (
    "oto", "time_stop", "iceberg", "twap", "ladder", "post_only", "discretionary", "accumulation", "good_till_time",
    "freeze_slicer", "chaser", "peg", "marketable_limit", "trailing_entry",
)  # fmt: skip
OTHERS = (
    "account_conditional", "attached_hedge", "basket", "closing_price", "cross_instrument", "exposure_hedge", "grid", "gtt",
    "implementation_shortfall", "indicator_triggered", "legged_spread", "limit_if_touched", "liquidity_seeking",
    "market_if_touched", "oca", "opening_auction", "participation", "scale_with_profit_taker", "scheduled",
    "stop_and_reverse", "two_sided_breakout", "two_sided_quote", "underlying_peg", "virtual_limit", "volatility", "vwap",
)  # fmt: skip
BLINDING = (
    "drop_after_accept", "another_order", "garbage_body", "http_500", "refuse_connections", "stall_stream", "drop_stream",
    "late_book", "latency", "expire_session", "reject_cancels", "refusal_in_200", "corrupt_frame", "partial_orders",
    "partial_trades", "duplicate_fill_events",
)  # fmt: skip
"""Faults after which the service cannot know, or cannot act, for a while."""
ODD = (
    "late_positions", "late_positions", "partial_positions", "partial_holdings", "no_average", "odd_quantity", "odd_value", "odd_funds", "odd_volume",
    "stalled_quotes", "reject_orders", "second_sale_margin",
)  # fmt: skip
"""Faults during which the service knows enough to act well."""
PAUSES = (0.0, 0.01, 0.3, 1.0, 2.0, 4.0, 12.0, 25.0)
PLOTTED = 0.5
"""How many lives have a plot."""
NEAR = (-2.5, -1.5, -1, 0, 1, 1.5, 2.5)
"""Within every price band, with the stops below it."""
MOVES = (-7, -6, -5, -3.5, -2.5, -1, 0, 1, 2.5, 3.5, 5, 7)


class Theme(StrEnum):
    """What a story is about. It decides which orders are drawn and which rules hold on its day."""

    LONG = "long"
    """Purchases with guards, closes, and a person who reduces: nothing may ever be short."""
    ANY = "any"
    """All types."""
    PLAIN = "plain"
    """Purchases with guards in a market that walks, without oddities, faults, crashes and persons: nothing may be called a problem."""


class Step(msgspec.Struct, frozen=True):
    verb: str
    """A method of `acting.Actor`."""
    given: dict[str, Any]
    pause: float
    """Seconds until the next step."""


QUIET = 15.0
"""Seconds after the last step of a plain day: longer than a flatten with its looks."""


class Life(msgspec.Struct, frozen=True):
    """One run of the service."""

    steps: list[Step]
    death: str | None = None
    """See `tests.support.mortal`; None: the service is stopped in order."""


class Story(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    theme: Theme
    brokers: tuple[str, ...]
    held: int
    """Units of the share in the holdings at the first broker."""
    lives: list[Life]


def draw(seed: int, theme: Theme | None = None) -> Story:
    """Return the story of a seed."""
    dice = random.Random(seed)
    if theme is None and seed % 2:
        return _plotted(seed, dice)
    theme = theme or dice.choice((Theme.LONG, Theme.LONG, Theme.LONG, Theme.ANY, Theme.ANY, Theme.PLAIN))
    brokers = ("zerodha", "upstox") if dice.random() < 0.6 else tuple(dice.sample(BROKERS, 2))
    drawing = _Drawing(dice, theme, brokers)
    lives = 1 if theme is Theme.PLAIN else dice.choice((1, 1, 1, 2, 2, 3))
    return Story(
        seed=seed,
        theme=theme,
        brokers=brokers,
        held=dice.choice((0, 0, 100)),
        lives=[drawing.life(first=number == 0) for number in range(lives)],
    )


def _plotted(seed: int, dice: random.Random) -> Story:
    """Return a day of plots alone, each in a life of its own. Each plot has its turn."""
    plots = [PLOTS[seed // 2 % len(PLOTS)], *dice.sample(PLOTS, dice.choice((1, 2, 3)))]
    brokers = brokers_for(plots[0], dice)
    drawing = _Drawing(dice, Theme.LONG, brokers)
    lives = [Life(steps=drawing.plotted(plot), death=drawing.death()) for plot in plots]
    return Story(seed=seed, theme=Theme.LONG, brokers=brokers, held=dice.choice((0, 0, 100)), lives=lives)


def brokers_for(plot: Plot, dice: random.Random) -> tuple[str, ...]:
    """Return two brokers at which a plot has its effect."""
    one = dice.choice(AT.get(plot, BROKERS))
    return tuple(dice.sample((one, dice.choice([broker for broker in BROKERS if broker != one])), 2))


class _Drawing:
    def __init__(self, dice: random.Random, theme: Theme, brokers: Sequence[str]) -> None:
        self.dice, self.theme, self.brokers = dice, theme, brokers

    def life(self, *, first: bool) -> Life:
        steps = [self._place()] if first else []
        steps += [self._step() for _ in range(self.dice.randint(4, 14))]
        if self.dice.random() < PLOTTED and self.theme is not Theme.PLAIN:
            plot = self.dice.choice(PLOTS)
            at = self.dice.choice((0, len(steps) // 2))
            steps[at:at] = self.plotted(plot)
        if first and self.dice.random() < 0.7:
            steps.insert(1, self._made("fill", which=0, units=None))
        if self.theme is Theme.PLAIN:
            steps[-1] = msgspec.structs.replace(steps[-1], pause=QUIET)  # nobody ends the service within a flatten
        return Life(steps=steps, death=None if self.theme is Theme.PLAIN else self.death())

    def plotted(self, plot: Plot) -> list[Step]:
        return [Step(verb, dict(given), pause) for verb, given, pause in plot(self.dice, self.brokers)]

    def death(self) -> str | None:
        if self.dice.random() >= 0.3:
            return None
        kind, when = self.dice.choice(("commit", "commit", "send")), self.dice.choice(("before", "after"))
        return f"{kind} {self.dice.randint(1, 12)} {when}"

    def _made(self, verb: str, **given: Any) -> Step:
        return Step(verb=verb, given=given, pause=self.dice.choice(PAUSES))

    def _step(self) -> Step:
        plain = self.theme is Theme.PLAIN
        draws = [self._market, self._market, self._market, self._caller, self._place]
        if not plain:
            draws += [self._person, self._odd, self._trouble]
        return self.dice.choice(draws)()

    # --- steps ---------------------------------------------------------------------------------------------------------

    def _market(self) -> Step:
        dice = self.dice
        if dice.random() < 0.5:
            return self._made(
                "move",
                percent=dice.choice(NEAR if self.theme is Theme.PLAIN else MOVES),
                second=dice.random() < 0.25,
                walks=self.theme is Theme.PLAIN or dice.random() < 0.3,
            )
        return self._made("fill", which=dice.randint(0, 3), units=dice.choice((None, None, 1, 5, 11)))

    def _place(self) -> Step:
        dice = self.dice
        if dice.random() < 0.15:
            side = "BUY" if self.theme is not Theme.ANY else dice.choice(("BUY", "SELL"))
            return self._made(
                "simple", side=side, percent=dice.choice((-2, 0, None)), quantity=dice.choice((20, 100)),
                product=dice.choice(("MIS", "MIS", "CNC")), broker=dice.choice((None, *self.brokers)),
            )  # fmt: skip
        if self.theme is not Theme.ANY:
            kinds = dice.choice((GUARDED, GUARDED, GUARDED, CLOSES, ENTRIES))
        else:
            kinds = dice.choice((GUARDED, GUARDS, CLOSES, ENTRIES, OTHERS, OTHERS))
        return self._made(
            "place", kind=dice.choice(kinds), scale=0.25 if self.theme is Theme.PLAIN else dice.choice((0.25, 0.5, 1.0)), quantity=dice.choice((10, 30, 100)),
            product=dice.choice(("MIS", "MIS", "MIS", "CNC")), seconds=dice.choice((15, 40, 90)),
            mirrored=self.theme is Theme.ANY and dice.random() < 0.3, closes=dice.random() < 0.5,
            holds=dice.random() < 0.5,
            broker=dice.choice((None, None, *self.brokers)),
        )  # fmt: skip

    def _caller(self) -> Step:
        dice = self.dice
        which = dice.randint(0, 3)
        kinds = ("cancel", "modify", "stop", "stop_part", "modify_held", "flatten", "close", "overtake", "again")
        match dice.choice(kinds if self.theme is Theme.PLAIN else (*kinds, "halt")):
            case "modify":
                return self._made(
                    "modify", which=which, change=dice.choice(({"price": -2}, {"price": 1}, {"quantity": 4}))
                )
            case "modify_held":
                return self._made("modify_held", which=which, change=dice.choice(({"price": -2}, {"quantity": 4})))
            case "stop_part":
                path = dice.choice(("root", "root.each_fill", "root.each_fill.children.0", "root.each_fill.children.1"))
                return self._made("stop", which=which, path=path)
            case "stop":
                return self._made("stop", which=which, path=None)
            case "flatten":
                return self._made("flatten")
            case "close":
                return self._made(
                    "close",
                    product=dice.choice((None, "intraday", "delivery")),
                    broker=dice.choice((None, *self.brokers)),
                )
            case "halt":
                mode = dice.choice(("reduce_only", "nothing"))
                return self._made("halt", mode=mode, seconds=dice.choice((2, 10, 30)))
            case "again":
                return self._made("again")
            case "overtake":
                return self._made("overtake", by=dice.choice(("cancel", "modify", "stop")), which=which)
            case _:
                return self._made("cancel", which=which)

    def _person(self) -> Step:
        dice = self.dice
        which = dice.randint(0, 3)
        match dice.choice(
            (
                "reduce",
                "reduce",
                "reduce",
                "app_cancel",
                "app_modify",
                "app_modify",
                "convert",
                "broker_squares_off",
                "annul",
            )
        ):
            case "reduce":
                return self._made("reduce", broker=dice.randint(0, 1), units=dice.choice((None, 1, 5, 40)))
            case "app_cancel":
                return self._made("app_cancel", which=which)
            case "app_modify":
                return self._made(
                    "app_modify",
                    which=which,
                    what=dice.choice(("quantity", "price", "trigger")),
                    percent=dice.choice((-1, -0.5, 0.5, 1)),
                )
            case "convert":
                return self._made("convert", broker=dice.randint(0, 1), units=dice.choice((None, 5)))
            case "annul":
                return self._made("annul", which=which)
            case _:
                return self._made("broker_squares_off", broker=dice.randint(0, 1))

    def _odd(self) -> Step:
        dice = self.dice
        if dice.random() < 0.25:
            return self._made(
                "empty_side",
                side=dice.choice(("BUY", "SELL")),
                seconds=dice.choice((5, 20)),
                circuit=dice.random() < 0.3,
            )
        kind = dice.choice(ODD)
        once = kind in ("partial_positions", "partial_holdings", "odd_quantity", "odd_value", "odd_funds", "odd_volume")
        return self._made(
            "fault", kind=kind, broker=dice.choice(("all", *self.brokers)), seconds=dice.choice((3, 12, 30)),
            count=dice.choice((1, 2)) if once else None, delay=dice.choice((0.5, 1.5, 3.0, 5.0)),
        )  # fmt: skip

    def _trouble(self) -> Step:
        dice = self.dice
        match dice.choice(("fault", "once", "outage", "lose_store", "lose_answer")):
            case "once":
                kind = dice.choice(
                    (
                        "drop_after_accept",
                        "garbage_body",
                        "http_500",
                        "refuse_connections",
                        "reject_orders",
                        "another_order",
                    )
                )
                return self._made("fault", kind=kind, broker="all", seconds=None, count=dice.choice((1, 2)), delay=None)
            case "outage":
                return self._made("outage", broker=dice.randint(0, 1), seconds=dice.choice((3, 20)))
            case "lose_store":
                error = dice.choice(("not sent: away", "connection lost"))
                return self._made("lose_store", error=error, seconds=dice.choice((0.5, 5, 25)))
            case "lose_answer":
                return self._made("lose_answer")
            case _:
                return self._made(
                    "fault", kind=dice.choice(BLINDING), broker=dice.choice(("all", *self.brokers)),
                    seconds=dice.choice((0.3, 3, 12)), count=None, delay=dice.choice((0.4, 2.0)),
                )  # fmt: skip
