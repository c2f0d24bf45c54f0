"""`/api/orders/parents`: GET is read from the store alone, so that it works without an engine (rules 2.4.6; order-engine 5.5);
DELETE is handed to the desk."""

import uuid
from decimal import Decimal

import attrs
import pytest

from onebroker.actors.engine.context.messages import EngineAnswer, EngineStatus
from onebroker.actors.engine.desk.messages import StopParent
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord, ParentState, encode_parent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, SetAdd, StoreError
from tests.support.every_case import every_case

PATH = "/api/orders/parents"


def parent(number: int = 1, state: ParentState = ParentState.WORKING, **changes: object) -> ParentRecord:
    leg = LegRecord(
        leg_id=f"p{number}.0",
        part="entry",
        token="t",
        broker="upstox",
        segment="nse_equities",
        instrument_token="NSE_EQ|1",
        tradingsymbol="INFY",
        transaction_type="BUY",
        product="CNC",
        order_type="LIMIT",
        validity="DAY",
        quantity=10,
        price=Decimal("1500.05"),
        trigger_price=None,
        session_day="2026-11-20",
        state=LegState.OPEN,
        order_id="77",
        filled_quantity=4,
        average_price=1500.0,
        sent_at=1_000.5,
        updated_at=1_001.0,
    )
    record = ParentRecord(
        parent_order_id=str(uuid.UUID(int=number)),
        synthetic_type="simple",
        routed_from=None,
        state=state,
        instrument_id="i-1",
        intent_id=str(uuid.UUID(int=1000 + number)),
        created_at=1_000.0 + number,
        updated_at=1_001.0,
        deadline=1_005.0,
        body={"quantity": 10, "unheard_of": [1]},
        parameters={"closes_position": False},
        tag="mine1",
        legs=(leg,),
    )
    return attrs.evolve(record, **changes)


async def keep(orders, *records: ParentRecord) -> None:
    for record in records:
        await orders.store.commit(
            Set(keys.parent(record.parent_order_id), encode_parent(record)),
            SetAdd(keys.OPEN_PARENTS, record.parent_order_id),
        )


async def keep_nonsense(orders, number: int, written: bytes) -> str:
    parent_id = str(uuid.UUID(int=number))
    await orders.store.commit(Set(keys.parent(parent_id), written), SetAdd(keys.OPEN_PARENTS, parent_id))
    return parent_id


async def test_a_parent_is_shown_whole_by_its_id(orders):
    await keep(orders, parent())
    status, body = await orders.request("GET", f"{PATH}?parent_id={uuid.UUID(int=1)}")
    assert status == 200
    assert list(body) == [
        "parent_order_id", "synthetic_type", "routed_from", "state", "status_message", "instrument_id", "intent_id",
        "created_at", "updated_at", "over_filled_quantity", "open_units", "body", "parameters", "legs",
    ]  # fmt: skip
    assert (body["state"], body["synthetic_type"], body["routed_from"]) == ("working", "simple", None)
    assert body["body"] == {"quantity": 10, "unheard_of": [1]}
    assert body["legs"] == [
        {
            "leg_id": "p1.0",
            "part": "entry",
            "broker": "upstox",
            "order_id": "77",
            "state": "open",
            "status_message": None,
            "transaction_type": "BUY",
            "product": "CNC",
            "order_type": "LIMIT",
            "quantity": 10,
            "filled_quantity": 4,
            "pending_quantity": 6,
            "price": 1500.05,
            "trigger_price": None,
            "average_price": 1500.0,
            "sent_at": 1_000.5,
            "updated_at": 1_001.0,
        }
    ]


@pytest.mark.parametrize("state", [LegState.COMPLETE, LegState.CANCELLED, LegState.REJECTED, LegState.NOT_SENT])
async def test_a_leg_that_has_ended_has_nothing_pending(orders, state):
    record = parent(state=ParentState.COMPLETED)
    await keep(orders, attrs.evolve(record, legs=(attrs.evolve(record.legs[0], state=state),)))
    _, body = await orders.request("GET", f"{PATH}?parent_id={uuid.UUID(int=1)}")
    assert body["legs"][0]["pending_quantity"] == 0


async def test_a_finished_parent_is_answered_by_id_and_not_in_the_list(orders):
    await keep(orders, parent(state=ParentState.COMPLETED))
    assert (await orders.request("GET", f"{PATH}?parent_id={uuid.UUID(int=1)}"))[0] == 200
    assert await orders.request("GET", PATH) == (200, {"parents": []})


async def test_without_an_id_every_unfinished_parent_is_listed_oldest_first(orders):
    await keep(orders, *(parent(number, created_at=100.0 - number) for number in (1, 2, 3)))
    status, body = await orders.request("GET", PATH)
    assert status == 200
    assert list(body) == ["parents"]
    assert [one["parent_order_id"] for one in body["parents"]] == [str(uuid.UUID(int=number)) for number in (3, 2, 1)]


async def test_a_parent_that_has_placed_nothing_is_shown(orders):
    await keep(orders, parent(state=ParentState.RECEIVED, legs=()))
    _, body = await orders.request("GET", PATH)
    assert (body["parents"][0]["state"], body["parents"][0]["legs"]) == ("received", [])


async def test_an_id_is_read_in_any_case(orders):
    await keep(orders, parent(0xABCDEF))
    status, body = await orders.request("GET", f"{PATH}?parent_id={str(uuid.UUID(int=0xABCDEF)).upper()}")
    assert (status, body["parent_order_id"]) == (200, str(uuid.UUID(int=0xABCDEF)))


async def test_it_works_without_a_running_engine(orders):
    orders.engine_status.set(EngineStatus(running=False, reason="starting"))
    orders.engine.running = False
    await keep(orders, parent())
    assert (await orders.request("GET", PATH))[0] == 200


async def test_an_unknown_parent_is_a_404(orders):
    answer = await orders.request("GET", f"{PATH}?parent_id={uuid.UUID(int=9)}")
    assert answer == (404, {"error": "the order engine holds no parent with this id"})


@pytest.mark.parametrize("given", ["", "%20", "7", "urn:uuid:00000000-0000-0000-0000-000000000001", "*", "0" * 32])
async def test_what_is_no_uuid_names_no_parent(orders, given):
    assert await orders.request("GET", f"{PATH}?parent_id={given}") == (400, {"error": "parent_id must name a parent"})


@pytest.mark.parametrize("query", ["", f"?parent_id={uuid.UUID(int=1)}"])
async def test_a_store_that_is_away_is_a_503(orders, query):
    orders.store.fail_with(StoreError("connection refused"))
    answer = await orders.request("GET", PATH + query)
    assert answer == (503, {"error": "Redis could not be read: connection refused"})


@pytest.mark.parametrize("written", [b"", b"{", b"\xff", b"[]", b"{}", b'{"parent_order_id": 5}'])
async def test_a_record_that_cannot_be_read_is_a_503_that_names_it(orders, written):
    parent_id = await keep_nonsense(orders, 5, written)
    answer = await orders.request("GET", f"{PATH}?parent_id={parent_id}")
    assert answer == (503, {"error": f"the stored record of parent {parent_id} cannot be read"})


async def test_a_record_that_cannot_be_read_hides_no_other_and_is_named_beside_them(orders):
    await keep(orders, parent(1))
    unreadable = [await keep_nonsense(orders, number, b"{") for number in (5, 6)]
    status, body = await orders.request("GET", PATH)
    assert status == 200
    assert [one["parent_order_id"] for one in body["parents"]] == [str(uuid.UUID(int=1))]
    assert body["unreadable_parents"] == unreadable


# --- DELETE --------------------------------------------------------------------------------------------------------------

ID = str(uuid.UUID(int=1))


@pytest.fixture
def desk(orders):
    orders.respond = lambda message: EngineAnswer(
        status=200, body={"parent_id": message.parent_id, "state": "cancelled"}
    )
    return orders


async def test_a_parents_cancel_is_handed_to_the_desk_and_answered_as_it_answers(desk):
    for query, body in (("?dry_run=true", {"parent_id": ID}), ("", {"parent_id": ID, "dry_run": True})):
        answer = await desk.request("DELETE", PATH + query, json=body)
        assert answer == (200, {"parent_id": ID, "state": "cancelled"})
    for asked in desk.cancelled:
        assert isinstance(asked, StopParent)
        assert (asked.parent_id, asked.part, asked.dry_run) == (ID, None, True)
    desk.respond = lambda message: EngineAnswer(status=207, body={"state": "cancelling"})
    assert await desk.request("DELETE", PATH, json={"parent_id": ID}) == (207, {"state": "cancelling"})


@every_case(
    ("body", "sentence"),
    [
        (None, "parent_id must name a parent"),
        *(({"parent_id": wrong}, "parent_id must name a parent") for wrong in (None, "", "x", 7, True, [], {})),
        *(({"parents": wrong}, "parents must be a non-empty list") for wrong in ([], {}, ID, 7, False)),
        (
            {"parents": [{"parent_id": ID}], "parent_id": ID},
            "a list takes only parents and dry_run, so give parent_id inside each entry",
        ),
        (
            {"parents": [{"parent_id": ID, "dry_run": True}]},
            "dry_run applies to the whole list, so give it beside parents rather than inside an entry",
        ),
        ({"parent_id": ID, "dry_run": 1}, "dry_run must be true or false"),
    ],
)
async def test_what_is_wrong_with_a_delete_is_refused_and_nothing_is_asked(desk, body, sentence):
    given, asked = {} if body is None else {"json": body}, desk.asked
    assert await desk.request("DELETE", PATH, **given) == (400, {"error": sentence})
    assert desk.asked == asked


async def test_a_list_of_parents_is_answered_entry_by_entry(desk):
    other = str(uuid.UUID(int=2))
    desk.respond = lambda message: EngineAnswer(status=200 if message.parent_id == ID else 404, body={})
    parents = [{"parent_id": ID}, {"parent_id": "x"}, {"parent_id": other}]
    status, body = await desk.request("DELETE", PATH, json={"parents": parents})
    assert status == 200
    assert [(one["request_index"], one["status"], one["response"]) for one in body["results"]] == [
        (0, 200, {}),
        (1, 400, {"error": "parent_id must name a parent"}),
        (2, 404, {}),
    ]


@pytest.mark.parametrize(
    "entry",
    [
        "x",
        {},
        None,
        7,
        [],
        {"parent_id": None},
        {"parent": ID},
        {"parent_id": ""},
        {"parent_id": " "},
        {"parent_id": 5},
    ],
)
async def test_an_entry_that_names_no_parent_refuses_the_whole_request_and_cancels_nothing(desk, entry):
    for parents in ([{"parent_id": ID}, entry], [entry, {"parent_id": ID}]):
        answer = await desk.request("DELETE", PATH, json={"parents": parents})
        assert answer == (400, {"error": "each entry of parents must name a parent_id"})
    assert desk.asked == 0
