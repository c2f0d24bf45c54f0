"""`POST /api/orders/place`: the order of checks, the hand-over to the engine, and what each end of it answers (rules 2.4.2, 2.8)."""

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.catalogue.interface import NOT_MAPPED, CatalogueState
from onebroker.actors.engine.context.messages import EngineAnswer, EngineStatus
from onebroker.config.instruments import future, security
from tests.support.every_case import every_case

SHARE = security("nse", "equities", "INFY")
LIMIT = {
    "instrument_id": SHARE.instrument_id,
    "transaction_type": "BUY",
    "product": "CNC",
    "order_type": "LIMIT",
    "quantity": 10,
    "price": 1500.05,
}
NOT_RUNNING = "the order engine is not running, so the order was not placed; start unified-orders@order_engine.service"


def without(*names: str) -> dict[str, object]:
    return {name: value for name, value in LIMIT.items() if name not in names}


async def test_an_order_is_handed_to_the_engine_and_answered_as_the_engine_answers(orders):
    answer = {"broker": "upstox", "outcome": "rejected", "order_id": None}
    orders.respond = lambda place: EngineAnswer(status=422, body={**answer, "intent_id": place.intent_id})
    status, body = await orders.place({**LIMIT, "tag": "mine1", "broker": "UpStox", "synthetic": {"type": "Simple"}})
    (place,) = orders.placed
    assert (status, body) == (422, {**answer, "intent_id": place.intent_id})
    assert (place.order.instrument.instrument_id, place.order.quantity) == (SHARE.instrument_id, 10)
    assert (place.order.tag, place.order.broker, place.order.closes_position) == ("mine1", "upstox", False)
    assert str(place.order.price) == "1500.05"
    assert place.deadline == place.routed + orders.settings.engine_wait_seconds
    assert place.dry_run is False


async def test_every_order_gets_an_intent_id_of_its_own(orders):
    await orders.place(LIMIT)
    await orders.place(LIMIT)
    first, second = orders.placed
    assert first.intent_id != second.intent_id


@pytest.mark.parametrize(
    "naming",
    [
        {"exchange": "nse", "segment": "equities", "symbol": "infy"},
        {"exchange": "NSE", "segment": "NSE_Equities", "symbol": " INFY "},
        {"instrument_id": SHARE.instrument_id.upper(), "exchange": "nowhere"},
    ],
)
async def test_an_instrument_is_found_by_id_or_by_fields_in_any_case(orders, naming):
    status, _ = await orders.place({**without("instrument_id"), **naming})
    assert status == 200
    assert orders.placed[0].order.instrument.instrument_id == SHARE.instrument_id


async def test_an_option_is_found_by_its_fields(orders):
    fields = {"underlying_symbol": "nifty", "expiry_date": "2026-11-26", "strike_price": 25000.5, "option_type": "ce"}
    naming = {"exchange": "nse", "segment": "equity_index_options", **fields}
    assert (await orders.place({**without("instrument_id"), "product": "NRML", **naming}))[0] == 200
    assert orders.placed[0].order.instrument.identity.strike_price == 25000.5


@pytest.mark.parametrize(
    ("naming", "shown"),
    [
        ({"instrument_id": "00000000-0000-4000-8000-00000000000A"}, "00000000-0000-4000-8000-00000000000a"),
        ({"exchange": "NSE", "segment": "equities", "symbol": "nobody"}, "nse nse_equities NOBODY"),
        (
            {"exchange": "nse", "segment": "equity_futures", "underlying_symbol": "x", "expiry_date": "2026-12-31"},
            "nse nse_equity_futures X 2026-12-31",
        ),
    ],
)
async def test_an_instrument_that_is_not_mapped_is_a_404_that_names_it_and_the_date(orders, naming, shown):
    status, body = await orders.place({**without("instrument_id"), **naming})
    assert (status, body) == (404, {"error": f"no instrument {shown} is mapped on 2026-11-20"})
    assert orders.asked == 0


async def test_an_index_and_the_uncategorised_are_refused(orders):
    index = security("nse", "equity_indices", "NIFTY 50")
    loose = attrs.evolve(security("nse", "equities", "LOOSE"), segment="uncategorised")
    for identity, segment in ((index, "equity_indices"), (loose, "uncategorised")):
        status, body = await orders.place({**LIMIT, "instrument_id": identity.instrument_id})
        assert (status, body) == (400, {"error": f"orders are not sent for {segment} instruments"})
    assert orders.asked == 0


async def test_prices_are_whole_ticks_judged_in_decimal(orders):
    assert (await orders.place({**LIMIT, "price": 0.15}))[0] == 200
    for name, body in {
        "price": {**LIMIT, "price": 1500.07},
        "trigger_price": {**LIMIT, "order_type": "SL", "trigger_price": 1499.99},
    }.items():
        assert await orders.place(body) == (400, {"error": f"{name} must be a whole number of ticks of 0.05"})
    assert orders.asked == 1


@pytest.mark.parametrize("price", [1e300, 10**30, 0.05 * 2**60])
async def test_a_huge_price_is_judged_like_any_other(orders, price):
    status, _ = await orders.place({**LIMIT, "price": price})
    assert status in (200, 400)


# --- bodies ------------------------------------------------------------------------------------------------------------


@every_case("data", [b"", b"{", b"[]", b"5", b'"x"', b"null", b"[" * 100_000])
async def test_a_body_that_is_no_object_is_refused(orders, data):
    answer = await orders.request("POST", "/api/orders/place", data=data, headers={"Content-Type": "application/json"})
    assert answer == (400, {"error": "the request body must be a JSON object"})


async def test_a_body_of_another_content_type_is_refused(orders):
    answer = await orders.request("POST", "/api/orders/place", data=b"{}", headers={"Content-Type": "text/plain"})
    assert answer == (400, {"error": "the request body must be a JSON object"})


async def test_references_go_to_the_engine_as_they_are_to_be_worked_out(orders):
    body = {**without("price", "quantity"), "price_reference": {"kind": "LAST", "offset_ticks": 2}}
    status, _ = await orders.place({**body, "quantity_reference": {"kind": "reduce_position", "product": "Delivery"}})
    assert status == 200
    order = orders.placed[0].order
    assert (order.references.price.kind, order.references.price.offset_ticks) == ("last", 2)
    assert (order.references.quantity.kind, order.references.quantity.product) == ("reduce_position", "delivery")
    assert (order.price, order.quantity) == (None, 0)


# --- dry runs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "query", "dry"),
    [
        ({"dry_run": True}, "", True),
        ({"dry_run": False}, "", False),
        ({}, "?dry_run=true", True),
        ({}, "?dry_run=No", False),
        ({"dry_run": False}, "?dry_run=true", False),
        ({"dry_run": True}, "?dry_run=false", True),
    ],
)
async def test_a_dry_run_is_asked_for_in_the_body_or_else_in_the_query(orders, given, query, dry):
    assert (await orders.place({**LIMIT, **given}, query))[0] == 200
    assert orders.placed[0].dry_run is dry


@pytest.mark.parametrize(
    ("given", "query"), [({"dry_run": "true"}, ""), ({"dry_run": 1}, ""), ({}, "?dry_run=perhaps"), ({}, "?dry_run=")]
)
async def test_a_malformed_dry_run_sends_nothing(orders, given, query):
    assert await orders.place({**LIMIT, **given}, query) == (400, {"error": "dry_run must be true or false"})
    assert orders.asked == 0


@pytest.mark.parametrize("given", [{}, {"dry_run": True}])
async def test_a_dry_run_asked_for_twice_in_the_query_sends_nothing(orders, given):
    answer = await orders.place({**LIMIT, **given}, "?dry_run=true&dry_run=false")
    assert answer == (400, {"error": "dry_run must be given once"})
    assert orders.asked == 0


# --- 503 and 504 -------------------------------------------------------------------------------------------------------


async def test_without_any_catalogue_nothing_is_placed(orders):
    orders.catalogue.set(NOT_MAPPED)
    sentence = "today's instrument catalogue is not published yet: no instruments have been mapped yet"
    assert await orders.place(LIMIT) == (503, {"error": sentence})
    assert orders.asked == 0


async def test_with_yesterdays_catalogue_nothing_is_placed(orders):
    latest = orders.catalogue.value.latest
    orders.catalogue.set(CatalogueState(latest=latest, published_today=False, reason="2 of 10 brokers have answered"))
    sentence = "today's instrument catalogue is not published yet: 2 of 10 brokers have answered"
    assert await orders.place(LIMIT) == (503, {"error": sentence})
    assert orders.asked == 0


async def test_while_the_engine_does_not_run_nothing_is_queued(orders):
    orders.engine_status.set(EngineStatus(running=False, reason="the lock is held elsewhere"))
    assert await orders.place(LIMIT) == (503, {"error": NOT_RUNNING})
    assert orders.asked == 0


async def test_a_wrong_body_is_told_before_what_is_missing_inside(orders):
    orders.engine_status.set(EngineStatus(running=False, reason="x"))
    orders.catalogue.set(NOT_MAPPED)
    assert await orders.place({**LIMIT, "tag": "not-a-tag"}) == (
        400,
        {"error": "tag must be 1 to 20 letters and digits"},
    )


async def test_a_missing_instrument_and_the_settings_are_told_before_the_engine_is_looked_at(orders):
    orders.engine_status.set(EngineStatus(running=False, reason="x"))
    unknown = future("nse", "equity_futures", "NONE", orders.catalogue.value.latest.mapping_date)
    assert (await orders.place({**LIMIT, "instrument_id": unknown.instrument_id}))[0] == 404
    assert (await orders.place({**LIMIT, "synthetic": {"hold_limits": True}}))[0] == 400


async def test_an_engine_that_stopped_before_the_order_reached_it_placed_nothing(orders):
    orders.engine.running = False
    status, body = await orders.place(LIMIT)
    assert (status, body["error"]) == (503, NOT_RUNNING)
    assert orders.asked == 0


async def test_an_engine_that_dies_over_an_order_leaves_its_outcome_unknown(orders, autojump_clock):
    orders.respond = lambda place: orders.engine.stopped()
    status, body = await orders.place(LIMIT)
    assert (status, body) == (
        504,
        {
            "error": "the order engine failed after this order was written as sending, so it may have been placed",
            "outcome": "unknown",
            "intent_id": orders.placed[0].intent_id,
        },
    )


async def test_an_engine_that_does_not_answer_in_time_leaves_the_outcome_unknown(orders, autojump_clock):
    orders.respond = lambda place: None
    began = trio.current_time()
    status, body = await orders.place(LIMIT)
    assert trio.current_time() - began == pytest.approx(5.0)
    assert (status, body) == (
        504,
        {
            "error": "the order engine did not answer within 5 seconds, so this order may still be placed",
            "outcome": "unknown",
            "intent_id": orders.placed[0].intent_id,
        },
    )


async def test_an_order_that_found_no_room_in_the_engines_mailbox_was_not_placed(orders, autojump_clock, nursery):
    orders.gate = trio.Event()
    nursery.start_soon(orders.place, LIMIT)  # taken up, and the engine hangs over it
    await wait_all_tasks_blocked()
    nursery.start_soon(orders.place, LIMIT)  # fills the mailbox
    await wait_all_tasks_blocked()
    status, body = await orders.place(LIMIT)
    assert status == 503
    assert body["error"] == "the order engine is too busy to take this up, so nothing was done; try again in a moment"
    assert set(body) == {"error", "intent_id"}
    assert body["intent_id"] not in [place.intent_id for place in orders.placed]


async def test_a_dry_run_that_is_not_answered_says_that_nothing_was_placed(orders, autojump_clock):
    orders.respond = lambda place: None
    status, body = await orders.place({**LIMIT, "dry_run": True})
    assert status == 504
    assert body == {
        "error": "the order engine did not answer within 5 seconds; this was a dry run, so nothing was placed",
        "intent_id": orders.placed[0].intent_id,
    }


async def test_a_dry_run_over_which_the_engine_dies_placed_nothing(orders, autojump_clock):
    orders.respond = lambda place: orders.engine.stopped()
    status, body = await orders.place({**LIMIT, "dry_run": True})
    assert (status, body["error"]) == (503, NOT_RUNNING)


async def test_a_body_that_arrives_slowly_does_not_use_up_the_wait(orders, autojump_clock):
    async with orders.client.request(
        "/api/orders/place", method="POST", headers={**orders.headers, "Content-Type": "application/json"}
    ) as connection:
        await trio.sleep(20)
        await connection.send(b'{"instrument_id": "%s", "transaction_type": "BUY", ' % SHARE.instrument_id.encode())
        await connection.send(b'"product": "CNC", "order_type": "MARKET", "quantity": 1}')
        await connection.send_complete()
    response = await connection.as_response()
    assert response.status_code == 200
    (place,) = orders.placed
    assert place.routed == pytest.approx(orders.clock.monotonic())


@pytest.mark.parametrize("listed", [False, True])
async def test_an_order_that_arrives_while_the_engine_is_starting_waits_for_it(orders, listed, autojump_clock, nursery):
    starting = EngineStatus(running=False, reason="the order engine is starting", starting=True)
    orders.engine_status.set(starting)

    async def start():
        await trio.sleep(2)
        assert orders.asked == 0
        orders.engine_status.set(attrs.evolve(starting, reason="still"))
        await trio.sleep(2)
        orders.engine_status.set(EngineStatus(running=True, reason=""))

    nursery.start_soon(start)
    status, _ = await orders.place({"orders": [LIMIT]} if listed else LIMIT)
    assert (status, orders.asked) == (200, 1)


async def test_but_no_longer_than_it_would_wait_for_its_answer(orders, autojump_clock):
    orders.engine_status.set(EngineStatus(running=False, reason="the order engine is starting", starting=True))
    began = trio.current_time()
    status, body = await orders.place(LIMIT)
    assert (status, body["error"][:34]) == (503, "the order engine is not running, s")
    assert trio.current_time() - began == pytest.approx(orders.settings.engine_wait_seconds, abs=0.1)
    assert orders.asked == 0


async def test_nor_for_an_engine_that_stops_while_it_starts(orders, autojump_clock, nursery):
    orders.engine_status.set(EngineStatus(running=False, reason="the order engine is starting", starting=True))

    async def stop():
        await trio.sleep(1)
        orders.engine_status.set(EngineStatus(running=False, reason="the order engine has stopped"))

    nursery.start_soon(stop)
    began = trio.current_time()
    assert (await orders.place(LIMIT))[0] == 503
    assert trio.current_time() - began < 1.5
