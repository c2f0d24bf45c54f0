"""The numbers that a caller gives the Python client: of Python, and of libraries that the client does not know (numpy, pandas, polars).

The classes here do what the ones of numpy 2 and pandas 3 do; where these are installed, `test_the_libraries_themselves` tries them too.
"""

import math
import struct
from collections import UserList
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import msgspec
import pytest
from onebroker_client import requests
from onebroker_client.building import build, encode
from onebroker_client.operations import OPERATIONS


class Float64(float):
    """As numpy.float64."""

    def __repr__(self):
        return f"np.float64({float(self)})"

    def tolist(self):
        return float(self)

    item = tolist


class Float32:
    """As numpy.float32: no float, and 64 of its bits show digits that nobody wrote."""

    def __init__(self, value):
        (self._value,) = struct.unpack("f", struct.pack("f", value))

    def __float__(self):
        return self._value

    def __str__(self):
        return f"{self._value:.7g}"

    def tolist(self):
        return self._value


class Int64:
    """As numpy.int64."""

    def __init__(self, value):
        self._value = value

    def __index__(self):
        return self._value

    def __float__(self):
        return float(self._value)

    def __str__(self):
        return str(self._value)

    def tolist(self):
        return self._value


class Bool:
    """As numpy.bool."""

    def __init__(self, value):
        self._value = value

    def __str__(self):
        return str(self._value)

    def tolist(self):
        return self._value


class Array(UserList):
    """As numpy.ndarray, pandas.Series and polars.Series."""

    def tolist(self):
        return [each.tolist() for each in self.data]


class Index:
    """A whole number that can only `__index__`."""

    def __index__(self):
        return 7


class Real:
    """A number that can only `__float__`."""

    def __float__(self):
        return 0.25


class Digits(Decimal):
    """A subclass of Decimal."""


class Timestamp(datetime):
    """As pandas.Timestamp."""


class NotATime(datetime):
    """As pandas.NaT."""

    def isoformat(self, *_):
        return "NaT"


class Missing:
    """As pandas.NA."""


LONG = "100.0500000000000000000000000000000000000001"
NUMBERS = [
    (Float64(100.05), "100.05"), (Float32(1500.05), "1500.05"), (Float32(0.5), "0.5"), (Int64(2**53 + 1), "9007199254740993"),
    (Index(), "7"), (Real(), "0.25"), (Fraction(1, 8), "0.125"), (Bool(True), "true"), (Bool(False), "false"),
    (Decimal(LONG), LONG), (Digits(LONG), LONG), (Decimal("1E+3"), "1000"), (Decimal("0.00000001"), "0.00000001"),
]  # fmt: skip
MORE = [
    (Array([Float64(1.5), Float64(2.0)]), [1.5, 2]), (Array([Float32(1500.05)]), [1500.05]), (Array([]), []),
    (Array([Int64(3)]), [3]), (Timestamp(2026, 11, 28, 9, 15), "2026-11-28T09:15:00"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "written"), NUMBERS)
def test_a_number_goes_out_in_a_body_with_its_exact_digits(given, written):
    body = encode({"price": given, "synthetic": {"rules": [{"gain": given}]}}).decode()
    for told in (body.split('"price":')[1].split(",")[0], body.split('"gain":')[1].split("}")[0]):
        assert told == written or (told not in ("true", "false") and Decimal(told) == Decimal(written))


@pytest.mark.parametrize(("given", "written"), MORE)
def test_an_array_goes_out_as_a_list_and_a_time_as_text(given, written):
    assert msgspec.json.decode(encode({"value": given})) == {"value": written}


def test_a_form_of_an_order_takes_them_too():
    made = requests.TrailingStopOrder(trail_points=Float64(3 * 0.05), stop_limit_offset=Int64(1), step_ticks=Int64(2))
    told = {"type": "trailing_stop", "trail_points": 0.15000000000000002, "stop_limit_offset": 1, "step_ticks": 2}
    assert msgspec.json.decode(encode(made)) == told


@pytest.mark.parametrize(("given", "written"), NUMBERS)
def test_a_number_goes_out_in_a_query_with_its_exact_digits(given, written):
    request = build(OPERATIONS["get_ltp"], {"exchange": "nse", "strike_price": given})
    told = request.target.split("strike_price=")[1]
    assert told == written or Decimal(told) == Decimal(written)


@pytest.mark.parametrize(
    "given", [math.nan, math.inf, Float64("nan"), Float32(math.inf), Decimal("NaN"), Decimal("-Infinity")]
)
def test_a_number_that_is_none_is_not_sent(given):
    for send in (lambda: encode({"price": given}), lambda: build(OPERATIONS["get_ltp"], {"strike_price": given})):
        with pytest.raises(ValueError, match="not a number"):
            send()


def test_what_is_no_number_is_refused_by_its_type():
    for given, error, words in (
        (Missing(), TypeError, "Missing"), (1j, TypeError, "complex"), (NotATime(2026, 1, 1), ValueError, "NaT"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            encode({"price": given})


def test_the_libraries_themselves():
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    frame = pandas.DataFrame({"price": [100.05, 100.1], "units": [10, 20]})
    sent = {
        "price": numpy.round(numpy.float64(100.0) * 1.0005, 2), "trigger": numpy.float32(1500.05), "quantity": numpy.int64(10),
        "flag": numpy.bool_(True), "prices": numpy.array([1.5, 2.5]), "row": frame["price"], "units": frame["units"].iloc[1],
        "last": frame["price"].iloc[0], "word": numpy.str_("BUY"), "zero": numpy.array(4.5), "at": pandas.Timestamp("2026-11-28"),
        "day": numpy.datetime64("2026-11-28"),
    }  # fmt: skip
    assert msgspec.json.decode(encode(sent)) == {
        "price": 100.05, "trigger": 1500.05, "quantity": 10, "flag": True, "prices": [1.5, 2.5], "row": [100.05, 100.1],
        "units": 20, "last": 100.05, "word": "BUY", "zero": 4.5, "at": "2026-11-28T00:00:00", "day": "2026-11-28",
    }  # fmt: skip
    for none in (numpy.float64("nan"), pandas.NA, pandas.NaT):
        with pytest.raises((ValueError, TypeError)):
            encode({"price": none})
