"""Money and units are conserved: every fill has its other side, positions are sums of fills, cash moves by fills alone."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.simulator.world.model import SimRefusal
from onebroker.config.vocabulary import Product, Side

CRORE = Decimal(10_000_000)

kinds = ("equities", "equity_index_futures", "equity_index_options", "commodity_futures", "currency_futures")
actions = st.lists(
    st.tuples(
        st.sampled_from(["zerodha", "upstox"]),
        st.sampled_from(["place", "place", "place", "cancel", "modify", "step", "price"]),
        st.integers(0, 4),
        st.sampled_from(["BUY", "SELL"]),
        st.integers(1, 40),
        st.integers(-6, 6),
    ),
    min_size=5,
    max_size=40,
)


def play(floor, rows):
    contracts = [floor.contract(bare, "mcx" if "commodity" in bare else "nse") for bare in kinds]
    for code, verb, n, side, lots, offset in rows:
        contract, account = contracts[n], floor.account(code)
        last = floor.last(contract)
        try:
            if verb == "place":
                price = max(contract.tick_size, last + offset * contract.tick_size)
                kind = "MARKET" if offset == 0 else "LIMIT"
                product = ("CNC", "MIS")[lots % 2] if n == 0 else ("NRML", "MIS")[lots % 2]
                floor.place(
                    contract, side, lots * contract.lot_size, kind, broker=code, product=product,
                    price=None if offset == 0 else price,
                )  # fmt: skip
            elif verb == "cancel" and account.orders():
                account.cancel(account.orders()[lots % len(account.orders())].order_id)
            elif verb == "modify" and account.orders():
                order = account.orders()[lots % len(account.orders())]
                account.modify(order.order_id, quantity=order.quantity * 2)
            elif verb == "step":
                floor.steps(lots)
            else:
                floor.exchange.set_price(
                    contract.instrument_id, max(contract.tick_size, last + offset * contract.tick_size)
                )
        except SimRefusal:
            pass


def check_units(floor):
    fills = floor.exchange.ledger.fills()
    for fill in fills:
        if fill.counterparty != "market":
            twins = [each for each in fills if each.trade_id == fill.trade_id]
            assert len(twins) == 2
            assert {each.side for each in twins} == set(Side)
            assert len({(each.quantity, each.price, each.instrument_id) for each in twins}) == 1
    for code in floor.exchange.brokers:
        account = floor.account(code)
        by_order = Counter()
        values = Counter()
        for fill in account.fills():
            by_order[fill.order_id] += fill.quantity
            values[fill.order_id] += fill.price * fill.quantity
        for order in account.orders():
            assert order.filled_quantity == by_order[order.order_id] <= order.quantity
            assert order.filled_value == values[order.order_id]
            assert order.filled_quantity + order.pending_quantity + order.cancelled_quantity == order.quantity or (
                order.status.value == "rejected"
            )
        for position in account.positions():
            mine = [
                fill
                for fill in account.fills()
                if (fill.instrument_id, fill.product) == (position.instrument_id, position.product)
            ]
            assert position.day_buy_quantity == sum(f.quantity for f in mine if f.side is Side.BUY)
            assert position.day_sell_value == sum(f.quantity * f.price for f in mine if f.side is Side.SELL)


def worth(floor, account):
    """Cash if everything were closed at the last prices: opening cash and every fill's money, marked to market."""
    total = account.state.cash
    for position in account.positions():
        contract = floor.exchange.contract(position.instrument_id)
        mark = floor.last(contract)
        carried = position.overnight_quantity
        total += position.day_sell_value - position.day_buy_value + position.quantity * mark
        if not contract.bare.endswith("options"):
            total -= carried * position.overnight_price
    return total


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=actions)
def test_units_and_rupees_are_conserved_whatever_is_traded(make_floor, rows):
    floor = make_floor(number=80)
    play(floor, rows)
    check_units(floor)
    for code in floor.exchange.brokers:
        account = floor.account(code)
        funds = account.funds()
        assert funds.available == funds.opening_cash + funds.collateral + funds.realized - funds.used
        for order in [order for order in account.orders() if not order.status.finished]:
            account.cancel(order.order_id)
        funds = account.funds()
        # Without open orders nothing but margin separates what may be used from what was paid and received.
        paid = sum(
            (each.day_buy_value - each.day_sell_value)
            for each in account.positions()
            if each.product is Product.CNC or floor.exchange.contract(each.instrument_id).bare.endswith("options")
        )
        assert funds.delivery + funds.option_premium - _option_profit(floor, account) == paid


def _option_profit(floor, account):
    from onebroker.brokers.simulator.exchange.risk import realized

    options = [
        each
        for each in account.positions()
        if floor.exchange.contract(each.instrument_id).bare.endswith("options") and each.product is not Product.CNC
    ]
    return sum((realized(each) for each in options), Decimal(0))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=actions)
def test_a_new_day_settles_exactly_what_the_old_one_traded(make_floor, rows):
    floor = make_floor(number=80)
    play(floor, rows)
    floor.at(floor.clock.now().replace(hour=23, minute=59, second=59, microsecond=0))
    floor.at((floor.clock.now() + timedelta(days=1)).replace(hour=6, minute=59, second=59))
    before = {code: _settling(floor, floor.account(code)) for code in floor.exchange.brokers}
    demat = {code: _shares(floor.account(code)) for code in floor.exchange.brokers}
    floor.at(floor.clock.now().replace(hour=7, minute=0, second=0))
    for code in floor.exchange.brokers:
        account = floor.account(code)
        assert account.state.cash == before[code]
        assert _shares(account) == demat[code]
        assert all(position.day_buy_quantity == position.day_sell_quantity == 0 for position in account.positions())
        assert not [position for position in account.positions() if position.product is not Product.NRML]
        assert account.fills() == ()


def _settling(floor, account):
    """Opening cash, every fill's money, and futures marked at the close of the day before."""
    total = account.state.cash
    for position in account.positions():
        contract = floor.exchange.contract(position.instrument_id)
        total += position.day_sell_value - position.day_buy_value
        if contract.bare.endswith("futures"):
            close = floor.account().market(position.instrument_id).previous_close
            total += position.quantity * close - position.overnight_quantity * position.overnight_price
    return total


def _shares(account):
    """Units in the demat account and on their way into or out of it."""
    units = Counter({held.instrument_id: held.total_quantity for held in account.holdings()})
    for position in account.positions():
        if position.product is Product.CNC:
            units[position.instrument_id] += position.quantity
    return +units


def test_every_account_starts_with_one_crore_free_and_what_is_promised(make_floor):
    from onebroker.brokers.simulator.world.broker_traits import BROKERS

    floor = make_floor(brokers=tuple(BROKERS))
    held = []
    for code in BROKERS:
        account = floor.account(code)
        assert account.funds().available == CRORE
        holdings = account.holdings()
        assert len(holdings) == 8
        assert len([each for each in holdings if each.t1_quantity]) == 1
        assert len([each for each in holdings if each.collateral_quantity]) == 1
        held.append({floor.exchange.contract(each.instrument_id).isin for each in holdings})
        carried = [each for each in account.positions() if each.overnight_quantity]
        product = Product.MIS if BROKERS[code].intraday else Product.CNC
        today = [each for each in account.positions() if each.product is product]
        assert sorted(each.overnight_quantity > 0 for each in carried) == [False, True]
        assert len(today) == 1
        assert today[0].quantity != 0
        assert [fill.instrument_id for fill in account.fills()] == [today[0].instrument_id]
    assert len(set.intersection(*held)) == 3


def test_margin_moves_with_orders_and_positions(floor):
    future = floor.contract("equity_index_futures")
    account = floor.account()
    last = floor.last(future)
    price = last - 20 * future.tick_size
    order = floor.place(future, "BUY", None, "LIMIT", price=price)
    blocked = CRORE - account.funds().available
    assert blocked == price * future.lot_size * Decimal("0.20")
    account.cancel(order.order_id)
    assert account.funds().available == CRORE
    floor.place(future, "BUY")
    held = account.funds()
    assert held.available < CRORE
    closing = floor.place(future, "SELL", None, "LIMIT", price=last + 40 * future.tick_size)
    assert account.funds().available == held.available
    account.cancel(closing.order_id)
    floor.place(future, "SELL")
    done = account.funds()
    assert done.available == CRORE + done.realized
    assert done.realized < 0


def test_shares_bought_today_may_be_sold_today_and_no_more_than_held(floor):
    share = floor.contract(n=100)
    floor.place(share, "BUY", 10)
    assert floor.account().sellable(share.instrument_id) == 10
    resting = floor.place(share, "SELL", 6, "LIMIT", price=floor.last(share) + 30 * share.tick_size)
    assert floor.account().sellable(share.instrument_id) == 4
    floor.account().cancel(resting.order_id)
    floor.place(share, "SELL", 10)
    assert floor.account().sellable(share.instrument_id) == 0


def test_bought_shares_become_t1_and_then_settle(floor):
    share = floor.contract(n=100)
    floor.place(share, "BUY", 10)

    def held():
        return next(each for each in floor.account().holdings() if each.instrument_id == share.instrument_id)

    floor.at(floor.clock.now() + timedelta(days=1))
    assert (held().t1_quantity, held().settled_quantity) == (10, 0)
    floor.at(floor.clock.now() + timedelta(days=1))
    assert (held().t1_quantity, held().settled_quantity) == (0, 10)


def test_worth_is_unmoved_by_a_trade_at_the_last_price(floor):
    share = floor.contract()
    before = worth(floor, floor.account())
    floor.place(share, "SELL", 3, "LIMIT", price=floor.last(share), product="MIS", broker="upstox")
    floor.place(share, "BUY", 3, "LIMIT", price=floor.last(share))
    assert worth(floor, floor.account()) == before
