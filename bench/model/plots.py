"""Short sequences of steps that belong together: what chance alone seldom puts in a row. A story mixes them with its other steps."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Beat: TypeAlias = tuple[str, Mapping[str, Any], float]
"""Verb, what it is given, seconds until the next step."""
Plot: TypeAlias = Callable[[random.Random, Sequence[str]], Iterator[Beat]]

GUARDED = ("bracket", "cover", "scale_out")
UNASKED = ("zerodha", "angelone", "kotakneo", "shoonya")
"""Brokers that cannot be asked for an order by its token: nothing but their books shows it."""
FAR_DOWN, FAR_UP = -4.2, 5.5
"""Just within the price band of the share."""


def _order(kind: str, dice: random.Random, **more: Any) -> Beat:
    given = {
        "kind": kind, "scale": dice.choice((0.25, 0.5)), "quantity": dice.choice((10, 30, 100)), "product": "MIS",
        "seconds": 15, "mirrored": False, "closes": False, "holds": True, "broker": None, **more,
    }  # fmt: skip
    return "place", given, 1.0


def _for_mis(brokers: Sequence[str]) -> list[str]:
    """Return the brokers that take intraday orders in shares."""
    return [broker for broker in brokers if broker != "icicidirect"]


def _held(dice: random.Random, brokers: Sequence[str], **more: Any) -> Iterator[Beat]:
    """A guarded plan whose entry fills. Its stop is at -2 %."""
    plan = {"broker": dice.choice((None, *_for_mis(brokers))), "scale": 0.5, **more}
    yield _order(plan.pop("kind", dice.choice(GUARDED)), dice, **plan)
    yield "move", {"percent": -1.1, "second": False, "walks": False}, 2.0
    yield "fill", {"which": 0, "units": None}, 4.0


def reduced(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A person takes units off a guarded position; half a minute later the market falls through the stop."""
    yield from _held(dice, brokers)
    for broker in (0, 1):
        yield "reduce", {"broker": broker, "units": dice.choice((None, 5))}, 25.0
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": True}, 12.0


def flattened_late(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A flatten right after a fill that the positions do not show yet."""
    fault = {
        "kind": "late_positions",
        "broker": "all",
        "seconds": 30,
        "count": None,
        "delay": dice.choice((1.5, 3.0, 5.0)),
    }
    yield "fault", fault, 0.3
    quantity, broker = dice.choice((20, 100)), dice.choice((None, *_for_mis(brokers)))
    yield (
        "simple",
        {"side": "BUY", "percent": None, "quantity": quantity, "product": "MIS", "broker": broker},
        dice.choice((0.3, 1.0)),
    )
    yield dice.choice((("flatten", {}, 12.0), ("close", {"product": "intraday", "broker": None}, 12.0)))


def flattened_in_vain(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A flatten whose cancels are refused, or whose closes find nobody."""
    yield from _held(dice, brokers)
    if dice.random() < 0.5:
        fault = {"kind": "reject_cancels", "broker": "all", "seconds": 12, "count": None, "delay": None}
        yield "fault", fault, 0.3
    else:
        yield "empty_side", {"side": "BUY", "seconds": 20, "circuit": False}, 0.3
    yield "flatten", {}, 20.0


def _taken(dice: random.Random, brokers: Sequence[str], act: Beat) -> Iterator[Beat]:
    """An entry rests, a person does something to it, and the market reaches it."""
    yield _order(
        dice.choice((*GUARDED, "ladder", "ladder", "ladder", "iceberg", "post_only", "time_stop", "oto")),
        dice,
        holds=False,
        broker=dice.choice((None, *_for_mis(brokers))),
    )
    yield "move", {"percent": dice.choice((-0.3, 0)), "second": False, "walks": False}, 4.0
    yield act
    yield "move", {"percent": -1.5, "second": False, "walks": True}, 12.0


def taken_off(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A person cancels an entry in the app."""
    yield from _taken(dice, brokers, ("app_cancel", {"which": 0}, 25.0))


def made_smaller(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A person takes units off an entry in the app."""
    yield from _taken(dice, brokers, ("app_modify", {"which": 0, "what": "quantity", "percent": 1}, 25.0))


def rung_cancelled(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A person cancels one rung of a ladder in the app; the market reaches the others."""
    yield _order("ladder", dice, holds=False, broker=dice.choice((None, *_for_mis(brokers))))
    yield "move", {"percent": 0, "second": False, "walks": False}, 4.0
    yield "app_cancel", {"which": dice.choice((0, 1))}, 25.0
    yield "move", {"percent": dice.choice((-0.3, -3)), "second": False, "walks": True}, 12.0


def ladder_reduced(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A ladder closes a position; a person sells a part of it, so the ladder becomes smaller. Then the market reaches its rungs."""
    broker, quantity = _for_mis(brokers)[0], dice.choice((30, 90))
    yield "simple", {"side": "BUY", "percent": None, "quantity": quantity, "product": "MIS", "broker": broker}, 4.0
    yield _order("ladder", dice, quantity=quantity, broker=broker, mirrored=True, closes=True, holds=False)
    yield "move", {"percent": 0, "second": False, "walks": False}, 4.0
    yield "reduce", {"broker": list(brokers).index(broker), "units": quantity * 7 // 9}, 40.0
    yield "move", {"percent": FAR_UP, "second": False, "walks": True}, 12.0


def scale_reduced(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A person sells a part of a position whose fills have an exit each; then the market reaches these exits."""
    broker = _for_mis(brokers)[0]
    quantity = dice.choice((20, 60))
    yield _order("scale_with_profit_taker", dice, quantity=quantity, broker=broker, holds=False)
    yield "move", {"percent": -3.5, "second": False, "walks": True}, 8.0
    yield (
        "reduce",
        {"broker": list(brokers).index(broker), "units": dice.choice((quantity // 4, quantity * 3 // 4))},
        40.0,
    )
    yield "move", {"percent": FAR_UP, "second": False, "walks": True}, 12.0


def held_by_two(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """Two brokers hold a position, and an exit that names none of them closes it."""
    units = [20, 30, 80]
    dice.shuffle(units)
    holders = _for_mis(brokers)[:2]
    for broker, quantity in zip(holders, units, strict=False):
        bought = {"side": "BUY", "percent": None, "quantity": quantity, "product": "MIS", "broker": broker}
        yield "simple", bought, dice.choice((0.3, 4.0))
    yield "move", {"percent": 0, "second": False, "walks": False}, dice.choice((1.0, 12.0))
    kind = dice.choice(("hidden_stop", "daily_stop", "limit_if_touched", "market_if_touched", "rungs", "resting"))
    rises = kind not in ("hidden_stop", "daily_stop")
    quantity = sum(units[: len(holders)])
    if kind in ("rungs", "resting"):
        yield "exit_plan", {"kind": kind, "quantity": quantity}, 1.0
    else:
        yield _order(kind, dice, scale=0.5, quantity=quantity, mirrored=rises, closes=rises, holds=False)
    yield "move", {"percent": 1.2 if rises else 0, "second": False, "walks": False}, 25.0
    yield "move", {"percent": FAR_UP if rises else FAR_DOWN, "second": False, "walks": True}, 12.0


def beside_a_guard(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """Units that nobody guards lie beside those of a guarded plan, and an exit that names no broker is for the former."""
    holders = _for_mis(brokers)[:2]
    yield from _held(dice, brokers, broker=dice.choice(holders), quantity=100, holds=dice.random() < 0.5)
    units = 0
    for broker in holders:
        quantity = dice.choice((10, 30))
        units += quantity
        yield "simple", {"side": "BUY", "percent": None, "quantity": quantity, "product": "MIS", "broker": broker}, 4.0
    kind = dice.choice(("daily_stop", "daily_stop", "hidden_stop", "trailing_stop", "oco", "stepped_stop"))
    yield _order(kind, dice, scale=0.5, quantity=units, holds=False)
    if dice.random() < 0.4:
        yield "reduce", {"broker": dice.choice((0, 1)), "units": dice.choice((5, 20))}, 25.0
    yield "move", {"percent": 0, "second": False, "walks": False}, 12.0
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": True}, 12.0


def fired_together(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """Two stops that the engine keeps, together for more than is held, or for all of it until a person sells a part; one jump of the market fires both."""
    broker, held = _for_mis(brokers)[0], dice.choice((40, 60))
    yield "simple", {"side": "BUY", "percent": None, "quantity": held, "product": "MIS", "broker": broker}, 10.0
    for _ in (1, 2):
        yield _order("hidden_stop", dice, scale=0.5, quantity=30, broker=broker)
    if held == 60 or dice.random() < 0.3:
        yield "reduce", {"broker": list(brokers).index(broker), "units": dice.choice((5, 20))}, 30.0
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": False}, 15.0


def lowered(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A caller makes an exit of a guarded plan smaller, perhaps two of them; the market comes to them."""
    yield from _held(dice, brokers, quantity=30, holds=dice.random() < 0.5)
    for _ in range(dice.choice((1, 2))):
        yield "lower", {"which": dice.choice((0, 1, 2)), "units": dice.choice((1, 4))}, dice.choice((0.5, 8.0, 40.0))
    chance = dice.random()
    if chance < 0.3:
        yield "reduce", {"broker": dice.choice((0, 1)), "units": 5}, 25.0
    elif chance < 0.5:
        yield "move", {"percent": dice.choice((1.2, 2.2)), "second": False, "walks": True}, 8.0
        yield "lower", {"which": dice.choice((0, 1)), "units": 2}, 8.0
    yield "move", {"percent": 0, "second": False, "walks": False}, 25.0
    yield "move", {"percent": dice.choice((FAR_DOWN, FAR_UP)), "second": False, "walks": True}, 12.0


def grown_over(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A person takes units off a guarded position. The desk buys some for something else, and guards these, by an exit or with their entry."""
    broker = _for_mis(brokers)[0]
    lone = ("oco", "trailing_stop", "hidden_stop", "stepped_stop")
    if dice.random() < 0.5:
        yield from _held(dice, brokers, broker=broker, quantity=30, holds=dice.random() < 0.5)
    else:
        yield "simple", {"side": "BUY", "percent": None, "quantity": 30, "product": "MIS", "broker": broker}, 6.0
        yield _order(dice.choice(lone), dice, scale=0.5, quantity=30, holds=False, broker=broker)
    yield "move", {"percent": 0, "second": False, "walks": False}, dice.choice((2.0, 25.0))
    yield "reduce", {"broker": list(brokers).index(broker), "units": dice.choice((10, 15))}, dice.choice((8.0, 40.0))
    if dice.random() < 0.3:
        yield from _held(dice, brokers, broker=broker, quantity=30)
    else:
        bought = {"side": "BUY", "percent": None, "quantity": 10, "product": "MIS", "broker": broker}
        yield "simple", bought, dice.choice((0.5, 4.0, 12.0, 40.0))
        yield _order(dice.choice(lone), dice, scale=0.5, quantity=10, holds=False, broker=broker)
    yield "move", {"percent": 0, "second": False, "walks": False}, 30.0
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": True}, 12.0


def followed(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """The first order of two fills while the second cannot leave for a while; a person may sell a part before it can."""
    broker = dice.choice((None, *_for_mis(brokers)))
    yield _order("oto", dice, holds=False, scale=0.5, broker=broker)
    kind = dice.choice(("refuse_connections", "http_500", "stalled_quotes", "expire_session", "reject_orders"))
    times = (
        {"seconds": None, "count": 1} if kind == "reject_orders" else {"seconds": dice.choice((3, 12)), "count": None}
    )
    yield "fault", {"kind": kind, "broker": "all", **times, "delay": None}, 0.3
    yield "move", {"percent": -1.1, "second": False, "walks": False}, 8.0
    if dice.random() < 0.5:
        yield "reduce", {"broker": dice.choice((0, 1)), "units": 5}, 25.0
    for percent in dice.sample((FAR_DOWN, 0, FAR_UP), 2):
        yield "move", {"percent": percent, "second": False, "walks": True}, 12.0


WRITTEN = (
    "halves", "entries", "side by side", "two stops", "pair", "stops", "grouped", "in turn", "grouped pair", "pair in turn", "stop alone",
    "hidden alone",
)  # fmt: skip


def written(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A plan put together by hand; a person may sell a part of its position, the market reaches its first target, then all of its stops."""
    broker = _for_mis(brokers)[0]
    kind = dice.choice(WRITTEN)
    # Below its stop a pair rests as two limits on one side of the market, and one jump fills both.
    yield "move", {"percent": 0, "second": False, "walks": False}, 2.0
    product = dice.choice(("MIS", "CNC")) if kind not in ("halves", "entries", "two stops", "stops") else "MIS"
    if kind in ("pair", "stops", "grouped pair", "pair in turn", "stop alone", "hidden alone"):
        yield "simple", {"side": "BUY", "percent": None, "quantity": 20, "product": product, "broker": broker}, 8.0
    given = {
        "kind": kind, "size": dice.choice(("share", "ratio", "units")), "rule": dice.choice(("shrink", "shrink", "cancel")),
        "product": product, "broker": broker,
    }  # fmt: skip
    yield "written", given, 20.0
    for percent in dice.choice(((1.7, -3.2), (-3.2,), (1.7, 3.3), (1.7, 0, 3.3, FAR_DOWN))):
        if dice.random() < 0.4:
            yield "reduce", {"broker": list(brokers).index(broker), "units": dice.choice((5, 8, 12))}, 40.0
        yield "move", {"percent": percent, "second": False, "walks": dice.random() < 0.6}, 15.0


def halved(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A person makes a stop smaller in the app; the market falls through it."""
    yield from _held(dice, brokers)
    yield "app_modify", {"which": 0, "what": "quantity", "percent": 1}, 40.0
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": True}, 12.0


def _trail(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A stop that moves, over units that somebody else has bought; the market has risen."""
    broker = _for_mis(brokers)[0]
    yield "simple", {"side": "BUY", "percent": None, "quantity": 30, "product": "MIS", "broker": broker}, 4.0
    kind = dice.choice(("trailing_stop", "trailing_stop", "atr_trail", "stepped_stop"))
    yield _order(kind, dice, quantity=30, broker=broker)
    yield "move", {"percent": 2.5, "second": False, "walks": True}, 12.0


def trailed(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A trail is moved by the market, which rises a little more, stays there, and falls."""
    yield from _trail(dice, brokers)
    for percent, pause in ((3.5, 25.0), (1, 4.0), (3, 4.0)):
        yield "move", {"percent": percent, "second": False, "walks": True}, pause


def tightened(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A trail is tightened in the app; then the market rises less than the person's way, then more, and falls."""
    yield from _trail(dice, brokers)
    yield "app_modify", {"which": 0, "what": "trigger", "percent": dice.choice((0.5, 1))}, 25.0
    for percent, pause in ((2.8, 12.0), (3.5, 25.0), (1, 4.0), (3, 4.0)):
        yield "move", {"percent": percent, "second": False, "walks": True}, pause


def due_in_silence(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A close comes due while there is no quote, or nobody on the other side."""
    yield from _held(dice, brokers)
    yield _order("square_off", dice, quantity=None)
    if dice.random() < 0.5:
        fault = {"kind": "stalled_quotes", "broker": "all", "seconds": 30, "count": None, "delay": None}
        yield "fault", fault, 25.0
    else:
        yield "empty_side", {"side": "BUY", "seconds": 40, "circuit": False}, 30.0


def closed_in_vain(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A close that took a stop away waits for a bid, and its holder cancels it."""
    yield from _held(dice, brokers)
    yield _order("square_off", dice, quantity=None)
    yield "empty_side", {"side": "BUY", "seconds": 60, "circuit": False}, 30.0
    yield "app_cancel", {"which": 0}, 25.0


def closed_at_circuit(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """The market jumps through a stop, down to the circuit, and closes come due there."""
    yield from _held(dice, brokers)
    for _ in range(dice.choice((1, 2))):
        yield _order(dice.choice(("close_on_trigger", "square_off")), dice, quantity=None, scale=0.5)
    yield "move", {"percent": -7, "second": False, "walks": False}, 25.0


def partly_closed(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A part of a guarded position is closed by an exit; the rest stays for a while."""
    yield from _held(dice, brokers, kind="scale_out", holds=False)
    yield "move", {"percent": 1.6, "second": False, "walks": True}, 8.0  # the first target is at 1.5
    yield "fill", {"which": dice.choice((0, 1, 2)), "units": dice.choice((None, 5))}, 25.0
    yield "move", {"percent": dice.choice((0, FAR_DOWN)), "second": False, "walks": True}, 12.0


def partly_targeted(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """The target fills in part while the stop rests beside it; then the market falls through the stop."""
    yield _order(
        "bracket", dice, holds=False, scale=0.5, quantity=dice.choice((10, 30)), broker=dice.choice(_for_mis(brokers))
    )
    yield "move", {"percent": -1.1, "second": False, "walks": False}, 6.0  # the entry fills, and both exits rest
    yield "fill", {"which": 0, "units": 5}, dice.choice((0.3, 4.0))
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": True}, 12.0


def unanswered(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """The broker takes an entry or its stop, and the answer is lost; books may run late meanwhile."""
    rests = dice.random() < 0.7  # then the entry is at its broker before answers are lost, and the stop's answer is
    yield _order(dice.choice(GUARDED), dice, holds=not rests, scale=0.5, broker=dice.choice(_for_mis(brokers)))
    if dice.random() < 0.5:
        for kind in ("late_book", "stall_stream"):
            yield "fault", {"kind": kind, "broker": "all", "seconds": 20, "count": None, "delay": 4.0}, 0.0
    lost = {"kind": "drop_after_accept", "broker": "all", "seconds": None, "count": dice.choice((1, 2)), "delay": None}
    yield "fault", lost, 0.3
    yield "move", {"percent": -1.1, "second": False, "walks": False}, 25.0
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": True}, 12.0


def unseen(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """The answer about an exit is lost, and for a while neither a book nor the stream shows the exit, which is at its broker. Then it comes to light."""
    broker = dice.choice([broker for broker in brokers if broker in UNASKED] or _for_mis(brokers))
    yield _order(dice.choice(GUARDED), dice, holds=False, scale=0.5, broker=broker)
    yield "move", {"percent": 0, "second": False, "walks": False}, 4.0  # the entry rests before anything is lost
    for kind in ("late_book", "stall_stream"):
        yield "fault", {"kind": kind, "broker": "all", "seconds": 30, "count": None, "delay": 6.0}, 0.0
    yield "fault", {"kind": "drop_after_accept", "broker": "all", "seconds": None, "count": 1, "delay": None}, 0.3
    yield "move", {"percent": -1.1, "second": False, "walks": False}, 45.0
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": True}, 12.0


def partly_entered(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """An entry fills in part and its rest goes on resting; it may fill later. Most of the time nothing but the fills says how much its exit may sell."""
    yield _order(
        "cover", dice, holds=False, scale=0.5, quantity=dice.choice((30, 100)), broker=dice.choice((None, *_for_mis(brokers))),
        follows=dice.random() < 0.2,
    )  # fmt: skip
    yield "move", {"percent": 0, "second": False, "walks": False}, 2.0
    yield "fill", {"which": 0, "units": dice.choice((1, 5))}, 12.0
    if dice.random() < 0.5:
        yield "fill", {"which": 0, "units": dice.choice((None, 11))}, 4.0
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": True}, 12.0


def reserved(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A stop and a target over delivery shares, and a market that reaches both."""
    yield from _held(dice, brokers, product="CNC")
    for percent in dice.sample((1.5, 3.5, -2.5, 0.5, FAR_UP), 3):
        yield "move", {"percent": percent, "second": False, "walks": dice.random() < 0.5}, 12.0


def annulled(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """The exchange annuls the last trade of a plan that has ended."""
    yield from _held(dice, brokers)
    yield "move", {"percent": -4, "second": False, "walks": True}, 12.0
    yield "annul", {"which": 0}, 25.0


def halted(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """Orders come and the market moves while trading is halted."""
    yield from _held(dice, brokers)
    yield "halt", {"mode": dice.choice(("reduce_only", "nothing")), "seconds": 20}, 1.0
    yield "simple", {"side": "BUY", "percent": None, "quantity": 20, "product": "MIS", "broker": None}, 1.0
    yield _order("marketable_limit", dice, quantity=20)
    yield "move", {"percent": dice.choice((FAR_DOWN, 2.5)), "second": False, "walks": True}, 12.0


def repeated(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A caller sends an order again."""
    yield (
        "simple",
        {
            "side": "BUY",
            "percent": None,
            "quantity": 20,
            "product": "MIS",
            "broker": dice.choice((None, *_for_mis(brokers))),
        },
        dice.choice((0.0, 1.0)),
    )
    yield "again", {}, 2.0


def timed(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """An order whose fills are closed at a time of day, beside units of somebody else."""
    broker = dice.choice(_for_mis(brokers))
    yield "simple", {"side": "BUY", "percent": None, "quantity": 100, "product": "MIS", "broker": broker}, 4.0
    yield _order("time_stop", dice, seconds=15, broker=broker)
    yield "move", {"percent": -1.1, "second": False, "walks": False}, 2.0
    yield "fill", {"which": 0, "units": dice.choice((None, 5))}, 25.0


def stopped(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A caller cancels a plan whose entry rests, or whose exits do."""
    if dice.random() < 0.5:
        yield from _held(dice, brokers)
    else:
        yield _order(dice.choice(GUARDED), dice, broker=dice.choice((None, *_for_mis(brokers))))
    yield "stop", {"which": -1, "path": None}, 12.0


def shared(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """Two plans over one position, of which a person sells a part; then the market falls through both stops."""
    broker = dice.choice(_for_mis(brokers))
    for _ in (0, 1):
        yield from _held(dice, brokers, broker=broker)
    yield "reduce", {"broker": brokers.index(broker), "units": 15}, 25.0
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": True}, 12.0


def closed_everywhere(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """A close comes due while several brokers hold the position."""
    for broker in _for_mis(brokers):
        yield (
            "simple",
            {"side": "BUY", "percent": None, "quantity": dice.choice((20, 100)), "product": "MIS", "broker": broker},
            dice.choice((0.3, 4.0)),
        )
    yield _order("square_off", dice, quantity=None)
    yield "move", {"percent": dice.choice((0, -1)), "second": False, "walks": True}, 25.0


def unreached(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """The entry fills while the broker takes no connection, so the stop does not leave at once."""
    yield _order(dice.choice(GUARDED), dice, holds=False, scale=0.5, broker=dice.choice(_for_mis(brokers)))
    kind = dice.choice(("refuse_connections", "http_500"))
    lost = {"kind": kind, "broker": "all", "seconds": dice.choice((3, 8)), "count": None, "delay": None}
    yield "fault", lost, 0.3
    yield "move", {"percent": -1.1, "second": False, "walks": False}, 25.0
    yield "move", {"percent": dice.choice((0, FAR_DOWN)), "second": False, "walks": True}, 12.0


def jumped_over(dice: random.Random, brokers: Sequence[str]) -> Iterator[Beat]:
    """The market jumps over the limit of a stop, and stays there."""
    yield from _held(dice, brokers)
    yield "move", {"percent": FAR_DOWN, "second": False, "walks": False}, 15.0


PLOTS: Sequence[Plot] = (
    reduced, flattened_late, flattened_in_vain, taken_off, made_smaller, rung_cancelled, ladder_reduced, scale_reduced, held_by_two, written, halved, trailed, tightened, due_in_silence, closed_in_vain, closed_at_circuit,
    closed_everywhere, partly_closed, partly_targeted, partly_entered, unanswered, unseen, unreached, reserved, annulled, halted, repeated, timed, stopped, shared,
    jumped_over, beside_a_guard, followed, lowered, fired_together, grown_over,
)  # fmt: skip
AT: Mapping[Plot, Sequence[str]] = {unseen: UNASKED}
"""Plots that need one of some brokers."""
