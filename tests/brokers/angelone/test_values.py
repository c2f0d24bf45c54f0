"""SmartAPI's value tables beyond test_value_tables.py; names, times, units."""

import msgspec

from onebroker.brokers.angelone import values
from onebroker.config.vocabulary import OrderStatus
from tests.support.every_case import every_case


def test_every_order_status_of_ours_has_a_code_on_the_socket_or_is_listed_as_unsupported():
    assert set(values.STATUS_CODES.values()) | values.STATUSES.unsupported == set(OrderStatus)


def test_the_documented_statuses_are_read_in_lower_case_and_an_unknown_one_passes_through():
    documented = {
        "open pending": "PENDING", "validation pending": "PENDING", "put order req received": "PENDING",
        "pending": "PENDING", "after market order req received": "PENDING",
        "modify after market order req received": "PENDING", "trigger pending": "PENDING", "open": "OPEN",
        "modified": "OPEN", "modify pending": "OPEN", "cancel pending": "OPEN", "partially executed": "OPEN",
        "complete": "COMPLETE", "executed": "COMPLETE", "cancelled": "CANCELLED",
        "cancelled after market order": "CANCELLED", "rejected": "REJECTED", "half done": "HALF DONE",
    }  # fmt: skip
    assert {word: values.STATUSES.read(word) for word in documented} == documented
    assert set(values.STATUS_CODES) == {f"AB{number:02d}" for number in range(1, 12)}


def test_every_exchange_segment_has_an_exchange_and_all_but_nco_a_number_on_the_socket():
    assert set(values.EXCHANGES) - {"NCO"} == set(values.STREAM_TYPES)
    assert set(values.LONG_EXCHANGES.values()) <= set(values.EXCHANGES)
    assert values.STREAM_TYPES == {"NSE": 1, "NFO": 2, "BSE": 3, "BFO": 4, "MCX": 5, "NCDEX": 7, "CDS": 13}


def test_rows_without_a_token_are_named_by_the_listed_symbol_of_their_exchange(listings):
    rows = [
        {"exchange": exchange, "tradingsymbol": "SBIN-EQ", "symboltoken": token}
        for exchange, token in (("NSE", None), ("NSE", ""), ("BSE", " "), ("NSE", 9))
    ]
    found = values.find_names(rows, listings)
    assert found == {("NSE", "SBIN-EQ"): "NSE|3045"}
    assert [values.name_of(row, row["exchange"], "SBIN-EQ", found) for row in rows] == [
        "NSE|3045", "NSE|3045", "BSE|SBIN-EQ", "NSE|9",
    ]  # fmt: skip


class Counted(dict):
    """Listings that count how many were read."""

    read = 0

    def __getitem__(self, name):
        self.read += 1
        return super().__getitem__(name)


def test_a_large_catalogue_is_walked_only_so_far_and_not_at_all_where_every_row_says_its_token(listings):
    many = Counted({f"NFO|{n}": listings["NFO|58662"] for n in range(values.MOST_WALKED + 5)})
    assert values.find_names([{"exchange": "NFO", "tradingsymbol": "X", "symboltoken": "1"}], many) == {}
    assert many.read == 0
    assert values.find_names([{"exchange": "NFO", "tradingsymbol": "X"}], many) == {}
    assert many.read == values.MOST_WALKED


def test_lots_of_an_unknown_size_have_no_units_and_the_rest_is_in_units(listings):
    assert values.contract_units("MCX|426302", listings) == 100
    assert values.contract_units("NCDEX|7", listings) is None
    assert values.contract_units("MCX|9", listings) is None
    of_others = msgspec.structs.replace(
        listings["MCX|426302"], lot_size=None
    )  # as the catalogue fills it from other files
    assert values.contract_units("MCX|426302", {"MCX|426302": of_others}) is None
    assert values.contract_units("NFO|9", listings) == 1


@every_case(
    ("text", "iso"),
    [
        ("20-Oct-2020 13:10:59", "2020-10-20T13:10:59+05:30"),
        ("01-JAN-2026 00:00:00", "2026-01-01T00:00:00+05:30"),
        ("1-feb-2026 09:15:00", "2026-02-01T09:15:00+05:30"),
        ("31-Feb-2026 09:15:00", None), ("20-Okt-2020 13:10:59", None), ("13:27:53", None), ("", None), (None, None),
        (5, None), ("20-Oct-2020 25:10:59", None),
    ],
)  # fmt: skip
def test_times_are_indian_and_anything_else_is_none(text, iso):
    assert values.iso_time(text) == iso


def test_an_index_is_known_by_its_token():
    assert values.is_index("NSE|99926000")
    assert values.is_index("BSE|99919000")
    assert not values.is_index("NSE|2885")
    assert not values.is_index("BSE|999192")
