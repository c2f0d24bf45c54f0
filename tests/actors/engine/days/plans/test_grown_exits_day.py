"""Days on which units that had gone from an exit are held again: the exit grows back over them only as far as nobody else guards them (order-engine 1.13).
Judged on the exchange's ledger."""

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.actors.engine.days.plans.test_overdue_day import net, problems, resting
from tests.actors.engine.days.plans.test_plan_orders import traded

GUARDS = {
    "oco": {"type": "oco", "stop_price": -3, "stop_limit_price": -6, "target_price": 6},
    "trailing_stop": {"type": "trailing_stop", "trail_percent": 3, "stop_limit_offset": 20},
    "bracket": {"type": "bracket", "stop_price": -3, "stop_limit_price": -6, "target_price": 6},
    "cover": {"type": "cover", "stop_price": -3, "stop_limit_price": -6},
}


class Desk:
    """One desk's orders at zerodha; `sign` -1: all on the other side."""

    def __init__(self, trading, sign=1):
        self.trading, self.sign = trading, sign
        self.into, self.out = ("BUY", "SELL") if sign > 0 else ("SELL", "BUY")

    def at(self, percent):
        return self.trading.at(percent * self.sign)

    async def bought(self, units):
        await self.trading.send(transaction_type=self.into, quantity=units, broker="zerodha")

    async def guarded(self, kind, units):
        """Place a guard over what is held, or an entry with its exits."""
        levels = {name: self.at(value) if name.endswith("price") else value for name, value in GUARDS[kind].items()}
        more = {"quantity": units, "broker": "zerodha", "synthetic": levels}
        if kind in ("bracket", "cover"):
            more |= {"transaction_type": self.into, "order_type": "LIMIT", "price": self.at(1)}
        else:
            more |= {"transaction_type": self.out}
        answer = await self.trading.send(**more)
        assert answer.status == 200, answer
        return answer

    def person(self, units):
        """A person sells `units` in the app; below zero: buys."""
        day, share = self.trading.day, self.trading.share.instrument_id
        if units > 0:
            day.person.reduce("zerodha", share, Product.MIS, units)
        else:
            new = NewOrder(
                instrument_id=share, side=Side(self.into), product=Product.MIS, order_type=OrderType.MARKET,
                validity=Validity.DAY, quantity=-units,
            )  # fmt: skip
            day.person.place("zerodha", new)

    def stops(self):
        return sorted(units for _, kind, units in resting(self.trading) if kind == "SL")

    async def falls(self):
        self.trading.moved(-3.3 * self.sign)
        await trio.sleep(20)


@pytest.mark.parametrize("kind", ["bracket", "cover"])
@pytest.mark.parametrize("first", ["oco", "trailing_stop", "bracket", "cover"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("wait", [2, 20])
async def test_an_older_guard_leaves_a_new_plan_what_it_has_bought(market, first, kind, sign, wait, autojump_clock):
    """Also within the seconds for which a position may still be on its way to a guard that was just placed."""
    async with traded(market) as trading:
        desk = Desk(trading, sign)
        if first not in ("bracket", "cover"):
            await desk.bought(70)
        await trio.sleep(6)
        await desk.guarded(first, 70)
        await trio.sleep(4)
        desk.person(35)
        await market.until(lambda: desk.stops() == [35], 30)
        await trio.sleep(wait)
        await desk.guarded(kind, 70)
        await trio.sleep(40)
        assert desk.stops() == [35, 70]
        await desk.falls()
        assert net(trading) == 0


async def test_the_second_order_of_an_older_plan_leaves_a_new_plan_its_stop(market, autojump_clock):
    """The older plan sells at a target only, so what it grew over had no stop (model 120000593)."""
    async with traded(market) as trading:
        desk = Desk(trading)
        then = {"transaction_type": "SELL", "order_type": "LIMIT", "price": trading.at(6)}
        settings = {"type": "oto", "then": then, "hold_limits": False}
        await trading.send(quantity=70, order_type="LIMIT", price=trading.at(1), broker="zerodha", synthetic=settings)
        await market.until(lambda: ("SELL", "LIMIT", 70) in resting(trading), 30)
        await trio.sleep(20)
        desk.person(35)
        await market.until(lambda: ("SELL", "LIMIT", 35) in resting(trading), 30)
        await desk.guarded("cover", 70)
        await trio.sleep(40)
        assert (desk.stops(), ("SELL", "LIMIT", 35) in resting(trading)) == ([70], True)
        desk.person(-35)
        await market.until(lambda: ("SELL", "LIMIT", 70) in resting(trading), 60)
        assert desk.stops() == [70]


@pytest.mark.parametrize("pause", [0.5, 12, 60])
@pytest.mark.parametrize("first", ["bracket", "oco"])
async def test_what_came_back_is_the_exit_s_that_is_placed_over_it(market, first, pause, autojump_clock):
    """A person sells 30 of 60; the desk buys 30 for something else and guards them. Until then the older stop grows back over all that is held."""
    async with traded(market) as trading:
        desk = Desk(trading)
        if first == "oco":
            await desk.bought(60)
            await trio.sleep(4)
        await desk.guarded(first, 60)
        await trio.sleep(30)
        desk.person(30)
        await market.until(lambda: desk.stops() == [30], 30)
        await trio.sleep(60)
        await desk.bought(30)
        await trio.sleep(pause)
        if pause > 10:
            assert desk.stops() == [60]
        newer = await desk.guarded("oco", 30)
        await trio.sleep(40)
        assert desk.stops() == [30, 30]
        await market.stop(newer.body["parent_id"])
        await market.until(lambda: desk.stops() == [60], 60)  # nobody else guards them any more
        await desk.falls()
        assert net(trading) == 0


async def test_of_two_exits_that_had_shrunk_the_older_grows_first(market, autojump_clock):
    async with traded(market) as trading:
        desk = Desk(trading)
        await desk.bought(100)
        await trio.sleep(20)
        await desk.guarded("oco", 60)
        await trio.sleep(20)
        await desk.guarded("trailing_stop", 40)
        await trio.sleep(20)
        desk.person(80)
        await market.until(lambda: desk.stops() == [20], 30)
        await trio.sleep(20)
        desk.person(-30)
        await market.until(lambda: desk.stops() == [50], 60)
        await trio.sleep(30)
        assert desk.stops() == [50]
        await desk.falls()
        assert (net(trading), problems(trading)) == (0, [])


async def test_an_exit_that_is_placed_before_its_broker_shows_a_fill_is_bounded_by_what_comes_to_light(
    day, autojump_clock
):
    """The broker shows two fills from around the placement later: a purchase, and the sale of another exit. Until then all units seemed to be guarded, so what
    the exit asks for seemed to be its caller's wish (model 120001345)."""
    day.__init__(brokers=("zerodha", "groww"))
    async with day.market(), traded(day) as trading:
        body = {"quantity": 30, "broker": "groww"}
        targets = {"type": "ladder", "steps": 2, "hold_limits": False, "closes_position": True}

        async def ladder(low, high):
            levels = {"from_price": trading.at(low), "to_price": trading.at(high)}
            await trading.send(transaction_type="SELL", synthetic={**targets, **levels}, **body)

        def held():
            rows = day.ledger()["positions"].get("groww", [])
            return sum(row["quantity"] for row in rows if row["instrument_id"] == trading.share.instrument_id)

        cover = {"type": "cover", "stop_price": trading.at(-5), "stop_limit_price": trading.at(-8)}
        await trading.send(order_type="LIMIT", price=trading.at(1), synthetic=cover, **body)
        await trio.sleep(20)
        await trading.send(**body)
        await trio.sleep(20)
        await ladder(0.4, 0.5)
        await trio.sleep(20)
        await trading.send(**body)
        await ladder(3, 3.5)
        trading.moved(1)
        await day.until(lambda: held() == 60, 10)
        await trio.sleep(1)
        trading.moved(0)
        await trio.sleep(20)
        day.person.reduce("groww", trading.share.instrument_id, Product.MIS, 23)
        await trio.sleep(20)
        trading.moved(4)
        await day.until(lambda: held() == 30, 30)
        await trio.sleep(20)
        assert held() == 30


async def test_an_exit_without_a_broker_that_comes_before_its_positions_is_for_what_is_free(day, autojump_clock):
    """A cover guards 100 of 110 at one broker, and another broker holds 10. The rows come later, and a person sells before they do (model 140002779)."""
    day.__init__(brokers=("upstox", "zerodha"))
    async with day.market(), traded(day) as trading:
        cover = {"type": "cover", "stop_price": trading.at(-2), "stop_limit_price": trading.at(-8)}
        await trading.send(quantity=100, order_type="LIMIT", price=trading.at(1), broker="upstox", synthetic=cover)
        await trio.sleep(20)
        day.simulator.fault("all", FaultKind.LATE_POSITIONS, seconds=30, delay_seconds=5)
        for code in ("upstox", "zerodha"):
            await trading.send(quantity=10, broker=code)
        await trio.sleep(2)
        levels = {"stop_price": trading.at(-2), "stop_limit_price": trading.at(-8)}
        body = {"transaction_type": "SELL", "quantity": 20, "synthetic": {"type": "daily_stop", **levels}}
        assert (await trading.send(**body)).status == 202
        await trio.sleep(1)
        day.person.reduce("upstox", trading.share.instrument_id, Product.MIS, 20)
        await trio.sleep(40)
        trading.moved(-3)
        await trio.sleep(20)
        rows = day.ledger()["positions"]
        share = trading.share.instrument_id
        held = {
            code: sum(row["quantity"] for row in found if row["instrument_id"] == share) for code, found in rows.items()
        }
        assert (held["upstox"], held["zerodha"]) == (0, 0)
