"""What becomes of orders at the exchange."""

from decimal import Decimal
from functools import partial

import pytest

from onebroker.brokers.simulator.world.model import RefusalReason, SimRefusal, SimStatus
from onebroker.config.vocabulary import OrderType, Validity
from tests.support.every_case import every_case


def refusal(call):
    with pytest.raises(SimRefusal) as caught:
        call()
    return caught.value.reason


def test_a_market_order_takes_the_book_level_by_level(floor):
    share = floor.contract()
    before = floor.account().market(share.instrument_id)
    assert before.buy[0].price < before.last_price < before.sell[0].price
    wanted = before.sell[0].quantity + 1
    order = floor.place(share, "BUY", wanted)
    fills = floor.account().fills()[-2:]
    assert order.status is SimStatus.COMPLETE
    assert [(fill.price, fill.quantity) for fill in fills] == [
        (before.sell[0].price, before.sell[0].quantity), (before.sell[1].price, 1),
    ]  # fmt: skip
    assert order.filled_value == sum(fill.price * fill.quantity for fill in fills)
    after = floor.account().market(share.instrument_id)
    assert after.sell[0].price == before.sell[1].price
    assert after.sell[0].quantity == before.sell[1].quantity - 1


def test_more_than_the_book_holds_fills_in_part_and_the_rest_waits_for_the_next_quotes(floor):
    share = floor.contract()
    depth = sum(level.quantity for level in floor.account().market(share.instrument_id).sell)
    order = floor.place(share, "BUY", depth + 10, product="MIS")
    assert order.status is SimStatus.OPEN
    assert order.filled_quantity == depth
    floor.steps(40)
    assert floor.account().order(order.order_id).status is SimStatus.COMPLETE


def test_an_ioc_order_keeps_what_it_gets_and_the_rest_is_cancelled(floor):
    share = floor.contract()
    depth = sum(level.quantity for level in floor.account().market(share.instrument_id).sell)
    order = floor.place(share, "BUY", depth + 10, product="MIS", validity="IOC")
    assert (order.status, order.filled_quantity, order.cancelled_quantity) == (SimStatus.CANCELLED, depth, 10)


def test_a_resting_order_fills_at_its_own_price_at_once_when_the_market_is_moved_through_it(floor):
    share = floor.contract()
    price = floor.last(share) - 4 * share.tick_size
    order = floor.place(share, "BUY", 1, "LIMIT", price=price)
    assert order.status is SimStatus.OPEN
    floor.exchange.set_price(share.instrument_id, price - 2 * share.tick_size)
    done = floor.account().order(order.order_id)
    assert (done.status, done.average_price) == (SimStatus.COMPLETE, price)


def test_a_moved_market_is_quoted_around_its_new_price_at_once(floor):
    share = floor.contract()
    price = floor.last(share) - 4 * share.tick_size
    floor.account().market(share.instrument_id)
    floor.exchange.set_price(share.instrument_id, price)
    market = floor.account().market(share.instrument_id)
    assert (market.buy[0].price + market.sell[0].price) / 2 == market.last_price == price


def test_orders_of_two_brokers_trade_with_each_other_in_time_priority(floor):
    share = floor.contract()
    price = floor.last(share)
    first = floor.place(share, "SELL", 3, "LIMIT", price=price, product="MIS")
    second = floor.place(share, "SELL", 3, "LIMIT", price=price, product="MIS", broker="upstox")
    taker = floor.place(share, "BUY", 4, "LIMIT", price=price, product="MIS", broker="upstox")
    assert taker.status is SimStatus.COMPLETE
    assert floor.account().order(first.order_id).filled_quantity == 3
    assert floor.account("upstox").order(second.order_id).filled_quantity == 1
    fills = [fill for fill in floor.exchange.ledger.fills() if fill.counterparty != "market"]
    assert len(fills) == 4
    assert {fill.trade_id for fill in fills[:2]} == {fills[0].trade_id}


def test_a_limit_order_shows_in_the_depth_with_its_disclosed_quantity(floor):
    share = floor.contract()
    price = floor.last(share)
    floor.place(share, "BUY", 100, "LIMIT", price=price, product="MIS", disclosed_quantity=30)
    best = floor.account("upstox").market(share.instrument_id).buy[0]
    assert (best.price, best.quantity, best.orders) == (price, 30, 1)


@pytest.mark.parametrize(("side", "sign"), [("BUY", 1), ("SELL", -1)])
@pytest.mark.parametrize("kind", ["SL", "SL-M"])
def test_a_stop_order_waits_for_the_last_price_to_reach_its_trigger(floor, side, sign, kind):
    share = floor.contract()
    last = floor.last(share)
    trigger = last + sign * 10 * share.tick_size
    price = trigger + sign * 5 * share.tick_size if kind == "SL" else None
    order = floor.place(share, side, 1, kind, price=price, trigger_price=trigger, product="MIS")
    assert order.status is SimStatus.TRIGGER_PENDING
    floor.exchange.set_price(share.instrument_id, trigger - sign * share.tick_size)
    assert floor.account().order(order.order_id).status is SimStatus.TRIGGER_PENDING
    floor.exchange.set_price(share.instrument_id, trigger)
    assert floor.account().order(order.order_id).status is SimStatus.COMPLETE
    states = [state.status for state in floor.account().order_history(order.order_id)]
    assert states == [SimStatus.TRIGGER_PENDING, SimStatus.OPEN, SimStatus.COMPLETE]


def test_an_underlyings_move_triggers_stop_orders_of_its_derivatives(floor):
    index = next(c for c in floor.exchange.contracts() if c.identity.symbol == "DESH 50")
    future = floor.contract("equity_index_futures")
    last = floor.last(future)
    trigger = last + 20
    order = floor.place(future, "BUY", None, "SL-M", trigger_price=trigger)
    floor.exchange.set_price(index.instrument_id, floor.last(index) + 100)
    assert floor.last(future) > last + 50
    assert floor.account().order(order.order_id).status is SimStatus.COMPLETE


@every_case(
    ("bare", "changes", "reason"),
    [
        ("equities", {"quantity": 0}, RefusalReason.BAD_QUANTITY),
        ("equities", {"quantity": 5, "disclosed_quantity": 6}, RefusalReason.BAD_QUANTITY),
        ("equity_index_futures", {"quantity": 76}, RefusalReason.BAD_LOT),
        ("equities", {"kind": "LIMIT", "price": "100.03"}, RefusalReason.BAD_TICK),
        ("equities", {"kind": "LIMIT"}, RefusalReason.BAD_PRICE),
        ("equities", {"kind": "SL-M"}, RefusalReason.BAD_PRICE),
        ("equity_indices", {"product": "CNC"}, RefusalReason.NOT_TRADABLE),
        ("equities", {"product": "NRML"}, RefusalReason.NOT_TRADABLE),
        ("equity_index_futures", {"product": "CNC"}, RefusalReason.NOT_TRADABLE),
        ("equities", {"side": "SELL", "quantity": 1, "n": 100}, RefusalReason.NO_HOLDING),
    ],
)
def test_bad_orders_are_refused_before_they_have_an_id(floor, bare, changes, reason):
    changes = dict(changes)
    contract = floor.contract(bare, n=changes.pop("n", 0))
    before = floor.account().orders()
    assert refusal(lambda: floor.place(contract, **changes)) is reason
    assert floor.account().orders() == before


def test_a_contract_the_broker_does_not_list_is_unknown(make_floor):
    floor = make_floor(brokers=("zerodha", "angelone"))
    spice = floor.contract("commodity_futures", "ncdex")
    assert refusal(lambda: floor.place(spice, "BUY")) is RefusalReason.UNKNOWN_INSTRUMENT
    assert floor.place(spice, "BUY", broker="angelone").status is SimStatus.COMPLETE
    assert spice not in floor.account().contracts()


@pytest.mark.parametrize(
    ("bare", "make", "words"),
    [
        ("equity_index_futures", lambda c, last: {"quantity": c.freeze_quantity + c.lot_size}, "freeze"),
        ("equities", lambda c, last: {"kind": "LIMIT", "price": last * 2}, "circuit"),
        ("equities", lambda c, last: {"quantity": int(20_000_000 / last)}, "insufficient funds"),
    ],
)
def test_what_the_risk_system_finds_comes_back_as_a_rejected_order(floor, bare, make, words):
    contract = floor.contract(bare)
    order = floor.place(contract, "BUY", **make(contract, floor.last(contract)))
    assert order.status is SimStatus.REJECTED
    assert words in order.status_message
    assert order.exchange_order_id is None
    assert floor.account().orders()[-1] == order


def test_a_modified_order_loses_its_place_unless_it_only_shrinks(floor):
    share = floor.contract()
    price = floor.last(share)
    orders = [floor.place(share, "SELL", 5, "LIMIT", price=price, product="MIS") for _ in range(3)]
    account = floor.account()
    account.modify(orders[0].order_id, quantity=4)
    account.modify(orders[1].order_id, quantity=6)
    floor.place(share, "BUY", 11, "LIMIT", price=price, product="MIS", broker="upstox")
    assert [account.order(order.order_id).filled_quantity for order in orders] == [4, 2, 5]
    assert [account.order(order.order_id).modifications for order in orders] == [1, 1, 0]


def test_a_modified_price_that_crosses_trades_at_once(floor):
    share = floor.contract()
    last = floor.last(share)
    order = floor.place(share, "BUY", 1, "LIMIT", price=last - 20 * share.tick_size)
    done = floor.account().modify(order.order_id, order_type=OrderType.MARKET)
    assert (done.status, done.price) == (SimStatus.COMPLETE, None)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"quantity": 0}, RefusalReason.BAD_QUANTITY),
        ({"price": Decimal("100.03")}, RefusalReason.BAD_TICK),
        ({"price": Decimal(100_000)}, RefusalReason.PRICE_BAND),
        ({"quantity": 90_000}, RefusalReason.NO_MARGIN),
        ({"quantity": 900_000}, RefusalReason.FREEZE),
        ({"order_type": OrderType.SL}, RefusalReason.BAD_PRICE),
    ],
)
def test_a_bad_modification_is_refused_and_changes_nothing(floor, changes, reason):
    share = floor.contract()
    order = floor.place(share, "BUY", 1, "LIMIT", price=floor.last(share) - 20 * share.tick_size)
    assert refusal(lambda: floor.account().modify(order.order_id, **changes)) is reason
    assert floor.account().order(order.order_id) == order
    assert floor.account().market(share.instrument_id).buy[4].price > order.price


def test_a_modification_discloses_no_more_than_remains(floor):
    share = floor.contract()
    price = floor.last(share) - 20 * share.tick_size
    order = floor.place(share, "BUY", 100, "LIMIT", price=price, disclosed_quantity=30)
    floor.exchange.fill("zerodha", order.order_id, 60)
    change = partial(floor.account().modify, order.order_id)
    for changes in ({"disclosed_quantity": 41}, {"quantity": 80, "disclosed_quantity": 21}):
        with pytest.raises(SimRefusal, match="disclosed quantity must not exceed the remaining quantity") as refused:
            change(**changes)
        assert refused.value.reason is RefusalReason.BAD_QUANTITY
    assert (floor.account().order(order.order_id).quantity, change(disclosed_quantity=40).disclosed_quantity) == (
        100,
        40,
    )


def test_a_modification_to_ioc_cancels_what_does_not_match(floor):
    share = floor.contract()
    order = floor.place(share, "BUY", 1, "LIMIT", price=floor.last(share) - 20 * share.tick_size)
    assert floor.account().modify(order.order_id, validity=Validity.IOC).status is SimStatus.CANCELLED


def test_a_finished_order_can_neither_be_modified_nor_cancelled(floor):
    order = floor.place(floor.contract(), "BUY", 1)
    assert refusal(lambda: floor.account().cancel(order.order_id)) is RefusalReason.ORDER_FINISHED
    assert refusal(lambda: floor.account().modify(order.order_id, quantity=2)) is RefusalReason.ORDER_FINISHED
    assert refusal(lambda: floor.account().cancel("1")) is RefusalReason.UNKNOWN_ORDER


def test_a_cancelled_order_trades_no_more(floor):
    share = floor.contract()
    price = floor.last(share) - 10 * share.tick_size
    order = floor.place(share, "BUY", 1, "LIMIT", price=price)
    assert floor.account().cancel(order.order_id).status is SimStatus.CANCELLED
    floor.exchange.set_price(share.instrument_id, price - 10 * share.tick_size)
    assert floor.account().order(order.order_id).filled_quantity == 0


def test_order_ids_are_in_the_brokers_style_and_never_repeat(make_floor):
    floor = make_floor(brokers=("zerodha", "upstox", "dhan", "fyers", "fivepaisa", "shoonya"))
    share = floor.contract()
    for code in floor.exchange.brokers:
        ids = [floor.place(share, "BUY", 1, broker=code).order_id for _ in range(5)]
        floor.restart()
        ids.append(floor.place(share, "BUY", 1, broker=code).order_id)
        assert len(set(ids)) == 6
        assert all(order_id.isdigit() for order_id in ids)
    assert len(floor.account("zerodha").orders()[0].order_id) == 15


def test_listeners_hear_every_state_in_order_and_each_fill_once(floor):
    heard = []
    floor.exchange.listen("zerodha", lambda order, fill: heard.append((order, fill)))
    share = floor.contract()
    depth = floor.account().market(share.instrument_id).sell
    order = floor.place(share, "BUY", depth[0].quantity + depth[1].quantity)
    mine = [(state, fill) for state, fill in heard if state.order_id == order.order_id]
    assert [state.status for state, _ in mine] == [SimStatus.OPEN, SimStatus.OPEN, SimStatus.COMPLETE]
    assert [fill.quantity for _, fill in mine if fill] == [depth[0].quantity, depth[1].quantity]
    assert tuple(state for state, _ in mine) == floor.account().order_history(order.order_id)


def test_the_same_seed_gives_the_same_day(make_floor):
    def day(seed):
        floor = make_floor(seed=seed)
        share, future = floor.contract(), floor.contract("equity_index_futures")
        for n in range(20):
            floor.place(share, "BUY" if n % 3 else "SELL", 5 + n, product="MIS")
            floor.place(future, "SELL", None, "LIMIT", price=floor.last(future) + future.tick_size, broker="upstox")
            floor.steps(5)
        markets = [floor.account().market(each.instrument_id) for each in floor.account().contracts()]
        return floor.exchange.all_orders(), floor.exchange.ledger.fills(), markets

    assert day(1) == day(1)
    assert day(1)[2] != day(2)[2]


def test_a_price_does_not_depend_on_who_looked_before(make_floor):
    watched, unwatched = make_floor(), make_floor()
    share = watched.contract()
    for _ in range(200):
        watched.steps(1)
        watched.account().market(share.instrument_id)
    unwatched.moment = watched.moment
    one, other = (floor.account().market(share.instrument_id) for floor in (watched, unwatched))
    assert (one.last_price, one.volume, one.buy, one.sell) == (other.last_price, other.volume, other.buy, other.sell)
