"""The charges tables and the file that replaces rows of them (order-engine 4.2, 5.8)."""

from datetime import date
from decimal import Decimal

import pytest

from onebroker.config.charges.load import age_warning, built_in_charges, load_charges
from onebroker.config.charges.rows import Group
from onebroker.config.settings import SettingsError
from tests.support.every_case import every_case

BROKERS = ("zerodha", "upstox")
TODAY = date(2026, 11, 23)


@pytest.fixture
def written(tmp_path):
    path = tmp_path / "charges.toml"

    def write(text):
        path.write_text(text)
        return path

    return write


def refusals(path):
    with pytest.raises(SettingsError) as caught:
        load_charges(path, brokers=BROKERS)
    assert all(line.startswith(f"{path}") for line in caught.value.lines)
    return [line.removeprefix(f"{path}").removeprefix(": ") for line in caught.value.lines]


def test_without_a_file_the_built_in_tables_count():
    charges = load_charges(None, brokers=BROKERS)
    assert charges.statutory.rows == built_in_charges().statutory.rows
    assert charges.gst_percent == 18


def test_a_row_takes_the_place_of_all_built_in_rows_of_its_key_and_the_others_stay(written):
    path = written(
        """
        gst_percent = 12
        farm_goods = ["cotton"]
        [[statutory]]
        exchange = "nse"
        group = "equity_futures"
        exchange_percent = 0.002
        regulator_percent = 0.0001
        stamp_percent = 0.002
        tax_sell_percent = 0.06
        valid_from = 2026-10-01
        source = "circular"
        [[brokerage]]
        broker = "zerodha"
        group = "equity_intraday"
        percent = 0.01
        minimum = 1
        cap = 10
        [[dp]]
        broker = "upstox"
        amount = 9.44
        """
    )
    charges = load_charges(path, brokers=BROKERS)
    row = charges.statutory_row("nse", Group.EQUITY_FUTURES, TODAY)
    assert (row.tax_sell_percent, row.source) == (Decimal("0.06"), "circular")
    assert charges.statutory_row("nse", Group.EQUITY_FUTURES, date(2026, 9, 30)) is None
    assert charges.statutory_row("bse", Group.EQUITY_FUTURES, TODAY).tax_sell_percent == Decimal("0.05")
    assert charges.brokerage_row("zerodha", Group.EQUITY_INTRADAY, "MIS", TODAY).cap == 10
    assert charges.brokerage_row("zerodha", Group.EQUITY_FUTURES, "MIS", TODAY).cap == 20
    assert charges.dp_fee("upstox", Decimal(1000), TODAY) == Decimal("9.44")
    assert charges.gst_percent == 12
    assert charges.is_farm_good("COTTONCNDY")
    assert not charges.is_farm_good("WHEAT")


def test_a_row_of_a_product_goes_before_one_of_any_product(written):
    path = written(
        """
        [[brokerage]]
        broker = "zerodha"
        group = "equity_futures"
        flat = 20
        [[brokerage]]
        broker = "zerodha"
        group = "equity_futures"
        product = "MIS"
        flat = 0
        """
    )
    charges = load_charges(path, brokers=BROKERS)
    flat = [charges.brokerage_row("zerodha", Group.EQUITY_FUTURES, product, TODAY).flat for product in ("MIS", "NRML")]
    assert flat == [0, 20]


def test_of_rows_of_one_key_the_newest_in_force_counts(written):
    rows = "".join(
        f'[[dp]]\nbroker = "zerodha"\namount = {amount}\nvalid_from = {since}\n'
        for amount, since in ((1, "2026-01-01"), (3, "2027-01-01"), (2, "2026-06-01"))
    )
    charges = load_charges(written(rows), brokers=BROKERS)
    days = (date(2025, 1, 1), date(2026, 5, 31), TODAY, date(2027, 1, 1))
    assert [charges.dp_fee("zerodha", Decimal(1), day) for day in days] == [0, 1, 2, 3]


@every_case(
    ("text", "line"),
    [
        ("[[brokrage]]\n", "brokrage is not known; did you mean brokerage?"),
        ('[[dp]]\nbroker = "zerodha"\n', "dp[0].amount is required"),
        ('[[dp]]\nbroker = "zerodha"\namount = -1\n', "dp[0].amount must not be below zero"),
        ('[[dp]]\nbroker = "zerohda"\namount = 1\n', "dp[0].broker.zerohda is not known; did you mean zerodha?"),
        (
            '[[brokerage]]\nbroker = "zerodha"\ngroup = "equity_futures"\nflat = "twenty"\n',
            "brokerage[0].flat must be a number",
        ),
        (
            '[[brokerage]]\nbroker = "zerodha"\ngroup = "equity_futures"\nflat = 20\npercent = 1\n',
            "brokerage[0].percent must be given, or flat or per_lot in its place: exactly one of the three",
        ),
        (
            '[[brokerage]]\nbroker = "zerodha"\ngroup = "equity_futures"\nflat = 20\ncap = 1\n',
            "brokerage[0].cap goes with percent only",
        ),
        (
            '[[brokerage]]\nbroker = "zerodha"\ngroup = "equity_futures"\npercent = 1\nminimum = 9\ncap = 1\n',
            "brokerage[0].minimum must not be above cap",
        ),
        (
            '[[brokerage]]\nbroker = "zerodha"\ngroup = "equity_futures"\nproduct = "BO"\nflat = 1\n',
            "brokerage[0].product must be one of CNC, MIS, NRML",
        ),
        (
            '[[brokerage]]\nbroker = "zerodha"\ngroup = "fund_delivery"\nflat = 1\n',
            "brokerage[0].group fund_delivery has no brokerage of its own; give equity_delivery",
        ),
        (
            '[[statutory]]\nexchange = "nyse"\ngroup = "other"\nexchange_percent = 0\nregulator_percent = 0\nstamp_percent = 0\n',
            "statutory[0].exchange must be one of nse, bse, mcx, ncdex",
        ),
    ],
)
def test_what_is_wrong_in_the_file_is_named_with_its_key(written, text, line):
    assert refusals(written(text)) == [line]


def test_tables_that_nobody_looked_at_for_over_a_year_are_said_to_be_old(written):
    charges = load_charges(written("checked = 2025-11-23\n"), brokers=BROKERS)
    assert age_warning(charges, TODAY) is None
    said = age_warning(charges, date(2026, 11, 24))
    assert said.startswith("the charges tables were last compared with their sources on 2025-11-23: ")


def test_the_file_may_say_which_funds_and_what_of_farm_goods(written):
    charges = load_charges(written('untaxed_funds = ["xau"]\nfarm_regulator_percent = 0.00002\n'), brokers=BROKERS)
    assert charges.is_untaxed_fund("MYXAUFUND")
    assert not charges.is_untaxed_fund("GOLDBEES")
    assert charges.farm_regulator_percent == Decimal("0.00002")


def test_a_group_that_does_not_exist_is_refused_with_those_that_do(written):
    (line,) = refusals(written('[[brokerage]]\nbroker = "zerodha"\ngroup = "futures"\nflat = 1\n'))
    assert line.startswith("brokerage[0].group must be one of equity_delivery, equity_intraday, ")


def test_a_file_that_cannot_be_read_is_refused(tmp_path, written):
    assert refusals(tmp_path / "nowhere.toml") == [" cannot be read: No such file or directory"]
    assert refusals(written("[[dp]\n"))[0].startswith(" is not valid TOML: ")
