"""What an import takes in and what it refuses: users, brokers, exchanges, and files that are none of these."""

import copy
import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.reference.import_checks import (
    MOST_DOCUMENT_BYTES,
    MOST_DOCUMENTS,
    MOST_FILE_BYTES,
    encode,
    prepare,
)
from onebroker.brokers.codec.display_names import CODES_BY_DISPLAY_NAME
from onebroker.config.calendars import DocumentCalendar
from onebroker.config.clock import IST
from onebroker.config.converters import StructureError
from onebroker.config.exchange_documents import exchange_documents
from tests.support.every_case import every_case

NOW = datetime(2026, 11, 22, 9, 30, 1, 5, tzinfo=IST)
NSE, BSE, MCX, NCDEX = range(4)


def taken(collection, documents):
    body = documents if isinstance(documents, bytes) else json.dumps(documents).encode()
    return prepare(collection, body, codes_by_name=CODES_BY_DISPLAY_NAME, now=NOW)


def refused(collection, documents):
    with pytest.raises(StructureError) as caught:
        taken(collection, documents)
    return caught.value.lines


# Files


@every_case(
    ("body", "says"),
    [
        (b"", "the file is not JSON"),
        (b"[{]", "the file is not JSON"),
        (b"[] []", "the file is not JSON"),
        (b"[NaN]", "the file is not JSON"),
        (b'["\xff"]', "the file is not UTF-8"),
        (b"{}", "the file must be a JSON array"),
        (b"null", "the file must be a JSON array"),
        (b"[" * 100_000, "the file is nested too deeply"),
        (b"[1, {}, []]", "document 1 must be an object"),
        (b"[" + b" " * MOST_FILE_BYTES + b"]", "the file has more than"),
        (b"[" + b"{}," * MOST_DOCUMENTS + b"{}]", f"the file has {MOST_DOCUMENTS + 1} documents"),
    ],
)
def test_a_file_that_is_no_array_of_documents_is_refused_in_a_sentence(body, says):
    for collection in ("users", "brokers", "exchanges"):
        assert refused(collection, body)[0].startswith(says)


def test_a_byte_order_mark_and_an_empty_array_are_taken():
    assert taken("users", b'\xef\xbb\xbf[{"a": 1}]') == ({"a": 1},)
    assert [taken(collection, []) for collection in ("users", "brokers", "exchanges")] == [(), (), ()]


def test_a_document_that_is_too_large_is_refused_by_its_place():
    with pytest.raises(StructureError, match=r"^document 2 has \d+ bytes; at most"):
        encode(({"a": 1}, {"a": "x" * MOST_DOCUMENT_BYTES}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(max_size=12).filter(lambda name: name != "_id"), JSON, max_size=5), max_size=4))
def test_a_user_document_is_stored_as_it_was_given(documents):
    without = json.loads(json.dumps(documents), object_hook=lambda one: {k: v for k, v in one.items() if k != "_id"})
    assert [json.loads(body) for body in encode(taken("users", documents))] == without


def test_internal_ids_are_left_out_at_every_depth():
    given = [{"_id": {"$oid": "1"}, "name": "A", "banks": [{"_id": 2, "ifsc": "X"}], "client_id": "kept"}]
    assert taken("users", given) == ({"name": "A", "banks": [{"ifsc": "X"}], "client_id": "kept"},)


# Brokers


@every_case(("name", "code"), CODES_BY_DISPLAY_NAME.items())
@every_case("written", [str, str.lower, str.upper])
def test_a_display_name_gives_the_code_whatever_its_case(name, code, written):
    assert taken("brokers", [{"name": written(name), "sebi": "INZ1"}]) == (
        {"broker_name": code, "name": written(name), "sebi": "INZ1"},
    )


def test_one_unknown_name_stops_the_import_and_is_told_with_the_nearest():
    (line,) = refused("brokers", [{"name": "Zerodha"}, {"name": "Zerodah"}])
    assert line.startswith("document 2: name must be one of Zerodha, Upstox, Dhan, Angel One, Fyers, Kotak Neo, ")
    assert line.endswith("did you mean Zerodha?")


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({}, "document 1: name is required"),
        ({"name": None}, "document 1: name must be text"),
        ({"name": ["Zerodha"]}, "document 1: name must be text"),
        (
            {"name": "Dhan", "broker_name": "fyers"},
            "document 1: broker_name must be dhan, which its name stands for, or absent",
        ),
    ],
)
def test_a_broker_document_without_a_usable_name_is_refused(document, line):
    assert refused("brokers", [document]) == (line,)


def test_the_same_broker_twice_is_refused_and_every_problem_is_told():
    lines = refused("brokers", [{"name": "Dhan"}, {"name": "DHAN"}, {}])
    assert lines == ("document 2: name stands for dhan, as that of document 1 does", "document 3: name is required")


def test_what_is_served_can_be_imported_again():
    served = taken("brokers", [{"name": "Angel One", "phone": "1"}])
    assert taken("brokers", list(served)) == served
    exchanges = taken("exchanges", exchange_documents())
    assert taken("exchanges", list(exchanges)) == exchanges


# Exchanges


def test_the_documents_that_come_with_onebroker_pass_unchanged():
    assert list(taken("exchanges", exchange_documents())) == exchange_documents()


def test_the_import_adds_years_copying_time_and_short_name():
    document = exchange_documents()[MCX]
    for name in ("calendar_years", "calendar_copied_at", "short_name"):
        del document[name]
    (done,) = taken("exchanges", [document])
    assert (done["calendar_years"], done["short_name"]) == ([2025, 2026], "MCX")
    assert done["calendar_copied_at"] == "2026-11-22T09:30:01+05:30"


def test_years_are_those_of_the_holidays_whatever_was_given():
    document = exchange_documents()[NCDEX]
    document["calendar_years"] = [1999]
    document["holidays"]["commodity"].append({"date": "2027-01-26", "closed": "all", "name": "Republic Day"})
    assert taken("exchanges", [document])[0]["calendar_years"] == [2025, 2026, 2027]
    document["holidays"]["commodity"] = []
    assert taken("exchanges", [document])[0]["calendar_years"] == []


MISTAKES = {
    "no exchange": (lambda d: d.pop("exchange"), "exchange is required"),
    "another exchange": (lambda d: d.update(exchange="nyse"), "exchange must be one of nse, bse, mcx, ncdex"),
    "an exchange that is no text": (lambda d: d.update(exchange=[]), "exchange must be one of"),
    "a short name that is no text": (lambda d: d.update(short_name=1), "nse.short_name must be text"),
    "years that are none": (lambda d: d.update(calendar_years=["2026"]), "nse.calendar_years must be a list of whole"),
    "a copying time that is none": (lambda d: d.update(calendar_copied_at="today"), "nse.calendar_copied_at must be a time"),
    "no hours": (lambda d: d.pop("trading_hours"), "nse.trading_hours must be an object"),
    "another time zone": (
        lambda d: d["trading_hours"].update(timezone="UTC"), "nse.trading_hours.timezone must be Asia/Kolkata"
    ),
    "an unknown calendar": (
        lambda d: d["trading_hours"].update(equities=d["trading_hours"]["equity"]),
        "nse.trading_hours.equities is not known; did you mean equity?",
    ),
    "no calendars": (
        lambda d: d.update(trading_hours={"timezone": "Asia/Kolkata"}, holidays={}, special_sessions=[]),
        "nse.trading_hours must have an entry for each calendar",
    ),
    "no sessions": (
        lambda d: d["trading_hours"]["currency"].update(sessions=[]),
        "nse.trading_hours.currency.sessions must not be empty",
    ),
    "a time that is none": (
        lambda d: d["trading_hours"]["currency"]["sessions"][0].update(opens="9:00"),
        "nse.trading_hours.currency.sessions[0].opens must be a time of day written HH:MM",
    ),
    "a session that ends first": (
        lambda d: d["trading_hours"]["currency"]["sessions"][0].update(closes="08:00"),
        "nse.trading_hours.currency.sessions[0] must close after it opens",
    ),
    "no pre-open": (
        lambda d: d["trading_hours"]["equity"].pop("pre_open"), "nse.trading_hours.equity.pre_open is required"
    ),
    "no holidays": (lambda d: d.pop("holidays"), "nse.holidays is required"),
    "no list for a calendar": (lambda d: d["holidays"].pop("currency"), "nse.holidays.currency is required"),
    "holidays of no calendar": (
        lambda d: d["trading_hours"].pop("currency"), "nse.holidays.currency is of a calendar that has no trading_hours"
    ),
    "a day that is none": (
        lambda d: d["holidays"]["equity"][0].update(date="2025-02-30"),
        "nse.holidays.equity[0].date must be a date written YYYY-MM-DD",
    ),
    "days out of order": (
        lambda d: d["holidays"]["equity"].reverse(), "nse.holidays.equity must be sorted by date, each date once"
    ),
    "a part of an equity day": (
        lambda d: d["holidays"]["equity"][0].update(closed="morning"), "nse.holidays.equity: closed must be all"
    ),
    "a part there is not": (
        lambda d: d["holidays"]["commodity"][0].update(closed="noon"),
        "nse.holidays.commodity[0].closed must be one of all, morning, evening",
    ),
    "a part without its session": (
        lambda d: d["trading_hours"]["commodity"]["sessions"].pop(),
        "nse.holidays.commodity[0].closed names a session that trading_hours.commodity does not have",
    ),
    "a special session of no calendar": (
        lambda d: d["special_sessions"][0].update(calendars=[]),
        "nse.special_sessions[0].calendars must name a calendar",
    ),
    "a special session twice": (
        lambda d: d["special_sessions"].append(d["special_sessions"][0]),
        "nse.special_sessions[5] overlaps special_sessions[0]",
    ),
    "an unknown field of a session": (
        lambda d: d["special_sessions"][0].update(closed="all"), "nse.special_sessions[0].closed is not known"
    ),
}  # fmt: skip


@every_case(("mistake", "line"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_an_exchange_document_is_told_by_document_and_field(mistake, line):
    documents = exchange_documents()
    documents[0], documents[1] = documents[1], documents[0]  # so that nse is document 2
    mistake(documents[1])
    lines = refused("exchanges", documents)
    assert any(one.startswith(f"document 2: {line}") for one in lines), lines
    assert all(one.startswith("document 2: ") for one in lines), lines


def test_two_documents_of_one_exchange_are_refused():
    nse = exchange_documents()[NSE]
    assert refused("exchanges", [nse, nse]) == ("document 2: exchange is that of document 1 too",)


def places(value, path=()):
    """Every place of a document, so that one can be replaced."""
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*path, name))
    elif isinstance(value, list):
        for index in range(min(len(value), 2)):
            yield from places(value[index], (*path, index))


PLACES = [(index, path) for index, document in enumerate(exchange_documents()) for path in places(document) if path]


@given(st.sampled_from(PLACES), st.just("remove") | JSON)
def test_whatever_stands_in_any_place_the_document_is_refused_with_its_name_or_makes_a_calendar(place, value):
    index, path = place
    documents = copy.deepcopy(exchange_documents())
    inner = documents[index]
    for step in path[:-1]:
        inner = inner[step]
    if value == "remove":
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    done, lines = outcome_of(documents)
    if done is None:
        assert lines
        assert all(line.startswith(f"document {index + 1}: ") for line in lines)
        return
    calendar = DocumentCalendar(json.loads(body) for body in encode(done))
    for exchange in ("nse", "bse", "mcx", "ncdex"):
        for name in ("equity", "currency", "commodity"):
            calendar.next_open(exchange, name, NOW)


def outcome_of(documents):
    """Return what was taken, or None and why not; any other exception is the test's failure."""
    try:
        return taken("exchanges", documents), ()
    except StructureError as error:
        return None, error.lines
