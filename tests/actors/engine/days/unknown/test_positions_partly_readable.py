"""A broker one of whose position rows cannot be read: the others are closed and reduced all the same, nothing says that all is flat,
and what needs every row waits or is refused (rules 2.4.7, 2.6; order-engine 0, 1.3). Judged on the exchange's ledger."""

from types import SimpleNamespace

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.plan.parts import FromPosition
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.config.vocabulary import Product
from tests.actors.engine.plan.trees import order
from tests.support.trading import Trading

CODE = "zerodha"
WHY = "2 of "  # its net row and its day row


class OddPositions:
    """Zerodha's portfolio, whose answers have a row of `symbol` with a quantity that is no number."""

    def __init__(self, day):
        self.symbol = None
        broker = day.registry[CODE]
        own = broker.portfolio
        names = ("position_requests", "holding_requests", "parse_holdings", "fund_requests", "parse_funds")
        portfolio = SimpleNamespace(
            **{name: getattr(own, name) for name in names},
            parse_positions=lambda answers, listings: own.parse_positions(list(map(self._spoilt, answers)), listings),
        )
        day.registry = {**day.registry, CODE: attrs.evolve(broker, portfolio=portfolio)}

    def _spoilt(self, answer):
        body = msgspec.json.decode(answer.body)
        for rows in (body.get("data") or {}).values():
            for row in rows:
                if row["tradingsymbol"] == self.symbol:
                    row["quantity"] = "1.5 lots"
        return attrs.evolve(answer, body=msgspec.json.encode(body))


@pytest.fixture
async def odd(day, autojump_clock):
    """A day without positions but for 10 and 20 MIS of two shares at Zerodha: of the second the row can be made unreadable."""
    odd = OddPositions(day)
    async with day.market(), day.service(quotes=True):
        await trio.sleep(2)
        await day.flatten()
        odd.day, odd.good, odd.bad = day, Trading(day, 1), Trading(day, 2)
        odd.bad.sent = 100  # ids of intents of its own
        for trading, quantity in ((odd.good, 10), (odd.bad, 20)):
            await trading.move(0)
            answer = await trading.send(quantity=quantity, broker=CODE)
            assert answer.status == 200, answer
            await day.until(lambda trading=trading: net(day, trading.share) != 0)
        await day.until(lambda: shown(day, odd.good.share) == 10 and shown(day, odd.bad.share) == 20, 60)
        odd.since = len(day.messages("place"))
        yield odd
        assert day.crashes.records() == ()


async def spoil(odd):
    """Have the second share's row be unreadable, and wait until the service has met it."""
    odd.symbol = odd.bad.share.identity.symbol
    await odd.day.until(lambda: "positions" in odd.day.sessions[CODE].view.value.read_errors, 60)


def net(day, share, code=CODE):
    rows = day.ledger()["positions"].get(code, [])
    return sum(
        row["quantity"] for row in rows if (row["instrument_id"], row["product"]) == (share.instrument_id, "MIS")
    )


def shown(day, share):
    token = share.listings[CODE].broker_token
    rows = day.sessions[CODE].view.value.positions
    return sum(
        row.quantity for row in rows if (row.view, row.instrument_token, row.product) == ("net", token, Product.MIS)
    )


def sent(odd):
    return [(one["broker"], one["side"], one["quantity"]) for one in odd.day.messages("place")[odd.since :]]


async def test_a_flatten_closes_what_can_be_read_and_is_not_flat(odd, autojump_clock):
    await spoil(odd)
    dry = await odd.day.flatten(dry_run=True)
    assert [one["tradingsymbol"] for one in dry.body["would_close"]] == [odd.good.share.identity.symbol]
    answer = await odd.day.flatten()
    assert (answer.status, answer.body["flat"], answer.body["brokers_not_read"]) == (207, False, [CODE])
    for body in (dry.body, answer.body):
        (said,) = body["positions_not_readable"]
        assert said["broker"] == CODE
        assert said["status_message"].startswith(WHY)
    assert answer.body["positions_still_open_after_waiting"] == []
    assert (net(odd.day, odd.good.share), net(odd.day, odd.bad.share)) == (0, 20)
    assert sent(odd) == [(CODE, "SELL", 10)]
    odd.symbol = None
    await odd.day.until(lambda: not odd.day.sessions[CODE].view.value.read_errors, 60)
    again = await odd.day.flatten()
    assert (again.status, again.body["flat"], again.body["positions_not_readable"]) == (200, True, [])
    assert sent(odd) == [(CODE, "SELL", 10), (CODE, "SELL", 20)]


async def test_a_row_that_turns_odd_while_it_is_closed_does_not_read_as_closed(odd, autojump_clock):
    odd.symbol = odd.bad.share.identity.symbol
    odd.day.simulator.set_price(odd.good.share.instrument_id, odd.good.at(0), 600)
    await spoil(odd)

    async def turn():
        await odd.day.until(lambda: sent(odd) != [], 60)
        odd.symbol = odd.good.share.identity.symbol

    async with trio.open_nursery() as nursery:
        nursery.start_soon(turn)
        answer = await odd.day.flatten()
    (closed,) = [one["broker"] + ":" + one["position_key"] for one in answer.body["closed"]]
    named = answer.body["positions_still_open_after_waiting"]
    assert closed in named
    assert len(named) == 2  # and the row that can be read by now, which is open too
    assert answer.body["flat"] is False


@pytest.mark.parametrize("every", [True, False])
async def test_a_square_off_closes_what_can_be_read_and_says_what_it_could_not(odd, autojump_clock, every):
    await spoil(odd)
    settings = {"type": "square_off", "now": True, **({"every_instrument": True} if every else {})}
    answer = await odd.good.send(quantity=None, synthetic=settings)
    assert answer.status == 200, answer
    parent = await odd.good.until(answer, "failed" if every else "completed", seconds=120)
    assert ("some positions of zerodha could not be read" in (parent["status_message"] or "")) is every
    assert (net(odd.day, odd.good.share), net(odd.day, odd.bad.share)) == (0, 20)
    assert sent(odd) == [(CODE, "SELL", 10)]


@pytest.mark.parametrize("product", ["MIS", None])
async def test_what_is_turned_round_is_what_every_row_tells(odd, autojump_clock, product):
    """With its product named the position's own row says all; without, another row of the share may be the odd one."""
    await spoil(odd)
    form = FromPosition(
        product=None if product is None else "intraday", instrument_ids=(odd.good.share.instrument_id,), ratio=2,
        cancel_resting_first=False,
    )  # fmt: skip
    part = order("root", "SELL", form, Marketable(follow=True), is_exit=True, known_exit=True)
    body = odd.day.body(
        odd.good.share,
        product="MIS",
        price=odd.good.at(0),
        plan=attrs.evolve(part, instrument_id=odd.good.share.instrument_id),
    )
    await odd.day.place(body, intent_id="turn")
    await odd.day.until(lambda: net(odd.day, odd.good.share) == (-10 if product else 0))
    await trio.sleep(30)
    assert sent(odd) == [(CODE, "SELL", 20 if product else 10)]


async def test_a_liquidation_needs_the_row_of_its_own_instrument_alone(odd, autojump_clock):
    await spoil(odd)
    wanted = {"kind": "liquidate_position", "product": "intraday"}
    refused = await odd.bad.send(quantity=None, quantity_reference=wanted)
    assert (refused.status, sent(odd)) == (503, [])
    closed = await odd.good.send(quantity=None, quantity_reference=wanted)
    assert closed.status == 200, closed
    await odd.day.until(lambda: net(odd.day, odd.good.share) == 0)
    assert (sent(odd), net(odd.day, odd.bad.share)) == ([(CODE, "SELL", 10)], 20)


async def test_a_loss_limit_on_a_share_that_can_be_read_is_followed(odd, autojump_clock):
    await spoil(odd)
    most = float(odd.good.start * 10 * 1 / 100)
    settings = {
        "type": "strategy_stop",
        "instrument_ids": [odd.good.share.instrument_id],
        "max_loss": most,
        "product": "intraday",
    }
    answer = await odd.good.send(quantity=None, synthetic=settings)
    assert answer.status == 202, answer
    await trio.sleep(30)
    await odd.good.move(-2)
    await odd.day.until(lambda: net(odd.day, odd.good.share) == 0, 300)
    assert (sent(odd), (await stored_parent(odd.day.store, answer.body["parent_id"]))["state"]) == (
        [(CODE, "SELL", 10)], "completed",
    )  # fmt: skip
