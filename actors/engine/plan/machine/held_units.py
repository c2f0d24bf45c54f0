"""Whether there is still something to exit (order-engine 1.13). Pure.

An exit closes a position. The position can go without the plan: a person closes it in the broker's app, the broker squares it off at 15:20,
a product is converted, an exchange annuls a trade. An exit that does not know it opens the other side.

So the exits of a plan follow the position, as far as it is settled: the positions that a broker shows agree with the fills
(`Market.held`; order-engine 4.11). What is not settled counts as it was: a row that is late, or left out once, moves nothing.

    own open units   what the plan's entries have filled at a broker, less what its exits have filled there
    held             what the broker holds in the product, on that side, whoever bought it; None = not settled now
    limit            own open units, at each broker at most what it holds: the units that the exits may still have out

An exit without an entry in its plan (an `oco` over holdings, a `hidden_stop`) guards units that were there when it was armed. If nothing was
held then, the caller means an entry by it, and it follows nothing.

Several plans may guard one position. Each of them counts its own units only: two plans of 100 over 150 held units are both left as they are,
because nobody can tell whose units are gone. The broker's own check stands behind them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.over_fills import exits_by_base
from onebroker.actors.engine.plan.parts import FromExposure, FromPosition, OrderPart, Part, own_orders_of
from onebroker.config.messages import plan_life as texts


def arm(look: Look, part: OrderPart) -> None:
    """Note what is held when an exit without an entry becomes due: over nothing, it is its caller's entry."""
    if part.is_exit and not part.known_exit and not isinstance(part.quantity, FromPosition | FromExposure):
        look.note(part, armed_over=_held_for(look, part))


def _held_for(look: Look, part: OrderPart) -> int | None:
    """Return the units that an exit may take, at its broker or at all brokers together; None where one of them is not settled."""
    if part.broker is not None:
        return look.market.held(part.broker, part.instrument_id, part.product, side_of(part))
    return look.market.held(None, part.instrument_id, part.product, side_of(part))


def limit_of(look: Look, part: OrderPart) -> int | None:
    """Return the units that an exit may have unfilled; None = nothing limits it."""
    if not look.rules.exits_follow or not part.is_exit:
        return None
    for base, exits in exits_by_base(look.root):
        if any(order is part for order in exits):
            return still_open(look, base, exits)
    if (look.record(part).armed_over or 0) <= 0:
        return None
    held = [
        look.market.held(broker, part.instrument_id, part.product, side_of(part)) for broker in _brokers(look, part)
    ]
    known = [units for units in held if units is not None]
    return sum(known) if held and len(known) == len(held) else None


def _brokers(look: Look, part: OrderPart) -> set[str]:
    return {leg.broker for leg in look.live(part)} | ({part.broker} if part.broker is not None else set())


def _own_open(look: Look, base: Part, exits: Sequence[OrderPart]) -> Mapping[str, int]:
    """Return broker -> units that the base has filled there and that its exits, or its own closes, have not closed."""
    found: Counter[str] = Counter()
    for order in own_orders_of(base):
        for leg in look.legs(order):
            found[leg.broker] += leg.filled
        for leg in look.closing_legs(order):
            found[leg.broker] -= leg.filled
    for order in exits:
        for leg in look.legs(order):
            found[leg.broker] -= leg.filled
    return {broker: units for broker, units in found.items() if units > 0}


def _still_open(look: Look, base: Part, exits: Sequence[OrderPart]) -> Mapping[str, int]:
    """Return the own open units, at each broker no more than it holds."""
    exit_part = exits[0]
    still: dict[str, int] = {}
    for broker, units in _own_open(look, base, exits).items():
        held = look.market.held(broker, exit_part.instrument_id, exit_part.product, side_of(exit_part))
        still[broker] = units if held is None else min(units, held)
    return still


def still_open(look: Look, base: Part, exits: Sequence[OrderPart]) -> int:
    """Return the units that the plan has open, as far as their brokers hold them."""
    return sum(_still_open(look, base, exits).values())


def gone(look: Look) -> Iterator[tuple[str, str, int, int]]:
    """Yield (instrument, broker, units held, own open units) of positions that are smaller than what the plan's exits guard."""
    for base, exits in exits_by_base(look.root):
        own, still = _own_open(look, base, exits), _still_open(look, base, exits)
        for broker in sorted(own):
            if still[broker] < own[broker]:
                yield exits[0].instrument_id, broker, still[broker], own[broker]


def say_gone(look: Look) -> None:
    """Tell the positions of open exits that have gone, or become smaller, without the plan."""
    if look.record(look.root).state.final:
        return
    for _, broker, held, units in gone(look):
        look.untold.add(texts.holds_less(broker, held, units))
