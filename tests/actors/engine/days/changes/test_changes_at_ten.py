"""Modify, cancel and flatten at all ten brokers, each by its own codec, judged on the exchange: that the order which was named was
changed as asked, and nothing else."""

from decimal import Decimal

import pytest
import trio

from onebroker.brokers.registry import build_registry
from tests.support.engine_orders import placed_elsewhere, ticks, truth

TEN = tuple(build_registry())


@pytest.fixture
async def ten(day, autojump_clock):
    """A day of ten brokers."""
    return type(day)(brokers=TEN, number=600)


def stand(day):
    """Every order of the exchange as it stands, without when and how often it was changed."""
    shown = (
        "broker",
        "order_id",
        "instrument_id",
        "price",
        "quantity",
        "order_type",
        "trigger_price",
        "validity",
        "status",
    )
    return {(one["broker"], one["order_id"]): {name: one[name] for name in shown} for one in day.ledger()["orders"]}


@pytest.mark.parametrize("through_engine", [True, False])
async def test_each_broker_changes_exactly_the_order_that_was_named_and_nothing_else(
    ten, through_engine, autojump_clock
):
    day = ten
    async with day.market(), day.service():
        await trio.sleep(90)
        orders = {}
        for number, code in enumerate(TEN):
            share = day.equity(number)
            if through_engine:
                body = day.body(share, price=ticks(day, share, -3), broker=code)
                answer = await day.place(body, intent_id=f"i-{number}")
                assert answer.status == 200, (code, answer)
                orders[code] = share, answer.body["order_id"]
            else:
                _, order_id = await placed_elsewhere(day, code, number=number)
                orders[code] = share, order_id
        for code, (share, order_id) in orders.items():
            await day.until(lambda code=code, order_id=order_id: order_id in day.sessions[code].view.value.orders, 120)
            await day.until(lambda code=code, order_id=order_id: able(day, code, order_id), 120)
            before, price = stand(day), ticks(day, share, -2)
            answer = await day.modify(order_id, broker=code, price=price, quantity=7)
            assert (answer.status, answer.body["outcome"]) == (200, "accepted"), (code, answer)
            assert answer.body["instrument"] == share.identity.fields()
            after = stand(day)
            name = (code, order_id)
            assert {**after[name], "price": Decimal(after[name]["price"])} == {
                **before[name], "price": price, "quantity": 7,
            }, code  # fmt: skip
            assert {key: row for key, row in after.items() if key != name} == {
                key: row for key, row in before.items() if key != name
            }
            unable = sorted(
                {"order_type", "validity", "disclosed_quantity"} - day.sessions[code].broker.capabilities.modifiable
            )
            for field in unable:
                value = {"order_type": "MARKET", "validity": "IOC", "disclosed_quantity": 5}[field]
                answer = await day.modify(order_id, broker=code, **{field: value})
                assert (answer.status, answer.body["error"]) == (501, f"{code} cannot change {field} on an open order")
            if "order_type" not in unable:
                trigger, limit = ticks(day, share, 2), ticks(day, share, 3)
                answer = await day.modify(
                    order_id, broker=code, order_type="SL", trigger_price=trigger, price=limit, quantity=6
                )
                assert (answer.status, answer.body["outcome"]) == (200, "accepted"), (code, answer)
                order = truth(day, order_id, code)
                assert (order["order_type"], Decimal(order["trigger_price"]), Decimal(order["price"])) == (
                    "SL", trigger, limit,
                )  # fmt: skip
                assert order["quantity"] == 6
        assert len({(one["broker"], one["order_id"]) for one in day.messages("modify")}) == 10


def able(day, code, order_id):
    """Whether the broker's own names of the order are known (fivepaisa changes by the exchange's)."""
    row = day.sessions[code].view.value.orders[order_id]
    return code != "fivepaisa" or row.exchange_order_id is not None


async def test_every_account_is_flattened_also_where_no_market_orders_are_taken(ten, autojump_clock):
    day = ten
    async with day.market(), day.service():
        await trio.sleep(90)
        for number, code in enumerate(TEN):
            share = day.equity(number)
            body = day.body(share, price=ticks(day, share, -3), broker=code)
            assert (await day.place(body, intent_id=f"r-{number}")).status == 200
            intraday = "MIS" in day.sessions[code].broker.capabilities.products["equity"]
            body = day.body(share, product="MIS" if intraday else "CNC", price=ticks(day, share, 2), broker=code)
            answer = await day.place(body, intent_id=f"b-{number}")
            assert answer.status == 200, answer
        await trio.sleep(30)
        answer = await day.flatten()
        failed = {
            (one["broker"], one["product"]): one["status_message"]
            for one in answer.body["closed"]
            if not (one["sent"] and one["outcome"] == "accepted")
        }
        assert failed == {}
        assert (answer.status, answer.body["flat"], answer.body["brokers_not_read"]) == (200, True, [])
        held = {
            (code, one["product"])
            for code, positions in day.ledger()["positions"].items()
            for one in positions
            if one["quantity"]
        }
        assert held == set()
        assert [one for one in day.ledger()["orders"] if one["status"] in ("open", "trigger_pending")] == []


async def test_a_partly_filled_order_is_moved_again_and_discloses_no_more_than_remains(ten, autojump_clock):
    """The exchange refuses a change that repeats a disclosed quantity above the remainder."""
    day = ten
    disclosing = [code for code in TEN if day.registry[code].capabilities.disclosed_quantity]
    assert len(disclosing) == 9
    async with day.market(), day.service():
        await trio.sleep(90)
        for number, code in enumerate(disclosing):
            share = day.equity(number)
            body = day.body(share, price=ticks(day, share, -3), broker=code, quantity=100, disclosed_quantity=50)
            answer = await day.place(body, intent_id=f"i-{number}")
            assert answer.status == 200, (code, answer)
            order_id = answer.body["order_id"]
            day.exchange.fill(code, order_id, 70)
            view = day.sessions[code].view
            await day.until(lambda view=view, order_id=order_id: filled(view.value, order_id) == 70, 120)
            await day.until(lambda code=code, order_id=order_id: able(day, code, order_id), 120)
            price = ticks(day, share, -2)
            answer = await day.modify(order_id, broker=code, price=price)
            assert (answer.status, answer.body["outcome"]) == (200, "accepted"), (code, answer)
            assert Decimal(truth(day, order_id, code)["price"]) == price
            if "disclosed_quantity" in day.sessions[code].broker.capabilities.modifiable:
                answer = await day.modify(order_id, broker=code, price=ticks(day, share, -1), disclosed_quantity=45)
                assert (answer.status, answer.body["outcome"]) == (200, "accepted"), (code, answer)
                told = answer.body["changes"].get("disclosed_quantity", {"to": 30})
                assert told["to"] == 30


def filled(view, order_id):
    row = view.orders.get(order_id)
    return None if row is None else row.filled_quantity
