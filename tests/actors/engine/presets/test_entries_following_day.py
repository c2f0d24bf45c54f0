"""Types that are priced by a book, by another instrument or by the account, over the whole way, on the exchange's ledger (order-engine 3,
6.1, 6.11, 6.14)."""

from decimal import Decimal as D

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.entry_days import LIMIT, quoted, said, serving, settled
from tests.support.trading import Trading

# --- limits that follow -----------------------------------------------------------------------------------------------------------


async def test_a_peg_follows_its_touch_and_a_caller_ends_it(trading, autojump_clock):
    bid, _ = await settled(trading)
    answer = await trading.send(synthetic={"type": "peg"})
    assert said(trading) == [("place", "BUY", 10, bid)]
    await trading.move(1)
    bid, _ = await settled(trading)
    await trading.day.until(lambda: said(trading)[-1] == ("modify", "BUY", None, bid))
    await trading.day.stop(answer.body["parent_id"])
    await trading.until(answer, "cancelled")
    assert said(trading)[-1] == ("cancel", "BUY", None, None)
    assert {message[0] for message in said(trading)[1:-1]} == {"modify"}


async def test_a_peg_that_rests_at_its_cap_stays_where_a_caller_puts_it(trading, autojump_clock):
    bid, _ = await settled(trading)
    cap, own = bid - 20 * trading.tick, bid - 120 * trading.tick
    answer = await trading.send(synthetic={"type": "peg", "cap_price": cap})
    assert said(trading) == [("place", "BUY", 10, cap)]
    order_id = answer.body["legs"][0]["order_id"] if "legs" in answer.body else answer.body["order_id"]
    changed = await trading.day.modify(order_id, price=own)
    assert (changed.status, changed.body["outcome"]) == (200, "accepted")
    await trio.sleep(10)
    resting = next(one for one in trading.day.ledger()["orders"] if one["order_id"] == order_id)
    assert (D(resting["price"]), len(said(trading))) == (own, 2)


async def test_a_peg_that_only_the_book_shows_follows_its_touch_all_the_same(trading, autojump_clock):
    """The book says what the answer said: nothing is new in it but that the order can be moved now."""
    bid, _ = await settled(trading)
    trading.day.simulator.faults.add("all", FaultKind.STALL_STREAM, seconds=4)
    await trading.send(synthetic={"type": "peg"})
    assert said(trading) == [("place", "BUY", 10, bid)]
    await trio.sleep(6)
    await trading.move(1)
    bid, _ = await settled(trading)
    await trading.day.until(lambda: said(trading)[-1] == ("modify", "BUY", None, bid))


async def test_a_chaser_steps_until_it_is_filled(trading, autojump_clock):
    _, offer = await settled(trading)
    start = offer - 4 * trading.tick
    answer = await trading.send(synthetic={"type": "chaser", "step_ticks": 2, "step_seconds": 2}, **LIMIT, price=start)
    await trading.until(answer, "completed")
    assert said(trading) == [
        ("place", "BUY", 10, start), ("modify", "BUY", None, start + 2 * trading.tick), ("modify", "BUY", None, offer),
    ]  # fmt: skip


async def test_discretion_takes_what_is_offered_a_little_worse(trading, autojump_clock):
    _, offer = await settled(trading)
    shown = offer - 4 * trading.tick
    settings = {"type": "discretionary", "discretion_points": 4 * trading.tick, "discretion_quantity": 4}
    answer = await trading.send(synthetic=settings, **LIMIT, price=shown)
    assert answer.status == 200, answer
    await trading.until_messages(3)
    await trio.sleep(6)
    orders = [message[:4] for message in said(trading)]
    assert orders[0] == ("place", "BUY", 10, shown)
    assert orders[1][:3] == ("modify", "BUY", 6)
    assert orders[2] == ("place", "BUY", 4, offer)
    assert (await trading.parent(answer))["parameters"]["parts"]["root"]["filled_quantity"] == 4
    assert len(orders) == 3


async def test_an_underlying_peg_follows_the_other_instrument(trading, autojump_clock):
    other = Trading(trading.day, 1)
    await quoted(other)
    low = trading.at(-4)
    settings = {
        "type": "underlying_peg",
        "watch_instrument_id": other.share.instrument_id,
        "delta": -1,
        "lowest_price": trading.at(-4.1),
    }
    answer = await trading.send(synthetic=settings, **LIMIT, price=low)
    assert answer.status == 200, answer
    moved = other.start - other.at(-0.05)
    await other.move(-0.05)
    await trading.until_messages(2)
    await trio.sleep(2)
    await other.move(5)
    await trading.until_messages(3)
    assert said(trading) == [
        ("place", "BUY", 10, low), ("modify", "BUY", None, low + moved), ("modify", "BUY", None, trading.at(-4.1)),
    ]  # fmt: skip


async def test_an_option_s_limit_is_worked_out_from_its_volatility(trading, autojump_clock):
    day = trading.day
    option = next(one for one in day.listed("nse_equity_options") if one.identity.expiry_date > "2026-11-26")
    future = next(
        one
        for one in day.listed("nse_equity_futures")
        if one.identity.underlying_symbol == option.identity.underlying_symbol
    )
    body = {
        "instrument_id": option.instrument_id, "product": "NRML", "quantity": option.lot_size, **LIMIT, "price": option.tick_size * 20,
    }  # fmt: skip
    answer = await trading.send(
        synthetic={"type": "volatility", "watch_instrument_id": future.instrument_id, "volatility": 30}, **body
    )
    assert (answer.status, answer.body["outcome"]) == (200, "accepted"), answer
    ((verb, side, units, price, _),) = said(trading)
    assert (verb, side, units) == ("place", "BUY", option.lot_size)
    assert 0 < price <= D(repr(option.tick_size)) * 20


async def test_a_dry_run_says_that_an_option_is_priced_from_a_spot(trading, autojump_clock):
    day = trading.day
    option = next(one for one in day.listed("nse_equity_options") if one.identity.expiry_date > "2026-11-26")
    name = option.identity.underlying_symbol
    future = next(one for one in day.listed("nse_equity_futures") if one.identity.underlying_symbol == name)
    share = next(one for one in day.listed("nse_equities") if one.identity.symbol == name)
    for watched, warned in ((future, False), (share, True)):
        answer = await trading.send(
            instrument_id=option.instrument_id, product="NRML", quantity=option.lot_size, **LIMIT, price=option.tick_size * 20,
            synthetic={"type": "volatility", "watch_instrument_id": watched.instrument_id, "volatility": 30}, dry_run=True,
        )  # fmt: skip
        assert answer.status == 200, answer
        assert ("the watched instrument is no future" in str(answer.body.get("warnings"))) is warned


# --- the account, two instruments ---------------------------------------------------------------------------------------------


async def test_an_account_figure_releases_an_order(day_kind, autojump_clock):
    day = day_kind()
    async with serving(day, funds=True) as trading:
        await day.until(lambda: day.funds.value is not None and day.funds.value.usable_brokers)
        settings = {"type": "account_conditional", "watch_field": "margin_utilized", "trigger_level": 1_000_000_000}
        answer = await trading.send(synthetic=settings)
        assert (answer.status, answer.body["trigger_direction"], answer.body["trigger_level"]) == (
            202,
            "above",
            1_000_000_000,
        ), answer
        fires = await trading.send(synthetic={**settings, "trigger_level": 0, "trigger_direction": "above"})
        assert (fires.status, fires.body["outcome"]) == (202, "armed")  # true already: it fires on the look after
        await trading.until(fires, "completed")
        assert [message[:3] for message in said(trading)] == [("place", "BUY", 10)]


async def test_without_account_figures_no_direction_can_be_taken(trading, autojump_clock):
    settings = {"type": "account_conditional", "watch_field": "day_pnl", "trigger_level": -500}
    answer = await trading.send(synthetic=settings)
    assert (answer.status, answer.body["error"]) == (
        503, "the account figures are not available, so a direction could not be taken",
    )  # fmt: skip
    assert (await trading.send(synthetic={**settings, "trigger_direction": "below"})).status == 202


async def test_every_fill_is_hedged_in_the_other_instrument(trading, autojump_clock):
    other = Trading(trading.day, 1)
    await quoted(other)
    settings = {"type": "attached_hedge", "hedge_instrument_id": other.share.instrument_id, "hedge_ratio": 0.5}
    answer = await trading.send(synthetic=settings)
    assert answer.status == 200, answer
    await trading.until(answer, "completed")
    assert [(*message[:3], *message[4:]) for message in said(trading)] == [
        ("place", "BUY", 10),
        ("place", "SELL", 5, 2),
    ]


async def test_a_refused_hedge_says_what_is_unhedged_and_the_entry_stays(trading, autojump_clock):
    other = Trading(trading.day, 1)
    await quoted(other)
    settings = {"type": "attached_hedge", "hedge_instrument_id": other.share.instrument_id, "hedge_ratio": 1}
    answer = await trading.send(synthetic=settings, **LIMIT, price=trading.at(-1))
    assert answer.status == 200, answer
    trading.day.simulator.fault("all", FaultKind.REJECT_ORDERS)
    await trading.move(-2)
    parent = await trading.until(answer, "failed")
    assert parent["status_message"] == "10 units are unhedged"
    assert [message[0] for message in said(trading)] == ["place", "place"]


async def test_a_spread_takes_the_second_at_each_fill_of_the_first(trading, autojump_clock):
    other = Trading(trading.day, 1)
    await settled(other)
    # The net is easy to make: the first leg crosses at once, at its worst price.
    settings = {"type": "legged_spread", "second_instrument_id": other.share.instrument_id, "net_price": trading.at(5)}
    answer = await trading.send(synthetic=settings, **LIMIT, price=trading.at(1))
    assert answer.status == 200, answer
    await trading.until(answer, "completed")
    assert [(*message[:3], *message[4:]) for message in said(trading)] == [
        ("place", "BUY", 10),
        ("place", "SELL", 10, 2),
    ]
    assert said(trading)[0][3] == trading.at(1)


# --- marketable_limit, virtual_limit ---------------------------------------------------------------------------------------------


async def test_what_a_marketable_limit_leaves_is_cancelled_in_time(trading, autojump_clock):
    await settled(trading)
    tick = await quoted(trading)
    first, second = tick.sell[0], tick.sell[1]
    assert second.price > first.price
    settings = {
        "type": "marketable_limit",
        "buffer_ticks": 0,
        "fill_within_seconds": 4,
    }  # it reaches the first level alone
    answer = await trading.send(quantity=first.quantity + 50, synthetic=settings)
    assert answer.status == 200, answer
    sent = trading.day.clock.now()
    assert said(trading) == [("place", "BUY", first.quantity + 50, D(repr(first.price)))]
    trading.moved(1)  # the market runs away from the rest
    parent = await trading.until(answer, "expired")
    assert 4 <= (trading.day.clock.now() - sent).total_seconds() < 6
    assert said(trading)[1:] == [("cancel", "BUY", None, None)]
    assert 0 < parent["legs"][0]["filled_quantity"] < first.quantity + 50


async def test_a_virtual_limit_that_is_reached_already_is_sent_at_once(trading, autojump_clock):
    await settled(trading)
    answer = await trading.send(synthetic={"type": "virtual_limit"}, **LIMIT, price=trading.at(1))
    assert (answer.status, answer.body["outcome"]) == (200, "accepted"), answer
    await trading.until(answer, "completed")
    assert said(trading) == [("place", "BUY", 10, trading.at(1))]


@pytest.mark.parametrize("kind", ["virtual_limit", "limit_if_touched"])
async def test_a_restart_forgets_nothing_of_what_waits(day_kind, autojump_clock, kind):
    day = day_kind()
    async with serving(day) as trading:
        settings = {"trigger_price": trading.at(-2)} if kind == "limit_if_touched" else {}
        answer = await trading.send(synthetic={"type": kind, **settings}, **LIMIT, price=trading.at(-2))
        assert answer.status == 202, answer
    async with serving(day) as later:
        later.start = trading.start
        await later.move(0)
        await later.move(-2)
        await later.until(answer, "completed")
        assert said(later) == [("place", "BUY", 10, later.at(-2))]
