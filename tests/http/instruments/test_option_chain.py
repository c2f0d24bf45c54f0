"""GET /api/instruments/option_chain: its answer (the test client holds it against its schema), and each refusal. What a chain holds: tests/actors/chain."""

import attrs
import pytest

from onebroker.actors.chain.chains import Chains
from onebroker.config.calendars import always_open
from onebroker.http.app import build_app

CHAIN = {"underlying_symbol": "INFY", "exchange": "nse", "expiry_date": "2026-11-26"}


@pytest.fixture
def desk(office, services):
    instruments = office.instruments
    chains = Chains(
        quotes=instruments.quotes,
        catalogue=office.published,
        calendar=always_open(),
        clock=services.clock,
        history=None,
    )
    app = build_app(attrs.evolve(services, instruments=attrs.evolve(instruments, chains=chains)))
    return attrs.evolve(office, app=app)


async def answer(response):
    return response.status_code, await response.get_json()


async def test_the_answer_has_a_row_for_each_strike(desk):
    response = await desk.get("option_chain", **CHAIN)
    status, body = await answer(response)
    assert (status, response.headers["X-Mapping-Date"]) == (200, "2026-11-20")
    assert [row["strike_price"] for row in body["rows"]] == [1500.0, 1500.5]
    assert body["rows"][1]["pe"] is None  # not listed
    assert body["rows"][0]["ce"]["missing"]["quote"]
    assert body["strikes_listed"] == 2


async def test_the_number_of_strikes_and_the_segment(desk):
    _, body = await answer(await desk.get("option_chain", **CHAIN, strikes=1, segment="equity_options"))
    assert (len(body["rows"]), body["segment"]) == (1, "nse_equity_options")


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"underlying_symbol": ""}, 400, "underlying_symbol is required"), ({"expiry_date": " "}, 400, "expiry_date is required"),
        ({"expiry_date": "26-11-2026"}, 400, "expiry_date must be a date in YYYY-MM-DD format"), ({"exchange": ""}, 400, "exchange is required"),
        ({"exchange": "x"}, 400, "exchange must be one of nse, bse, mcx, ncdex, unknown"),
        ({"segment": "x"}, 400, "segment x is not a segment of nse; see /api/instruments/segments"),
        ({"strikes": "x"}, 400, "strikes must be a whole number"), ({"strikes": 0}, 400, "strikes must be between 1 and 200"),
        ({"strikes": 201}, 400, "strikes must be between 1 and 200"),
        ({"underlying_symbol": "gold"}, 404, "no options on GOLD that expire on 2026-11-26 are mapped at nse on 2026-11-20"),
        ({"expiry_date": "2026-11-27"}, 404, "no options on INFY that expire on 2026-11-27 are mapped at nse on 2026-11-20"),
    ],
)  # fmt: skip
async def test_a_wrong_chain_is_refused(desk, change, status, sentence):
    assert await answer(await desk.get("option_chain", **CHAIN | change)) == (status, {"error": sentence})


async def test_without_a_mapping_there_is_no_chain(desk):
    desk.map(None)
    assert await answer(await desk.get("option_chain", **CHAIN)) == (
        503,
        {"error": "no instruments have been mapped yet"},
    )


async def test_options_of_one_day_in_two_segments_need_the_segment(desk):
    options = [desk.call("X", 10, segment=segment) for segment in ("equity_options", "equity_index_options")]
    desk.map(desk.snapshot_of(desk.DAY, zerodha=options))
    chain = CHAIN | {"underlying_symbol": "X"}
    _, body = await answer(await desk.get("option_chain", **chain, segment="equity_index_options"))
    assert body["segment"] == "nse_equity_index_options"
    sentence = "options of this expiry are in several segments; give segment as one of nse_equity_index_options, nse_equity_options"
    assert await answer(await desk.get("option_chain", **chain)) == (400, {"error": sentence})
