"""`GET /api/orders/parents/ended`: a day's ended parents, the newest first, page by page."""

import uuid

from onebroker.actors.engine.orders.parent_records import ParentState
from onebroker.actors.engine.placing.write_ahead import final_ops
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Delete, Expire, Set, SetAdd, StoreError
from tests.http.routes.test_orders_parents import parent
from tests.support.every_case import every_case

PATH = "/api/orders/parents/ended"
DAY = "2026-11-20"
MORNING = 1_795_145_400.0
"""2026-11-20 09:00 IST, in epoch seconds."""
NIGHT_SECONDS = 20 * 3600


async def end(orders, number, at, **changes):
    record = parent(number, ParentState.COMPLETED, updated_at=at, **changes)
    await orders.store.commit(*final_ops(record))
    return record.parent_order_id


def ids(body):
    return [one["parent_order_id"] for one in body["parents"]]


async def test_parents_of_a_day_are_listed_by_their_end_the_newest_first(orders):
    first, second = [await end(orders, number, MORNING + 60 * number) for number in (1, 2)]
    night = await end(orders, 3, MORNING + NIGHT_SECONDS)
    await end(orders, 4, MORNING + 86_400)
    status, body = await orders.request("GET", f"{PATH}?on={DAY}")
    assert (status, ids(body), body["more"]) == (200, [night, second, first], False)
    assert body["parents"][0]["state"] == "completed"
    assert (await orders.request("GET", f"{PATH}?on=2026-11-19"))[1] == {"parents": [], "cursor": None, "more": False}


async def test_pages_follow_each_other_without_a_gap_and_without_a_double(orders):
    wanted = [
        await end(orders, number, MORNING + number // 2) for number in range(1, 8)
    ]  # pairs end at the same moment
    found, cursor = [], ""
    while True:
        _, body = await orders.request("GET", f"{PATH}?on={DAY}&limit=2{cursor}")
        found += ids(body)
        if not body["more"]:
            break
        cursor = f"&cursor={body['cursor'].replace(' ', '%20')}"
    assert sorted(found) == sorted(wanted)
    assert len(found) == len(wanted)


async def test_a_parent_that_changed_after_its_end_is_listed_once(orders):
    parent_id = await end(orders, 1, MORNING)
    assert await end(orders, 1, MORNING + 5, over_filled_quantity=1) == parent_id
    _, body = await orders.request("GET", f"{PATH}?on={DAY}")
    assert [(one["parent_order_id"], one["over_filled_quantity"]) for one in body["parents"]] == [(parent_id, 1)]


async def test_a_damaged_record_is_named_and_hides_no_other(orders):
    whole, damaged, gone = [await end(orders, number, MORNING + number) for number in (1, 2, 3)]
    await orders.store.commit(Set(keys.parent(damaged), b"{"), Delete(keys.parent(gone)))
    await orders.store.commit(SetAdd(keys.ended_parents(DAY), "nan of nothing"))
    _, body = await orders.request("GET", f"{PATH}?on={DAY}")
    assert (ids(body), body["unreadable_parents"]) == ([whole], [damaged])


async def test_the_list_of_a_day_is_forgotten_with_its_parents(orders):
    seconds = {op.expire_seconds for op in final_ops(parent(state=ParentState.COMPLETED)) if isinstance(op, Set)}
    (listed,) = [op.seconds for op in final_ops(parent(state=ParentState.COMPLETED)) if isinstance(op, Expire)]
    assert seconds == {listed}


@every_case(
    "query, sentence",
    [
        ("", "on is required"),
        ("?on=", "on is required"),
        ("?on=20-11-2026", "on must be a date in YYYY-MM-DD format"),
        (f"?on={DAY}&limit=0", "limit must be between 1 and 200"),
        (f"?on={DAY}&limit=x", "limit must be a whole number"),
        (f"?on={DAY}&cursor=1", "cursor must be the cursor of an earlier answer"),
        (f"?on={DAY}&cursor=inf%20{uuid.UUID(int=1)}", "cursor must be the cursor of an earlier answer"),
        (f"?on={DAY}&on={DAY}", "on must be given once"),
    ],
)
async def test_a_wrong_request_is_told_what_is_wrong(orders, query, sentence):
    assert await orders.request("GET", PATH + query) == (400, {"error": sentence})


async def test_a_store_that_is_away_is_told(orders):
    orders.store.fail_with(StoreError("connection refused"))
    answer = await orders.request("GET", f"{PATH}?on={DAY}")
    assert answer == (503, {"error": "Redis could not be read: connection refused"})
