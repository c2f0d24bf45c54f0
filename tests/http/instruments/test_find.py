"""GET /api/instruments/find and expiries: what they answer, and each refusal."""

import pytest

RECORD = [
    "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
    "option_type", "name", "isin", "lot_size", "tick_size", "score",
]  # fmt: skip
WHERE = {"exchange": "nse", "underlying_symbol": "INFY"}


async def answer(response):
    return response.status_code, await response.get_json()


async def test_a_result_is_a_record_with_its_score(office):
    response = await office.get("find", q="infy")
    status, body = await answer(response)
    assert status == 200
    assert response.headers["X-Mapping-Date"] == body["mapping_date"] == "2026-11-20"
    assert body["query"] == "infy"
    first = body["instruments"][0]
    assert list(first) == RECORD
    assert (first["symbol"], first["exchange"], first["isin"], first["score"]) == ("INFY", "nse", "INE009A01021", 1.0)
    details = await (await office.get("details", instrument_id=first["instrument_id"])).get_json()
    assert {name: details[name] for name in RECORD[:-1]} == {name: first[name] for name in RECORD[:-1]}


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("infosys", ("INFY", None, None)), ("INE009A01021", ("INFY", None, None)), ("gold mcx", (None, "GOLD", None)),
        ("infy 1500 pe nov", (None, "INFY", 1500.0)), ("infy 1500.5 ce", (None, "INFY", 1500.5)), ("nifti 50", ("NIFTY 50", None, None)),
    ],
)  # fmt: skip
async def test_words_of_every_kind_find(office, query, named):
    _, body = await answer(await office.get("find", q=query))
    first = body["instruments"][0]
    assert (first["symbol"], first["underlying_symbol"], first["strike_price"]) == named


async def test_the_limit_of_results(office):
    for limit, count in ((1, 1), (3, 3)):
        _, body = await answer(await office.get("find", q="infy", limit=limit))
        assert len(body["instruments"]) == count


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({}, "q is required"), ({"q": "  "}, "q is required"), ({"q": "x", "limit": "a"}, "limit must be a whole number"),
        ({"q": "x", "limit": 0}, "limit must be between 1 and 200"), ({"q": "x", "limit": 201}, "limit must be between 1 and 200"),
    ],
)  # fmt: skip
async def test_a_wrong_query_is_refused(office, query, sentence):
    assert await answer(await office.get("find", **query)) == (400, {"error": sentence})


async def test_without_a_mapping_or_its_index_nothing_is_found_and_the_sentence_says_so(office):
    office.map(office.snapshot_of(office.DAY, zerodha=[office.share("INFY")]))
    sentence = "the search over all segments is being built; try again in a moment"
    assert await answer(await office.get("find", q="infy")) == (503, {"error": sentence})
    office.map(None)
    for path, query in (("find", {"q": "infy"}), ("expiries", WHERE)):
        assert await answer(await office.get(path, **query)) == (503, {"error": "no instruments have been mapped yet"})


async def test_expiries_tell_weekly_and_monthly_with_the_numbers_of_contracts(office):
    days = ("2026-11-24", "2026-12-01", "2026-12-29")
    options = [
        office.call("NIFTY", strike, segment="equity_index_options", option_type=kind, expiry_date=day)
        for day in days for strike in (24000, 24050, 24100) for kind in ("CE", "PE")
    ]  # fmt: skip
    future = office.future("NIFTY", segment="equity_index_futures", expiry_date="2026-12-29")
    office.map(office.snapshot_of(office.DAY, zerodha=[future, *options[:-1]]))
    status, body = await answer(await office.get("expiries", exchange="nse", underlying_symbol="nifty"))
    assert (status, body["exchange"], body["underlying_symbol"]) == (200, "nse", "NIFTY")
    segment = "nse_equity_index_futures"
    assert body["futures"] == [
        {"expiry_date": "2026-12-29", "segment": segment, "kind": "monthly", "contracts": 1, "strikes": None}
    ]
    rows = [(row["expiry_date"], row["kind"], row["contracts"], row["strikes"]) for row in body["options"]]
    assert rows == [
        ("2026-11-24", "monthly", 6, 3), ("2026-12-01", "weekly", 6, 3), ("2026-12-29", "monthly", 5, 3),
    ]  # fmt: skip


async def test_expiries_of_one_segment(office):
    for segment in ("equity_options", "nse_equity_options"):
        _, body = await answer(await office.get("expiries", **WHERE, segment=segment))
        assert (len(body["futures"]), len(body["options"])) == (0, 1)


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ({"exchange": "nse"}, 400, "underlying_symbol is required"), ({"underlying_symbol": "INFY"}, 400, "exchange is required"),
        (WHERE | {"exchange": "x"}, 400, "exchange must be one of nse, bse, mcx, ncdex, unknown"),
        (WHERE | {"segment": "x"}, 400, "segment x is not a segment of nse; see /api/instruments/segments"),
        (WHERE | {"underlying_symbol": "no"}, 404, "no futures or options on NO are mapped at nse on 2026-11-20"),
        (WHERE | {"segment": "equities"}, 404, "no futures or options on INFY are mapped at nse on 2026-11-20"),
    ],
)  # fmt: skip
async def test_expiries_refuse_what_they_cannot_answer(office, query, status, sentence):
    assert await answer(await office.get("expiries", **query)) == (status, {"error": sentence})
