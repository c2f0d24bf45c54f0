"""The whole choice: what refuses the order outright, the candidates in order, the skipped brokers, and the answer when no broker is left
(order-engine 4, 4.1)."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial

import attrs

from onebroker.actors.engine.books.settled_positions import (
    judged,
    settled,
    settled_units,
    share_tokens,
    units_in_holdings,
)
from onebroker.actors.engine.choice import fund_checks, holders
from onebroker.actors.engine.choice.broker_checks import Candidate, Deliverable, Skipped, Why, first_failure
from onebroker.actors.engine.choice.costs import Cost, Levies, cost_of, levies_of, lot_of
from onebroker.actors.engine.choice.expected_price import expected_price, market_price, row_price
from onebroker.actors.engine.choice.intraday_cutoffs import intraday_closed
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.choice.market_protection import needs_stand_in, stand_in, tick_of
from onebroker.actors.engine.choice.net_held import net_held
from onebroker.actors.engine.choice.ranking import is_holder, passes_lock, ranked, sold_out_today
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.orders.contract_size import ContractSize, SizeStatus, contract_size
from onebroker.actors.engine.orders.freeze_quantity import freeze_of
from onebroker.config.messages import orders as texts
from onebroker.config.money import is_multiple
from onebroker.config.sections import IntradayCutoff

_log = logging.getLogger("onebroker.choice")

_NO_CUTOFF = IntradayCutoff()


@attrs.frozen(kw_only=True)
class Choice:
    order: LegOrder
    candidates: tuple[Candidate, ...] = ()
    """Best first."""
    skipped: tuple[Skipped, ...] = ()
    """Sorted by broker code."""
    cost_order: tuple[str, ...] = ()
    """Codes of the candidates and of brokers that failed only the daily cap, the cheapest first."""
    held: Mapping[str, int] = attrs.field(factory=dict)
    """Broker -> net units of the instrument and product that it holds, negative when short."""
    deliverable: Mapping[str, Deliverable] = attrs.field(factory=dict)
    """What each broker can deliver, when no broker can take a delivery sale; empty otherwise."""
    refusal: EngineAnswer | None = None
    """Why no broker gets the order, whatever brokers there are: the day's loss, the contract's size."""

    def warnings(self, broker: str) -> tuple[str, ...]:
        """Return what a caller should know when `broker` gets the order: that it opens a position beside units held elsewhere."""
        beside = holders.opens_beside(self.order, broker, self.held)
        return () if beside is None else (beside,)


@attrs.frozen(kw_only=True)
class _Facts:
    """The facts that are the same for every broker."""

    order: LegOrder
    now: datetime
    price: Decimal | None
    """Rupees, for cost and margin."""
    levies: Levies | None
    size: ContractSize | None


def choose(order: LegOrder, context: EngineContext) -> Choice:
    """Check every broker, or only the pinned one, in its present state. First come the checks that refuse the order as a whole, then each broker.

    While entries are locked out, only brokers remain at which the whole order reduces a position (order-engine 4.7, 4.10).
    """
    size = contract_size(order.instrument)
    now, price = context.clock.now(), expected_price(order, context.quotes)
    levies = levies_of(order, price, context.charges, now.date())
    facts = _Facts(order=order, now=now, price=price, levies=levies, size=size)
    candidates = list(_candidates(facts, context))
    locked = None if order.exit and order.own_units is None else context.entry_lock()
    stopped = context.gate.refusal(Passage.EXIT)  # not even orders that reduce a position pass; exits wait
    if stopped is not None:
        return Choice(order=order, refusal=stopped if order.closes else locked or stopped)
    if locked is not None and not any(map(passes_lock, candidates)):
        return Choice(order=order, refusal=locked)
    if (refusal := _size_refusal(order, size)) is not None:
        return Choice(order=order, refusal=refusal)
    able, skipped = [], []
    for candidate in (_with_money(without_money, facts, context) for without_money in candidates):
        failure = _locked_out(candidate, locked) or first_failure(candidate)
        if failure is not None:
            skipped.append(failure)
        if failure is None or failure.why is Why.CAP:
            known = candidate.cost is not None  # already computed where money is checked
            able.append(candidate if known else attrs.evolve(candidate, cost=_cost(candidate, facts, context)))
    in_order, capped = ranked(able), {failure.broker for failure in skipped}
    lacks = not in_order and any(failure.why is Why.DELIVERY for failure in skipped)
    return Choice(
        order=order,
        candidates=tuple(candidate for candidate in in_order if candidate.broker.code not in capped),
        skipped=by_code(skipped),
        cost_order=tuple(candidate.broker.code for candidate in in_order),
        held=_held_everywhere(order, candidates, context),
        deliverable=_deliverable_everywhere(order, context) if lacks else {},
    )


def _held_everywhere(order: LegOrder, candidates: Iterable[Candidate], context: EngineContext) -> Mapping[str, int]:
    """Return what each broker holds; of an order pinned to one broker, the others are looked at here. An exit warns of nothing."""
    held = {candidate.broker.code: candidate.held for candidate in candidates}
    if order.broker is None or order.exit:
        return held
    others = (code for code in order.instrument.listings if code in context.sessions and code != order.broker)
    everywhere = {code: _held(order, code, context) for code in others}
    return {**everywhere, **held}


def by_code(skipped: Iterable[Skipped]) -> tuple[Skipped, ...]:
    """Return the skipped brokers in the order in which answers show them."""
    return tuple(sorted(skipped, key=lambda skip: skip.broker))


def none_left(choice: Choice, skipped: Iterable[Skipped]) -> EngineAnswer:
    """Return the refusal when no broker can take the order: one status for the whole order. `skipped` are all brokers passed over."""
    order, rows = choice.order, by_code(skipped)
    extra: dict[str, object] = {
        "skipped": [{"broker": skip.broker, "reason": skip.reason} for skip in rows],
        "instrument_id": order.instrument.instrument_id,
    }
    if choice.refusal is not None:
        return attrs.evolve(choice.refusal, body={**choice.refusal.body, **extra})
    whys = {skip.why for skip in rows}
    if whys == {Why.PRICE}:
        return _refused(409, rows[0].reason, extra)
    if choice.deliverable and not whys & {Why.CAP, Why.RATE}:
        return _not_delivered(choice, rows, whys, extra)
    if order.broker is not None and len(rows) == 1 and not whys & {Why.CAP, Why.RATE}:
        return _refused(409, texts.pinned_cannot(order.broker, rows[0].reason), extra)
    return _of_all(choice, rows, whys - {Why.OTHER, Why.LOGIN}, extra)


def _not_delivered(choice: Choice, rows: tuple[Skipped, ...], whys: set[Why], extra: dict[str, object]) -> EngineAnswer:
    """Return the refusal of a delivery sale. What stops a broker that could deliver the whole is said as for any order: its remedy is nearer."""
    able = whys - {Why.OTHER, Why.LOGIN, Why.DELIVERY}
    if able:
        return _of_all(choice, rows, able, extra)
    status, sentence = holders.not_delivered(choice.order, choice.deliverable)
    return _refused(status, sentence, {"holders": holders.shown_holders(choice.deliverable), **extra})


def _of_all(choice: Choice, rows: tuple[Skipped, ...], whys: set[Why], extra: dict[str, object]) -> EngineAnswer:
    """Return the status from the brokers that could take such an order (rules 2.4.2): the remedy that the caller can use soonest decides."""
    if Why.RATE in whys:
        return _refused(503, texts.RATE_BUDGET_FULL, extra)
    if Why.CAP in whys and Why.UNANSWERED not in whys:
        capped = [skip for skip in rows if skip.why is Why.CAP]
        return _refused(429, _first_in_cost_order(choice, capped).reason, extra)
    if whys and whys <= {Why.LOT, Why.FREEZE}:
        if Why.LOT in whys:
            return _refused(400, texts.whole_lots("quantity", _smallest_lot(choice.order)), extra)
        return _refused(400, texts.send_sliced(max(skip.limit or 0 for skip in rows)), extra)
    if whys == {Why.CONTRACT_SIZE}:
        size = contract_size(choice.order.instrument)
        status = SizeStatus.UNKNOWN if size is None else size.status
        return _refused(503, texts.CONTRACT_SIZE_NOT_AGREED, {**extra, "contract_size_status": status.value})
    return _refused(503, texts.NO_BROKER, extra)


# --- one broker ---------------------------------------------------------------------------------------------------------


def _candidates(facts: _Facts, context: EngineContext) -> Iterator[Candidate]:
    order = facts.order
    for code, handle in context.sessions.items():
        if order.broker in (None, code):
            cutoff = context.intraday_cutoffs.get(code, _NO_CUTOFF)
            yield Candidate(
                broker=handle.broker,
                view=handle.view.value,
                order=_as_sent(order, handle, context),
                excluded=code in context.excluded_brokers,
                unanswered=context.failures.unanswered(code, context.clock.monotonic()),
                intraday_closed=intraday_closed(order, cutoff, facts.now),
                size=facts.size,
                in_flight=in_flight(order, code, context),
                alternatives=order.alternatives(),
                deliverable=_deliverable(order, code, context),
                is_settled=partial(_is_settled, order, code, context),
                held=_held(order, code, context),
                freeze=freeze_of(order.instrument, code, context.settings.freeze_quantities),
            )


def in_flight(order: LegOrder, code: str, context: EngineContext, leg_id: str | None = None) -> int:
    """Return the units of our own orders on this side that are under way to a broker, of unknown outcome, or not in its book yet. With `leg_id`,
    the order's own leg: only of the orders before it."""
    listing = order.instrument.listings.get(code)
    if listing is None:
        return 0
    return _under_way(order, code, {listing.broker_token}, context, leg_id)


def _under_way(
    order: LegOrder, code: str, tokens: Collection[str], context: EngineContext, leg_id: str | None = None
) -> int:
    """Return the same for all of a broker's `tokens` of one share."""
    shown, side, units = context.sessions[code].view.value, order.transaction_type, 0
    alternatives = order.alternatives()
    # All open orders are looked at in each choice. The comparison that leaves out most of them comes first.
    for leg in context.legs.unfinished:
        if leg.leg_id == leg_id:
            break
        if (
            leg.broker == code
            and leg.instrument_token in tokens
            and leg.transaction_type == side
            and leg.product == order.product
            and not leg.given_up
            and leg.leg_id not in alternatives
            and leg.order_id not in shown.orders
            and leg.order_id not in shown.unseen
        ):
            units += leg.quantity - leg.filled_quantity
    return units


def _deliverable(order: LegOrder, code: str, context: EngineContext) -> Deliverable | None:
    """Return what a broker can deliver of a delivery sale; None for any other order, and where the share is not listed."""
    if not holders.is_delivery_sale(order) or code not in order.instrument.listings:
        return None
    tokens = share_tokens(context, code, order.instrument)
    return holders.deliverable(
        order,
        {token: settled_units(context, code, token, order.product) for token in tokens},
        context.sessions[code].view.value,
        in_holdings=units_in_holdings(context, code, tokens, order.instrument.isin),
        in_flight=_under_way(order, code, tokens, context),
        alternatives=order.alternatives(),
    )


def _deliverable_everywhere(order: LegOrder, context: EngineContext) -> Mapping[str, Deliverable]:
    found = ((code, _deliverable(order, code, context)) for code in context.sessions)
    return {code: able for code, able in found if able is not None}


def still_passes(candidate: Candidate, leg_id: str, context: EngineContext) -> bool:
    """Whether an order that passed the lock when its broker was chosen still passes now, when its leg is written and the message is about to
    leave. Of orders that would reduce one position at the same time, the first legs pass."""
    code = candidate.broker.code
    now = Candidate(
        broker=candidate.broker,
        view=context.sessions[code].view.value,
        order=candidate.order,
        in_flight=in_flight(candidate.order, code, context, leg_id),
        alternatives=candidate.order.alternatives(),
        is_settled=partial(_is_settled, candidate.order, code, context),
        held=_held(candidate.order, code, context),
    )
    return passes_lock(now, leg_id)


def _held(order: LegOrder, code: str, context: EngineContext) -> int:
    """Return the units held at a broker: a row that it leaves out for one read does not send the sale of these units to another broker."""
    found = judged(context, code)
    rows = None if found is None or not found.doubts else found.rows
    listing, view = order.instrument.listings.get(code), context.sessions[code].view.value
    in_holdings = None
    if listing is not None and holders.is_delivery_sale(order):
        in_holdings = units_in_holdings(
            context, code, share_tokens(context, code, order.instrument), order.instrument.isin
        )
    return net_held(order, listing, view, rows, in_holdings)


def _is_settled(order: LegOrder, code: str, context: EngineContext) -> bool:
    """Whether a broker's position agrees with its fills. Before the first read of the positions it does when nothing has filled."""
    view, listing = context.sessions[code].view.value, order.instrument.listings.get(code)
    if view.positions_read_started is None and view.readable_positions is None and listing is not None:
        same = (listing.broker_token, order.product)
        return not any(
            row.filled_quantity for row in view.orders.values() if (row.instrument_token, row.product) == same
        )
    return settled(context, code, order.instrument, order.product) is not None


def _as_sent(order: LegOrder, handle: SessionHandle, context: EngineContext) -> LegOrder:
    """Return the order as this broker would get it. A close with nowhere else to go becomes a limit order where the broker takes no MARKET
    (order-engine 4.9); without a price the order is unchanged."""
    code, segment = handle.broker.code, order.instrument.identity.segment
    taken = handle.broker.capabilities.order_types_in(segment)
    if not order.closes or order.broker != code or not needs_stand_in(order, taken):
        return order
    market = market_price(order, context.quotes) or row_price(order, code, handle.view.value)
    return stand_in(order, market, context.settings.protection_bands, tick_of(order, code)) or order


def _locked_out(candidate: Candidate, locked: EngineAnswer | None) -> Skipped | None:
    if locked is None or passes_lock(candidate):
        return None
    return Skipped(candidate.broker.code, str(locked.body["error"]))


def looks_at_money(candidate: Candidate, context: EngineContext) -> bool:
    """Tell whether the broker's free money is compared with the order. It is not for exits, nor for an order that reduces a position."""
    return context.settings.check_funds and not candidate.order.exit and not is_holder(candidate)


def _with_money(candidate: Candidate, facts: _Facts, context: EngineContext) -> Candidate:
    if not looks_at_money(candidate, context):
        return candidate
    cost = _cost(candidate, facts, context)
    needed = fund_checks.needed(facts.order, facts.price, cost)
    if needed is None:
        needed = fund_checks.told_margin(candidate, context.catalogue.value.latest, context.clock.monotonic())
    available = fund_checks.available(facts.order, candidate.broker.code, context.funds.value)
    return attrs.evolve(candidate, available=available, needed=needed, cost=cost)


def _cost(candidate: Candidate, facts: _Facts, context: EngineContext) -> Cost | None:
    cost = cost_of(
        facts.order,
        candidate.broker.code,
        facts.levies,
        context.charges,
        facts.now.date(),
        lot=lot_of(facts.order, candidate.listing),
        dp_paid=sold_out_today(candidate),
    )
    if cost is None and facts.levies is not None:
        order = facts.order
        _log.info(
            "%s has no brokerage for %s %s, so it comes last", candidate.broker.code, order.product, order.segment
        )
    return cost


# --- the order as a whole -----------------------------------------------------------------------------------------------


def _size_refusal(order: LegOrder, size: ContractSize | None) -> EngineAnswer | None:
    """Refuse a contract on whose size the brokers disagree, and quantities that are not whole lots of it (order-engine 4.3)."""
    if size is None:
        return None
    if size.trusted is None:
        return _refused(503, texts.CONTRACT_SIZE_NOT_AGREED, {"contract_size_status": size.status.value})
    for name, quantity in (("quantity", order.quantity), ("disclosed_quantity", order.disclosed_quantity)):
        if not is_multiple(Decimal(quantity), Decimal(size.trusted)):
            return _refused(400, texts.whole_lots(name, size.trusted), {})
    return None


def _first_in_cost_order(choice: Choice, skipped: Iterable[Skipped]) -> Skipped:
    places = {code: place for place, code in enumerate(choice.cost_order)}
    return min(skipped, key=lambda skip: places.get(skip.broker, len(places)))


def _smallest_lot(order: LegOrder) -> int:
    lots = [listing.lot_size for listing in order.instrument.listings.values() if listing.lot_size]
    return min(lots, default=1)


def _refused(status: int, sentence: str, extra: dict[str, object]) -> EngineAnswer:
    return EngineAnswer(status=status, body={"error": sentence, **extra})
