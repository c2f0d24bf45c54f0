"""Whatever is sent to the instrument routes: an answer the documents know, in JSON, and never a 500."""

import msgspec
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from onebroker.config.instruments import EXCHANGES, SEGMENTS, security
from tests.support.further import searched

INFY = security("nse", "equities", "INFY").instrument_id
ANY = searched(50, 150, suppress_health_check=list(HealthCheck))
NAMES = st.sampled_from(
    [
        "instrument_id", "exchange", "segment", "symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type",
        "date", "query", "limit", "instruments", "q", "strikes",
    ]
)  # fmt: skip
WORDS = st.one_of(
    st.sampled_from([*EXCHANGES, "all", INFY, "INFY", "2026-11-26", "2026-11-01", "0000-01-01", "9999-12-31", "1500", "-0", "CE"]),
    st.sampled_from(SEGMENTS), st.sampled_from([f"nse_{name}" for name in SEGMENTS]), st.text(max_size=12),
    st.sampled_from(["\x00", "%", "१२", "1e400", "9" * 400, "NaN", "\u2028", "𝟘"]),
)  # fmt: skip
SCALARS = st.one_of(
    WORDS, st.none(), st.booleans(), st.integers(), st.just(10**60), st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | WORDS, inner, max_size=3), max_leaves=6
)
NAMED = st.fixed_dictionaries(
    {"exchange": WORDS, "segment": WORDS}, optional={"symbol": SCALARS, "expiry_date": SCALARS}
)
ITEMS = st.one_of(VALUES, NAMED, st.dictionaries(NAMES, SCALARS, max_size=9), st.just({"instrument_id": INFY}))
BODIES = st.one_of(
    VALUES,
    st.fixed_dictionaries({"instruments": st.lists(ITEMS, max_size=6)}, optional={"date": VALUES, "x": VALUES}),
)
KNOWN = {200, 400, 404, 503}


def judged(response):
    """Assert what every answer of these routes is; return its status and value."""
    status, content_type, body = response
    assert status in KNOWN, response
    assert content_type == "application/json"
    value = msgspec.json.decode(body)
    if status != 200:
        assert isinstance(value["error"], str)
        assert value["error"]
    return status, value


def posting(path, body):
    async def call(office):
        response = await office.post(path, body)
        return response.status_code, response.content_type, await response.get_data()

    return call


@ANY
@given(body=BODIES, path=st.sampled_from(["details", "additional_details"]))
def test_any_json_body_gets_an_answer_the_documents_know(visit, body, path):
    status, value = judged(visit(posting(path, msgspec.json.encode(body))))
    if status != 200:
        return
    assert len(value["results"]) == len(body["instruments"])
    for index, entry in enumerate(value["results"]):
        assert entry["request_index"] == index
        assert entry["status"] in {200, 400, 404}
        assert list(entry)[2:] == ["data" if entry["status"] == 200 else "error"]


@ANY
@given(
    path=st.sampled_from(["segments", "master", "search", "find", "expiries", "details", "additional_details"]),
    query=st.one_of(
        st.dictionaries(NAMES, WORDS, max_size=6),
        st.fixed_dictionaries(
            {
                "exchange": st.sampled_from([*EXCHANGES, "all"]),
                "segment": st.sampled_from([*SEGMENTS, "all"]),
                "query": WORDS,
                "q": WORDS,
            },
            optional={"limit": WORDS, "date": WORDS, "symbol": WORDS, "underlying_symbol": WORDS},
        ),
    ),
)
def test_any_query_gets_an_answer_the_documents_know(visit, path, query):
    async def call(office):
        response = await office.get(path, **query)
        return response.status_code, response.content_type, await response.get_data()

    judged(visit(call))


@ANY
@given(raw=st.binary(max_size=60) | st.text(alphabet='{}[]",:instrumea10 ', max_size=40).map(str.encode))
def test_any_bytes_get_an_answer_the_documents_know(visit, raw):
    assert judged(visit(posting("details", raw)))[0] == 400
