"""A `daily_stop` whose service was away over the close, so that nobody knows what its order of the day filled last: in the morning each holder has its stop
again (order-engine 1.13, K15). Judged on the exchange's ledger."""

import contextlib

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.entry_days import REAL, at
from tests.support.trading import Trading

SHARE, FUTURE = "share", "future"


class Evening:
    """A `daily_stop` over units at upstox and zerodha, placed on a Wednesday afternoon. `away`: the service ends before the close."""

    def __init__(self, day, kind, *, away):
        self.day, self.kind, self.away = day, kind, away

    async def until(self, moment):
        await trio.sleep(max(0.0, (at(f"2026-11-{moment}") - self.day.clock.now()).total_seconds()))

    async def play(self, holders):
        async with self.day.market():
            async with self.day.service(quotes=True):
                self.trading = trading = Trading(self.day, instrument=self.instrument())
                await trading.move(0)
                into, out, sign = ("BUY", "SELL", 1) if self.kind == SHARE else ("SELL", "BUY", -1)
                product = "CNC" if self.kind == SHARE else "NRML"
                for code, units in holders.items():
                    body = {"transaction_type": into, "quantity": units, "product": product, "broker": code}
                    await trading.send(order_type="LIMIT", price=trading.at(sign), **body)
                    await trio.sleep(15)
                levels = {"stop_price": trading.at(-3 * sign), "stop_limit_price": trading.at(-5 * sign)}
                pinned = {"broker": "upstox"} if len(holders) == 1 else {}
                self.answer = await trading.send(
                    transaction_type=out, product=product, quantity=sum(holders.values()), **pinned,
                    synthetic={"type": "daily_stop", **levels},
                )  # fmt: skip
                await trio.sleep(15)
                assert self.stops() == sorted(holders.items())
                if not self.away:
                    await self.until("25T15:45:00")
            await self.until("25T15:45:00")
        await self.until("26T09:05:00")

    def instrument(self):
        if self.kind == SHARE:
            return self.day.equity()
        futures = self.day.listed("nse_equity_index_futures")
        return min((one for one in futures if str(one.identity.expiry_date) > "2026-12-01"), key=lambda one: str(one.identity.expiry_date))  # fmt: skip

    @contextlib.asynccontextmanager
    async def morning(self):
        async with self.day.market():
            self.trading.moved(0)
            await self.until("26T09:15:05")
            async with self.day.service(quotes=True, log_in=False):
                await self.day.log_in("upstox")
                self.trading.quotes = self.day.quotes.follow([self.trading.share.instrument_id])
                yield

    def stops(self):
        orders = self.day.exchange.all_orders()
        return sorted((one.broker, one.pending_quantity) for one in orders if not one.status.finished)

    def sent_today(self):
        return sorted((one["broker"], one["quantity"]) for one in self.day.messages("place") if one["at"][8:10] == "26")


@pytest.mark.parametrize("away", [True, False])
@pytest.mark.parametrize("kind", [SHARE, FUTURE])
async def test_each_holder_has_its_stop_as_soon_as_it_has_a_login(day_kind, kind, away, autojump_clock):
    """One broker's login comes later. Its units had gone to the other broker, again and again; or the other broker had waited for it (stranger 17)."""
    day = day_kind(start=at("2026-11-25T15:10:00"), calendar=REAL, number=60)
    holders = {"upstox": 30, "zerodha": 20} if kind == SHARE else {"upstox": 35, "zerodha": 35}
    with trio.fail_after(3 * 86_400):
        evening = Evening(day, kind, away=away)
        await evening.play(holders)
        async with evening.morning():
            await evening.until("26T09:21:00")
            assert evening.stops() == [("upstox", holders["upstox"])]
            await day.log_in("zerodha")
            await trio.sleep(60)
            assert (evening.stops(), evening.sent_today()) == (sorted(holders.items()), sorted(holders.items()))


@pytest.mark.parametrize("away", [True, False])
async def test_holdings_that_come_late_end_no_stop(day_kind, away, autojump_clock):
    """It had ended for good: what its last order filled was not known, and nothing more seemed to be held (stranger 17)."""
    day = day_kind(start=at("2026-11-25T15:10:00"), calendar=REAL, number=60)
    with trio.fail_after(3 * 86_400):
        evening = Evening(day, SHARE, away=away)
        await evening.play({"upstox": 50})
        share = evening.instrument().instrument_id
        day.simulator.faults.add("upstox", FaultKind.PARTIAL_HOLDINGS, seconds=600, instrument_id=share)
        async with evening.morning():
            await evening.until("26T09:24:00")
            assert evening.stops() == [("upstox", 50)]
            assert (await evening.trading.parent(evening.answer))["state"] == "working"
