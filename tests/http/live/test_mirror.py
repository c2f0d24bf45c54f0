"""A replica's copy of the service, fed by this stream: it serves the same bytes, refuses with the same sentences, and serves nothing that the
service may not serve any more."""

from contextlib import asynccontextmanager
from typing import Any

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.orders.parent_records import ParentState
from onebroker.actors.engine.shown.stored_parents import open_parents
from onebroker.actors.portfolio.document_age import READ_RULES, servable
from onebroker.actors.quotes.quote_document import ltp_document, quote_document
from onebroker.brokers.records import DepthLevel
from onebroker.config.refusal import Refusal
from onebroker.http.live.boards import EventBoard
from onebroker.http.replica.mirror import SILENCE_SECONDS, Mirror
from onebroker.http.replica.service_clock import ServiceClock

SERVICE = "http://127.0.0.1:1"


def new_mirror() -> Mirror:
    return Mirror(service=SERVICE, clock=ServiceClock(), parents_board=EventBoard("parents"))


@asynccontextmanager
async def fed(live, mirror: Mirror, *symbols: str):
    """Feed the mirror while the block runs, as the link of a replica does."""
    async with live.talk() as wire, trio.open_nursery() as nursery:
        await wire.hear()
        mirror.connected()

        async def pump() -> None:
            while True:
                mirror.take(msgspec.json.encode(await wire.hear()))

        await wire.say({"subscribe": "documents", "documents": list(READ_RULES), "ages": True})
        await wire.say({"subscribe": "parents"})
        if symbols:
            items = [{"instrument_id": live.shares[symbol].instrument_id} for symbol in symbols]
            await wire.say({"subscribe": "quotes", "mode": "depth", "instruments": items})
        nursery.start_soon(pump)
        await mirror.wait_ages()
        yield nursery
        nursery.cancel_scope.cancel()
    mirror.lost()


def answer(documents: Any, clock: Any, resource: str) -> tuple[int, object]:
    """Return what the route of the document answers: status, and bytes or the refusal's body."""
    rule, held = READ_RULES[resource], documents[resource]
    try:
        return 200, servable(rule, held.value, clock.epoch()).body
    except Refusal as refused:
        return refused.status, msgspec.json.encode(refused.body())


def both(live, mirror: Mirror, resource: str) -> tuple[Any, Any]:
    return answer(live.sources.documents, live.clock, resource), answer(mirror.documents, mirror.clock, resource)


async def test_a_document_has_the_services_bytes_and_its_present_age(live, autojump_clock):
    mirror = new_mirror()
    live.publish("funds", {"summary": {"total": 1.5}, "pnl": None})
    live.publish_orders(live.order("1", "OPEN"), live.order("2", "COMPLETE"))
    async with fed(live, mirror):
        for beat in range(10):
            live.publish("funds", {"summary": {"total": 1.5 if beat < 5 else 2}, "pnl": None})
            await trio.sleep(2.2)
            served, mirrored = both(live, mirror, "funds")
            assert served == mirrored
            assert served[0] == 200
        orders, shown = live.sources.documents["orders"].value, mirror.documents["orders"].value
        assert shown.content.rows == orders.content.rows, "for the filters of the route"
        assert (shown.content.pieces, shown.as_of) == (orders.content.pieces, orders.as_of)
        assert abs(mirror.clock.epoch() - live.clock.epoch()) < 1e-3


@pytest.mark.parametrize("resource", sorted(READ_RULES))
async def test_a_document_that_is_not_renewed_is_refused_by_the_same_rule_with_or_without_the_service(
    live, autojump_clock, resource
):
    mirror = new_mirror()
    oldest = READ_RULES[resource].oldest_seconds
    rows = {"summary": {}, resource: []}
    live.publish(resource, rows)
    async with fed(live, mirror):
        await trio.sleep(oldest - 2)
        assert both(live, mirror, resource) == (((200, live.sources.documents[resource].value.body),) * 2)
        await trio.sleep(4)
        served, mirrored = both(live, mirror, resource)
        assert served == mirrored
        assert served[0] == 503
        assert b"out of date" in served[1]
        live.publish(resource, rows)
        await trio.sleep(1.2)
        assert both(live, mirror, resource)[1][0] == 200
    as_of = mirror.documents[resource].value.as_of
    await trio.sleep(oldest - 4)
    assert answer(mirror.documents, mirror.clock, resource)[0] == 200, "still as young as the service would serve it"
    await trio.sleep(4)
    status, body = answer(mirror.documents, mirror.clock, resource)
    assert status == 503
    assert as_of.encode() in body


async def test_what_the_service_refuses_is_refused_with_the_same_words(live, autojump_clock):
    mirror = new_mirror()
    async with fed(live, mirror):
        assert both(live, mirror, "trades") == (both(live, mirror, "trades")[0],) * 2
        assert both(live, mirror, "trades")[1][0] == 503
        live.publish("funds", {"summary": {}})
        held = live.sources.documents["funds"]
        brokers = b'[{"broker":"zerodha","status":"missing","as_of":null}]'
        held.set(attrs.evolve(held.value, usable_brokers=False, brokers=brokers))
        for _ in range(3):
            await trio.sleep(2)
            held.set(attrs.evolve(held.value, as_of_epoch=live.clock.epoch()))
            served, mirrored = both(live, mirror, "funds")
            assert served == mirrored
            assert served[0] == 502
        live.publish("funds", {"summary": {}})
        await trio.sleep(1.2)
        assert both(live, mirror, "funds")[1][0] == 200


async def test_a_mirror_that_begins_with_an_old_document_refuses_it_as_the_service_does(live, autojump_clock):
    mirror = new_mirror()
    live.publish("positions", {"net": [], "day": [], "summary": {}})
    await trio.sleep(40)
    async with fed(live, mirror):
        served, mirrored = both(live, mirror, "positions")
        assert served == mirrored
        assert served[0] == 503


async def test_a_quote_is_the_services_quote(live, autojump_clock):
    mirror, share = new_mirror(), live.shares["INFY"]
    depth = {"buy": (DepthLevel(1500.1, 10, 2), DepthLevel(1500.0, 5)), "sell": (DepthLevel(1500.2, 7, 1),)}
    more = {"open": 1490.0, "high": 1510.05, "low": 1480.0, "previous_close": 1495.5, "volume": 10**7, "oi": None}
    more |= {**depth, "average_price": 1499.9, "last_quantity": 3}
    live.tick("INFY", 1500.15, **more, exchange_time=live.clock.epoch())
    async with fed(live, mirror, "INFY"):
        for price in (1500.15, 1500.2, 1495.0):
            await trio.sleep(0.2)
            live.tick("INFY", price, **more, exchange_time=live.clock.epoch())
            await trio.sleep(0.2)
            instrument = mirror.quotes.instrument(share.instrument_id)
            mirrored, held = mirror.quotes.stored(instrument), live.sources.quotes.stored(share)
            now = live.clock.epoch()
            assert quote_document(mirrored, instrument, "cache", now) == quote_document(held, share, "cache", now)
            assert ltp_document(mirrored, instrument, "cache", now) == ltp_document(held, share, "cache", now)


async def test_no_quote_is_served_that_the_service_may_have_replaced(live, autojump_clock):
    mirror, share = new_mirror(), live.shares["INFY"]
    live.tick("INFY", 1500.0)
    async with fed(live, mirror, "INFY") as nursery:
        await trio.sleep(0.2)
        instrument = mirror.quotes.instrument(share.instrument_id)
        assert mirror.quotes.stored(instrument) is not None
        nursery.cancel_scope.cancel()  # the cable is cut: nobody is told
    mirror.heard_at = mirror.clock.monotonic()
    await trio.sleep(SILENCE_SECONDS + 0.1)
    assert mirror.quotes.stored(instrument) is None
    mirror.connected()
    assert mirror.quotes.stored(instrument) is None, "a new connection has not sent it yet"
    async with fed(live, mirror, "INFY"):
        await trio.sleep(0.2)
        assert mirror.quotes.stored(instrument).tick.last_price == 1500.0
        await trio.sleep(301)  # the market is open, and nothing renews the quote
        assert live.sources.quotes.stored(share) is None
        await trio.sleep(2)
        assert mirror.quotes.stored(instrument) is None
        assert mirror.quotes.newest(share.instrument_id).stale_since is not None


async def test_quotes_that_come_late_are_not_served(autojump_clock):
    mirror = new_mirror()
    mirror.connected()

    def ages(now: float) -> bytes:
        return msgspec.json.encode({"seq": 1, "type": "ages", "now": now, "documents": {}})

    mirror.take(ages(1000.0))
    assert mirror.is_heard
    await trio.sleep(10)
    mirror.take(ages(1005.0))  # it was five seconds on its way, in a buffer
    assert mirror.clock.epoch() == pytest.approx(1010.0), "a delay never makes the service's time earlier"
    assert not mirror.is_heard
    mirror.take(ages(1009.0))
    assert mirror.is_heard


async def test_a_wrong_clock_of_the_replicas_machine_makes_no_old_document_fresh(live, autojump_clock, monkeypatch):
    mirror = new_mirror()
    live.publish("funds", {"summary": {}})
    async with fed(live, mirror):
        await trio.sleep(1.2)
        asked = mirror.clock.epoch()
    monkeypatch.setattr("onebroker.http.replica.service_clock.time.time", lambda: asked - 3600)  # an hour behind
    await trio.sleep(READ_RULES["funds"].oldest_seconds + 5)
    assert answer(mirror.documents, mirror.clock, "funds")[0] == 503
    mirror.connected()  # the new connection has carried nothing yet
    assert answer(mirror.documents, mirror.clock, "funds")[0] == 503
    assert mirror.clock.epoch() > asked


async def test_parents_are_those_of_the_route(live, autojump_clock):
    mirror = new_mirror()
    await live.save(live.parent("p1", ParentState.WORKING))
    async with fed(live, mirror):
        await live.save(live.parent("p2", ParentState.WORKING))
        await live.save(live.parent("p1", ParentState.COMPLETED, updated_at=2.0))
        await trio.sleep(0.5)
        assert mirror.parents.shown() == await open_parents(live.store)
        assert [parent["parent_order_id"] for parent in mirror.parents.shown()["parents"]] == ["p2"]
        assert mirror.parents.find("p1") is None
    with pytest.raises(Refusal, match="does not hear"):
        mirror.parents.shown()
