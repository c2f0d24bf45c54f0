"""Shoonya's server over the real exchange: whatever it is sent."""

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.requests import WireResponse
from tests.support.dialect_client import BASE, Wire


def test_an_unknown_call_and_a_wrong_method_are_told_apart(shoonya):
    assert shoonya.call("Nothing")[0] == 404
    assert shoonya.dialect.handle(shoonya.request("GET", f"{shoonya.endpoints.rest_url}/Limits")).status == 405
    refused = shoonya.dialect.open_socket(shoonya.request("GET", f"{BASE}/elsewhere"), Wire())
    assert refused.status == 404


TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(["NSE", "MCX", "LMT", "B", "C", "DAY", "1e999", "NaN", "-1", "٣"])
)
CALLS = (
    "GenAcsTok", "UserDetails", "PlaceOrder", "ModifyOrder", "CancelOrder", "OrderBook", "SingleOrdHist", "TradeBook",
    "PositionBook", "Holdings", "Limits", "GetOrderMargin", "GetQuotes", "SearchScrip", "TPSeries", "EODChartData", "Logout",
)  # fmt: skip
FIELDS = (
    "exch", "tsym", "token", "qty", "dscqty", "prc", "trgprc", "prd", "trantype", "prctyp", "ret", "norenordno", "st", "et",
    "from", "to", "intrv", "sym", "stext", "checksum", "code",
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    call=st.sampled_from(CALLS),
    fields=st.dictionaries(st.sampled_from(FIELDS), st.one_of(TEXTS, st.integers(), st.none(), st.lists(st.none()))),
    spoil=st.one_of(st.none(), st.binary(max_size=20)),
)
def test_no_call_makes_the_server_fail(wide, call, fields, spoil):
    token = "dead" if call == "Logout" else wide.session["access_token"]
    body = spoil if spoil is not None else b"jData=" + msgspec.json.encode(fields)
    headers = {"Authorization": f"Bearer {token}"}
    answer = wide.dialect.handle(wide.request("POST", f"{wide.endpoints.rest_url}/{call}", headers, body))
    assert isinstance(answer, WireResponse)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    message=st.one_of(
        st.binary(max_size=40),
        st.text(max_size=40),
        st.fixed_dictionaries(
            {"t": st.sampled_from(["a", "c", "t", "d", "u", "ud", "o", "uo", "h", "x"])},
            optional={"k": st.one_of(TEXTS, st.none()), "uid": TEXTS, "accesstoken": TEXTS},
        ).map(lambda frame: msgspec.json.encode(frame).decode()),
    )
)
def test_no_frame_makes_the_socket_fail(wide, message):
    _, session, _ = wide.open()
    session.received(message)
    session.beat()
