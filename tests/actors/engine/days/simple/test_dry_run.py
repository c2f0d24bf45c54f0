"""What a dry run shows of a broker's request: everything but what is secret (order-engine 5.4)."""

from decimal import Decimal

import msgspec
import pytest
import trio

from onebroker.actors.engine.intake.dry_run import shown_request
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.brokers.requests import CallKind, WireRequest
from tests.support.day import Day
from tests.support.every_case import every_case

URL = "https://broker.test/orders/regular"


def shown(*, url: str = URL, body: bytes = b"") -> dict[str, object]:
    headers = {"authorization": "token key:s3cr3t"}
    return shown_request(WireRequest(kind=CallKind.ORDER, method="POST", url=url, headers=headers, body=body))


def test_method_url_and_body_are_shown_and_headers_never():
    assert shown(body=b'{"quantity": 1}') == {"method": "POST", "url": URL, "body": {"quantity": 1}}


def test_a_request_without_body_shows_none():
    assert shown()["body"] is None


def test_a_form_body_is_shown_as_its_fields():
    assert shown(body=b"quantity=1&tag=a%20b&price=")["body"] == {"quantity": "1", "tag": "a b", "price": ""}


@every_case("name", ["access_token", "api_key", "jKey", "Checksum", "app-secret", "totp", "userPin", "password"])
def test_a_secret_is_shown_neither_in_the_url_nor_in_a_body_at_any_depth(name):
    assert shown(url=f"{URL}?{name}=s3cr3t&kind=a")["url"] == f"{URL}?kind=a"
    assert shown(body=f"{name}=s3cr3t&quantity=1".encode())["body"] == {"quantity": "1"}
    secret = {name: "s3cr3t", "quantity": 1}
    nested = msgspec.json.encode({"data": [secret], "head": {name: {"x": "s3cr3t"}}})
    assert shown(body=nested)["body"] == {"data": [{"quantity": 1}], "head": {}}
    assert shown(body=msgspec.json.encode([secret]))["body"] == [{"quantity": 1}]


@pytest.mark.parametrize("name", ["instrument_token", "symboltoken"])
def test_the_brokers_name_of_the_instrument_is_no_secret(name):
    assert shown(body=f"{name}=NSE_EQ|1".encode())["body"] == {name: "NSE_EQ|1"}


def price_near(day, share, factor):
    tick = Decimal(repr(share.tick_size))
    return (day.exchange.market(share.instrument_id).last_price * Decimal(factor) / tick).quantize(Decimal(1)) * tick


async def test_the_cost_shown_is_that_of_the_broker_chosen_and_the_order_goes_there(autojump_clock):
    with trio.fail_after(86_400):
        day = Day(brokers=("fivepaisa", "zerodha"))
        async with day.market(), day.service():
            share = day.equity()
            price = price_near(day, share, "0.98")
            body = day.body(share, price=price, product="MIS", quantity=20)
            answer = await day.place(body, dry_run=True, intent_id="dry")
            assert list(answer.body) == [
                "dry_run", "broker", "instrument_id", "tag", "request", "order", "estimated_cost", "skipped", "timing_ms",
                "intent_id",
            ]  # fmt: skip
            shown, value = answer.body["estimated_cost"], float(20 * price)
            assert answer.body["broker"] == "zerodha"
            assert list(shown) == [
                "total", "brokerage", "exchange", "regulator", "stamp", "transaction_tax", "gst", "dp"
            ]  # fmt: skip
            assert shown["brokerage"] == pytest.approx(min(20, value * 0.0003), abs=0.006)
            assert shown["stamp"] == pytest.approx(value * 0.00003, abs=0.006)
            assert shown["total"] == pytest.approx(sum(shown.values()) - shown["total"])
            placed = await day.place(body)
            assert (placed.status, placed.body["broker"]) == (200, "zerodha")
            assert [one["broker"] for one in day.messages("place")] == ["zerodha"]


async def test_a_close_at_a_broker_that_takes_no_market_orders_is_shown_and_sent_as_a_protected_limit(autojump_clock):
    with trio.fail_after(86_400):
        day = Day(brokers=("shoonya",))
        async with day.market(), day.service():
            share = day.equity()
            bought = await day.place(day.body(share, price=price_near(day, share, "1.02"), product="MIS"))
            assert bought.status == 200, bought.body
            view = day.sessions["shoonya"].view
            token = share.listings["shoonya"].broker_token

            def held():
                return [row for row in view.value.positions if row.instrument_token == token and row.quantity == 10]

            await day.until(held, 120)
            close = day.body(
                share, transaction_type="SELL", product="MIS", broker="shoonya", closes_position=True, price=None
            )
            assert close.order_type == "MARKET"
            shown = (await day.place(close, dry_run=True, intent_id="dry")).body["order"]
            assert shown["order_type"] == "LIMIT"
            last = Decimal(repr(held()[0].last_price))
            assert last * Decimal("0.975") <= shown["price"] < last
            sold = await day.place(close, intent_id="i-2")
            assert sold.status == 200, sold.body
            record = await stored_parent(day.store, sold.body["parent_id"])
            assert (record["legs"][0]["order_type"], record["body"]) == ("LIMIT", {})
            assert len(day.messages("place")) == 2
            unpinned = day.body(share, transaction_type="SELL", product="MIS", price=None)
            assert (await day.place(unpinned, intent_id="i-3")).body["skipped"] == [
                {"broker": "shoonya", "reason": "does not take MARKET orders in equities"}
            ]
