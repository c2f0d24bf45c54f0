"""The scrip files: rows of every kind, and files that are none."""

from datetime import UTC, datetime

import pytest

from onebroker.brokers.kotakneo import instruments
from onebroker.brokers.listings import LISTING_COLUMNS
from onebroker.brokers.requests import BadAnswer

NAMES = ("nse_cm", "bse_cm", "nse_fo", "bse_fo", "cde_fo", "mcx_fo", "nse_com")


@pytest.fixture
def rows(file):
    frame = instruments.read_files([file(name) for name in NAMES])
    assert list(frame.columns)[: len(LISTING_COLUMNS)] == list(LISTING_COLUMNS)
    return {row["broker_token"]: row for row in frame.rows(named=True)}


def part(row, *names):
    return tuple(row[name] for name in names)


def test_the_files_are_those_of_the_indian_day_and_need_no_login(bare):
    late = datetime(2026, 11, 22, 20, tzinfo=UTC)  # already the 23rd in India
    urls = [request.url for request in instruments.file_requests(bare, late)]
    folder = "https://lapi.kotaksecurities.com/wso2-scripmaster/v1/prod/2026-11-23"
    assert len(urls) == 7
    assert f"{folder}/transformed-v1/nse_cm-v1.csv" in urls
    assert f"{folder}/transformed/mcx_fo.csv" in urls


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
        instruments.read_files([file("nse_cm"), body])


def test_files_without_rows_name_nothing(file):
    with pytest.raises(BadAnswer):
        instruments.read_files([file("nse_com")])


def test_a_row_with_broken_cells_costs_itself_only(file):
    body = file("nse_fo").replace(b"1474554600,-1,2,2.1e+06", b"soon,-1,2,high")
    rows = {row["broker_token"]: row for row in instruments.read_files([body]).rows(named=True)}
    assert rows["nse_fo|56526"]["segment"] == "uncategorised"
    assert rows["nse_fo|61304"]["segment"] == "equity_futures"
