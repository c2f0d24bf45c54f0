"""The day's result out of executed orders, where a broker's positions tell only what is open: by hand, and at ICICI Direct to the paisa."""

import contextlib
from datetime import datetime

from onebroker.actors.engine.books.day_results import DayResults
from onebroker.actors.engine.books.fresh_reads import read_soon
from onebroker.actors.engine.books.traded_results import (
    Sides,
    carried_in,
    day_result,
    out_of_holdings,
    result_paise,
    traded_today,
)
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.config.clock import IST
from tests.support.every_case import every_case
from tests.support.trading import Trading

NOW = datetime(2026, 11, 23, 11, 0, tzinfo=IST)


def order(side, quantity, price, **more):
    given = {
        "order_id": f"{side}-{quantity}-{price}", "status": "COMPLETE", "transaction_type": side, "product": "NRML",
        "order_type": "LIMIT", "validity": "DAY", "instrument_token": "F", "tradingsymbol": "F", "exchange": "NFO",
        "quantity": quantity, "filled_quantity": quantity, "average_price": price,
        "order_timestamp": "2026-11-23T09:26:00+05:30", **more,
    }  # fmt: skip
    return OrderRow(**given)


def position(quantity, product="NRML", token="F"):
    return PositionRow(
        position_key="F",
        view="net",
        product=product,
        instrument_token=token,
        tradingsymbol=token,
        exchange="NFO",
        quantity=quantity,
    )


@every_case(
    ("sides", "carried", "last", "close", "result"),
    [
        (Sides(bought=10, bought_paise=100_000, sold=10, sold_paise=90_001), 0, None, None, -9_999),
        (Sides(bought=10, bought_paise=100_000), 0, 99.5, None, -500),
        (Sides(bought=10, bought_paise=100_000), 0, None, None, None),
        (Sides(sold=10, sold_paise=100_000), 0, 101.0, None, -1_000),
        (Sides(sold=10, sold_paise=95_000), 10, None, 100.0, -5_000),  # all that was carried is closed
        (Sides(sold=10, sold_paise=95_000), 10, None, None, None),
        (Sides(sold=4, sold_paise=38_000), 10, 94.0, 100.0, -5_600),
        (Sides(sold=15, sold_paise=142_500), 10, 96.0, 100.0, -5_500),  # and turned
        (Sides(bought=10, bought_paise=105_000), -10, None, 100.0, -5_000),
    ],
)
def test_the_result_is_the_days_to_the_paisa_and_never_a_guess(sides, carried, last, close, result):
    assert result_paise(sides, carried, last=last, close=close) == result


def test_orders_are_added_up_by_instrument_and_delivery_apart():
    orders = [
        order("BUY", 75, 100.15), order("BUY", 25, 99.95), order("SELL", 100, 100.0), order("BUY", 5, 10.01, product="CNC"),
        order("BUY", 30, 50.0, filled_quantity=0, average_price=0.0), order("BUY", 9, 9.0, filled_quantity=4, status="OPEN"),
        order("SELL", 8, 8.0, order_timestamp="2026-11-20T09:26:00+05:30"),
    ]  # fmt: skip
    assert traded_today(orders, NOW) == {
        ("F", False): Sides(bought=104, bought_paise=751_125 + 249_875 + 3_600, sold=100, sold_paise=1_000_000),
        ("F", True): Sides(bought=5, bought_paise=5_005),
    }


@every_case("more", [{"average_price": 0.0}, {"contract_units": None}, {"transaction_type": "NA"}])
def test_what_an_order_does_not_say_is_not_known(more):
    assert traded_today([order("BUY", 10, 1.0), order("SELL", 5, 2.0, **more)], NOW) is None


def test_what_was_carried_in_is_what_the_days_trades_do_not_explain():
    traded = traded_today([order("BUY", 10, 1.0), order("SELL", 4, 1.0), order("SELL", 7, 1.0, product="CNC")], NOW)
    sold = position(-7, "CNC")
    assert carried_in([position(6), sold], traded) == {}
    assert carried_in([position(2, "MIS"), position(-6), sold], traded) == {("F", False): -10}
    assert carried_in([sold], traded) == {("F", False): -6}
    others = [position(3, token="G"), position(5, "CNC", "H"), position(-5, "CNC", "I")]
    assert carried_in([position(6), sold, *others], traded) == {("G", False): 3, ("H", True): 5}
    assert carried_in([position(None)], traded) is None
    assert out_of_holdings(traded["F", True]) == 7
    assert carried_in([position(6), position(-4, "CNC")], traded) == {("F", True): 3}
    assert out_of_holdings(traded["F", True], 3) == 4


@every_case(
    ("sides", "carried", "realized"),
    [
        (Sides(bought=10, bought_paise=100_000), 0, 0),
        (Sides(bought=10, bought_paise=100_000, sold=10, sold_paise=90_001), 0, -9_999),
        (Sides(bought=10, bought_paise=100_000, sold=4, sold_paise=40_000), 0, None),
        (Sides(), 10, 0),
        (Sides(bought=5, bought_paise=50_000), 10, 0),
        (Sides(sold=4, sold_paise=38_000), 10, None),
        (Sides(sold=10, sold_paise=95_000), 10, -5_000),
        (Sides(sold=5, sold_paise=50_000), -10, 0),
        (Sides(bought=15, bought_paise=142_500), -10, None),
    ],
)
def test_what_is_realized_is_told_where_nothing_was_closed_or_nothing_is_left(sides, carried, realized):
    assert day_result(sides, carried, last=100.0, close=100.0).realized_paise == realized


CODE = "icicidirect"


@contextlib.asynccontextmanager
async def at_icici(day):
    """A day at ICICI Direct on which the prices of what the account holds already stand still."""
    day.__init__(brokers=("zerodha", CODE), number=150)
    async with day.market(), day.service(quotes=True):
        for one in day.exchange.account(CODE).positions():
            day.simulator.set_price(
                one.instrument_id, day.exchange.market(one.instrument_id).last_price, hold_seconds=86_400
            )
        future = min(day.listed("nse_equity_index_futures"), key=lambda one: one.identity.fields()["expiry_date"])
        yield Trading(day, instrument=future)


def results_of(day):
    context = day.engine_context
    return DayResults(
        sessions=context.sessions, catalogue=context.catalogue, quotes=context.quotes, clock=context.clock
    )


async def trade(trading, side, units, product="NRML"):
    sent = await trading.send(transaction_type=side, quantity=units, product=product, broker=CODE)
    assert sent.status == 200, sent
    await trading.until(sent, "completed")


def traded_paise(day, instrument):
    """Return what the exchange says was sold, less what was bought, of an instrument, and the units that are left of it."""
    fills = [fill for fill in day.exchange.account(CODE).fills() if fill.instrument_id == instrument.instrument_id]
    signed = [(1 if fill.side == "BUY" else -1) * fill.quantity for fill in fills]
    return round(-sum(units * fill.price * 100 for units, fill in zip(signed, fills, strict=True))), sum(signed)


async def known(day, results):
    """Return the result once it is known, of positions that were read now."""
    handle, began = day.sessions[CODE], day.clock.monotonic()
    read_soon(handle, "positions")
    await day.until(lambda: handle.view.value.positions_read_started >= began and results.of(CODE) is not None, 120)
    return results.of(CODE).paise


async def test_a_loss_that_was_realized_stays_in_the_days_result(day, autojump_clock):
    async with at_icici(day) as trading:
        results, lot = results_of(day), trading.share.lot_size
        before = await known(day, results)
        await trade(trading, "BUY", lot)
        await trading.move(-2)
        await trade(trading, "SELL", lot)
        lost, left = traded_paise(day, trading.share)
        assert (lost < -lot * 100, left) == (True, 0)
        assert await known(day, results) - before == lost
        await trading.move(3)
        assert await known(day, results) - before == lost, "nothing of it is open"
        assert await known(day, results_of(day)) - before == lost, "a watch that begins anew knows it too"


async def test_what_is_open_counts_beside_what_was_realized(day, autojump_clock):
    async with at_icici(day) as trading:
        results, lot = results_of(day), trading.share.lot_size
        before = await known(day, results)
        await trade(trading, "SELL", 3 * lot)
        await trading.move(1)
        await trade(trading, "BUY", lot)
        await trading.move(2)
        taken, left = traded_paise(day, trading.share)
        assert left == -2 * lot
        assert await known(day, results) - before == taken + round(left * trading.at(2) * 100)


async def test_what_is_sold_out_of_the_holdings_counts_from_the_previous_close(day, autojump_clock):
    async with at_icici(day) as _:
        results = results_of(day)
        before = await known(day, results)
        held = next(
            one
            for one in day.exchange.account(CODE).holdings()
            if day.exchange.account(CODE).sellable(one.instrument_id) >= 2
        )
        share = next(one for one in day.listed("nse_equities") if one.instrument_id == held.instrument_id)
        shares = Trading(day, instrument=share)
        await shares.move(-2)
        await trade(shares, "SELL", 2, "CNC")
        sold, left = traded_paise(day, share)
        assert left == -2
        close = day.exchange.market(share.instrument_id).previous_close
        assert await known(day, results) - before == sold - round(2 * close * 100)
