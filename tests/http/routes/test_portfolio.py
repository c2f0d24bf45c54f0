"""The five document routes (rules 1.4.10, rules 2.4.1): one test per row of their status tables."""

import json

import attrs
import msgspec
import pytest
import trio
from quart_trio.testing.client import TrioClient

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState, document_body, finish
from onebroker.actors.portfolio.document_age import READ_RULES
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.portfolio.positions import DoubtedRow, PositionsAssembler
from onebroker.actors.portfolio.read_status import read_brokers
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.actors.sessions.slices import Slice
from onebroker.brokers.records import OrderRow, PositionRow, TradeRow
from onebroker.config.clock import from_epoch, local_text
from onebroker.http.app import build_app
from tests.support.checked_client import CheckedClient
from tests.support.every_case import every_case
from tests.support.patience import PATIENCE_SECONDS

PATHS = {
    "funds": "/api/portfolio/funds",
    "holdings": "/api/portfolio/holdings",
    "positions": "/api/portfolio/positions",
    "orders": "/api/orders/details",
    "trades": "/api/orders/trades",
}
BOOKS = {"orders": OrderBookAssembler, "trades": TradeBookAssembler}
DETAILS, TRADES = PATHS["orders"], PATHS["trades"]


PARENT, INTENT = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
OWNER = LegOwner(parent_id=PARENT, leg_id="1", synthetic_type="plan", intent_id=INTENT, leg_role="root", tag=None)


class OneLeg:
    """Order 3 is the engine's."""

    def version_of(self, broker):
        return 0

    def owner(self, broker, order_id, tag):
        return OWNER if order_id == "3" else None


def order(order_id, status="OPEN"):
    return OrderRow(
        order_id=order_id, status=status, transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
        instrument_token="T", tradingsymbol="INFY", exchange="NSE", quantity=1,
    )  # fmt: skip


def trade(trade_id, order_id):
    return TradeRow(
        trade_id=trade_id, order_id=order_id, transaction_type="BUY", product="CNC", instrument_token="T",
        tradingsymbol="INFY", exchange="NSE", quantity=1, price=1.0,
    )  # fmt: skip


ROWS = {
    "orders": (order("1"), order("2", "COMPLETE"), order("3", "PENDING")),
    "trades": (trade("a", "1"), trade("b", "2"), trade("c", "1")),
}


NO_CATALOGUE = Published(CatalogueState(latest=None, published_today=False, reason=""))


def state(services, resource, *, age=0.0, error=None, rows=None, assembler=None):
    """Build a document as its actor does, `age` seconds before now; portfolio documents carry an order book's rows here, unless they are given with
    their assembler."""
    now = services.clock.epoch() - age
    book = resource if resource in BOOKS else "orders"
    assembler = assembler or BOOKS[book](NO_CATALOGUE, OneLeg())
    held = Slice(
        broker="dhan", resource=resource, rows=None if error else rows or ROWS[book], received_at=now, error=error
    )
    reads = read_brokers(resource, ("dhan",), {"dhan": held}, now)
    usable = {read.broker: read.slice for read in reads if read.usable}
    content = finish(assembler.assemble(usable))
    brokers = msgspec.json.encode([assembler.broker_entry(read) for read in reads])
    as_of = local_text(from_epoch(now))
    return DocumentState(
        resource=resource, body=document_body(content, brokers, as_of), as_of=as_of, as_of_epoch=now,
        published_monotonic=0.0, brokers=brokers, reads=reads, usable_brokers=bool(usable), content=content,
        build_seconds=0.0, gap_seconds=None,
    )  # fmt: skip


@pytest.fixture(autouse=True)
async def in_time():
    with trio.fail_after(PATIENCE_SECONDS):
        yield


@pytest.fixture
def get(services, token):
    """Ask for a path of an application that keeps the documents given."""

    async def ask(path, *, checked=False, **documents):
        held = {resource: Published(one) for resource, one in documents.items()}
        app = build_app(attrs.evolve(services, documents=held))
        # A portfolio document with an order book's rows is an invention.
        kind = CheckedClient if checked or documents.keys() <= BOOKS.keys() else TrioClient
        response = await kind(app).get(path, headers={"access-token": token})
        return response.status_code, await response.get_data()

    return ask


@pytest.mark.parametrize("resource", list(PATHS))
async def test_a_recent_document_is_sent_as_the_very_bytes_published(services, get, resource):
    held = state(services, resource)
    assert await get(PATHS[resource], **{resource: held}) == (200, held.body)


def sold(quantity, **given):
    return PositionRow(
        position_key=f"I:CNC:{quantity}", view="net", product="CNC", instrument_token="T", tradingsymbol="ITC", exchange="NSE",
        quantity=quantity, **given,
    )  # fmt: skip


async def test_a_sale_out_of_the_holdings_and_a_doubted_row_are_marked_in_the_positions(services, get):
    rows = (sold(-5, covered_by_holdings=True), sold(-3), sold(2))
    doubted = DoubtedRow(
        instrument_id=None, tradingsymbol="ITC", product="delivery", shown=2, by_fills=7, since="2026-11-25T10:00:05"
    )
    assembler = PositionsAssembler(NO_CATALOGUE, None, lambda code: [doubted])
    held = state(services, "positions", rows=rows, assembler=assembler)
    status, body = await get(PATHS["positions"], checked=True, positions=held)
    document = json.loads(body)
    parts = [part for row in document["net"] for part in row["by_broker"]]
    marks = {part["quantity"]: part.get("covered_by_holdings") for part in parts}
    assert (status, marks) == (200, {-5: True, -3: None, 2: None})
    assert [part["doubted"] for part in document["brokers"]] == [[msgspec.to_builtins(doubted)]]


@every_case("resource", list(PATHS))
@every_case("kept", [True, False])
async def test_a_document_nobody_keeps_or_has_built_is_503(get, resource, kept):
    subject = resource.capitalize()
    sentence = f"{subject} are not available"
    if resource not in BOOKS:
        sentence += f": nothing is keeping portfolio:{resource}"
    status, body = await get(PATHS[resource], **({resource: None} if kept else {}))
    assert (status, json.loads(body)) == (503, {"error": sentence})


@pytest.mark.parametrize("resource", list(PATHS))
async def test_a_document_too_old_is_503_with_its_time_and_brokers(services, get, resource):
    held = state(services, resource, age=READ_RULES[resource].oldest_seconds + 1)
    status, body = await get(PATHS[resource], **{resource: held})
    key = {"orders": "orders:book", "trades": "orders:trades"}.get(resource, f"portfolio:{resource}")
    assert status == 503
    assert json.loads(body) == {
        "error": f"{resource.capitalize()} are out of date: {key} was last written at {held.as_of}",
        "as_of": held.as_of,
        "brokers": json.loads(held.brokers),
    }


@pytest.mark.parametrize("resource", list(PATHS))
async def test_a_document_without_a_usable_broker_is_502_with_the_brokers(services, get, resource):
    held = state(services, resource, error="Invalid token")
    status, body = await get(PATHS[resource], **{resource: held})
    assert status == 502
    assert json.loads(body) == {
        "error": f"Unable to retrieve {resource} information",
        "brokers": [{"broker": "dhan", "status": "unreadable", "as_of": held.as_of}],
    }


@every_case(
    ("query", "sentence"),
    [
        ("limit=ten", "limit must be a whole number, not 'ten'"),
        ("limit=", "limit must be a whole number, not ''"),
        ("limit=1.5", "limit must be a whole number, not '1.5'"),
        ("limit=0", "limit must be from 1 to 10000, not 0"),
        ("limit=10001", "limit must be from 1 to 10000, not 10001"),
        ("limit=-1", "limit must be from 1 to 10000, not -1"),
        ("cursor=x", "cursor must be a whole number, not 'x'"),
        ("cursor=-1", "cursor must be at least 0, not -1"),
    ],
)
@every_case("resource", list(BOOKS))
async def test_a_bad_limit_or_cursor_is_400(services, get, resource, query, sentence):
    status, body = await get(f"{PATHS[resource]}?{query}", **{resource: state(services, resource)})
    assert (status, json.loads(body)) == (400, {"error": sentence})


@every_case(
    ("query", "found"),
    [
        ("order_id=1&order_id=3", ["1", "3"]),
        ("order_id=1,%203", ["1", "3"]),
        ("order_id=9", []),
        ("status=open", ["1", "3"]),
        ("status=complete", ["2"]),
        ("broker=dhan&limit=10000", ["1", "2", "3"]),
        ("broker=zerodha", []),
        ("broker=DHAN", ["1", "2", "3"]),
        ("parent_id=p", []),
        ("intent_id=i", []),
        (f"parent_id={PARENT.upper()}", ["3"]),
        (f"intent_id={INTENT.upper()}&status=open", ["3"]),
        ("limit=1&cursor=1", ["2"]),
        ("cursor=99999999999999999999999", []),
    ],
)
async def test_orders_are_filtered_and_paged(services, get, query, found):
    held = state(services, "orders")
    status, body = await get(f"{DETAILS}?{query}", orders=held)
    answer, whole = json.loads(body), json.loads(held.body)
    assert status == 200
    assert [row["order_id"] for row in answer["orders"]] == found
    assert answer["orders"] == [row for row in whole["orders"] if row["order_id"] in found]
    assert list(answer) == ["orders", "summary", "brokers", "as_of", "page"]
    assert {name: answer[name] for name in ("summary", "brokers", "as_of")} == {
        name: whole[name] for name in ("summary", "brokers", "as_of")
    }
    assert list(answer["page"]) == ["matched", "returned", "cursor", "next_cursor"]


async def test_the_pages_follow_each_other_by_next_cursor(services, get):
    held = state(services, "orders")
    _, first = await get(f"{DETAILS}?limit=2", orders=held)
    assert json.loads(first)["page"] == {"matched": 3, "returned": 2, "cursor": 0, "next_cursor": 2}
    _, second = await get(f"{DETAILS}?limit=2&cursor=2", orders=held)
    assert json.loads(second)["page"] == {"matched": 3, "returned": 1, "cursor": 2, "next_cursor": None}


async def test_trades_are_filtered_by_their_order_and_know_no_status(services, get):
    held = state(services, "trades")
    _, body = await get(f"{TRADES}?order_id=1", trades=held)
    assert [row["trade_id"] for row in json.loads(body)["trades"]] == ["a", "c"]
    assert await get(f"{TRADES}?status=COMPLETE", trades=held) == (200, held.body)


async def test_a_blank_filter_is_no_filter(services, get):
    held = state(services, "orders")
    assert await get(f"{DETAILS}?broker=&order_id=,", orders=held) == (200, held.body)


@pytest.mark.parametrize("path", list(PATHS.values()))
async def test_the_token_comes_first(client, path):
    response = await client.get(f"{path}?limit=x")
    assert (response.status_code, await response.get_json()) == (401, {"error": "Access token is required"})
