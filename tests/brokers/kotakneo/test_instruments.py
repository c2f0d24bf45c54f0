"""The scrip files: rows of every kind, and files that are none."""

from datetime import UTC, datetime

import msgspec
import pytest

from onebroker.brokers.codec.instrument_files import MISSING
from onebroker.brokers.kotakneo import instruments
from onebroker.brokers.listings.frame import LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse

LIST = b""
"""What the list of the files said; only the flow of requests reads it."""
NAMES = ("nse_cm", "bse_cm", "nse_fo", "bse_fo", "cde_fo", "mcx_fo", "nse_com")


@pytest.fixture
def rows(file):
    frame = instruments.read_files([LIST, *(file(name) for name in NAMES)])
    assert list(frame.columns)[: len(LISTING_COLUMNS)] == list(LISTING_COLUMNS)
    return {row["broker_token"]: row for row in frame.rows(named=True)}


def part(row, *names):
    return tuple(row[name] for name in names)


LATE = datetime(2026, 11, 22, 20, tzinfo=UTC)
"""Already the 23rd in India."""
FOLDER = "https://lapi.kotaksecurities.com/wso2-scripmaster/v1/prod"
NAMES_IN_FOLDER = [
    "transformed-v1/nse_cm-v1.csv", "transformed-v1/bse_cm-v1.csv", "transformed/nse_fo.csv", "transformed/bse_fo.csv",
    "transformed/cde_fo.csv", "transformed/mcx_fo.csv", "transformed/nse_com.csv",
]  # fmt: skip


def asked(access, answer):
    """The call for the list, and the addresses of the files that are asked for after its answer."""
    flow = instruments.file_requests(access, LATE)
    first = next(flow)
    urls = [flow.send(answer).url]
    return first, urls + [request.url for request in flow]


def listing(paths, base=FOLDER):
    return WireResponse(status=200, body=msgspec.json.encode({"data": {"filesPaths": paths, "baseFolder": base}}))


def test_the_broker_is_asked_where_its_files_are_without_a_login(bare):
    yesterday = [f"{FOLDER}/2026-11-22/{name}" for name in reversed(NAMES_IN_FOLDER)]
    first, urls = asked(bare, listing([f"{FOLDER}/2026-11-22/transformed/new_kind.csv", *yesterday]))
    assert first.url == "https://mis.kotaksecurities.com/script-details/1.0/masterscrip/file-paths"
    assert (first.kind, first.headers["Authorization"]) == (CallKind.READ, "app-token")
    assert urls == [f"{FOLDER}/2026-11-22/{name}" for name in NAMES_IN_FOLDER]


def test_paths_below_the_base_folder_are_addresses_too(bare):
    _, urls = asked(bare, listing([f"2026-11-21/{name}" for name in NAMES_IN_FOLDER]))
    assert urls == [f"{FOLDER}/2026-11-21/{name}" for name in NAMES_IN_FOLDER]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        WireResponse(status=0, body=MISSING),
        WireResponse(status=401, body=b'{"data":{"filesPaths":["https://x.test/nse_fo.csv"]}}'),
        WireResponse(status=200, body=b"<html>"),
        WireResponse(status=200, body=b'{"data":[]}'),
        listing([]),
        listing("none"),
        listing(
            [
                7,
                None,
                "",
                "http://lapi.kotaksecurities.com/nse_fo.csv",
                "ftp://x/nse_fo.csv",
                "https://[/nse_fo.csv",
                "nse_fo.txt",
            ]
        ),
    ],
)
def test_without_a_list_the_files_are_those_of_the_indian_day(bare, answer):
    _, urls = asked(bare, answer)
    assert urls == [f"{FOLDER}/2026-11-23/{name}" for name in NAMES_IN_FOLDER]


def test_a_file_that_the_list_leaves_out_is_asked_for_in_the_folder_of_the_day(bare):
    _, urls = asked(bare, listing([f"{FOLDER}/2026-11-22/transformed/mcx_fo.csv"]))
    assert urls == [f"{FOLDER}/{'2026-11-22' if 'mcx' in name else '2026-11-23'}/{name}" for name in NAMES_IN_FOLDER]


def test_a_lot_that_is_not_told_costs_the_lot_and_where_it_says_what_is_counted_the_unit(file):
    without = file("mcx_fo").replace(b"lLotSize", b"lNoSize"), file("nse_fo").replace(b"lLotSize", b"lNoSize")
    frame = instruments.read_files([LIST, *without])
    whole = instruments.read_files([LIST, file("mcx_fo"), file("nse_fo")])
    assert frame["broker_token"].to_list() == whole["broker_token"].to_list()
    assert frame["lot_size"].null_count() == frame.height
    goods = frame["broker_token"].str.starts_with("mcx_fo")
    assert frame.filter(goods)["contract_units"].null_count() == goods.sum() > 0
    assert set(frame.filter(~goods)["contract_units"]) == {1}


def test_a_share_is_known_by_its_name_on_both_exchanges(rows):
    share = rows["nse_cm|2885"]
    assert part(share, "exchange", "segment", "symbol", "isin", "tradingsymbol", "broker_exchange") == (
        "nse", "equities", "RELIANCE", "INE002A01018", "RELIANCE-EQ", "nse_cm",
    )  # fmt: skip
    assert part(share, "lot_size", "tick_size", "freeze_quantity", "contract_units") == (1, 0.05, 40592, 1)
    assert part(rows["bse_cm|500325"], "exchange", "segment", "symbol") == ("bse", "equities", "RELIANCE")
    assert share["raw.pGroup"] == "EQ"


def test_an_index_keeps_its_number_and_is_asked_by_its_display_name(rows):
    assert part(rows["nse_cm|26000"], "segment", "symbol", "other_names") == ("equity_indices", "NIFTY 50", "Nifty 50")
    assert part(rows["nse_cm|26999"], "segment", "symbol", "other_names") == ("equity_indices", "DESH 50", "Desh 50")
    assert part(rows["nse_cm|26000"], "tick_size", "freeze_quantity") == (None, None)


def test_an_issuers_bonds_are_told_apart_by_series_and_what_fits_nothing_is_uncategorised(rows):
    assert {rows[f"nse_cm|{n}"]["symbol"] for n in (9001, 9002)} == {"SOMECORP-N1", "SOMECORP-N2"}
    assert rows["nse_cm|9001"]["segment"] == "fixed_income"
    assert rows["nse_cm|9001"]["freeze_quantity"] is None
    assert part(rows["nse_cm|9003"], "segment", "symbol") == ("uncategorised", "ODD-QQ")
    assert len([token for token in rows if token.startswith("nse_cm")]) == 6


def test_nse_counts_expiries_from_1980_and_the_others_from_1970(rows):
    assert part(rows["nse_fo|61304"], "segment", "underlying_symbol", "expiry_date", "lot_size", "freeze_quantity") == (
        "equity_futures", "TCS", "2026-07-28", 225, 9000,
    )  # fmt: skip
    assert part(rows["nse_fo|56526"], "segment", "expiry_date", "strike_price", "option_type", "freeze_quantity") == (
        "equity_index_options", "2026-09-22", 21000.0, "PE", 1800,
    )  # fmt: skip
    assert part(rows["bse_fo|870001"], "exchange", "segment", "expiry_date", "strike_price") == (
        "bse", "equity_index_options", "2026-09-24", 85000.0,
    )  # fmt: skip
    assert part(rows["mcx_fo|578787"], "segment", "expiry_date", "strike_price", "option_type") == (
        "commodity_options", "2026-09-25", 148500.0, "CE",
    )  # fmt: skip


def test_commodities_are_in_units_and_a_lot_of_one_says_nothing(rows):
    assert part(rows["mcx_fo|578790"], "segment", "lot_size", "tick_size", "contract_units", "freeze_quantity") == (
        "commodity_futures", 100, 0.5, 1, 10000,
    )  # fmt: skip
    assert part(rows["mcx_fo|578791"], "lot_size", "contract_units", "freeze_quantity") == (None, None, None)


def test_currency_prices_are_in_the_unit_in_which_the_tick_is_one(rows):
    wanted = ("segment", "tick_size", "strike_price", "contract_units", "lot_size")
    assert part(rows["cde_fo|1201"], *wanted) == ("currency_futures", 0.0025, None, None, None)
    assert part(rows["cde_fo|1202"], *wanted) == ("currency_options", 0.0025, 88.5, 1000, 1000)
    assert part(rows["cde_fo|1203"], *wanted) == ("currency_options", 0.0025, 89.0, 1, 1000)


@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b'{"stat":"Not_Ok"}', b"a,b\n1,2\n", b"\xff\xfe\x00"])
def test_a_body_that_is_no_such_file_is_refused(file, body):
    with pytest.raises(BadAnswer):
        instruments.read_files([LIST, file("nse_cm"), body])


def test_files_without_rows_name_nothing(file):
    with pytest.raises(BadAnswer):
        instruments.read_files([LIST, file("nse_com")])


def test_a_row_with_broken_cells_costs_itself_only(file):
    body = file("nse_fo").replace(b"1474554600,-1,2,2.1e+06", b"soon,-1,2,high")
    rows = {row["broker_token"]: row for row in instruments.read_files([LIST, body]).rows(named=True)}
    assert rows["nse_fo|56526"]["segment"] == "uncategorised"
    assert rows["nse_fo|61304"]["segment"] == "equity_futures"
