"""Statutory charges as they were last published: securities and commodities transaction tax, exchange and regulator
charges, stamp duty (order-engine 4.2). An operator keeps them up to date with the `[charges]` file (docs/charges.md).

No rate was compared with a circular of the exchange itself; each source is a page of a broker that charges these rates.
The tables do not tell apart BSE's dearer groups of shares (X, Z, P …: up to 1 %) and its options on shares (0.005 %).
They do not hold the charges at an option's expiry. All brokers charge these rates alike, so the choice of a broker does
not depend on them.
"""

from datetime import date
from decimal import Decimal

from onebroker.config.charges.rows import Group, StatutoryRow

CHECKED = date(2026, 9, 30)
"""The day on which these tables and the brokers' tables were last compared with their sources."""

_UNIFORM = date(2024, 10, 1)
"""Since this day exchanges must charge every member the same (SEBI, true to label)."""
_BUDGET_2026 = date(2026, 4, 1)
"""On this day the transaction tax of futures and options was raised."""

_ICICI = "icicidirect.com/brokerage, with investor protection fund (stored copy, after 2024-10-01)"
_BUDGET = "rates of a member's page after the budget of 2026: tax 0.05 % of futures, 0.15 % of options"
_HDFC = "support.hdfcsky.com, statutory pricing of currency and of commodity (stored copy, 2025)"

_FUNDS = (
    "support.zerodha.com and faq.shoonya.com (stored copies): 0.001 % of a delivered sale; some funds are free of it"
)
_NSE_FUND = {Group.EQUITY_DELIVERY: "0.0001", Group.FUND_DELIVERY: "0.0001", Group.EQUITY_INTRADAY: "0.0001", Group.EQUITY_FUTURES: "0.0001",
             Group.EQUITY_OPTIONS: "0.0005"}  # fmt: skip
"""The investor protection fund's part of NSE's charge: ₹10 a crore of shares and their futures, ₹50 a crore of premium.
The source is help.upstox.com. It also says that this part bears no tax on services, as Kite's recorded contract notes
show. Members' pages differ about currency, so nothing is taken off there."""

_REGULATOR = Decimal("0.0001")
"""₹10 a crore, for every group."""


def _row(
    exchange: str, group: Group, charge: str, stamp: str, tax: tuple[str, str], valid_from: date, source: str
) -> StatutoryRow:
    return StatutoryRow(
        exchange=exchange,
        group=group,
        exchange_percent=Decimal(charge),
        fund_percent=Decimal(_NSE_FUND.get(group, "0") if exchange == "nse" else "0"),
        regulator_percent=_REGULATOR,
        stamp_percent=Decimal(stamp),
        tax_buy_percent=Decimal(tax[0]),
        tax_sell_percent=Decimal(tax[1]),
        valid_from=valid_from,
        source=source,
    )


_NO_TAX = ("0", "0")

STATUTORY = (
    _row("nse", Group.EQUITY_DELIVERY, "0.00307", "0.015", ("0.1", "0.1"), _UNIFORM, _ICICI),
    _row("bse", Group.EQUITY_DELIVERY, "0.00375", "0.015", ("0.1", "0.1"), _UNIFORM, _ICICI),
    _row("nse", Group.FUND_DELIVERY, "0.00307", "0.015", ("0", "0.001"), _UNIFORM, _FUNDS),
    _row("bse", Group.FUND_DELIVERY, "0.00375", "0.015", ("0", "0.001"), _UNIFORM, _FUNDS),
    _row("nse", Group.EQUITY_INTRADAY, "0.00307", "0.003", ("0", "0.025"), _UNIFORM, _ICICI),
    _row("bse", Group.EQUITY_INTRADAY, "0.00375", "0.003", ("0", "0.025"), _UNIFORM, _ICICI),
    _row("nse", Group.EQUITY_FUTURES, "0.00183", "0.002", ("0", "0.02"), _UNIFORM, _ICICI),
    _row("bse", Group.EQUITY_FUTURES, "0", "0.002", ("0", "0.02"), _UNIFORM, _ICICI),
    _row("nse", Group.EQUITY_FUTURES, "0.00183", "0.002", ("0", "0.05"), _BUDGET_2026, _BUDGET),
    _row("bse", Group.EQUITY_FUTURES, "0", "0.002", ("0", "0.05"), _BUDGET_2026, _BUDGET),
    _row("nse", Group.EQUITY_OPTIONS, "0.03553", "0.003", ("0", "0.1"), _UNIFORM, _ICICI),
    _row("bse", Group.EQUITY_OPTIONS, "0.0325", "0.003", ("0", "0.1"), _UNIFORM, _ICICI),
    _row("nse", Group.EQUITY_OPTIONS, "0.03553", "0.003", ("0", "0.15"), _BUDGET_2026, _BUDGET),
    _row("bse", Group.EQUITY_OPTIONS, "0.0325", "0.003", ("0", "0.15"), _BUDGET_2026, _BUDGET),
    _row("nse", Group.CURRENCY_FUTURES, "0.00035", "0.0001", _NO_TAX, _UNIFORM, _HDFC),
    _row("bse", Group.CURRENCY_FUTURES, "0.00045", "0.0001", _NO_TAX, _UNIFORM, _HDFC),
    _row("nse", Group.CURRENCY_OPTIONS, "0.0311", "0.0001", _NO_TAX, _UNIFORM, _HDFC),
    _row("bse", Group.CURRENCY_OPTIONS, "0.001", "0.0001", _NO_TAX, _UNIFORM, _HDFC),
    _row("mcx", Group.COMMODITY_FUTURES, "0.0021", "0.002", ("0", "0.01"), _UNIFORM, _HDFC),
    _row("mcx", Group.COMMODITY_OPTIONS, "0.0418", "0.003", ("0", "0.05"), _UNIFORM, _HDFC),
    _row("ncdex", Group.COMMODITY_FUTURES, "0.0058", "0.002", ("0", "0.01"), _UNIFORM, _HDFC),
    _row("ncdex", Group.COMMODITY_OPTIONS, "0.03", "0.003", ("0", "0.05"), _UNIFORM, _HDFC),
)

FARM_GOODS = (
    "ALMOND", "BAJRA", "BARLEY", "BLACKPEPPER", "CARDAMOM", "CASTOR", "CHANA", "CHILLI", "COCUD", "COPRA", "CORIANDER",
    "COTTON", "DHANIYA", "GUARSEED", "ISABGUL", "JEERA", "JUTE", "KAPAS", "MAIZE", "MOONG", "PEPPER", "POTATO", "RMSEED",
    "SOYBEAN", "SYBEAN", "SYOMEAL", "TMCFGR", "TURMERIC", "WHEAT",
)  # fmt: skip
"""Prefixes of the names of commodities that are free of the commodities transaction tax (rules of 2013 and later;
general knowledge, unchecked). Goods made from these commodities (oils, gum, sugar) are taxed."""

UNTAXED_FUNDS = (
    "GOLD", "SILVER", "LIQUID", "GILT", "GSEC", "SDL", "EBBETF", "BBETF", "MON100", "MONQ50", "MAFANG", "MASPTOP50", "MAHKTECH",
    "HNGSNGBEES",
)  # fmt: skip
"""Parts of the symbols of exchange-traded funds without transaction tax: funds of metals, money market, bonds and
foreign shares. The members' pages name the kinds, the exchange's list names the symbols; the parts here are general
knowledge, unchecked."""
