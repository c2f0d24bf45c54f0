"""Futures and options sold: brokers say what the order needs before one of them gets it (order-engine 4.1). The ledger says who did."""

from decimal import Decimal

import pytest
import trio

from onebroker.brokers.requests import WireResponse

TWO = ("zerodha", "icicidirect")
"""Zerodha is the cheaper for futures."""


def future(day):
    return next(
        one
        for one in day.listed("nse_equity_index_futures")
        if all(listing.contract_units for listing in one.listings.values())
    )


def order(day, one, **changes):
    """A limit order far below the market, so that it rests."""
    market = day.exchange.account(day.codes[0]).market(one.instrument_id)
    contract = day.exchange.account(day.codes[0]).contract(one.instrument_id)
    price = market.lower_circuit + 10 * contract.tick_size
    return day.body(one, **{"product": "NRML", "quantity": contract.lot_size, "price": price, **changes})


def poor(day, code):
    """Take nearly all of its money from an account at the exchange, and from the positions that bind it."""
    state = day.exchange.account(code).state
    state.cash = Decimal(1000)


async def ready(day):
    """Until the funds document shows what the exchange says."""
    await day.until(
        lambda: (
            day.funds.value is not None
            and len([read for read in day.funds.value.reads if read.usable]) == len(day.codes)
        )
    )
    await trio.sleep(30)


@pytest.fixture
async def asking(day_kind, autojump_clock):
    """A day that remembers when brokers were asked for margins, and may answer slowly, or otherwise."""

    class Asking(day_kind):
        delay, instead = 0.0, None

        def open_transport(self):
            transport = super().open_transport()
            send, self.asked = transport.send, []

            async def noted(request, timeout_seconds):
                if "/margins/orders" not in request.url:
                    return await send(request, timeout_seconds)
                self.asked.append(trio.current_time())
                await trio.sleep(self.delay)
                return self.instead or await send(request, timeout_seconds)

            transport.send = noted
            return transport

    with trio.fail_after(86_400):
        yield Asking(brokers=TWO)


async def test_the_broker_that_has_the_money_gets_the_order(asking, autojump_clock):
    day = asking
    async with day.market(), day.service(funds=True):
        poor(day, "zerodha")
        await ready(day)
        one = future(day)
        answer = await day.place(order(day, one))
        assert answer.status == 200, answer.body
        (sent,) = day.messages("place")
        assert sent["broker"] == "icicidirect"
        (skip,) = answer.body["skipped"]
        assert skip["broker"] == "zerodha"
        assert "available and the order needs about" in skip["reason"]


async def test_a_dry_run_names_the_same_broker_and_asks_every_two_minutes(asking, autojump_clock):
    day = asking
    async with day.market(), day.service(funds=True):
        poor(day, "zerodha")
        await ready(day)
        one = future(day)
        for _ in range(3):
            answer = await day.place(order(day, one), dry_run=True)
            assert (answer.status, answer.body["broker"]) == (200, "icicidirect")
        assert len(day.asked) == 1
        await trio.sleep(125)
        assert (await day.place(order(day, one), dry_run=True)).body["broker"] == "icicidirect"
        await trio.sleep(1)
        assert len(day.asked) == 2
        assert day.messages("place") == []


async def test_an_older_figure_counts_while_it_is_asked_for_anew(asking, autojump_clock):
    day = asking
    async with day.market(), day.service(funds=True):
        await ready(day)
        one = future(day)
        assert (await day.place(order(day, one), dry_run=True)).body["broker"] == "zerodha"
        day.delay = 5.0
        await trio.sleep(70)
        began = trio.current_time()
        assert (await day.place(order(day, one), dry_run=True)).body["broker"] == "zerodha"
        assert trio.current_time() - began < 0.1
        await day.until(lambda: len(day.asked) == 2)


async def test_nobody_with_the_money_is_said_and_nothing_is_sent(asking, autojump_clock):
    day = asking
    day.codes = ("zerodha",)
    async with day.market(), day.service(funds=True):
        poor(day, "zerodha")
        await ready(day)
        answer = await day.place(order(day, future(day)))
        assert answer.status == 503
        assert "available and the order needs about" in str(answer.body["skipped"])
        assert day.messages("place") == []


@pytest.mark.parametrize("said", [WireResponse(status=500), WireResponse(status=200, body=b"{}")])
async def test_a_broker_that_gives_no_figure_gets_the_order_and_answers_for_itself(asking, said, autojump_clock):
    day = asking
    day.codes = ("zerodha",)
    async with day.market(), day.service(funds=True):
        poor(day, "zerodha")
        await ready(day)
        day.instead = said
        await day.place(order(day, future(day)))
        assert len(day.messages("place")) == 1


async def test_a_broker_that_is_slow_to_say_holds_the_order_up_for_less_than_a_second(asking, autojump_clock):
    day = asking
    day.codes = ("zerodha",)
    async with day.market(), day.service(funds=True):
        await ready(day)
        day.delay = 2.5
        began = trio.current_time()
        assert (await day.place(order(day, future(day)))).status == 200
        assert trio.current_time() - began < 1.0
        await trio.sleep(3)
        poor(day, "zerodha")
        await trio.sleep(30)
        answer = await day.place(order(day, future(day)), intent_id="i-2")
        assert answer.status == 503  # the figure has come meanwhile
        assert len(day.asked) == 1


async def test_what_takes_away_from_a_position_asks_nobody(asking, autojump_clock):
    day = asking
    day.codes = ("zerodha",)
    async with day.market(), day.service(funds=True):
        await ready(day)
        one = future(day)
        quantity = order(day, one).quantity
        assert (await day.place(order(day, one, order_type="MARKET", price=None))).status == 200
        await day.until(lambda: any(row.quantity == quantity for row in day.sessions["zerodha"].view.value.positions))
        asked = len(day.asked)
        answer = await day.place(
            order(day, one, order_type="MARKET", price=None, transaction_type="SELL"), intent_id="i-2"
        )
        assert answer.status == 200
        assert len(day.asked) == asked
