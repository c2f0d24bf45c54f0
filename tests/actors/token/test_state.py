"""The token's transitions and check, as plain functions (rules 1.3.1, 1.5.2)."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.store.durable import AccessToken
from onebroker.actors.token.state import NO_TOKEN, connected, disconnected, hold, refuse_reason
from onebroker.config.clock import IST, latest_boundary
from tests.support.every_case import every_case

DAY = 86_400
NINE = datetime(2026, 11, 20, 9, 0, tzinfo=IST)


def minted(name: str = "t-1"):
    return lambda: name


def live(at: datetime = NINE, name: str = "t-1", seconds: int = DAY) -> AccessToken:
    return connected(NO_TOKEN, at, seconds, minted(name))


def test_a_token_is_stored_with_its_login_and_its_expiry_in_india_time():
    row = connected(NO_TOKEN, datetime.fromisoformat("2026-11-20T03:30:00.000123+00:00"), DAY, minted())
    assert row == AccessToken(
        token="t-1", last_login="2026-11-20 09:00:00.000123", expires_at="2026-11-21 09:00:00.000123"
    )


@pytest.mark.parametrize(
    ("issued", "now", "kept"),
    [
        ("2026-11-20 07:00:00", "2026-11-20 23:59:59", True),  # issued at seven sharp
        ("2026-11-20 06:59:59.999999", "2026-11-20 07:00:00", False),  # seven has come since
        ("2026-11-20 06:00:00", "2026-11-20 06:30:00", True),  # before seven, the latest seven is yesterday's
        ("2026-11-19 07:00:00", "2026-11-20 06:59:59", True),
        ("2026-11-19 06:59:59", "2026-11-20 06:30:00", False),  # older than yesterday's seven, and not a day old
        ("2026-11-20 09:00:00", "2026-11-21 08:00:00", False),  # unexpired, but of yesterday
    ],
)
def test_connect_keeps_a_token_of_this_broking_day(issued: str, now: str, kept: bool):
    row = live(datetime.fromisoformat(issued).replace(tzinfo=IST))
    again = connected(row, datetime.fromisoformat(now).replace(tzinfo=IST), DAY, minted("t-2"))
    assert (again is row) == kept
    assert again.token == ("t-1" if kept else "t-2")


def test_connect_replaces_an_expired_token_at_the_very_moment_of_its_expiry():
    row = live(seconds=60)
    assert connected(row, NINE + timedelta(seconds=59, microseconds=999_999), 60, minted("t-2")) is row
    assert connected(row, NINE + timedelta(seconds=60), 60, minted("t-2")).token == "t-2"


@every_case("field", ["last_login", "expires_at"])
@every_case("text", [None, "", "2026-11-20T09:00:00", "soon"])
def test_connect_replaces_a_token_whose_times_cannot_be_read(field: str, text: str | None):
    stored = {"token": "t-1", "last_login": "2026-11-20 09:00:00.000000", "expires_at": "2026-11-21 09:00:00.000000"}
    row = AccessToken(**{**stored, field: text})
    assert connected(row, NINE, DAY, minted("t-2")).token == "t-2"


def test_disconnect_leaves_token_and_expiry_null():
    row = live()
    assert disconnected(row) == AccessToken(token=None, last_login=row.last_login, expires_at=None)
    assert connected(disconnected(row), NINE, DAY, minted("t-2")).token == "t-2"


@every_case(
    ("presented", "seconds", "sentence"),
    [
        (None, 0, "Access token is required"),
        (None, DAY, "Access token is required"),
        (b"", 0, "Invalid access token"),
        (b"t-", 0, "Invalid access token"),
        (b"T-1", 0, "Invalid access token"),
        (b"t-1 ", DAY, "Invalid access token"),
        (b"\xff\xfe", 0, "Invalid access token"),
        (b"t-1", 0, None),
        (b"t-1", DAY - 1, None),
        (b"t-1", DAY, "Access token has expired"),
        (b"t-1", DAY + 1, "Access token has expired"),
    ],
)
def test_the_check_refuses_in_the_order_of_the_spec(presented: bytes | None, seconds: int, sentence: str | None):
    assert refuse_reason(hold(live()), presented, NINE + timedelta(seconds=seconds)) == sentence


@pytest.mark.parametrize("text", [None, "", "2026-11-21", "99-99-99"])
def test_an_expiry_that_cannot_be_read_has_passed(text: str | None):
    held = hold(AccessToken(token="t-1", last_login="2026-11-20 09:00:00.000000", expires_at=text))
    assert refuse_reason(held, b"t-1", NINE) == "Access token has expired"


@every_case("presented", [b"t-1", b"", b"None", b"null"])
@every_case("row", [NO_TOKEN, disconnected(live())])
def test_without_a_stored_token_every_token_is_invalid_and_none_is_expired(row: AccessToken, presented: bytes):
    assert refuse_reason(hold(row), presented, NINE + timedelta(days=9)) == "Invalid access token"


def test_nothing_shows_a_token_in_its_repr():
    row = live(name="very-secret")
    assert "very-secret" not in repr(row) + repr(hold(row))


@given(
    st.lists(st.tuples(st.sampled_from(["connect", "disconnect"]), st.integers(1, 200_000)), min_size=1, max_size=40),
    st.sampled_from([60, 3_600, DAY, 3 * DAY]),
)
def test_over_any_sequence_one_token_stands_and_only_of_this_broking_day(steps: list[tuple[str, int]], seconds: int):
    row, now, used = NO_TOKEN, NINE, 0
    names: set[str] = set()
    for step, later in steps:
        now += timedelta(seconds=later)
        before = row
        if step == "disconnect":
            row = disconnected(row)
            assert all(refuse_reason(hold(row), name.encode(), now) == "Invalid access token" for name in names)
            continue
        used += 1
        row = connected(row, now, seconds, minted(f"t-{used}"))
        names.add(str(row.token))
        # What connect hands out opens the door, and nothing handed out before does unless it is the same.
        assert [name for name in names if refuse_reason(hold(row), name.encode(), now) is None] == [row.token]
        issued = datetime.fromisoformat(str(row.last_login)).replace(tzinfo=IST)
        assert latest_boundary(now) <= issued <= now
        # A second connect at the same moment is never a new token.
        assert connected(row, now, seconds, minted("never")) is row
        if row is not before:
            assert issued == now
