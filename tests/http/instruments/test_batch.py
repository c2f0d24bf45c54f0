"""POST /api/instruments/details and additional_details, and the POST form itself, against rules 1.4.6."""

from datetime import date

import msgspec
import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from werkzeug.exceptions import RequestEntityTooLarge

from onebroker.config.instruments import option, security
from onebroker.config.refusal import Refusal
from onebroker.http.bodies import long_body_in
from onebroker.http.instruments import batch
from tests.support.every_case import every_case
from tests.support.further import searched

BOTH = ["details", "additional_details"]
INFY = security("nse", "equities", "INFY").instrument_id
CALL = option("nse", "equity_options", "INFY", date(2026, 11, 26), 1500.5, "CE")
BY_FIELDS = {
    "exchange": "nse", "segment": "equity_options", "underlying_symbol": "infy", "expiry_date": "2026-11-26",
    "strike_price": 1500.5, "option_type": "ce",
}  # fmt: skip
NOWHERE = "00000000-0000-5000-8000-000000000000"
BODY_FORM = "the body must be a JSON object with an instruments list"
LIST_FORM = "instruments must be a non-empty list"
SCALAR = "must be text, a number or true or false"


async def refusal(response):
    assert response.content_type == "application/json"
    body = await response.get_json()
    assert list(body) == ["error"]
    return response.status_code, body["error"]


async def results(office, items, path="details", **shared):
    response = await office.post(path, {"instruments": items, **shared})
    assert (response.status_code, response.content_type) == (200, "application/json"), await response.get_data()
    body = await response.get_json()
    assert list(body) == ["results"]
    assert [entry["request_index"] for entry in body["results"]] == list(range(len(items)))
    return body["results"]


async def errors(office, items):
    return [(entry["status"], entry.get("error")) for entry in await results(office, items)]


# One by one what the GET form answers


@pytest.mark.parametrize("path", BOTH)
async def test_data_is_exactly_what_the_get_form_answers(office, path):
    everything = await (await office.get("master", exchange="all", segment="all")).get_json()
    ids = [row["instrument_id"] for row in everything]
    entries = await results(office, [{"instrument_id": each} for each in ids], path)
    for instrument_id, entry in zip(ids, entries, strict=True):
        assert list(entry) == ["request_index", "status", "data"]
        alone = await office.get(path, instrument_id=instrument_id)
        assert (entry["status"], entry["data"]) == (200, await alone.get_json())


async def test_one_item_is_answered_as_a_list_too(office):
    (entry,) = await results(office, [{"instrument_id": INFY}])
    assert entry["data"]["symbol"] == "INFY"


async def test_additional_details_are_the_details_and_the_other_columns(office):
    (details,), (additional,) = [await results(office, [{"instrument_id": INFY}], path) for path in BOTH]
    attributes = {"attributes": {"zerodha": {"series": "EQ"}, "upstox": {"series": "EQ"}}}
    assert additional["data"] == details["data"] | attributes
    assert list(additional["data"])[-1] == "attributes"


async def test_a_record_of_master_names_its_instrument(office):
    """So that what one route answers can be asked of another: a null field is one that is not given."""
    everything = await (await office.get("master", exchange="all", segment="all")).get_json()
    by_fields = [{name: value for name, value in row.items() if name != "instrument_id"} for row in everything]
    entries = await results(office, by_fields)
    assert [entry["data"]["instrument_id"] for entry in entries] == [row["instrument_id"] for row in everything]


@pytest.mark.parametrize("strike", [1500.5, "1500.5", "1500.50", 1500.4 + 0.1 + 1e-12, "1500.5000000000002"])
async def test_both_spellings_mix_and_numbers_may_be_numbers(office, strike):
    entries = await results(
        office, [BY_FIELDS | {"strike_price": strike}, {"instrument_id": CALL.instrument_id.upper()}]
    )
    assert [entry["data"]["instrument_id"] for entry in entries] == [CALL.instrument_id] * 2


async def test_a_symbol_may_be_a_number_or_a_flag(office):
    office.map(office.snapshot_of(office.DAY, zerodha=[office.share("500325"), office.share("TRUE")]))
    names = [500325, True]
    entries = await results(office, [{"exchange": "nse", "segment": "equities", "symbol": name} for name in names])
    assert [entry["data"]["symbol"] for entry in entries] == ["500325", "TRUE"]


async def test_good_and_bad_items_stand_side_by_side(office):
    items = [
        {"instrument_id": INFY}, {"instrument_id": "12"}, {}, {"instrument_id": NOWHERE}, "INFY", None, [], 7,
        {"exchange": "nyse"}, {"symbol": "INFY"}, {"exchange": "nse"}, {"exchange": "nse", "segment": "x"},
        {"exchange": "nse", "segment": "equities"}, BY_FIELDS | {"expiry_date": "soon"},
        BY_FIELDS | {"strike_price": "x"}, BY_FIELDS | {"strike_price": True}, BY_FIELDS | {"option_type": "C"},
        BY_FIELDS | {"underlying_symbol": "none"}, {"instrument_id": [INFY]}, {"instrument_id": INFY, "note": {}},
        {"instrument_id": None}, {"instrument_id": INFY, "note": None},
    ]  # fmt: skip
    assert await errors(office, items) == [
        (200, None),
        (400, "instrument_id must be a UUID"),
        (400, "give instrument_id, or exchange, segment and the identity fields"),
        (404, f"no instrument {NOWHERE} is mapped on 2026-11-20"),
        *[(400, "each entry of instruments must be an object")] * 4,
        (400, "exchange must be one of nse, bse, mcx, ncdex, unknown"),
        (400, "exchange is required"),
        (400, "segment is required"),
        (400, "segment x is not a segment of nse; see /api/instruments/segments"),
        (400, "a security segment needs symbol"),
        (400, "expiry_date must be a date in YYYY-MM-DD format"),
        (400, "strike_price must be a number"),
        (400, "strike_price must be a number"),
        (400, "option_type must be CE or PE"),
        (404, "no instrument nse nse_equity_options NONE 2026-11-26 1500.5 CE is mapped on 2026-11-20"),
        (400, f"instrument_id {SCALAR}"),
        (400, f"note {SCALAR}"),
        (400, "give instrument_id, or exchange, segment and the identity fields"),
        (200, None),
    ]


async def test_an_error_is_told_in_the_same_words_by_both_forms(office):
    items = [{"instrument_id": "x"}, {"exchange": "nse"}, {"instrument_id": NOWHERE}]
    for item, entry in zip(items, await results(office, items), strict=True):
        assert (entry["status"], entry["error"]) == await refusal(await office.get("details", **item))


async def test_the_same_instrument_may_be_asked_for_twice(office):
    first, second = await results(office, [{"instrument_id": INFY}] * 2)
    assert first["data"] == second["data"]


# The whole response


@every_case("path", BOTH)
@every_case(
    ("body", "sentence"),
    [
        (b"", BODY_FORM), (b"{", BODY_FORM), (b"null", BODY_FORM), (b"[]", BODY_FORM), (b'"x"', BODY_FORM), (b"{}", BODY_FORM),
        (b'{"instruments":[{"a":"\xff"}]}', BODY_FORM), (b"[" * 100_000, BODY_FORM),
        (b'{"instruments":' + b"[" * 100_000, BODY_FORM), (b'{"instruments":[{}' + b",{}" * 50_000, BODY_FORM),
        ({"instrument_id": INFY}, BODY_FORM),
        ({"instruments": []}, LIST_FORM), ({"instruments": None}, LIST_FORM), ({"instruments": {}}, LIST_FORM),
        ({"instruments": "x"}, LIST_FORM), ({"instruments": {"instrument_id": INFY}}, LIST_FORM),
        ({"instruments": [{}], "date": []}, f"date {SCALAR}"), ({"instruments": [{}], "date": {"a": 1}}, f"date {SCALAR}"),
        ({"instruments": [{}], "date": "soon"}, "date must be a date in YYYY-MM-DD format"),
        ({"instruments": [{}], "date": 20261120}, "date must be a date in YYYY-MM-DD format"),
        ({"instruments": [{}], "date": True}, "date must be a date in YYYY-MM-DD format"),
        ({"instruments": [], "date": "soon"}, LIST_FORM),
    ],
)  # fmt: skip
async def test_a_wrong_body_or_shared_parameter_refuses_the_whole_before_anything_is_read(office, path, body, sentence):
    office.map(None)
    assert await refusal(await office.post(path, body)) == (400, sentence)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
async def test_a_body_that_is_not_said_to_be_json_is_refused(office, kind):
    headers = office.headers | ({} if kind is None else {"content-type": kind})
    client = office.app.test_client()
    response = await client.post("/api/instruments/details", data=b'{"instruments":[{}]}', headers=headers)
    assert await refusal(response) == (400, BODY_FORM)


@pytest.mark.parametrize("path", BOTH)
async def test_before_the_first_mapping_the_whole_is_a_503(office, path):
    office.map(None)
    answer = await refusal(await office.post(path, {"instruments": [{"instrument_id": INFY}, {}]}))
    assert answer == (503, "no instruments have been mapped yet")


@pytest.mark.parametrize("path", BOTH)
async def test_a_date_before_everything_makes_the_whole_a_404(office, path):
    answer = await refusal(await office.post(path, {"instruments": [{"instrument_id": INFY}], "date": "2026-01-01"}))
    assert answer == (404, "nothing had been mapped on or before 2026-01-01")


@pytest.mark.parametrize("path", BOTH)
async def test_an_older_mapping_that_cannot_be_read_makes_the_whole_a_503(office, path):
    office.older = Refusal(503, "the mapping of 2026-11-18 cannot be read")
    answer = await refusal(await office.post(path, {"instruments": [{}], "date": "2026-11-19"}))
    assert answer == (503, "the mapping of 2026-11-18 cannot be read")


@pytest.mark.parametrize("path", BOTH)
async def test_the_token_comes_first(office, path):
    assert await refusal(await office.post(path, b"{", headers={})) == (401, "Access token is required")


async def test_an_earlier_date_is_read_once_for_the_whole_list(office):
    gone = office.snapshot_of(date(2026, 11, 18), zerodha=[office.share("GONE")])
    office.older = gone
    names = [{"exchange": "nse", "segment": "equities", "symbol": name} for name in ("GONE", "INFY")] * 50
    response = await office.post("details", {"instruments": names, "date": "2026-11-19"})
    assert response.headers["X-Mapping-Date"] == "2026-11-18"
    entries = (await response.get_json())["results"]
    assert [entry["status"] for entry in entries] == [200, 404] * 50
    assert entries[1]["error"] == "no instrument nse nse_equities INFY is mapped on 2026-11-18"
    assert office.heard == [date(2026, 11, 19)]


@pytest.mark.parametrize("day", [None, "2026-11-20", "2031-01-01"])
async def test_without_an_earlier_date_the_latest_mapping_answers(office, day):
    response = await office.post("details", {"instruments": [{"instrument_id": INFY}], "date": day})
    assert (response.status_code, response.headers["X-Mapping-Date"]) == (200, "2026-11-20")
    assert office.heard == []


# The module that other routes use too


async def entries_of(items, one, **options):
    batch_ = batch.Batch(items, {})
    response = await batch.answer(batch_, one, **options)
    async with response.response as chunks:
        return msgspec.json.decode(b"".join([chunk async for chunk in chunks]))["results"]


@pytest.mark.parametrize("at_once", [1, 4])
async def test_so_many_items_are_worked_on_at_once_and_answered_in_order(autojump_clock, at_once):
    working = most = 0

    async def one(item):
        nonlocal working, most
        working += 1
        most = max(most, working)
        await trio.sleep(float(item["wait"]))
        working -= 1
        return item["wait"]

    waits = [str(5 - number % 5) for number in range(40)]
    entries = await entries_of([{"wait": wait} for wait in waits], one, at_once=at_once)
    assert [entry["data"] for entry in entries] == waits
    assert most == at_once


async def test_what_actors_raise_stands_in_the_entry_with_its_keys():
    async def one(item):
        if item["n"] == "1":
            raise Refusal(503, "no quote", {"broker": "zerodha"})
        return item["n"]

    assert await entries_of([{"n": 0}, {"n": 1}, {"n": 2}], one) == [
        {"request_index": 0, "status": 200, "data": "0"},
        {"request_index": 1, "status": 503, "error": "no quote", "broker": "zerodha"},
        {"request_index": 2, "status": 200, "data": "2"},
    ]


@every_case(
    "raw",
    [
        b"{" + b",".join(b'"key %d":1' % number for number in range(100_000)) + b"}",
        b"{" + b",".join(b'"key %d":1' % number for number in range(100_000)) + b',"instruments":[{}]}',
        b'{"instruments":[{}],' + b",".join(b'"key %d":1' % number for number in range(100_000)) + b"}",
        b'{"instruments":[{' + b",".join(b'"key %d":1' % number for number in range(100_000)) + b"}]}",
        b'{"instruments":[' + b"1," * 600_000 + b"1]}",
        b'{"instruments":[' + b"{}," * 400_000 + b"{}]}",
    ],
    ids=("keys", "keys before", "keys after", "one item", "numbers", "too many items"),
)
async def test_a_long_body_that_cannot_be_decoded_in_pieces_is_refused_unread(raw: bytes):
    assert len(raw) > long_body_in.AT_ONCE_BYTES
    with pytest.raises(RequestEntityTooLarge):
        await long_body_in.decode(raw, "instruments")


async def test_a_long_list_lets_others_run_between_its_items():
    turns = 0

    async def other():
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async def one(item):
        return item

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        items = [{}] * 1000
        await entries_of(items, one)
        assert turns >= 1000
        assert items == [None] * 1000, "what was answered is let go at once, not a hundred thousand at the end"
        turns = 0
        raw = msgspec.json.encode({"instruments": [{"instrument_id": INFY}] * 20_000})
        assert len((await long_body_in.decode(raw, "instruments"))["instruments"]) == 20_000
        assert turns >= len(raw) // long_body_in.PIECE_BYTES // 2
        turns = 0
        items = [{"a": "},{" * 20_000}, *[{"a": {"b": [{}, {}]}}] * 20_000]  # cuts that are none
        raw = msgspec.json.encode({"x": "]", "instruments": items, "y": 1})
        assert await long_body_in.decode(raw, "instruments") == {"x": "]", "y": 1, "instruments": items}
        assert turns >= 2
        nursery.cancel_scope.cancel()


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.text(max_size=9)
)
TRICKY = st.sampled_from(['"},{"', "}]}", "\\", '\\"', "},", "]", "é₹", "instruments"])
VALUES = st.recursive(
    SCALARS | TRICKY,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5) | TRICKY, inner, max_size=4),
    max_leaves=9,
)
JSONS = st.dictionaries(st.text(max_size=5) | TRICKY | st.just("date"), VALUES, max_size=3)


def decoded(raw):
    try:
        return msgspec.json.decode(raw)
    except ValueError:
        return "malformed"


async def pieced(raw):
    try:
        return await long_body_in.decode(raw, "instruments")
    except ValueError:
        return "malformed"


@every_case(
    "raw",
    [
        b'{"instruments":[{"a":1},]}', b'{"instruments":[,{"a":1}]}', b'{"instruments":[{"a":1},,{}]}',
        b'{"instruments":[{}],"instruments":0}', b'{"instruments":0,"instruments":[{}]}', b'{"instruments":[{}],"instruments":[1]}',
        b'{"instruments":[{}],"x":1,}', b'{,"instruments":[{}]}', b'{"x":1 "instruments":[{}]}', b'{"instruments":[{}]}}',
        b'{"instruments":[{}],"x":"]"}', b'{"x":"[","instruments":[{},{}]}', b'{"instruments":[{},{}],"x":[]}',
        b'{"instruments":[{"a":"},"},{"b":[{},{}]},7]}', b'{"other":[{},{}]}', b'{"":1,"instruments":[{},{}]}',
        b'{"\\u0069nstruments":[{},{}]}', b' {"instruments" : [ {} , {} ] } ', b'{"instruments":[{},{}]\x0c}', b'{"instruments":[]}',
        b'{"instruments":[{}],"\\u0069nstruments":0}', b'[{"instruments":[{},{}]}]',
    ],
)  # fmt: skip
async def test_an_odd_body_read_in_pieces_is_what_it_is_read_at_once(monkeypatch, raw):
    monkeypatch.setattr(long_body_in, "PIECE_BYTES", 1)
    assert await pieced(raw) == decoded(raw)


@searched(100, 300, suppress_health_check=list(HealthCheck))
@given(
    before=JSONS, after=JSONS, items=st.lists(VALUES, max_size=12), data=st.data(), spaced=st.booleans(),
    piece=st.integers(1, 60),
)  # fmt: skip
def test_a_body_read_in_pieces_is_what_it_is_read_at_once(before, after, items, data, spaced, piece):
    text = msgspec.json.encode({**before, "instruments": items})[:-1]
    text += b"," + msgspec.json.encode(after)[1:] if after else b"}"
    raw = msgspec.json.format(text, indent=2) if spaced else text
    if data.draw(st.booleans()):  # broken somewhere
        place = data.draw(st.integers(0, len(raw) - 1))
        raw = (
            raw[:place]
            + data.draw(st.sampled_from([b"", b",", b"}", b"]", b'"', b"\xff", b"0", b"{"]))
            + raw[place + 1 :]
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_body_in, "PIECE_BYTES", piece)
        assert trio.run(pieced, raw) == decoded(raw)
