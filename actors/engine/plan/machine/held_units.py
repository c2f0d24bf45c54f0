"""Whether there is still something to exit (order-engine 1.13). Pure.

An exit closes a position. The position can go without the plan: a person closes it in the broker's app, the broker squares it off at 15:20,
a product is converted, an exchange annuls a trade. An exit that does not know it opens the other side.

So the exits of a plan follow the position, as far as it is settled: the positions that a broker shows agree with the fills
(`Market.held`; order-engine 4.11). What is not settled counts as it was: a row that is late, or left out once, moves nothing.

    own open units   what the plan's entries have filled at a broker, less what its exits have filled there
    held             what the broker holds in the product, on that side, whoever bought it; None = not settled now
    gone             own open units less held, when it was settled last; kept in the part's record
    limit            own open units less gone: the units that the exits may still have out

An exit without an entry in its plan (an `oco` over holdings, a `hidden_stop`) guards units that were there when it was armed. If nothing was
held then, the caller means an entry by it, and it follows nothing.

An entry may close units of others instead of opening its own: a rung of a grid sells what was held before, the first order of an `oto` too. The order
that then buys back is no exit of a position, and there is nothing that could go: units that were held on the other side when the entry became due
(`PartRecord.armed_against`) are left out. Not so where a stop hangs on the entry: over no position a stop guards nothing.

Several plans may guard one position. Nobody can tell whose units are gone, so the older plan keeps its exits, and a newer one counts what the older
ones leave (`context/guarded_units.py`): two plans of 100 over 150 held units guard 100 and 50.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.plan.machine.exit_shares import limit_within
from onebroker.actors.engine.plan.machine.free_units import beside, group_of, may_take
from onebroker.actors.engine.plan.machine.grown_units import gone_of_entry, gone_of_lone, most_gone
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.missing_shares import believed, ended_unseen
from onebroker.actors.engine.plan.machine.open_units import is_guard
from onebroker.actors.engine.plan.machine.over_fills import (
    asked_of,
    bases_of,
    closed_at_end,
    exits_by_base,
    is_stop_like,
    takers_by_base,
    takers_of,
)
from onebroker.actors.engine.plan.parts import (
    FromExposure,
    FromFill,
    FromPosition,
    OrderPart,
    Part,
    links_of,
    own_orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import FromFillPrice
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side

ARM_SECONDS = 15.0
"""So long after an exit without an entry became due what is held may still come to light."""
ANYWHERE = ""
"""In `PartRecord.gone` of an exit without an entry: the broker does not matter."""


def arm(look: Look, part: OrderPart) -> None:
    """Note what is held when an exit without an entry becomes due, or as soon as that is settled: over nothing, it is its caller's entry. Note what is
    held on the other side before the first order of an entry leaves whose exits guard nothing.

    A guard is often placed right after the order that buys what it guards, and a broker's positions run late. So that nothing is held counts only
    ARM_SECONDS later, and what comes until then counts as held."""
    record = look.record(part)
    if record.armed_against is None and not look.legs(part) and _returns(look, part):
        look.note(part, armed_against=held_for(look, part))
    due_at = look.now if record.due_at is None else record.due_at
    is_decided = record.armed_over is not None and (record.armed_over == 0 or look.now > due_at + ARM_SECONDS)
    if (
        not is_decided
        and part.is_exit
        and not part.known_exit
        and not isinstance(part.quantity, FromPosition | FromExposure)
    ):
        # While the position is on its way the fills tell it, and perhaps a person's sale of it comes before its row.
        at_most = look.market.held_at_most(part.broker, part.instrument_id, part.product, side_of(part)) or None
        held = held_for(look, part)
        held = at_most if held is None else held
        if held == 0 and record.armed_over is None and look.now < due_at + ARM_SECONDS:
            look.wake(due_at + ARM_SECONDS)
        elif held is not None and held > (record.armed_over or -1):
            look.note(part, armed_over=held)
            _note_beside(look, part)
    record = look.record(part)
    if record.armed_over and (record.armed_beside is None or (record.armed_beside and not is_decided)):
        _note_beside(look, part)  # a fill from before the exit may come to light, of an entry or of an older exit


def _note_beside(look: Look, part: OrderPart) -> None:
    """Note what is too much of an exit. It never becomes more: what others buy and guard later was not there when the caller asked. While the position is on
    its way, the fills tell it: a person's sale before its row comes would else make all of the exit too much."""
    held = held_for(look, part)
    held = look.record(part).armed_over if held is None else held
    if held is None:
        return
    before, now = look.record(part).armed_beside, beside(look, part, held)
    look.note(part, armed_beside=now if before is None else min(before, now))


def _returns(look: Look, part: OrderPart) -> bool:
    """Whether a part is an entry, and the orders that take from its fills are no guards."""
    if part.is_exit:
        return False
    found = [exits for base, exits in _known(look) if any(order is part for order in own_orders_of(base))]
    return bool(found) and not any(is_guard(order) for exits in found for order in exits)


def closes_others(root: Part, parts: Mapping[str, PartRecord], path: str) -> bool:
    """Whether the entry on which an order hangs has closed units of others, so that the order has no position to exit."""
    for base, takers in takers_by_base(root):
        if any(order.path == path for order in takers):
            return any(parts.get(order.path, PartRecord()).armed_against for order in own_orders_of(base))
    return False


def held_for(look: Look, part: OrderPart) -> int | None:
    """Return the units that an exit may take, at its broker or at all brokers together; None where one of them is not settled."""
    if part.broker is not None:
        return look.market.held(part.broker, part.instrument_id, part.product, side_of(part))
    return look.market.held(None, part.instrument_id, part.product, side_of(part))


def note_gone(look: Look) -> None:
    """Note how many of the plan's open units have gone at each broker, as far as that is settled now. What was gone stays gone while nothing is
    settled: after an exit's own fill the positions run late, and an exit that forgot it then would sell the missing units.

    Several entries of a plan, or several exits without an entry, may guard one position. Nobody can tell whose units have gone, so the first one in the
    tree keeps its exits, as the older of two plans does."""
    claims = list[_Claim]()
    _note_gone_of_entries(look, claims)
    _note_gone_of_lone(look, claims)


def _note_gone_of_entries(look: Look, claims: list["_Claim"]) -> None:
    for base, exits in _guarded(look):
        own = _opened(look, base, own_open(look, base, exits))
        entries = list(own_orders_of(base))
        before, now = look.record(base).gone, dict[str, int]()
        unknown = _of_unknown_outcome(look, exits)
        for broker, units in own.items():
            claim = _Claim(
                _place(entries[0], broker, side_of(entries[0]).opposite),
                units,
                names=frozenset(order.path for order in entries),
            )
            held = _left_for(look, broker, entries[0])
            if held is not None:
                held = max(0, held - _claimed(claims, claim)) + unknown[broker]
            gone = min(before.get(broker, 0), units) if held is None else max(0, units - held)
            noted, first = before.get(broker, 0), exits[0] if exits else None
            gone = believed(look, entries[0], first, broker, units=units, gone=gone, before=noted)
            if held is not None:
                record = look.record(base)
                gone = gone_of_entry(look, record, entries[0], broker, units=units, gone=gone, held=held)
            if gone:
                now[broker] = gone
            if _guards_still(look, base, exits):
                claims.append(attrs.evolve(claim, units=units - gone))
        if now != before:
            look.note(base, gone=now, gone_most=most_gone(look.record(base).gone_most, now))


def _note_gone_of_lone(look: Look, claims: list["_Claim"]) -> None:
    for part in _alone(look):
        units = max(0, _guarded_alone(look, part) - _filled_with(look, part))
        names = frozenset({group_of(look.root, part)})
        claim = _Claim(_place(part, part.broker, side_of(part)), units, names=names, stops=is_stop_like(part))
        all_held = held = held_for(look, part)
        if held is not None:
            held = (
                max(0, may_take(look, part, held) - _claimed(claims, claim)) + _of_unknown_outcome(look, [part]).total()
            )
        before_alone = sum(look.record(part).gone.values())
        gone = min(before_alone, units) if held is None else max(0, units - held)
        gone = believed(look, part, part, part.broker, units=units, gone=gone, before=before_alone)
        if all_held is not None:
            gone = gone_of_lone(look, look.record(part), part, ANYWHERE, units=units, gone=gone, held=all_held)
        if look.record(part).own is None:
            claims.append(attrs.evolve(claim, units=units - gone))
        if gone != before_alone:
            own_gone = {ANYWHERE: gone} if gone else {}
            look.note(part, gone=own_gone, gone_most=most_gone(look.record(part).gone_most, own_gone))


@attrs.frozen(kw_only=True)
class _Claim:
    """Units of a position that exits of a plan guard."""

    place: tuple[str | None, str, str, Side] = attrs.field(kw_only=False)
    """(broker, instrument, product, side of the exits)."""
    units: int = attrs.field(kw_only=False)
    names: frozenset[str]
    """The entries, or the group of exits, whose units they are. Claims with a name in common are for the same units."""
    stops: bool | None = None
    """Whether stops or targets claim them, of which the market can be at one only; None = both do."""


def _place(order: OrderPart, broker: str | None, side: Side) -> tuple[str | None, str, str, Side]:
    return broker, order.instrument_id, order.product, side


def _claimed(claims: Iterable[_Claim], claim: _Claim) -> int:
    """Return the units of a position that earlier claims have. An exit that names no broker may take from every broker."""
    (broker, *about), found = claim.place, dict[frozenset[str], int]()
    for one in claims:
        same_place = list(one.place[1:]) == about and broker in (None, one.place[0])
        if (
            same_place
            and not one.names & claim.names
            and (None in (claim.stops, one.stops) or claim.stops is one.stops)
        ):
            found[one.names] = max(one.units, found.get(one.names, 0))
    return sum(found.values())


def _of_unknown_outcome(look: Look, exits: Iterable[OrderPart]) -> Counter[str]:
    """Return broker -> units of exits that may have filled there without our knowing it: their brokers have not told whether they have them. What such
    units take from the position is no news: a restart often finds the position first, and the order later."""
    found: Counter[str] = Counter()
    for order in exits:
        for leg in look.legs(order):
            if leg.state.unsettled and not leg.given_up:
                found[leg.broker] += leg.unfilled
    return found


def _opened(look: Look, base: Part, own: Mapping[str, int]) -> Mapping[str, int]:
    """Return those of a base's open units that are a position: without what its fills have closed of others."""
    closed = sum(look.record(order).armed_against or 0 for order in own_orders_of(base))
    found = {}
    for broker in sorted(own):
        found[broker] = max(0, own[broker] - closed)
        closed -= own[broker] - found[broker]
    return found


def _left_for(look: Look, broker: str, order: OrderPart) -> int | None:
    """Return the units that a broker holds of what an entry bought, less those that older plans guard; None while that is not settled."""
    where = (broker, order.instrument_id, order.product, side_of(order).opposite)
    held = look.market.held(*where)
    return None if held is None else max(0, held - look.market.guarded_by_older(*where))


def _guarded(look: Look) -> Iterator[tuple[Part, Sequence[OrderPart]]]:
    """Yield each part whose fills are to be closed, with the exits that hang on it: none for fills that only the end of a lifetime closes."""
    with_exits = list(_known(look))
    yield from with_exits
    known = {order.path for base, _ in with_exits for order in own_orders_of(base)}
    for order in closed_at_end(look.root):
        if order.path not in known and not isinstance(order.quantity, FromPosition | FromExposure):
            yield order, ()


def _known(look: Look) -> Iterator[tuple[Part, list[OrderPart]]]:
    """Yield each base whose exits the engine itself knows to close it, or whose fills they sell (the second order of an `oto`, whatever most its caller
    allows). An order that hangs on an exit and enters again closes nothing."""
    return _knowing(bases_of(look), takers_of(look))


def _known_in(root: Part) -> Iterator[tuple[Part, list[OrderPart]]]:
    return _knowing(exits_by_base(root), takers_by_base(root))


def _knowing(
    bases: Iterable[tuple[Part, list[OrderPart]]], all_takers: Iterable[tuple[Part, list[OrderPart]]]
) -> Iterator[tuple[Part, list[OrderPart]]]:
    found = set[str]()
    for base, exits in bases:
        if all(order.known_exit or _sells(base, order) for order in exits):
            found.add(base.path)
            yield base, exits
    for base, takers in all_takers:
        followers = [order for order in takers if _sells(base, order)]
        if followers and base.path not in found:
            yield base, followers


def _sells(base: Part, order: OrderPart) -> bool:
    """Whether an order that takes from the fills of an entry takes no more than these."""
    enters = not any(one.is_exit for one in own_orders_of(base))
    return enters and isinstance(order.quantity, FromFill) and order.quantity.ratio <= 1


def _alone(look: Look) -> Iterator[OrderPart]:
    """Yield the exits without an entry that close what was held when they were armed, or what their caller says is held."""
    hanging = {order.path for _, exits in bases_of(look) for order in exits}
    for part in walk(look.root):
        if (
            isinstance(part, OrderPart)
            and part.is_exit
            and part.path not in hanging
            and not part.known_exit
            and not isinstance(part.quantity, FromPosition | FromExposure)
            and look.record(part).due_at is not None
            and not ended_unseen(look, part)  # the next order is bounded by what is held then (K15)
            and (look.record(part).armed_over or 0) > 0
        ):
            yield part


def _guarded_alone(look: Look, part: OrderPart) -> int:
    """Return the units that an exit without an entry guards: what its caller asked for, as far as it was held when the exit was armed. Where the caller
    says that it closes, all of it was: positions that could not be read then show less when a person has sold meanwhile."""
    asked = asked_of(look, part) or 0
    return asked if look.rules.closes else min(asked, look.record(part).armed_over or 0)


def _filled_with(look: Look, part: OrderPart) -> int:
    """Return the units that an exit and the others of its group have filled: they are for the same units, and what a sibling has sold has not gone."""
    group = group_of(look.root, part)
    return sum(look.filled(order) for order in own_orders_of(look.by_path[group]))


def _guards_still(look: Look, base: Part, exits: Sequence[OrderPart]) -> bool:
    """Whether an exit of a base is open, or the end of a lifetime is still to close its fills. A plan goes on for its other parts where all this has
    ended (its position was closed within limits), and guards nothing there any more."""
    if any(look.record(order).own is None for order in exits):
        return True
    own = {order.path for order in own_orders_of(base)}
    return any(order.path in own and not look.record(order).state.final for order in closed_at_end(look.root))


def gone_of(look: Look, part: Part) -> Mapping[str, int]:
    """Return broker -> units that a part has filled and that are gone."""
    return look.record(part).gone


def limit_of(look: Look, part: OrderPart) -> int | None:
    """Return the units that an exit may have unfilled; None = nothing limits it."""
    if not look.rules.exits_follow:
        return None
    for base, exits in _known(look):
        if any(order is part for order in exits):
            return _left_to(look, base, exits, part)
    if not part.is_exit or not look.record(part).gone:
        return None
    return max(0, (asked_of(look, part) or 0) - look.filled(part) - sum(look.record(part).gone.values()))


def has_lost(look: Look, part: OrderPart) -> bool:
    """Whether units that an exit guards have gone, its own or those of the entry that it hangs on."""
    bases = (base for base, exits in _known(look) if any(order is part for order in exits))
    return any(look.record(one).gone for one in (part, *bases))


def limit_of_group(look: Look, group: Part) -> int | None:
    """Return the units that the exits of a group may have unfilled together: targets that share the units of one stop. None = nothing limits them."""
    if not look.rules.exits_follow:
        return None
    own = {order.path for order in own_orders_of(group)}
    for base, exits in _known(look):
        if own <= {order.path for order in exits}:
            return _left_to(look, base, exits, group)
    alone = [order for order in own_orders_of(group) if look.record(order).gone]
    left = (
        _guarded_alone(look, order) - _filled_with(look, order) - sum(look.record(order).gone.values())
        for order in alone
    )
    return max(0, max(left)) if alone else None


def _left_to(look: Look, base: Part, exits: Sequence[OrderPart], part: Part) -> int:
    """Return the units that a part of a base's exits may have unfilled."""
    left = still_open(look, base, exits)
    link = next(then for one, then in links_of(look.root) if one is base)
    return limit_within(look, link, exits, look.kept(base), within=part, left=left)


def closing_sides(root: Part, parts: Mapping[str, PartRecord]) -> Mapping[str, Side]:
    """Return order part -> the side that closes the position: of the entries whose fills the plan is to close (by exits that it knows as such, by an order
    that sells what they have filled, by the end of a lifetime), and of these exits. Not of an entry that closes units of others."""
    found: dict[str, Side] = {}
    for base, exits in [*_known_in(root), *((order, []) for order in closed_at_end(root))]:
        own = list(own_orders_of(base))
        is_position = not any(isinstance(order.quantity, FromPosition | FromExposure) for order in own)
        if is_position and not any(parts.get(order.path, PartRecord()).armed_against for order in own):
            side = side_of(own[0]).opposite
            found.update({order.path: side for order in (*own, *exits)})
    return found


def gone_at(root: Part, parts: Mapping[str, PartRecord]) -> Iterator[tuple[tuple[str, str, str, Side], int, int]]:
    """Yield (broker, instrument, product, side that closes), the units of the plan's entries that have gone there, and the most that had."""
    for base, _ in [*_known_in(root), *((order, ()) for order in closed_at_end(root))]:
        first, record = next(own_orders_of(base)), parts.get(base.path, PartRecord())
        for broker, most in record.gone_most.items():
            place = (broker, first.instrument_id, first.product, side_of(first).opposite)
            yield place, record.gone.get(broker, 0), most


def own_open(look: Look, base: Part, exits: Iterable[OrderPart]) -> Mapping[str, int]:
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


def still_open(look: Look, base: Part, exits: Sequence[OrderPart]) -> int:
    """Return the units that the plan has open and that have not gone."""
    gone = look.record(base).gone
    return sum(max(0, units - gone.get(broker, 0)) for broker, units in own_open(look, base, exits).items())


def _ended_for(look: Look, broker: str, exits: Sequence[OrderPart]) -> int:
    """Return the units whose own exit has ended at a broker, where each fill has an exit of its own: nothing guards them any more, though the others
    go on."""
    legs = [leg for order in exits if isinstance(order.price, FromFillPrice) for leg in look.legs(order)]
    return sum(leg.unfilled for leg in legs if leg.broker == broker and not leg.live and not leg.never_reached)


def say_gone(look: Look) -> None:
    """Tell the positions that have gone, or become smaller, without the plan, while the plan is still to exit them."""
    if look.record(look.root).state.final:
        return
    for base, exits in _guarded(look):
        if not _guards_still(look, base, exits):
            continue
        own = own_open(look, base, exits)
        for broker, units in look.record(base).gone.items():
            over = min(units, _ended_for(look, broker, exits))
            if own.get(broker, 0) and units > over:
                look.untold.add(texts.holds_less(broker, own[broker] - units, own[broker] - over))
    for part in _alone(look):
        gone = sum(look.record(part).gone.values())
        units = max(0, _guarded_alone(look, part) - _filled_with(look, part))
        if gone and look.record(part).own is None:
            look.untold.add(texts.holds_less(part.broker or "the account", units - gone, units))
