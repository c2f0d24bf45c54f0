"""`GET /api/audit`: lines in order, page by page, of a day or of a parent; wrong input is refused."""

from pathlib import Path

import attrs
import pytest

from onebroker.actors.audit.day_files import plain
from onebroker.actors.audit.open_end import OpenEnd
from onebroker.actors.audit.waiting_events import Told
from onebroker.config.events import (
    Event,
    FeedUp,
    HaltOff,
    OrderDecided,
    OrderSent,
    ParentMoved,
    RequestAnswered,
    RequestAsked,
)
from onebroker.http.app import build_app
from tests.support.every_case import every_case

AT = 1_795_578_300.0
"""2026-11-25 09:15 IST."""
DAY = 86_400.0
ONE, OTHER = "7f3a1c52-0d5e-4c0b-9a53-3f0f1d8f6f10", "00000000-0d5e-4c0b-9a53-3f0f1d8f6f10"


def asked(request: str, path: str = "/api/orders/place") -> RequestAsked:
    return RequestAsked(request=request, who="token", address="::1", method="POST", path=path, body='{"a": 1}')


def moved(parent: str) -> ParentMoved:
    return ParentMoved(parent=parent, type="simple", before="", state="received")


def write(folder: Path, at: float, *events: Event) -> None:
    end = OpenEnd(folder)
    end.open(at)
    end.add([Told(at, event) for event in events])
    end.push()
    end.close()


@pytest.fixture
def read(services, token, tmp_path):
    """Ask for lines, of the folder `audit` below the test's own."""
    from onebroker.http.services import AuditServices

    client = build_app(attrs.evolve(services, audit=AuditServices(folder=tmp_path))).test_client()

    async def read(**query: object):
        response = await client.get("/api/audit", query_string=query, headers={"access-token": token})
        return response.status_code, await response.get_json()

    return read


async def test_without_files_there_is_a_cursor_for_later(read, tmp_path):
    _, page = await read()
    assert (page["lines"], page["more"]) == ([], False)
    write(tmp_path, AT, HaltOff())
    status, page = await read(cursor=page["cursor"])
    assert status == 200
    assert [line["event"] for line in page["lines"]] == ["halt.off"]


async def test_pages_follow_each_other_over_days_without_a_gap(read, tmp_path):
    for day in range(3):
        write(tmp_path, AT + day * DAY, *(FeedUp(broker="dhan", feed="market", socket=number) for number in range(7)))
    numbers, cursor, pages = [], {}, 0
    while True:
        _, page = await read(limit=4, **cursor)
        numbers += [line["n"] for line in page["lines"]]
        cursor, pages = {"cursor": page["cursor"]}, pages + 1
        if not page["more"]:
            break
    assert numbers == list(range(1, 24))  # with two lines audit.day
    assert pages == 6
    assert (await read(**cursor))[1] == {"lines": [], "more": False, **cursor}
    write(tmp_path, AT + 2 * DAY, HaltOff())
    assert [line["n"] for line in (await read(**cursor))[1]["lines"]] == [24]


async def test_from_a_day_or_a_moment_on(read, tmp_path):
    write(tmp_path, AT, HaltOff())
    write(tmp_path, AT + DAY, HaltOff())
    write(tmp_path, AT + DAY + 60, HaltOff())
    for raw, expected in (
        ("2026-11-25", [1, 2, 3, 4]), ("2026-11-26", [2, 3, 4]), ("2026-11-26 09:15:30", [4]),
        ("2026-11-26T03:45:30Z", [4]), ("2026-11-27", []), ("2020-01-01", [1, 2, 3, 4]),
    ):  # fmt: skip
        _, page = await read(**{"from": raw})
        assert [line["n"] for line in page["lines"]] == expected, raw


async def test_the_lines_of_a_parent_come_with_the_requests_that_led_to_them(read, tmp_path):
    write(
        tmp_path, AT,
        asked("r1"), asked("r2"),
        OrderDecided(intent="i-0", skipped=("dhan: no login",), words="no broker"),
        moved(ONE), moved(OTHER),
        OrderDecided(intent="i-1", parent=ONE, leg=f"{ONE}.0", broker="dhan"),
        OrderSent(broker="dhan", verb="place", parent=ONE, leg=f"{ONE}.0", intent="i-1"),
        OrderSent(broker="dhan", verb="place", parent=OTHER, leg=f"{OTHER}.0", intent="i-2"),
        RequestAnswered(request="r2", status=200, parents=(OTHER,), intents=("i-2",)),
        RequestAnswered(request="r1", status=200, parents=(ONE,), intents=("i-1",)),
        asked("r3", f"/api/orders/cancel?parent_id={ONE}"),
        RequestAnswered(request="r3", status=409, error="no"),
        HaltOff(),
    )  # fmt: skip
    _, page = await read(parent=ONE.upper())
    assert [line["n"] for line in page["lines"]] == [1, 4, 6, 7, 10, 11, 12]
    _, page = await read(parent=OTHER, limit=2)
    assert ([line["n"] for line in page["lines"]], page["more"]) == ([2, 5], True)


async def test_an_unfinished_line_is_not_there_yet(read, tmp_path):
    write(tmp_path, AT, HaltOff(), HaltOff())
    path = plain(tmp_path, "2026-11-25")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    _, page = await read()
    assert [line["n"] for line in page["lines"]] == [1]
    path.write_bytes(whole)
    assert [line["n"] for line in (await read(cursor=page["cursor"]))[1]["lines"]] == [2]


async def test_a_damaged_packed_file_is_said(read, tmp_path):
    (tmp_path / "2026-11-25.jsonl.gz").write_bytes(b"no gzip")
    status, body = await read()
    assert status == 503
    assert body["error"].startswith("the audit could not be read: ")


@every_case(
    ("query", "sentence"),
    [
        ({"from": "yesterday"}, "from must be a date or date and time, such as 2026-09-11 or 2026-09-11 09:15:00"),
        ({"cursor": "x"}, "cursor must be the cursor of an earlier answer"),
        ({"cursor": "2026-11-25.3"}, "cursor must be the cursor of an earlier answer"),
        ({"cursor": "2026-11-25.99999"}, "cursor must be the cursor of an earlier answer"),
        ({"limit": "0"}, "limit must be between 1 and 1000"),
        ({"limit": "1001"}, "limit must be between 1 and 1000"),
        ({"limit": "ten"}, "limit must be a whole number"),
        ({"parent": "7"}, "parent must be the id of a parent"),
        ({"limit": ["1", "2"]}, "limit must be given once"),
    ],
)
async def test_wrong_input_is_refused(read, tmp_path, query, sentence):
    write(tmp_path, AT, HaltOff())
    assert await read(**query) == (400, {"error": sentence})
