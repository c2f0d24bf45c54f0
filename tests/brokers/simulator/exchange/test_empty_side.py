"""A book where nobody of the market bids or offers, also at the circuit limit."""

from datetime import timedelta

from onebroker.brokers.simulator.world.model import SimStatus
from onebroker.config.vocabulary import Side


def test_nobody_bids_for_a_time_and_then_somebody_does(floor):
    share, account = floor.contract(n=100), floor.account()
    floor.place(share, "BUY", 10)
    floor.exchange.empty_side(share.instrument_id, Side.BUY, 30)
    market = account.market(share.instrument_id)
    assert (market.buy, market.buy_quantity) == ((), 0)
    assert market.sell
    resting = floor.place(share, "SELL", 4, "LIMIT", price=floor.last(share) - 5 * share.tick_size)
    sold = floor.place(share, "SELL", 6)
    floor.steps(20)
    assert [account.order(each.order_id).filled_quantity for each in (resting, sold)] == [0, 0]
    assert account.order(sold.order_id).status is SimStatus.OPEN
    assert floor.place(share, "BUY", 1, product="MIS").status is SimStatus.COMPLETE
    floor.moment += 30
    floor.steps(1)
    assert account.market(share.instrument_id).buy
    floor.exchange.set_price(share.instrument_id, floor.last(share))
    floor.steps(20)
    assert account.order(resting.order_id).status is SimStatus.COMPLETE


def test_at_the_lower_circuit_nobody_bids_and_at_the_upper_nobody_offers(floor):
    share = floor.contract(n=100)
    for empty in Side:
        floor.exchange.circuit(share.instrument_id, empty, 60)
        market = floor.account().market(share.instrument_id)
        limit = market.lower_circuit if empty is Side.BUY else market.upper_circuit
        assert market.last_price == limit
        assert (market.buy if empty is Side.BUY else market.sell) == ()
        stuck = floor.place(share, empty.opposite, 3, "LIMIT", price=limit, product="MIS")
        floor.steps(10)
        assert floor.account().order(stuck.order_id).filled_quantity == 0
        floor.account().cancel(stuck.order_id)
        floor.at(floor.clock.now() + timedelta(seconds=61))
