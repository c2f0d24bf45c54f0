"""Whatever a broker says, its codecs answer with rows, events or the errors that they declare."""

from datetime import datetime

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.codec.contained import OddRows, Unforeseen, contained, place_of, read_rows
from onebroker.brokers.codec.instrument_files import BadFiles
from onebroker.brokers.fivepaisa import portfolio as fivepaisa
from onebroker.brokers.icicidirect import login as icicidirect
from onebroker.brokers.kotakneo import portfolio as kotakneo
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, StreamAddress, WireResponse
from onebroker.brokers.shoonya import instruments as shoonya
from onebroker.config.clock import IST
from onebroker.config.money import value_paise

BROKERS = build_registry()
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
TOKENS = dict.fromkeys(
    ("access_token", "session_token", "user", "session_key", "sid", "feed_token", "jwt", "api_session"), "a"
)
LOGIN = Login(tokens=TOKENS, user_id="U1", logged_in_at=0.0, expires_at=4e9)
DEEP = "[" * 5000 + "]" * 5000
VALUES = ([], {}, [[]], {"a": []}, 1e30, -1, 10**40, True, "x", None)
NAMES = ("update_type", "message_code", "type", "t", "Type", "kind", "ReqType", "s", "data", "Data", "MessageCode", "Exch", "lp", "tk", "e",
         "status-code", "orderStatus", "orders", "Token", "exchanges", "error", "code")  # fmt: skip


def feeds():
    for broker in BROKERS.values():
        yield pytest.param(broker, broker.feed, id=f"{broker.code}-market")
        if broker.order_feed is not None:
            yield pytest.param(broker, broker.order_feed, id=f"{broker.code}-orders")


@pytest.mark.parametrize(("broker", "codec"), [*feeds()])
def test_no_text_message_makes_a_decoder_fail(broker, codec):
    access = Access(endpoints=broker.endpoints, credentials=dict.fromkeys(broker.all_credential_keys, "a"), login=LOGIN)
    decoder = codec.decoder(access, StreamAddress(url="wss://broker/", handed={"subscriptionId": "a", "nkey": "a"}), {})
    messages = [{name: value} for name in NAMES for value in VALUES]
    messages += [{"update_type": "order", **message} for message in messages] + [[message] for message in messages]
    for frame in (DEEP, *(msgspec.json.encode(message).decode() for message in messages)):
        for spelled in (frame, frame.encode(), f"42{frame}"):
            assert isinstance(decoder.receive(spelled), list)


# --- what is known to have happened --------------------------------------------------------------------------------------


def test_a_position_whose_carried_quantity_is_below_zero_is_a_bad_answer(recorded_kotak):
    (row, *_), answer = recorded_kotak
    with pytest.raises(BadAnswer, match="below zero"):
        kotakneo.parse_positions(
            [answer([{**row, "cfBuyQty": "-5", "flBuyQty": "10", "flSellQty": "5"}]), answer([])], {}
        )


@pytest.fixture
def recorded_kotak(request):
    path = request.path.parents[2] / "data" / "kotakneo" / "positions.json"
    rows = msgspec.json.decode(path.read_bytes())["data"]
    return rows, lambda rows: WireResponse(
        status=200, body=msgspec.json.encode({"stat": "Ok", "stCode": 200, "data": rows})
    )


@pytest.mark.parametrize("price", [1e30, 1e300])
def test_a_figure_beyond_all_money_is_a_figure(price):
    assert value_paise(100, price) == pytest.approx(price * 10_000)


def test_a_session_token_with_other_letters_is_a_bad_answer():
    with pytest.raises(BadAnswer):
        icicidirect._parts("é" * 8)


def test_an_archive_damaged_in_front_costs_its_file_alone(monkeypatch):
    def damaged(*given):
        raise ValueError("negative seek value -22")

    monkeypatch.setattr(shoonya.zipfile, "ZipFile", damaged)
    with pytest.raises(BadFiles) as bad:
        shoonya.read_files([b"PK", b"PK"])
    assert set(bad.value.reasons) == {0, 1}


# --- the seam itself -----------------------------------------------------------------------------------------------------


def test_what_is_not_declared_becomes_a_bad_answer_that_names_its_place_and_no_word_of_the_answer():
    with pytest.raises(Unforeseen) as fault, contained():
        fivepaisa.parse_positions([None], {})
    assert str(fault.value).startswith("AttributeError at fivepaisa/wire.py:")
    with pytest.raises(Unforeseen, match=r"^ValueError at test_spoiled\.py:\d+$"), contained():
        int("the secret")
    with pytest.raises(Unforeseen, match=r"^KeyError at "), contained():
        raise ExceptionGroup("a nursery's", [KeyError("secret")])


def test_what_is_declared_passes():
    with pytest.raises(ValueError, match="credential"), contained(ValueError):
        raise ValueError("a credential that is none")
    refusal = BrokerRefusal(RefusalKind.REFUSED, "no")
    with pytest.raises(BrokerRefusal) as raised, contained():
        raise refusal
    assert raised.value is refusal


def test_rows_are_read_each_by_itself_and_the_odd_ones_named():
    assert read_rows([1, 2], str) == ["1", "2"]
    with pytest.raises(OddRows) as odd:
        read_rows(["1", "x", "3"], int)
    assert odd.value.readable == (1, 3)
    assert str(odd.value).startswith("1 of 3 rows could not be read: row 2: ValueError at ")
    assert place_of(ValueError()) == "an unknown place"


POSITIONS = {
    "zerodha": ("positions.json", "quantity"),
    "upstox": ("positions.json", "quantity"),
    "dhan": ("get_positions.json", "netQty"),
    "angelone": ("positions.json", "netqty"),
    "fyers": ("positions.json", "netQty"),
    "kotakneo": ("positions.json", "flBuyQty"),
    "fivepaisa": ("positions.json", "NetQty"),
    "groww": ("positions.json", "quantity"),
    "icicidirect": ("readme.json", "quantity"),
    "shoonya": ("positions.json", "netqty"),
}
"""Per broker the recorded answer, and a quantity of its rows."""


@pytest.mark.parametrize("broker", BROKERS.values(), ids=lambda broker: broker.code)
def test_a_position_row_that_cannot_be_read_hides_no_other(broker, request):
    name, quantity = POSITIONS[broker.code]
    recorded = msgspec.json.decode((request.path.parents[2] / "data" / broker.code / name).read_bytes())
    within = {"icicidirect": "positions", "dhan": "data"}.get(broker.code)
    answer = recorded if within is None else recorded[within]
    good = parsed(broker, answer)
    rows = rows_with(answer, quantity)
    rows.append({**rows[0], quantity: "1.5 lots"})
    with pytest.raises(OddRows, match=f"1 of [0-9]+ rows could not be read: row {len(rows)}:") as odd:
        parsed(broker, answer)
    assert sorted(odd.value.readable, key=repr) == sorted(good, key=repr)
    assert good


def parsed(broker, answer):
    return broker.portfolio.parse_positions([WireResponse(status=200, body=msgspec.json.encode(answer))], {})


def rows_with(answer, name):
    """Return the first list in an answer whose rows have a field."""
    if isinstance(answer, list):
        if answer and isinstance(answer[0], dict) and name in answer[0]:
            return answer
        inner = answer
    else:
        inner = answer.values() if isinstance(answer, dict) else ()
    return next((found for found in (rows_with(one, name) for one in inner) if found is not None), None)
