"""The list of instruments loses a share in which plans are open: it is told at the parent, in the health and as an event, until it is back."""

from datetime import timedelta
from decimal import Decimal as D

import attrs
import pytest
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Found
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import ParentTrouble, ParentTroubleOver
from onebroker.http.health_parts import order_problems
from tests.support.day import Day
from tests.support.trading import Trading


class Without:
    """A list of instruments without a share."""

    def __init__(self, snapshot, instrument_id):
        self._snapshot = snapshot
        self._gone = instrument_id

    def __getattr__(self, name):
        return getattr(self._snapshot, name)

    def instrument(self, instrument_id):
        return None if instrument_id == self._gone else self._snapshot.instrument(instrument_id)

    instrument_once = instrument

    def by_token(self, broker, token):
        found = self._snapshot.by_token(broker, token)
        return None if found == self._gone else found


class WithoutAt(Without):
    """A list of instruments without the listing of a share at one broker."""

    def __init__(self, snapshot, instrument_id, code):
        super().__init__(snapshot, instrument_id)
        self._code = code

    def instrument(self, instrument_id):
        found = self._snapshot.instrument(instrument_id)
        if found is None or instrument_id != self._gone:
            return found
        left = {code: listing for code, listing in found.listings.items() if code != self._code}
        return attrs.evolve(found, listings=left)

    instrument_once = instrument

    def by_token(self, broker, token):
        return (super() if broker == self._code else self._snapshot).by_token(broker, token)


class Once:
    """The file of instruments that are no longer listed."""

    count = 1

    def __init__(self, instrument, day):
        self._found = Found(instrument=attrs.evolve(instrument, listings={}), mapping_date=day)

    def find(self, instrument_id):
        return self._found if instrument_id == self._found.instrument.instrument_id else None


@pytest.fixture
async def trading(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            yield Trading(day)


def publish(trading, *, listed, at=None):
    """`at`: the only broker at which the share is lost."""
    day, share = trading.day, trading.share
    latest = day.snapshot
    if not listed:
        gone = share.instrument_id
        latest = Without(day.snapshot, gone) if at is None else WithoutAt(day.snapshot, gone, at)
    unlisted = {} if listed or at is not None else {"unlisted": Once(share, day.clock.today())}
    day.catalogue.set(CatalogueState(latest=latest, published_today=True, reason="", **unlisted))


@pytest.mark.parametrize(
    "plan",
    [
        {"type": "hidden_stop", "trigger_price": -2},
        {"type": "trailing_stop", "trail_percent": 1, "stop_limit_offset": 1},
        {"type": "gtt", "trigger_price": -4, "limit_price": -5, "valid_days": 30},
    ],
    ids=lambda plan: plan["type"],
)
async def test_a_plan_whose_share_the_list_has_lost_says_so_until_it_is_back(plan, trading, autojump_clock):
    await trading.move(0)
    await trading.send(quantity=100, broker="zerodha")
    await trio.sleep(10)
    synthetic = {name: trading.at(value) if name.endswith("_price") else value for name, value in plan.items()}
    answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=synthetic)
    assert answer.status in (200, 202), answer
    await trio.sleep(5)
    sentence = f"{trading.share.identity.symbol} is not in today's list of instruments"

    publish(trading, listed=False)
    await trio.sleep(5)
    rows = [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]
    assert sentence in rows
    parent = await trading.parent(answer)
    assert sentence in parent["status_message"]
    assert sentence in [part["status_message"] for part in parent["parameters"]["parts"].values()]
    told = [event for event in trading.day.heard if isinstance(event, ParentTrouble)]
    assert sentence in [event.words for event in told]

    publish(trading, listed=True)
    await trio.sleep(5)
    rows = [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]
    assert sentence not in rows
    assert sentence not in ((await trading.parent(answer))["status_message"] or "")
    assert sentence in [event.words for event in trading.day.heard if isinstance(event, ParentTroubleOver)]


async def guarded_by(trading, broker="zerodha", **synthetic):
    """100 units at a broker, and a guard of them."""
    await trading.move(0)
    await trading.send(quantity=100, broker="zerodha")
    await trio.sleep(10)
    answer = await trading.send(transaction_type="SELL", quantity=100, broker=broker, synthetic=synthetic)
    assert answer.status in (200, 202), answer
    await trio.sleep(5)
    return answer


LOST = pytest.mark.parametrize("at", [None, "zerodha"], ids=["everywhere", "at its broker"])


def triggers(trading):
    return [order.trigger_price for order in trading.day.exchange.all_orders() if not order.status.finished]


@LOST
async def test_a_trail_in_a_share_that_the_list_has_lost_follows_by_the_quotes_that_are_there(
    at, trading, autojump_clock
):
    """The other broker still lists the share, and its feed has the price. Without any quote the trail waits until the list is back."""
    answer = await guarded_by(trading, type="trailing_stop", trail_percent=4, stop_limit_offset=1)
    before = triggers(trading)
    publish(trading, listed=False, at=at)
    await trio.sleep(5)
    trading.moved(3)
    if at is None:
        await trio.sleep(60)
        assert triggers(trading) == before
        publish(trading, listed=True)
    moved = trading.at(3) * D("0.96") // trading.tick * trading.tick
    await trading.day.until(lambda: triggers(trading) == [moved], 30)
    trading.moved(-1.2)
    await trading.until(answer, "completed", seconds=30)
    assert (net(trading), resting(trading)) == ({}, [])


async def test_a_hidden_stop_in_a_share_that_no_list_has_sells_when_it_is_back(trading, autojump_clock):
    answer = await guarded_by(trading, type="hidden_stop", trigger_price=trading.at(-2))
    publish(trading, listed=False)
    await trio.sleep(5)
    trading.moved(-4)
    await trio.sleep(60)
    assert net(trading) == {"zerodha": 100}
    publish(trading, listed=True)
    await trading.until(answer, "completed", seconds=30)
    assert (net(trading), resting(trading)) == ({}, [])


# --- what is held in it is not gone -----------------------------------------------------------------------------------------

NO_POSITION = "there was no open position to close"


def net(trading):
    """The units of the share at the exchange, by broker."""
    rows = [(code, row) for code, rows in trading.day.ledger()["positions"].items() for row in rows]
    return {
        code: row["quantity"]
        for code, row in rows
        if row["instrument_id"] == trading.share.instrument_id and row["quantity"]
    }


def resting(trading):
    return [
        order.new.side
        for order in trading.day.exchange.all_orders()
        if order.new.instrument_id == trading.share.instrument_id and not order.status.finished
    ]


async def guarded(trading):
    """100 units at a broker, with a stop that rests there."""
    await trading.move(0)
    await trading.send(quantity=100, broker="zerodha", order_type="LIMIT", price=trading.at(1))
    await trading.day.until(lambda: net(trading) == {"zerodha": 100}, 60)
    settings = {"type": "daily_stop", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-6)}
    await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=settings)
    await trading.day.until(lambda: len(resting(trading)) == 1, 60)
    await trio.sleep(10)


def in_seconds(trading, seconds):
    return (trading.day.clock.now() + timedelta(seconds=seconds)).strftime("%H:%M:%S")


@LOST
async def test_a_square_off_waits_for_a_share_that_the_list_has_lost_and_closes_it_when_it_is_back(
    at, trading, autojump_clock
):
    await guarded(trading)
    settings = {"type": "square_off", "at_time": in_seconds(trading, 30)}
    answer = await trading.send(quantity=None, synthetic=settings)
    assert answer.status == 202, answer
    publish(trading, listed=False, at=at)
    await trio.sleep(60)
    assert (net(trading), len(resting(trading))) == ({"zerodha": 100}, 1)
    parent = await trading.parent(answer)
    name = trading.share.identity.symbol
    sentence = (
        f"{name} is not in today's list of instruments"
        if at is None
        else f"zerodha does not list {name} today and shows a position that may be in it, so nothing was closed there"
    )
    assert parent["state"] == "armed"
    assert sentence in parent["status_message"]
    told = [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]
    assert any(sentence in one for one in told)

    publish(trading, listed=True)
    await trading.until(answer, "completed")
    await trio.sleep(5)
    assert (net(trading), resting(trading)) == ({}, [])
    told = [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]
    assert not any(sentence in one for one in told)


async def test_a_square_off_of_a_lost_share_that_is_not_held_says_that_there_is_no_position(trading, autojump_clock):
    await trading.move(0)
    answer = await trading.send(quantity=None, synthetic={"type": "square_off", "at_time": in_seconds(trading, 30)})
    publish(trading, listed=False)
    await trio.sleep(60)
    parent = await trading.parent(answer)
    assert (parent["state"], NO_POSITION in parent["status_message"]) == ("completed", True)


async def test_a_square_off_at_once_answers_that_the_broker_does_not_list_the_share(trading, autojump_clock):
    await guarded(trading)
    publish(trading, listed=False, at="zerodha")
    answer = await trading.send(quantity=None, synthetic={"type": "square_off", "now": True}, wait=20)
    assert "zerodha does not list" in str(answer.body)
    assert NO_POSITION not in str(answer.body)
    parent = await trading.until(answer, "failed", seconds=5)
    assert "zerodha does not list" in parent["status_message"]
    assert (net(trading), len(resting(trading))) == ({"zerodha": 100}, 1)


async def test_a_close_limited_to_a_share_is_not_flat_where_its_broker_has_lost_the_listing(trading, autojump_clock):
    await guarded(trading)
    publish(trading, listed=False, at="zerodha")
    limits = {"instrument_id": trading.share.instrument_id}
    dry = await trading.day.close(dry_run=True, **limits)
    assert [(one["broker"], one["close_quantity"]) for one in dry.body["would_close"]] == [("zerodha", 100)]
    other = await trading.day.close(product="carry", **limits)
    assert (other.body["flat"], other.body["closed"]) == (True, [])
    answer = await trading.day.close(**limits)
    assert (answer.status, answer.body["flat"]) == (207, False)
    ((broker, sent, why),) = [(one["broker"], one["sent"], one["status_message"]) for one in answer.body["closed"]]
    assert (broker, sent) == ("zerodha", False)
    assert "does not name exactly one mapped instrument" in why
    assert answer.body["cancelled"] == []
    assert (net(trading), len(resting(trading))) == ({"zerodha": 100}, 1)
    publish(trading, listed=True)
    answer = await trading.day.close(**limits)
    assert (answer.body["flat"], net(trading)) == (True, {})


async def test_a_close_by_a_reference_says_that_the_broker_does_not_list_the_share(trading, autojump_clock):
    await guarded(trading)
    liquidate = {"transaction_type": "SELL", "quantity": None, "quantity_reference": {"kind": "liquidate_position"}}
    publish(trading, listed=False, at="zerodha")
    trading.day.snapshot = trading.day.catalogue.value.latest
    answer = await trading.send(**liquidate)
    assert answer.status == 503, answer
    assert "zerodha does not list it today" in answer.body["error"]
    assert net(trading) == {"zerodha": 100}


EXITS = {
    "oco": {"stop_price": -3, "stop_limit_price": -4, "target_price": 3},
    "trailing_stop": {"trail_percent": 3, "stop_limit_offset": 1},
}


@pytest.mark.parametrize("product", ["MIS", "CNC"])
@pytest.mark.parametrize("kind", EXITS)
async def test_an_exit_without_a_broker_stays_where_its_brokers_list_has_lost_the_share(
    kind, product, trading, autojump_clock
):
    """The other broker lists the share and holds none. So nobody was asked about the units, and the stop was cancelled as if they had gone."""
    await trading.move(0)
    await trading.send(quantity=30, broker="zerodha", product=product)
    await trio.sleep(10)
    settings = {name: trading.at(value) if name.endswith("_price") else value for name, value in EXITS[kind].items()}
    answer = await trading.send(
        transaction_type="SELL", quantity=30, product=product, synthetic={"type": kind, **settings}
    )
    await trio.sleep(10)
    publish(trading, listed=False, at="zerodha")
    await trio.sleep(60)
    resting = [order for order in trading.day.exchange.all_orders() if not order.status.finished]
    assert [order.pending_quantity for order in resting if order.trigger_price is not None] == [30]
    parent = await trading.parent(answer)
    assert parent["state"] == "working"
    assert "holds 0" not in str(parent)


@pytest.mark.parametrize("broker", ["zerodha", None])
async def test_a_hidden_stop_whose_broker_has_lost_the_share_says_so_and_sells_when_it_is_back(
    broker, trading, autojump_clock
):
    """Its part was rejected for good; without a broker nobody named the broker that does not list the share."""
    answer = await guarded_by(trading, broker, type="hidden_stop", trigger_price=trading.at(-2))
    publish(trading, listed=False, at="zerodha")
    await trio.sleep(5)
    trading.moved(-4)
    await trio.sleep(10)
    rows = order_problems(trading.day.engine_context.troubles.rows)
    (why,) = [row["why"] for row in rows if "open without a stop" in row["message"]]
    assert "zerodha" in why
    assert "not carry this instrument" in why or "does not list this instrument" in why
    await trio.sleep(60)
    publish(trading, listed=True)
    await trading.until(answer, "completed", seconds=60)
    assert (net(trading), resting(trading)) == ({}, [])


async def test_a_joint_result_that_lacks_an_unlisted_position_is_told(autojump_clock):
    with trio.fail_after(86_400):
        async with Day(brokers=("upstox", "shoonya")).market() as day:
            async with day.service(quotes=True):
                every = sorted(
                    day.listed("nse_equity_index_options"),
                    key=lambda one: (
                        one.identity.expiry_date,
                        one.identity.underlying_symbol,
                        one.identity.strike_price,
                    ),
                )
                option = next(one for one in every if one.identity.expiry_date > "2026-11-25")
                trading = Trading(day, instrument=option)
                await trading.move(0)
                await trading.send(quantity=option.lot_size, broker="shoonya", product="NRML")
                await trio.sleep(12)
                own = {"type": "strategy_stop", "instrument_ids": [option.instrument_id], "max_loss": 100}
                await trading.send(quantity=None, product="NRML", synthetic=own)
                await trio.sleep(5)
                day.simulator.fault("shoonya", FaultKind.UNLISTED, instrument_id=option.instrument_id)
            day.catalogue.set(CatalogueState(latest=None, published_today=False, reason="a new day's files"))
            async with day.service(quotes=True):
                trading.quotes = day.quotes.follow([option.instrument_id])
                await trio.sleep(20)
                trading.moved(-8)
                await trio.sleep(60)
                (told,) = [row["message"] for row in order_problems(day.engine_context.troubles.rows)]
                assert "shoonya" in told
