"""Things that everybody lists, each written as its ten brokers write it in their files.

Rows are in the spelling of the brokers' pages (docs/brokers/) and of the rows recorded in tests/data; dates, strikes and the numbers of smaller
things are made up. A thing that a broker does not write here is one that its file was never seen to hold.
"""

import calendar
import csv
import io
import zipfile
from datetime import date

import msgspec

from onebroker.brokers.registry import build_registry
from onebroker.config.instruments import future, option, security

WEEK, MONTH, SENSEX_DAY = date(2026, 12, 1), date(2026, 11, 24), date(2026, 11, 26)
PAIR, CRUDE, CRUDE_OPTION, GOLD = date(2026, 11, 26), date(2026, 12, 18), date(2026, 12, 16), date(2026, 12, 4)
THINGS = {
    "share": security("nse", "equities", "RELIANCE"),
    "be share": security("nse", "equities", "GTLINFRA"),
    "sme share": security("nse", "equities", "SMALLCO"),
    "dashed share": security("nse", "equities", "BAJAJ-AUTO"),
    "bse share": security("bse", "equities", "RELIANCE"),
    "etf": security("nse", "exchange_traded_funds", "GOLDBEES"),
    "etf without the word": security("nse", "exchange_traded_funds", "MON100"),
    "sgb": security("nse", "fixed_income", "SGBJUN31I"),
    "g-sec": security("nse", "fixed_income", "726GS2032"),
    "sdl": security("nse", "fixed_income", "749RJ35"),
    "t-bill": security("nse", "fixed_income", "364D120327"),
    "debenture": security("nse", "fixed_income", "IRFC-N2"),
    "preference share": security("nse", "equities", "SOMECO-P1"),
    "rights entitlement": security("nse", "equities", "INOXWI-RE"),
    "invit": security("nse", "investment_trusts", "INDIGRID"),
    "mutual fund": security("nse", "mutual_funds", "DEBTFMP"),
    "reit": security("nse", "investment_trusts", "EMBASSY"),
    "nifty": security("nse", "equity_indices", "NIFTY 50"),
    "bank nifty": security("nse", "equity_indices", "NIFTY BANK"),
    "vix": security("nse", "equity_indices", "INDIA VIX"),
    "sensex": security("bse", "equity_indices", "SENSEX"),
    "weekly option": option("nse", "equity_index_options", "NIFTY", WEEK, 26000, "CE"),
    "monthly option": option("nse", "equity_index_options", "NIFTY", MONTH, 26000, "CE"),
    "share option": option("nse", "equity_options", "RELIANCE", MONTH, 1402.5, "PE"),
    "share future": future("nse", "equity_futures", "RELIANCE", MONTH),
    "index future": future("nse", "equity_index_futures", "NIFTY", MONTH),
    "sensex option": option("bse", "equity_index_options", "SENSEX", SENSEX_DAY, 85000, "PE"),
    "pair future": future("nse", "currency_futures", "USDINR", PAIR),
    "pair option": option("nse", "currency_options", "USDINR", PAIR, 83.25, "CE"),
    "crude future": future("mcx", "commodity_futures", "CRUDEOIL", CRUDE),
    "crude option": option("mcx", "commodity_options", "CRUDEOIL", CRUDE_OPTION, 5500, "CE"),
    "gold future": future("mcx", "commodity_futures", "GOLD", GOLD),
}


def seconds(day, hour, minute, second=0):
    """Epoch seconds of an Indian time of day."""
    return calendar.timegm((day.year, day.month, day.day, hour, minute, second)) - 19_800


def table(header, rows):
    """Rows as the file's lines; each is a line, or a mapping of some columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = header.split(",")
    writer.writerow(names)
    for row in rows:
        if isinstance(row, str):
            out.write(f"{row}\n")
        else:
            writer.writerow([row.get(name, "") for name in names])
    return out.getvalue().encode()


def zipped(members):
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return body.getvalue()


# each broker's rows ------------------------------------------------------------------------------------------------------
ZERODHA = {
    "share": "738561,2885,RELIANCE,RELIANCE INDUSTRIES,0,,0,0.1,1,EQ,NSE,NSE",
    "be share": "3492609,13643,GTLINFRA-BE,GTL INFRA.,0,,0,0.01,1,EQ,NSE,NSE",
    "sme share": "10240257,40001,SMALLCO-SM,SMALL COMPANY,0,,0,0.05,1000,EQ,NSE,NSE",
    "dashed share": "4267265,16669,BAJAJ-AUTO,BAJAJ AUTO,0,,0,0.5,1,EQ,NSE,NSE",
    "bse share": "128083204,500325,RELIANCE,RELIANCE INDUSTRIES,0,,0,0.05,1,EQ,BSE,BSE",
    "etf": "3693569,14428,GOLDBEES,NIPPON INDIA ETF GOLD BEES,0,,0,0.01,1,EQ,NSE,NSE",
    "etf without the word": "5797633,22647,MON100,MOTILAL OSWAL NASDAQ 100,0,,0,0.01,1,EQ,NSE,NSE",
    "sgb": "10240513,40002,SGBJUN31I-GB,2.5%GOLDBONDS2031SR-I,0,,0,0.01,1,EQ,NSE,NSE",
    "g-sec": "10240769,40003,726GS2032-GS,GOI LOAN 7.26% 2032,0,,0,0.01,1,EQ,NSE,NSE",
    "sdl": "194231809,758718,749RJ35-SG,SDL RJ 7.49% 2035,0,,0,0.01,100,EQ,NSE,NSE",
    "t-bill": "10241025,40004,364D120327-TB,GOI TBILL 364D-12/03/27,0,,0,0.01,1,EQ,NSE,NSE",
    "debenture": "10241281,40006,IRFC-N2,TAXFREE 8.1% SR-I S-2,0,,0,0.01,1,EQ,NSE,NSE",
    "preference share": "10242817,40011,SOMECO-P1,6% PREFERENCE,0,,0,0.01,1,EQ,NSE,NSE",
    "rights entitlement": "10243073,40012,INOXWI-RE-BE,INOX WIND RIGHTS,0,,0,0.01,1,EQ,NSE,NSE",
    "invit": "10241537,40005,INDIGRID-IV,INDIA GRID TRUST,0,,0,0.01,1,EQ,NSE,NSE",
    "mutual fund": "10241793,40007,DEBTFMP-MF,DEBT TERM PLAN,0,,0,0.01,1,EQ,NSE,NSE",
    "reit": "2402049,9383,EMBASSY-RR,EMBASSY OFFICE PARKS REIT,0,,0,0.01,1,EQ,NSE,NSE",
    "nifty": "256265,1001,NIFTY 50,NIFTY 50,0,,0,0,0,EQ,INDICES,NSE",
    "bank nifty": "260105,1016,NIFTY BANK,NIFTY BANK,0,,0,0,0,EQ,INDICES,NSE",
    "vix": "264969,1035,INDIA VIX,INDIA VIX,0,,0,0,0,EQ,INDICES,NSE",
    "sensex": "265,1,SENSEX,SENSEX,0,,0,0,0,EQ,INDICES,BSE",
    "weekly option": "12800002,50001,NIFTY26D0126000CE,NIFTY,0,2026-12-01,26000,0.05,65,CE,NFO-OPT,NFO",
    "monthly option": "12800258,50002,NIFTY26NOV26000CE,NIFTY,0,2026-11-24,26000,0.05,65,CE,NFO-OPT,NFO",
    "share option": "12800514,50003,RELIANCE26NOV1402.5PE,RELIANCE,0,2026-11-24,1402.5,0.05,500,PE,NFO-OPT,NFO",
    "share future": "12800770,50004,RELIANCE26NOVFUT,RELIANCE,0,2026-11-24,0,0.1,500,FUT,NFO-FUT,NFO",
    "index future": "12801026,50005,NIFTY26NOVFUT,NIFTY,0,2026-11-24,0,0.1,65,FUT,NFO-FUT,NFO",
    "sensex option": "214456325,837720,SENSEX26NOV85000PE,SENSEX,0,2026-11-26,85000,0.05,20,PE,BFO-OPT,BFO",
    "pair future": "308227,1204,USDINR26NOVFUT,USDINR,0,2026-11-26,0,0.0025,1,FUT,CDS-FUT,CDS",
    "pair option": "308483,1205,USDINR26NOV83.25CE,USDINR,0,2026-11-26,83.25,0.0025,1,CE,CDS-OPT,CDS",
    "crude future": "145895431,569904,CRUDEOIL26DECFUT,CRUDEOIL,0,2026-12-18,0,1,1,FUT,MCX-FUT,MCX",
    "crude option": "145895687,569905,CRUDEOIL26DEC5500CE,CRUDEOIL,0,2026-12-16,5500,0.1,1,CE,MCX-OPT,MCX",
    "gold future": "145895943,569906,GOLD26DECFUT,GOLD,0,2026-12-04,0,1,1,FUT,MCX-FUT,MCX",
}
ZERODHA_HEADER = (
    "instrument_token,exchange_token,tradingsymbol,name,last_price,expiry,strike,tick_size,lot_size,instrument_type,"
    "segment,exchange"
)


def _upstox(segment, token, symbol, name, kind, isin=None, day=None, **more):
    key = f"{segment}|{isin or token}"
    row = {"segment": segment, "name": name, "exchange": segment[:3], "instrument_key": key, "exchange_token": token,
           "trading_symbol": symbol, "instrument_type": kind, "tick_size": 5.0, "lot_size": 1, "qty_multiplier": 1.0}  # fmt: skip
    if isin:
        row["isin"] = isin
    if day:
        row["expiry"] = seconds(day, 23, 59, 59) * 1000 + 0
    return row | more


UPSTOX = {
    "share": _upstox("NSE_EQ", "2885", "RELIANCE", "RELIANCE INDUSTRIES LTD", "EQ", "INE002A01018"),
    "be share": _upstox("NSE_EQ", "13643", "GTLINFRA", "GTL INFRASTRUCTURE LTD", "BE", "INE221H01019"),
    "sme share": _upstox("NSE_EQ", "40001", "SMALLCO", "SMALL COMPANY LTD", "SM", "INE0AB101015"),
    "dashed share": _upstox("NSE_EQ", "16669", "BAJAJ-AUTO", "BAJAJ AUTO LIMITED", "EQ", "INE917I01010"),
    "bse share": _upstox("BSE_EQ", "500325", "RELIANCE", "RELIANCE INDUSTRIES LTD", "A", "INE002A01018"),
    "etf": _upstox("NSE_EQ", "14428", "GOLDBEES", "NIP IND ETF GOLD BEES", "EQ", "INF204KB17I5"),
    "etf without the word": _upstox("NSE_EQ", "22647", "MON100", "MOSL NASDAQ 100", "EQ", "INF247L01AP3"),
    "sgb": _upstox("NSE_EQ", "40002", "SGBJUN31I", "2.5%GOLDBONDS2031SR-I", "GB", "IN0020230069"),
    "g-sec": _upstox("NSE_EQ", "40003", "726GS2032", "GOI LOAN 7.26% 2032", "GS", "IN0020220060"),
    "sdl": _upstox("NSE_EQ", "758718", "749RJ35", "SDL RJ 7.49% 2035", "SG", "IN2920250163"),
    "t-bill": _upstox("NSE_EQ", "40004", "364D120327", "GOI TBILL 364D-12/03/27", "TB", "IN002025Z537"),
    "debenture": _upstox("NSE_EQ", "40006", "IRFC", "TAXFREE 8.1% SR-I S-2", "N2", "INE053F07538"),
    "preference share": _upstox("NSE_EQ", "40011", "SOMECO", "6% PREFERENCE", "P1", "INE123A04017"),
    "rights entitlement": _upstox("NSE_EQ", "40012", "INOXWI-RE", "INOX WIND RIGHTS", "BE", "INE066P20011"),
    "invit": _upstox("NSE_EQ", "40005", "INDIGRID", "INDIA GRID TRUST", "IV", "INE219X23014"),
    "mutual fund": _upstox("NSE_EQ", "40007", "DEBTFMP", "DEBT TERM PLAN", "MF", "INF174K01YZ2"),
    "reit": _upstox("NSE_EQ", "9383", "EMBASSY", "EMBASSY OFFICE PARKS REIT", "RR", "INE041025011"),
    "nifty": _upstox("NSE_INDEX", "26000", "NIFTY", "Nifty 50", "INDEX", instrument_key="NSE_INDEX|Nifty 50"),
    "bank nifty": _upstox("NSE_INDEX", "26009", "BANKNIFTY", "Nifty Bank", "INDEX", instrument_key="NSE_INDEX|Nifty Bank"),
    "vix": _upstox("NSE_INDEX", "26017", "INDIA VIX", "India VIX", "INDEX", instrument_key="NSE_INDEX|India VIX"),
    "sensex": _upstox("BSE_INDEX", "1", "SENSEX", "SENSEX", "INDEX", instrument_key="BSE_INDEX|SENSEX"),
    "weekly option": _upstox(
        "NSE_FO", "50001", "NIFTY 26000 CE 01 DEC 26", "NIFTY", "CE", day=WEEK, weekly=True, asset_symbol="NIFTY",
        underlying_symbol="NIFTY", underlying_type="INDEX", strike_price=26000.0, lot_size=65),
    "monthly option": _upstox(
        "NSE_FO", "50002", "NIFTY 26000 CE 24 NOV 26", "NIFTY", "CE", day=MONTH, weekly=False, asset_symbol="NIFTY",
        underlying_symbol="NIFTY", underlying_type="INDEX", strike_price=26000.0, lot_size=65),
    "share option": _upstox(
        "NSE_FO", "50003", "RELIANCE 1402.5 PE 24 NOV 26", "RELIANCE INDUSTRIES LTD", "PE", day=MONTH,
        underlying_symbol="RELIANCE", underlying_type="EQUITY", strike_price=1402.5, lot_size=500),
    "share future": _upstox(
        "NSE_FO", "50004", "RELIANCE FUT 24 NOV 26", "RELIANCE INDUSTRIES LTD", "FUT", day=MONTH,
        underlying_symbol="RELIANCE", underlying_type="EQUITY", strike_price=0.0, lot_size=500),
    "index future": _upstox(
        "NSE_FO", "50005", "NIFTY FUT 24 NOV 26", "NIFTY", "FUT", day=MONTH,
        underlying_symbol="NIFTY", underlying_type="INDEX", strike_price=0.0, lot_size=65),
    "sensex option": _upstox(
        "BSE_FO", "837720", "SENSEX 85000 PE 26 NOV 26", "SENSEX", "PE", day=SENSEX_DAY,
        underlying_symbol="SENSEX", underlying_type="INDEX", strike_price=85000.0, lot_size=20),
    "pair future": _upstox(
        "NCD_FO", "1204", "USDINR FUT 26 NOV 26", "USDINR", "FUT", day=PAIR, underlying_symbol="USDINR",
        underlying_type="CUR", tick_size=0.25, qty_multiplier=1000.0),
    "pair option": _upstox(
        "NCD_FO", "1205", "USDINR 83.25 CE 26 NOV 26", "USDINR", "CE", day=PAIR, underlying_symbol="USDINR",
        underlying_type="CUR", strike_price=83.25, tick_size=0.25, qty_multiplier=1000.0),
    "crude future": _upstox(
        "MCX_FO", "569904", "CRUDEOIL FUT 18 DEC 26", "CRUDE OIL", "FUT", day=CRUDE, underlying_symbol="CRUDEOIL",
        underlying_type="COM", lot_size=100, qty_multiplier=100.0),
    "crude option": _upstox(
        "MCX_FO", "569905", "CRUDEOIL 5500 CE 16 DEC 26", "CRUDE OIL", "CE", day=CRUDE_OPTION, underlying_symbol="CRUDEOIL",
        underlying_type="COM", strike_price=5500.0, lot_size=100, qty_multiplier=100.0),
    "gold future": _upstox(
        "MCX_FO", "569906", "GOLD FUT 04 DEC 26", "GOLD", "FUT", day=GOLD, underlying_symbol="GOLD",
        underlying_type="COM", lot_size=1, qty_multiplier=100.0),
}  # fmt: skip
DHAN_COMPACT = (
    "SEM_EXM_EXCH_ID,SEM_SEGMENT,SEM_SMST_SECURITY_ID,SEM_INSTRUMENT_NAME,SEM_EXPIRY_CODE,SEM_TRADING_SYMBOL,SEM_LOT_UNITS,"
    "SEM_CUSTOM_SYMBOL,SEM_EXPIRY_DATE,SEM_STRIKE_PRICE,SEM_OPTION_TYPE,SEM_TICK_SIZE,SEM_EXPIRY_FLAG,"
    "SEM_EXCH_INSTRUMENT_TYPE,SEM_SERIES,SM_SYMBOL_NAME"
)
DHAN_DETAILED = (
    "EXCH_ID,SEGMENT,SECURITY_ID,ISIN,INSTRUMENT,UNDERLYING_SECURITY_ID,UNDERLYING_SYMBOL,SYMBOL_NAME,SM_FREEZE_QTY,"
)
DHAN = {
    "share": ("NSE,E,2885,EQUITY,0,RELIANCE,1.0,Reliance Industries,,,,10.0000,NA,ES,EQ,RELIANCE INDUSTRIES LTD", "INE002A01018,RELIANCE"),
    "be share": ("NSE,E,13643,EQUITY,0,GTLINFRA,1.0,GTL Infrastructure,,,,1.0000,NA,ES,BE,GTL INFRA", "INE221H01019,GTLINFRA"),
    "sme share": ("NSE,E,40001,EQUITY,0,SMALLCO,1000.0,Small Company,,,,5.0000,NA,ES,SM,SMALL COMPANY", "INE0AB101015,SMALLCO"),
    "dashed share": ("NSE,E,16669,EQUITY,0,BAJAJ-AUTO,1.0,Bajaj Auto,,,,50.0000,NA,ES,EQ,BAJAJ AUTO", "INE917I01010,BAJAJ-AUTO"),
    "bse share": ("BSE,E,500325,EQUITY,0,RELIANCE,1.0,Reliance Industries,,,,5.0000,NA,ES,A,RELIANCE", "INE002A01018,RELIANCE"),
    "etf": ("NSE,E,14428,EQUITY,0,GOLDBEES,1.0,Nippon Gold ETF,,,,1.0000,NA,ETF,EQ,NIPPON ETF GOLD BEES", "INF204KB17I5,GOLDBEES"),
    "etf without the word": ("NSE,E,22647,EQUITY,0,MON100,1.0,Motilal Nasdaq 100,,,,1.0000,NA,ETF,EQ,MOSL", "INF247L01AP3,MON100"),
    "sgb": ("NSE,E,40002,EQUITY,0,SGBJUN31I,1.0,SGB JUN 2031,,,,1.0000,NA,DBT,GB,GOLDBONDS", "IN0020230069,SGBJUN31I"),
    "g-sec": ("NSE,E,40003,EQUITY,0,726GS2032,1.0,7.26% GS 2032,,,,1.0000,NA,DBT,GS,GOI", "IN0020220060,726GS2032"),
    "sdl": ("NSE,E,758718,EQUITY,0,749RJ35,100.0,SDL RJ 7.49% 2035,,,,1.0000,NA,DBT,SG,SDL", "IN2920250163,749RJ35"),
    "t-bill": ("NSE,E,40004,EQUITY,0,364D120327,1.0,TBILL 364D,,,,1.0000,NA,DBT,TB,TBILL", "IN002025Z537,364D120327"),
    "debenture": ("NSE,E,40006,EQUITY,0,IRFC,1.0,IRFC 8.1%,,,,1.0000,NA,DBT,N2,IRFC", "INE053F07538,IRFC"),
    "preference share": ("NSE,E,40011,EQUITY,0,SOMECO,1.0,6% PREFERENCE,,,,1.0000,NA,PS,P1,SOMECO", "INE123A04017,SOMECO"),
    "rights entitlement": ("NSE,E,40012,EQUITY,0,INOXWI-RE,1.0,INOX WIND RIGHTS,,,,1.0000,NA,RE,BE,INOXWI-RE", "INE066P20011,INOXWI-RE"),
    "invit": ("NSE,E,40005,EQUITY,0,INDIGRID,1.0,India Grid Trust,,,,1.0000,NA,ES,IV,INDIGRID", "INE219X23014,INDIGRID"),
    "mutual fund": ("NSE,E,40007,EQUITY,0,DEBTFMP,1.0,Debt Term Plan,,,,1.0000,NA,ES,MF,DEBTFMP", "INF174K01YZ2,DEBTFMP"),
    "reit": ("NSE,E,9383,EQUITY,0,EMBASSY,1.0,Embassy REIT,,,,1.0000,NA,ES,RR,EMBASSY", "INE041025011,EMBASSY"),
    "nifty": ("NSE,I,13,INDEX,0,NIFTY,1.0,Nifty 50,0001-01-01,,XX,0.0500,,INDEX,X,NIFTY", ""),
    "bank nifty": ("NSE,I,25,INDEX,0,BANKNIFTY,1.0,Nifty Bank,0001-01-01,,XX,0.0500,,INDEX,X,BANKNIFTY", ""),
    "vix": ("NSE,I,21,INDEX,0,INDIA VIX,1.0,India VIX,0001-01-01,,XX,0.0500,,INDEX,X,INDIA VIX", ""),
    "sensex": ("BSE,I,51,INDEX,0,SENSEX,1.0,Sensex,0001-01-01,,XX,0.0100,,INDEX,X,SENSEX", ""),
    "weekly option": ("NSE,D,50001,OPTIDX,0,NIFTY-Dec2026-26000-CE,65.0,NIFTY 01 DEC 26000 CALL,2026-12-01 14:30:00,26000.00000,CE,5.0000,W,OP,NA,NIFTY", "NA,NIFTY"),
    "monthly option": ("NSE,D,50002,OPTIDX,0,NIFTY-Nov2026-26000-CE,65.0,NIFTY 24 NOV 26000 CALL,2026-11-24 14:30:00,26000.00000,CE,5.0000,M,OP,NA,NIFTY", "NA,NIFTY"),
    "share option": ("NSE,D,50003,OPTSTK,0,RELIANCE-Nov2026-1402.5-PE,500.0,RELIANCE 24 NOV 1402.50 PUT,2026-11-24 14:30:00,1402.50000,PE,5.0000,M,OP,NA,RELIANCE", "NA,RELIANCE"),
    "share future": ("NSE,D,50004,FUTSTK,0,RELIANCE-Nov2026-FUT,500.0,RELIANCE NOV FUT,2026-11-24 14:30:00,-0.01000,XX,10.0,M,FUT,,", "NA,RELIANCE"),
    "index future": ("NSE,D,50005,FUTIDX,0,NIFTY-Nov2026-FUT,65.0,NIFTY NOV FUT,2026-11-24 14:30:00,-0.01000,XX,10.0,M,FUT,,", ""),
    "sensex option": ("BSE,D,837720,OPTIDX,0,SENSEX-Nov2026-85000-PE,20.0,SENSEX 26 NOV 85000 PUT,2026-11-26 14:30:00,85000.00000,PE,5.0000,W,OPTIDX,NA,SENSEX", "NA,SENSEX"),
    "pair future": ("NSE,C,1204,FUTCUR,0,USDINR-26NOV2026-FUT,1.0,USDINR NOV FUT,2026-11-26 14:30:00,-0.01000,XX,0.2500,M,FUTCUR,,USDINR", ""),
    "pair option": ("NSE,C,1205,OPTCUR,0,USDINR-26NOV2026-83.25-CE,1.0,USDINR 26 NOV 83.25 CALL,2026-11-26 14:30:00,83.25000,CE,0.2500,M,OPTCUR,NA,USDINR", "NA,USDINR"),
    "crude future": ("MCX,M,569904,FUTCOM,0,CRUDEOIL-18Dec2026-FUT,1.0,CRUDEOIL DEC FUT,2026-12-18 23:30:00,0.00000,XX,100.0000,M,FUTCOM,2,CRUDEOIL", "NA,CRUDEOIL"),
    "crude option": ("MCX,M,569905,OPTFUT,0,CRUDEOIL-16Dec2026-5500-CE,1.0,CRUDEOIL 16 DEC 5500 CALL,2026-12-16 23:30:00,5500.00000,CE,10.0000,M,OPTFUT,2,CRUDEOIL", "NA,CRUDEOIL"),
    "gold future": ("MCX,M,569906,FUTCOM,0,GOLD-04Dec2026-FUT,1.0,GOLD DEC FUT,2026-12-04 23:30:00,0.00000,XX,100.0000,M,FUTCOM,2,GOLD", "NA,GOLD"),
}  # fmt: skip


def _angel(token, symbol, name, segment, kind="", day=None, strike="-1.000000", **more):
    return {"token": token, "symbol": symbol, "name": name, "expiry": f"{day:%d%b%Y}".upper() if day else "", "strike": strike,
            "lotsize": "1", "instrumenttype": kind, "exch_seg": segment, "tick_size": "5.000000"} | more  # fmt: skip


ANGEL = {
    "share": _angel("2885", "RELIANCE-EQ", "RELIANCE", "NSE"),
    "be share": _angel("13643", "GTLINFRA-BE", "GTLINFRA", "NSE"),
    "sme share": _angel("40001", "SMALLCO-SM", "SMALLCO", "NSE"),
    "dashed share": _angel("16669", "BAJAJ-AUTO-EQ", "BAJAJ-AUTO", "NSE"),
    "bse share": _angel("500325", "RELIANCE", "RELIANCE", "BSE"),
    "etf": _angel("14428", "GOLDBEES-EQ", "GOLDBEES", "NSE"),
    "etf without the word": _angel("22647", "MON100-EQ", "MON100", "NSE"),
    "sgb": _angel("40002", "SGBJUN31I-GB", "SGBJUN31I", "NSE"),
    "g-sec": _angel("40003", "726GS2032-GS", "726GS2032", "NSE"),
    "sdl": _angel("758718", "749RJ35-SG", "749RJ35", "NSE"),
    "t-bill": _angel("40004", "364D120327-TB", "364D120327", "NSE"),
    "debenture": _angel("40006", "IRFC-N2", "IRFC", "NSE"),
    "preference share": _angel("40011", "SOMECO-P1", "SOMECO", "NSE"),
    "rights entitlement": _angel("40012", "INOXWI-RE-BE", "INOXWI-RE", "NSE"),
    "invit": _angel("40005", "INDIGRID-IV", "INDIGRID", "NSE"),
    "mutual fund": _angel("40007", "DEBTFMP-MF", "DEBTFMP", "NSE"),
    "reit": _angel("9383", "EMBASSY-RR", "EMBASSY", "NSE"),
    "nifty": _angel("99926000", "Nifty 50", "NIFTY", "NSE", "AMXIDX", strike="0.000000"),
    "bank nifty": _angel("99926009", "Nifty Bank", "BANKNIFTY", "NSE", "AMXIDX", strike="0.000000"),
    "vix": _angel("99926017", "India VIX", "INDIA VIX", "NSE", "AMXIDX", strike="0.000000"),
    "sensex": _angel("99919000", "SENSEX", "SENSEX", "BSE", "AMXIDX", strike="0.000000"),
    "weekly option": _angel("50001", "NIFTY01DEC2626000CE", "NIFTY", "NFO", "OPTIDX", WEEK, "2600000.000000"),
    "monthly option": _angel("50002", "NIFTY24NOV2626000CE", "NIFTY", "NFO", "OPTIDX", MONTH, "2600000.000000"),
    "share option": _angel("50003", "RELIANCE24NOV261402.5PE", "RELIANCE", "NFO", "OPTSTK", MONTH, "140250.000000"),
    "share future": _angel("50004", "RELIANCE24NOV26FUT", "RELIANCE", "NFO", "FUTSTK", MONTH),
    "index future": _angel("50005", "NIFTY24NOV26FUT", "NIFTY", "NFO", "FUTIDX", MONTH),
    "sensex option": _angel("837720", "SENSEX26NOV85000PE", "SENSEX", "BFO", "OPTIDX", SENSEX_DAY, "8500000.000000"),
    "pair future": _angel("1204", "USDINR26NOVFUT", "USDINR", "CDS", "FUTCUR", PAIR, tick_size="0.25"),
    "pair option": _angel(
        "1205", "USDINR26NOV8325CE", "USDINR", "CDS", "OPTCUR", PAIR, "832500000.000000", tick_size="0.25"
    ),
    "crude future": _angel("569904", "CRUDEOIL18DEC26FUT", "CRUDEOIL", "MCX", "FUTCOM", CRUDE, lotsize="100"),
    "crude option": _angel(
        "569905", "CRUDEOIL26DEC5500CE", "CRUDEOIL", "MCX", "OPTFUT", CRUDE_OPTION, "550000", lotsize="100"
    ),
    "gold future": _angel("569906", "GOLD04DEC26FUT", "GOLD", "MCX", "FUTCOM", GOLD, lotsize="100"),
}
DAYS = "0915-1530|1815-1915:,2026-11-23"


def _fyers(number, name, kind, ticker, token, isin="", day=None, under="", strike="-1.0", side="XX", at=(15, 30)):
    exchange, segment = number[:2], number[2:4]
    expiry = f"{day:%y%m%d}" if day else "000000"
    epoch = seconds(day, *at) if day else ""
    return (
        f"{number}{expiry}{token},{name},{kind},1,0.05,{isin},{DAYS},{epoch},{ticker},{exchange},{segment},{token},{under},-1,"
        f"{strike},{side},-1,None,0,0.0"
    )


FYERS = {
    "share": _fyers("1010", "RELIANCE INDUSTRIES LTD", 0, "NSE:RELIANCE-EQ", 2885, "INE002A01018", under="RELIANCE"),
    "be share": _fyers("1010", "GTL INFRASTRUCTURE", 0, "NSE:GTLINFRA-BE", 13643, "INE221H01019", under="GTLINFRA"),
    "sme share": _fyers("1010", "SMALL COMPANY", 0, "NSE:SMALLCO-SM", 40001, "INE0AB101015", under="SMALLCO"),
    "dashed share": _fyers("1010", "BAJAJ AUTO", 0, "NSE:BAJAJ-AUTO-EQ", 16669, "INE917I01010", under="BAJAJ-AUTO"),
    "bse share": _fyers("1210", "RELIANCE INDUSTRIES LTD.", 0, "BSE:RELIANCE-A", 500325, "INE002A01018", under="RELIANCE"),
    "etf": _fyers("1010", "NIPPON GOLD BEES", 9, "NSE:GOLDBEES-EQ", 14428, "INF204KB17I5", under="GOLDBEES"),
    "etf without the word": _fyers("1010", "MOSL NASDAQ 100", 9, "NSE:MON100-EQ", 22647, "INF247L01AP3", under="MON100"),
    "sgb": _fyers("1010", "2.5%GOLDBONDS2031SR-I", 5, "NSE:SGBJUN31I-GB", 40002, "IN0020230069", under="SGBJUN31I"),
    "g-sec": _fyers("1010", "GOI LOAN 7.26% 2032", 6, "NSE:726GS2032-GS", 40003, "IN0020220060", under="726GS2032"),
    "sdl": _fyers("1010", "SDL RJ 7.49% 2035", 6, "NSE:749RJ35-SG", 758718, "IN2920250163", under="749RJ35"),
    "t-bill": _fyers("1010", "GOI TBILL 364D-12/03/27", 7, "NSE:364D120327-TB", 40004, "IN002025Z537", under="364D120327"),
    "debenture": _fyers("1010", "TAXFREE 8.1% SR-I S-2", 2, "NSE:IRFC-N2", 40006, "INE053F07538", under="IRFC"),
    "preference share": _fyers("1010", "6% PREFERENCE", 0, "NSE:SOMECO-P1", 40011, "INE123A04017", under="SOMECO"),
    "rights entitlement": _fyers("1010", "INOX WIND RIGHTS", 0, "NSE:INOXWI-RE-BE", 40012, "INE066P20011", under="INOXWI-RE"),
    "invit": _fyers("1010", "INDIA GRID TRUST", 0, "NSE:INDIGRID-IV", 40005, "INE219X23014", under="INDIGRID"),
    "mutual fund": _fyers("1010", "DEBT TERM PLAN", 8, "NSE:DEBTFMP-MF", 40007, "INF174K01YZ2", under="DEBTFMP"),
    "reit": _fyers("1010", "EMBASSY OFFICE PARKS REIT", 0, "NSE:EMBASSY-RR", 9383, "INE041025011", under="EMBASSY"),
    "nifty": _fyers("1010", "NIFTY50-INDEX", 10, "NSE:NIFTY50-INDEX", 26000, under="NIFTY"),
    "bank nifty": _fyers("1010", "NIFTYBANK-INDEX", 10, "NSE:NIFTYBANK-INDEX", 26009, under="BANKNIFTY"),
    "vix": _fyers("1010", "INDIAVIX-INDEX", 10, "NSE:INDIAVIX-INDEX", 26017, under="INDIAVIX"),
    "sensex": _fyers("1210", "SENSEX-INDEX", 10, "BSE:SENSEX-INDEX", 1, under="SENSEX"),
    "weekly option": _fyers("1011", "NIFTY 01 Dec 26 26000 CE", 14, "NSE:NIFTY26D0126000CE", 50001, "", WEEK, "NIFTY", "26000.0", "CE"),
    "monthly option": _fyers("1011", "NIFTY 24 Nov 26 26000 CE", 14, "NSE:NIFTY26NOV26000CE", 50002, "", MONTH, "NIFTY", "26000.0", "CE"),
    "share option": _fyers("1011", "RELIANCE 24 Nov 26 1402.5 PE", 15, "NSE:RELIANCE26NOV1402.5PE", 50003, "", MONTH, "RELIANCE", "1402.5", "PE"),
    "share future": _fyers("1011", "RELIANCE 24 Nov 26 FUT", 13, "NSE:RELIANCE26NOVFUT", 50004, "", MONTH, "RELIANCE"),
    "index future": _fyers("1011", "NIFTY 24 Nov 26 FUT", 11, "NSE:NIFTY26NOVFUT", 50005, "", MONTH, "NIFTY"),
    "sensex option": _fyers("1211", "SENSEX 26 Nov 26 85000 PE", 14, "BSE:SENSEX26NOV85000PE", 837720, "", SENSEX_DAY, "SENSEX", "85000.0", "PE"),
    "pair future": _fyers("1012", "USDINR 26 Nov 26 FUT", 16, "NSE:USDINR26NOVFUT", "01204", "", PAIR, "USDINR", at=(17, 0)),
    "pair option": _fyers("1012", "USDINR 26 Nov 26 83.25 CE", 19, "NSE:USDINR26NOV83.25CE", "01205", "", PAIR, "USDINR", "83.25", "CE", (17, 0)),
    "crude future": _fyers("1120", "CRUDEOIL 18 Dec 26 FUT", 30, "MCX:CRUDEOIL26DECFUT", 569904, "", CRUDE, "CRUDEOIL", at=(23, 30)),
    "crude option": _fyers("1120", "CRUDEOIL 16 Dec 26 5500 CE", 31, "MCX:CRUDEOIL26DEC5500CE", 569905, "", CRUDE_OPTION, "CRUDEOIL", "5500.0", "CE", (23, 30)),
    "gold future": _fyers("1120", "GOLD 04 Dec 26 FUT", 30, "MCX:GOLD26DECFUT", 569906, "", GOLD, "GOLD", at=(23, 30)),
}  # fmt: skip
FYERS_FILES = ("1010", "1011", "1012", "1020", "1210", "1211", "1120")
FYERS_NAMES = {
    "NSE:NIFTY50-INDEX": "Nifty 50", "NSE:NIFTYBANK-INDEX": "Nifty Bank", "NSE:INDIAVIX-INDEX": "India VIX",
    "BSE:SENSEX-INDEX": "SENSEX",
}  # fmt: skip
KOTAK_HEADER = (
    "pSymbol,pGroup,pExchSeg,pInstType,pSymbolName,pTrdSymbol,pOptionType,pScripRefKey,pISIN,pDesc,dTickSize ,lLotSize,"
    "lExpiryDate ,lMultiplier ,lPrecision,dStrikePrice;,pExchange,pInstName,lFreezeQty"
)


def _kotak(segment, token, group, name, symbol, isin="", kind="", side="", day=None, strike="-1"):
    if day is None:
        expiry = -1
    elif segment in ("nse_fo", "cde_fo"):  # Indian seconds since 1980
        expiry = (day - date(1980, 1, 1)).days * 86_400 + 52_200
    else:
        expiry = calendar.timegm((day.year, day.month, day.day, 23, 59, 59))
    tick = "25" if segment == "cde_fo" else "5"
    lot = "100" if segment == "mcx_fo" else "1"
    return f"{token},{group},{segment},{kind},{name},{symbol},{side},X,{isin},{name},{tick},{lot},{expiry},1,2,{strike},X,{kind},1"


KOTAK = {
    "share": _kotak("nse_cm", 2885, "EQ", "RELIANCE", "RELIANCE-EQ", "INE002A01018"),
    "be share": _kotak("nse_cm", 13643, "BE", "GTLINFRA", "GTLINFRA-BE", "INE221H01019"),
    "sme share": _kotak("nse_cm", 40001, "SM", "SMALLCO", "SMALLCO-SM", "INE0AB101015"),
    "dashed share": _kotak("nse_cm", 16669, "EQ", "BAJAJ-AUTO", "BAJAJ-AUTO-EQ", "INE917I01010"),
    "bse share": _kotak("bse_cm", 500325, "A", "RELIANCE", "RELIANCE", "INE002A01018"),
    "etf": _kotak("nse_cm", 14428, "EQ", "GOLDBEES", "GOLDBEES-EQ", "INF204KB17I5"),
    "etf without the word": _kotak("nse_cm", 22647, "EQ", "MON100", "MON100-EQ", "INF247L01AP3"),
    "sgb": _kotak("nse_cm", 40002, "GB", "SGBJUN31I", "SGBJUN31I-GB", "IN0020230069"),
    "g-sec": _kotak("nse_cm", 40003, "GS", "726GS2032", "726GS2032-GS", "IN0020220060"),
    "sdl": _kotak("nse_cm", 758718, "SG", "749RJ35", "749RJ35-SG", "IN2920250163"),
    "t-bill": _kotak("nse_cm", 40004, "TB", "364D120327", "364D120327-TB", "IN002025Z537"),
    "debenture": _kotak("nse_cm", 40006, "N2", "IRFC", "IRFC-N2", "INE053F07538"),
    "preference share": _kotak("nse_cm", 40011, "P1", "SOMECO", "SOMECO-P1", "INE123A04017"),
    "rights entitlement": _kotak("nse_cm", 40012, "BE", "INOXWI-RE", "INOXWI-RE-BE", "INE066P20011"),
    "invit": _kotak("nse_cm", 40005, "IV", "INDIGRID", "INDIGRID-IV", "INE219X23014"),
    "mutual fund": _kotak("nse_cm", 40007, "MF", "DEBTFMP", "DEBTFMP-MF", "INF174K01YZ2"),
    "reit": _kotak("nse_cm", 9383, "RR", "EMBASSY", "EMBASSY-RR", "INE041025011"),
    "nifty": _kotak("nse_cm", 26000, "", "NIFTY", "NIFTY"),
    "bank nifty": _kotak("nse_cm", 26009, "", "BANKNIFTY", "BANKNIFTY"),
    "vix": _kotak("nse_cm", 26017, "", "INDIAVIX", "INDIAVIX"),
    "sensex": _kotak("bse_cm", 1, "", "SENSEX", "SENSEX"),
    "weekly option": _kotak("nse_fo", 50001, "XX", "NIFTY", "NIFTY26D0126000CE", "", "OPTIDX", "CE", WEEK, "2.6e+06"),
    "monthly option": _kotak("nse_fo", 50002, "XX", "NIFTY", "NIFTY26NOV26000CE", "", "OPTIDX", "CE", MONTH, "2.6e+06"),
    "share option": _kotak(
        "nse_fo", 50003, "XX", "RELIANCE", "RELIANCE26NOV1402.5PE", "", "OPTSTK", "PE", MONTH, "140250"
    ),
    "share future": _kotak("nse_fo", 50004, "XX", "RELIANCE", "RELIANCE26NOVFUT", "", "FUTSTK", "XX", MONTH),
    "index future": _kotak("nse_fo", 50005, "XX", "NIFTY", "NIFTY26NOVFUT", "", "FUTIDX", "XX", MONTH),
    "sensex option": _kotak(
        "bse_fo", 837720, "XX", "SENSEX", "SENSEX26NOV85000PE", "", "IO", "PE", SENSEX_DAY, "8500000"
    ),
    "pair future": _kotak("cde_fo", 1204, "XX", "USDINR", "USDINR26NOVFUT", "", "FUTCUR", "XX", PAIR),
    "pair option": _kotak("cde_fo", 1205, "XX", "USDINR", "USDINR26NOV83.25CE", "", "OPTCUR", "CE", PAIR, "832500"),
    "crude future": _kotak("mcx_fo", 569904, "", "CRUDEOIL", "CRUDEOIL18DEC26FUT", "", "FUTCOM", "", CRUDE),
    "crude option": _kotak(
        "mcx_fo", 569905, "", "CRUDEOIL", "CRUDEOIL16DEC265500CE", "", "OPTFUT", "CE", CRUDE_OPTION, "550000"
    ),
    "gold future": _kotak("mcx_fo", 569906, "", "GOLD", "GOLD04DEC26FUT", "", "FUTCOM", "", GOLD),
}
KOTAK_FILES = ("nse_cm", "bse_cm", "nse_fo", "bse_fo", "cde_fo", "mcx_fo", "nse_com")
FIVEPAISA_HEADER = (
    "Exch,ExchType,ScripCode,Name,Expiry,ScripType,StrikeRate,FullName,TickSize,LotSize,QtyLimit,Multiplier,SymbolRoot,"
    "BOCOAllowed,ISIN,ScripData,Series"
)
NO_DAY = "1980-01-01 00:00:00"
FIVEPAISA = {
    "share": f"N,C,2885,RELIANCE,{NO_DAY},EQ,0,RELIANCE INDUSTRIES LTD,0.1,1,0,1,RELIANCE,Y,INE002A01018,RELIANCE_EQ,EQ",
    "be share": f"N,C,13643,GTLINFRA,{NO_DAY},EQ,0,GTL INFRASTRUCTURE,0.01,1,0,1,GTLINFRA,N,INE221H01019,GTLINFRA_BE,BE",
    "sme share": f"N,C,40001,SMALLCO,{NO_DAY},EQ,0,SMALL COMPANY,0.05,1000,0,1,SMALLCO,N,INE0AB101015,SMALLCO_SM,SM",
    "dashed share": f"N,C,16669,BAJAJ-AUTO,{NO_DAY},EQ,0,BAJAJ AUTO,0.5,1,0,1,BAJAJ-AUTO,Y,INE917I01010,BAJAJ-AUTO_EQ,EQ",
    "bse share": f"B,C,500325,RELIANCE,{NO_DAY},EQ,0,RELIANCE INDUSTRIES LTD,0.05,1,0,1,RELIANCE,Y,INE002A01018,RELIANCE_A,A",
    "etf": f"N,C,14428,GOLDBEES,{NO_DAY},EQ,0,NIPPON GOLD BEES,0.01,1,0,1,GOLDBEES,Y,INF204KB17I5,GOLDBEES_EQ,EQ",
    "etf without the word": f"N,C,22647,MON100,{NO_DAY},EQ,0,MOSL NASDAQ,0.01,1,0,1,MON100,Y,INF247L01AP3,MON100_EQ,EQ",
    "sgb": f"N,C,40002,SGBJUN31I,{NO_DAY},EQ,0,GOLDBONDS2031,0.01,1,0,1,SGBJUN31I,N,IN0020230069,SGBJUN31I_GB,GB",
    "g-sec": f"N,C,40003,726GS2032,{NO_DAY},EQ,0,GOI LOAN 7.26%,0.01,1,0,1,726GS2032,N,IN0020220060,726GS2032_GS,GS",
    "sdl": f"N,C,758718,749RJ35,{NO_DAY},EQ,0,SDL RJ 7.49% 2035,0.01,100,0,1,749RJ35,N,IN2920250163,749RJ35_SG,SG",
    "t-bill": f"N,C,40004,364D120327,{NO_DAY},EQ,0,GOI TBILL,0.01,1,0,1,364D120327,N,IN002025Z537,364D120327_TB,TB",
    "debenture": f"N,C,40006,IRFC,{NO_DAY},EQ,0,IRFC TAXFREE,0.01,1,0,1,IRFC,N,INE053F07538,IRFC_N2,N2",
    "preference share": f"N,C,40011,SOMECO,{NO_DAY},EQ,0,6% PREFERENCE,0.01,1,0,1,SOMECO,N,INE123A04017,SOMECO_P1,P1",
    "rights entitlement": f"N,C,40012,INOXWI-RE,{NO_DAY},EQ,0,INOX WIND RIGHTS,0.01,1,0,1,INOXWI-RE,N,INE066P20011,INOXWI-RE_BE,BE",
    "invit": f"N,C,40005,INDIGRID,{NO_DAY},EQ,0,INDIA GRID TRUST,0.01,1,0,1,INDIGRID,N,INE219X23014,INDIGRID_IV,IV",
    "mutual fund": f"N,C,40007,DEBTFMP,{NO_DAY},EQ,0,DEBT TERM PLAN,0.01,1,0,1,DEBTFMP,N,INF174K01YZ2,DEBTFMP_MF,MF",
    "reit": f"N,C,9383,EMBASSY,{NO_DAY},EQ,0,EMBASSY OFFICE PARKS,0.01,1,0,1,EMBASSY,N,INE041025011,EMBASSY_RR,RR",
    "nifty": f"N,C,999920000,NIFTY,{NO_DAY},EQ,0,NIFTY 50,0.05,1,0,1,NIFTY 50,N,,NIFTY,EQ",
    "bank nifty": f"N,C,999920005,BANKNIFTY,{NO_DAY},EQ,0,NIFTY BANK,0.05,1,0,1,NIFTY BANK,N,,BANKNIFTY,  ",
    "vix": f"N,C,999920019,INDIA VIX,{NO_DAY},EQ,0,INDIA VIX,0.05,1,0,1,INDIA VIX,N,,INDIA VIX,  ",
    "sensex": f"B,C,999901,SENSEX,{NO_DAY},EQ,0,SENSEX,0.05,1,0,1,SENSEX,N,,SENSEX,  ",
    "weekly option": "N,D,50001,NIFTY 01 Dec 2026 CE 26000.00,2026-12-01 14:30:00,CE,26000,NIFTY,0.05,65,1800,1,NIFTY,N,,NIFTY 01 Dec 2026 CE 26000.00_20261201_CE_26000,XX",
    "monthly option": "N,D,50002,NIFTY 24 Nov 2026 CE 26000.00,2026-11-24 14:30:00,CE,26000,NIFTY,0.05,65,1800,1,NIFTY,N,,NIFTY 24 Nov 2026 CE 26000.00_20261124_CE_26000,XX",
    "share option": "N,D,50003,RELIANCE 24 Nov 2026 PE 1402.50,2026-11-24 14:30:00,PE,1402.5,RELIANCE,0.05,500,0,1,RELIANCE,N,,RELIANCE_PE,XX",
    "share future": "N,D,50004,RELIANCE 24 Nov 2026,2026-11-24 14:30:00,XX,0,RELIANCE,0.1,500,0,1,RELIANCE,N,,RELIANCE 24 Nov 2026_20261124,XX",
    "index future": "N,D,50005,NIFTY 24 Nov 2026,2026-11-24 14:30:00,XX,0,NIFTY,0.1,65,1800,1,NIFTY,N,,NIFTY 24 Nov 2026_20261124,XX",
    "sensex option": "B,D,837720,SENSEX 26 Nov 2026 PE 85000.00,2026-11-26 14:30:00,PE,85000,SENSEX,0.05,20,0,1,SENSEX,N,,SENSEX_PE,XX",
    "pair future": "N,U,1204,USDINR 26 Nov 2026,2026-11-26 12:30:00,XX,0,USDINR,0.0025,1,10000,1000,USDINR,N,,USDINR 26 Nov 2026_20261126,XX",
    "pair option": "N,U,1205,USDINR 26 Nov 2026 CE 83.25,2026-11-26 12:30:00,CE,83.25,USDINR,0.0025,1,10000,1000,USDINR,N,,USDINR_CE,XX",
    "crude future": "M,D,569904,CRUDEOIL 18 Dec 2026,2026-12-18 23:30:00,XX,0,CRUDEOIL,1,1,100,100,CRUDEOIL,N,,CRUDEOIL 18 Dec 2026_1,XX",
    "crude option": "M,D,569905,CRUDEOIL 16 Dec 2026 CE 5500.00,2026-12-16 23:30:00,CE,5500,CRUDEOIL,0.1,1,100,100,CRUDEOIL,N,,CRUDEOIL_CE,XX",
    "gold future": "M,D,569906,GOLD 04 Dec 2026,2026-12-04 23:30:00,XX,0,GOLD,1,1,100,100,GOLD,N,,GOLD 04 Dec 2026_1,XX",
}
GROWW_HEADER = (
    "exchange,exchange_token,trading_symbol,groww_symbol,name,instrument_type,segment,series,isin,underlying_symbol,"
    "underlying_exchange_token,expiry_date,strike_price,lot_size,tick_size,freeze_quantity,is_reserved,buy_allowed,"
    "sell_allowed,internal_trading_symbol,is_intraday"
)
GROWW = {
    "share": "NSE,2885,RELIANCE,NSE-RELIANCE,Reliance Industries,EQ,CASH,EQ,INE002A01018,,,,,1,0.1,,,1,1,RELIANCE-EQ,1",
    "be share": "NSE,13643,GTLINFRA,NSE-GTLINFRA,GTL Infrastructure,EQ,CASH,BE,INE221H01019,,,,,1,0.01,,,1,1,GTLINFRA-BE,0",
    "sme share": "NSE,40001,SMALLCO,NSE-SMALLCO,Small Company,EQ,CASH,SM,INE0AB101015,,,,,1000,0.05,,,1,1,SMALLCO-SM,0",
    "dashed share": "NSE,16669,BAJAJ-AUTO,NSE-BAJAJ-AUTO,Bajaj Auto,EQ,CASH,EQ,INE917I01010,,,,,1,0.5,,,1,1,BAJAJ-AUTO-EQ,1",
    "bse share": "BSE,500325,RELIANCE,BSE-RELIANCE,Reliance Industries,EQ,CASH,A,INE002A01018,,,,,1,0.05,,,1,1,RELIANCE,1",
    "etf": "NSE,14428,GOLDBEES,NSE-GOLDBEES,Nippon Gold ETF,EQ,CASH,EQ,INF204KB17I5,,,,,1,0.01,,,1,1,GOLDBEES-EQ,1",
    "etf without the word": "NSE,22647,MON100,NSE-MON100,Motilal Nasdaq,EQ,CASH,EQ,INF247L01AP3,,,,,1,0.01,,,1,1,MON100-EQ,1",
    "sgb": "NSE,40002,SGBJUN31I-GB,NSE-SGBJUN31I-GB,Gold bonds,EQ,CASH,GB,IN0020230069,,,,,1,0.01,,,1,1,SGBJUN31I-GB,0",
    "g-sec": "NSE,40003,726GS2032,NSE-726GS2032,State paper,EQ,CASH,GS,IN0020220060,,,,,1,0.01,,,1,1,726GS2032-GS,0",
    "sdl": "NSE,758718,749RJ35,NSE-749RJ35,State paper,EQ,CASH,SG,IN2920250163,,,,,100,0.01,,,1,1,749RJ35-SG,0",
    "t-bill": "NSE,40004,364D120327,NSE-364D120327,T-bill,EQ,CASH,TB,IN002025Z537,,,,,1,0.01,,,1,1,364D120327-TB,0",
    "debenture": "NSE,40006,IRFC-N2,NSE-IRFC-N2,IRFC,EQ,CASH,N2,INE053F07538,,,,,1,0.01,,,1,1,IRFC-N2,0",
    "preference share": "NSE,40011,SOMECO-P1,NSE-SOMECO-P1,SOMECO,EQ,CASH,P1,INE123A04017,,,,,1,0.01,,,1,1,SOMECO-P1,0",
    "rights entitlement": "NSE,40012,INOXWI-RE-BE,NSE-INOXWI-RE-BE,INOXWI-RE,EQ,CASH,BE,INE066P20011,,,,,1,0.01,,,1,1,INOXWI-RE-BE,0",
    "invit": "NSE,40005,INDIGRID-IV,NSE-INDIGRID-IV,India Grid,EQ,CASH,IV,INE219X23014,,,,,1,0.01,,,1,1,INDIGRID-IV,0",
    "mutual fund": "NSE,40007,DEBTFMP-MF,NSE-DEBTFMP-MF,Debt Term Plan,EQ,CASH,MF,INF174K01YZ2,,,,,1,0.01,,,1,1,DEBTFMP-MF,0",
    "reit": "NSE,9383,EMBASSY-RR,NSE-EMBASSY-RR,Embassy,EQ,CASH,RR,INE041025011,,,,,1,0.01,,,1,1,EMBASSY-RR,0",
    "nifty": "NSE,NIFTY,NIFTY,NSE-NIFTY,NIFTY 50,IDX,CASH,,NIFTY,,,,,,,,,0,0,,0",
    "bank nifty": "NSE,BANKNIFTY,BANKNIFTY,NSE-BANKNIFTY,NIFTY Bank,IDX,CASH,,BANKNIFTY,,,,,,,,,0,0,,0",
    "vix": "NSE,INDIAVIX,INDIAVIX,NSE-INDIAVIX,India VIX,IDX,CASH,,INDIAVIX,,,,,,,,,0,0,,0",
    "sensex": "BSE,1,SENSEX,BSE-SENSEX,SENSEX,IDX,CASH,,SENSEX,,,,,,,,,0,0,,0",
    "weekly option": "NSE,50001,NIFTY26D0126000CE,NSE-NIFTY-01Dec26-26000-CE,,CE,FNO,,,NIFTY,NIFTY,2026-12-01,26000,65,0.05,1801,1,1,1,NIFTY26D0126000CE,0",
    "monthly option": "NSE,50002,NIFTY26NOV26000CE,NSE-NIFTY-24Nov26-26000-CE,,CE,FNO,,,NIFTY,NIFTY,2026-11-24,26000,65,0.05,1801,1,1,1,NIFTY26NOV26000CE,0",
    "share option": "NSE,50003,RELIANCE26NOV1402.5PE,NSE-RELIANCE-24Nov26-1402.5-PE,,PE,FNO,,,RELIANCE,2885,2026-11-24,1402.5,500,0.05,20001,1,1,1,X,0",
    "share future": "NSE,50004,RELIANCE26NOVFUT,NSE-RELIANCE-24Nov26-FUT,,FUT,FNO,,,RELIANCE,2885,2026-11-24,,500,0.1,20001,1,1,1,X,0",
    "index future": "NSE,50005,NIFTY26NOVFUT,NSE-NIFTY-24Nov26-FUT,,FUT,FNO,,,NIFTY,NIFTY,2026-11-24,,65,0.1,1801,1,1,1,X,0",
    "sensex option": "BSE,837720,SENSEX26NOV85000PE,BSE-SENSEX-26Nov26-85000-PE,,PE,FNO,,,SENSEX,1,2026-11-26,85000,20,0.05,1001,1,1,1,X,0",
    "crude future": "MCX,569904,CRUDEOIL26DECFUT,MCX-CRUDEOIL-18Dec26-FUT,,FUT,COMMODITY,,,CRUDEOIL,,2026-12-18,,100,1,,1,1,1,X,0",
    "crude option": "MCX,569905,CRUDEOIL26DEC5500CE,MCX-CRUDEOIL-16Dec26-5500-CE,,CE,COMMODITY,,,CRUDEOIL,,2026-12-16,5500,100,0.1,,1,1,1,X,0",
    "gold future": "MCX,569906,GOLD26DECFUT,MCX-GOLD-04Dec26-FUT,,FUT,COMMODITY,,,GOLD,,2026-12-04,,100,1,,1,1,1,X,0",
}
ICICI_HEADERS = {
    "NSE": '"Token", "ShortName", "Series", "CompanyName", "ticksize", "Lotsize", "ISINCode", "ExchangeCode"',
    "BSE": '"Token","ShortName","Series","CompanyName","TickSize","LotSize","ScripCode","ScripID","ISINCode","ExchangeCode"',
    "FO": '"Token","InstrumentName","ShortName","Series","ExpiryDate","StrikePrice","OptionType","MinimumLotQty","LotSize","TickSize","CompanyName","ExchangeCode"',
    "MCX": '"Token","InstrumentName","ShortName","Series","CompanyName","TickSize","LotSize","ExpiryDate","OptionType","StrikePrice","ExchangeCode"',
}
ICICI = {
    "share": ("NSE", '"2885","RELIND","EQ","RELIANCE INDUSTRIES",0.1,1,"INE002A01018","RELIANCE"'),
    "be share": ("NSE", '"13643","GTLINF","BE","GTL INFRASTRUCTURE",0.01,1,"INE221H01019","GTLINFRA"'),
    "sme share": ("NSE", '"40001","SMALCO","SM","SMALL COMPANY",0.05,1000,"INE0AB101015","SMALLCO"'),
    "dashed share": ("NSE", '"16669","BAAUTO","EQ","BAJAJ AUTO",0.5,1,"INE917I01010","BAJAJ-AUTO"'),
    "bse share": ("BSE", '"500325","RELIND","A","RELIANCE",0.05,1,"500325","RELIANCE","INE002A01018","500325"'),
    "etf": ("NSE", '"14428","NIPGOL","EQ","NIPPON GOLD BEES",0.01,1,"INF204KB17I5","GOLDBEES"'),
    "etf without the word": ("NSE", '"22647","MOTNAS","EQ","MOSL NASDAQ",0.01,1,"INF247L01AP3","MON100"'),
    "sgb": ("NSE", '"40002","SGBJUN","GB","GOLD BONDS 2031",0.01,1,"IN0020230069","SGBJUN31I"'),
    "g-sec": ("NSE", '"40003","GS2032","GS","GOI LOAN 7.26%",0.01,1,"IN0020220060","726GS2032"'),
    "sdl": ("NSE", '"758718","SDLRJ","SG","SDL RJ 7.49% 2035",0.01,100,"IN2920250163","749RJ35"'),
    "t-bill": ("NSE", '"40004","TB364","TB","GOI TBILL",0.01,1,"IN002025Z537","364D120327"'),
    "debenture": ("NSE", '"40006","IRFCN2","N2","IRFC TAXFREE",0.01,1,"INE053F07538","IRFC"'),
    "preference share": ("NSE", '"40011","SOMECOP1","P1","6% PREFERENCE",0.01,1,"INE123A04017","SOMECO"'),
    "rights entitlement": ("NSE", '"40012","INOXRE","BE","INOX WIND RIGHTS",0.01,1,"INE066P20011","INOXWI-RE"'),
    "invit": ("NSE", '"40005","INDGRI","IV","INDIA GRID TRUST",0.01,1,"INE219X23014","INDIGRID"'),
    "mutual fund": ("NSE", '"40007","DEBFMP","MF","DEBT TERM PLAN",0.01,1,"INF174K01YZ2","DEBTFMP"'),
    "reit": ("NSE", '"9383","EMBOFF","RR","EMBASSY OFFICE PARKS",0.01,1,"INE041025011","EMBASSY"'),
    "nifty": ("NSE", '"NIFTY 50","NIFTY","0","NIFTY 50",0,1,"","NIFTY"'),
    "bank nifty": ("NSE", '"NIFTY BANK","CNXBAN","0","NIFTY BANK",0,1,"","BANKNIFTY"'),
    "vix": ("NSE", '"INDIA VIX","INDVIX","0","INDIA VIX",0,1,"","INDIAVIX"'),
    "weekly option": ("FONSE", '"50001","OPTIDX","NIFTY","OPTION","01-Dec-2026","26000","CE",65,65,5,"NIFTY","NIFTY"'),
    "monthly option": ("FONSE", '"50002","OPTIDX","NIFTY","OPTION","24-Nov-2026","26000","CE",65,65,5,"NIFTY","NIFTY"'),
    "share option": (
        "FONSE",
        '"50003","OPTSTK","RELIND","OPTION","24-Nov-2026","1402.5","PE",500,500,5,"RELIANCE","RELIANCE"',
    ),
    "share future": (
        "FONSE",
        '"50004","FUTSTK","RELIND","FUTURE","24-Nov-2026","0","XX",500,500,10,"RELIANCE","RELIANCE"',
    ),
    "index future": ("FONSE", '"50005","FUTIDX","NIFTY","FUTURE","24-Nov-2026","0","XX",65,65,10,"NIFTY","NIFTY"'),
    "sensex option": (
        "FOBSE",
        '"837720","OPTIND","BSESEN","OPTION","26-Nov-2026","85000","PE",20,20,5,"SENSEX","SENSEX"',
    ),
    "pair future": (
        "CDNSE",
        '"1204","FUTCUR","USDINR","FUTURE","26-Nov-2026","0","XX",1,1000,0.0025,"USDINR","USDINR"',
    ),
    "pair option": (
        "CDNSE",
        '"1205","OPTCUR","USDINR","OPTION","26-Nov-2026","83.25","CE",1,1000,0.0025,"USDINR","USDINR"',
    ),
    "crude future": ("MCX", '"569904","FUTSTK","CRUDEO","FUTURE","CRUDE OIL",1,100,"18-Dec-2026","XX",0,"CRUDEOIL"'),
    "crude option": (
        "MCX",
        '"569905","OPTFUT","CRUDEO","OPTION","CRUDE OIL",10,100,"16-Dec-2026","CE",5500,"CRUDEOIL"',
    ),
    "gold future": ("MCX", '"569906","FUTSTK","GOLD","FUTURE","GOLD",100,1,"04-Dec-2026","XX",0,"GOLD"'),
}
SHOONYA_HEADERS = {
    "cash": "Exchange,Token,LotSize,Symbol,TradingSymbol,Instrument,TickSize,",
    "contract": "Exchange,Token,LotSize,Symbol,TradingSymbol,Expiry,Instrument,OptionType,StrikePrice,TickSize,",
    "CDS": "Exchange,Token,LotSize,Precision,Multiplier,Symbol,TradingSymbol,Expiry,Instrument,OptionType,StrikePrice,TickSize,",
    "MCX": "Exchange,Token,LotSize,GNGD,Symbol,TradingSymbol,Expiry,Instrument,OptionType,StrikePrice,TickSize,",
}
SHOONYA_FILES = ("NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCX")
SHOONYA = {
    "share": "NSE,2885,1,RELIANCE,RELIANCE-EQ,EQ,0.1,",
    "be share": "NSE,13643,1,GTLINFRA,GTLINFRA-BE,BE,0.01,",
    "sme share": "NSE,40001,1000,SMALLCO,SMALLCO-SM,SM,0.05,",
    "dashed share": "NSE,16669,1,BAJAJ-AUTO,BAJAJ-AUTO-EQ,EQ,0.5,",
    "bse share": "BSE,500325,1,RELIANCE,RELIANCE,A,0.05,",
    "etf": "NSE,14428,1,GOLDBEES,GOLDBEES-EQ,EQ,0.01,",
    "etf without the word": "NSE,22647,1,MON100,MON100-EQ,EQ,0.01,",
    "sgb": "NSE,40002,1,SGBJUN31I,SGBJUN31I-GB,GB,0.01,",
    "g-sec": "NSE,40003,1,726GS2032,726GS2032-GS,GS,0.01,",
    "sdl": "NSE,758718,100,749RJ35,749RJ35-SG,SG,0.01,",
    "t-bill": "NSE,40004,1,364D120327,364D120327-TB,TB,0.01,",
    "debenture": "NSE,40006,1,IRFC,IRFC-N2,N2,0.01,",
    "preference share": "NSE,40011,1,SOMECO,SOMECO-P1,P1,0.01,",
    "rights entitlement": "NSE,40012,1,INOXWI-RE,INOXWI-RE-BE,BE,0.01,",
    "invit": "NSE,40005,1,INDIGRID,INDIGRID-IV,IV,0.01,",
    "mutual fund": "NSE,40007,1,DEBTFMP,DEBTFMP-MF,MF,0.01,",
    "reit": "NSE,9383,1,EMBASSY,EMBASSY-RR,RR,0.01,",
    "nifty": "NSE,26000,1,Nifty 50,NIFTY INDEX,INDEX,0,",
    "bank nifty": "NSE,26009,1,Nifty Bank,BANKNIFTY INDEX,INDEX,0,",
    "vix": "NSE,26017,1,INDIAVIX,INDIA VIX,INDEX,0,",
    "sensex": None,  # its file has no indices of BSE: the codec adds it where contracts on it are listed
    "weekly option": "NFO,50001,65,NIFTY,NIFTY01DEC26C26000,01-DEC-2026,OPTIDX,CE,26000,0.05,",
    "monthly option": "NFO,50002,65,NIFTY,NIFTY24NOV26C26000,24-NOV-2026,OPTIDX,CE,26000,0.05,",
    "share option": "NFO,50003,500,RELIANCE,RELIANCE24NOV26P1402.5,24-NOV-2026,OPTSTK,PE,1402.5,0.05,",
    "share future": "NFO,50004,500,RELIANCE,RELIANCE24NOV26F,24-NOV-2026,FUTSTK,XX,-0.01,0.1,",
    "index future": "NFO,50005,65,NIFTY,NIFTY24NOV26F,24-NOV-2026,FUTIDX,XX,-0.01,0.1,",
    "sensex option": "BFO,837720,20,BSXOPT,SENSEX26NOV85000PE,26-NOV-2026,OPTIDX,PE,85000,0.05,",
    "pair future": "CDS,1204,1,4,1000,USDINR,USDINR26NOV26F,26-NOV-2026,FUTCUR,XX,0,0.0025,",
    "pair option": "CDS,1205,1,4,1000,USDINR,USDINR26NOV26C83.25,26-NOV-2026,OPTCUR,CE,83.25,0.0025,",
    "crude future": "MCX,569904,100,1,CRUDEOIL,CRUDEOIL18DEC26,18-DEC-2026,FUTCOM,XX,0,1,",
    "crude option": "MCX,569905,100,1,CRUDEOIL,CRUDEOIL16DEC26C5500,16-DEC-2026,OPTFUT,CE,5500,0.1,",
    "gold future": "MCX,569906,1,100,GOLD,GOLD04DEC26,04-DEC-2026,FUTCOM,XX,0,1,",
}
LISTED = {
    "zerodha": ZERODHA, "upstox": UPSTOX, "dhan": DHAN, "angelone": ANGEL, "fyers": FYERS, "kotakneo": KOTAK,
    "fivepaisa": FIVEPAISA, "groww": GROWW, "icicidirect": ICICI, "shoonya": SHOONYA,
}  # fmt: skip


def bodies(code, things):
    """The files of a broker that lists these things."""
    rows = [LISTED[code][thing] for thing in things if LISTED[code].get(thing) is not None]
    if code == "zerodha":
        return [table(ZERODHA_HEADER, rows)]
    if code in ("upstox", "angelone"):
        return [msgspec.json.encode(rows)]
    if code == "dhan":
        detailed = []
        for compact, more in rows:
            exchange, segment, number, kind = compact.split(",")[:4]
            isin, _, underlying = more.partition(",")
            if more:
                detailed.append(f"{exchange},{segment},{number},{isin},{kind},,{underlying},X,0,")
        return [table(DHAN_COMPACT, [compact for compact, _ in rows]), table(DHAN_DETAILED, detailed)]
    if code == "fyers":
        files = [("\n".join(row for row in rows if row.startswith(number)) + "\n").encode() for number in FYERS_FILES]
        multipliers = {
            row.split(",")[8 + 1]: {"qtyMultiplier": 100 if ",11,20," in row else 1000 if ",10,12," in row else 1}
            for row in rows
        }
        return [
            *(file.strip() and file for file in files),
            msgspec.json.encode(multipliers),
            *[b"{}"] * 6,
            msgspec.json.encode(FYERS_NAMES),
        ]
    if code == "kotakneo":
        return [b"", *(table(KOTAK_HEADER, [row for row in rows if f",{name}," in row]) for name in KOTAK_FILES)]
    if code == "fivepaisa":
        return [table(FIVEPAISA_HEADER, rows)]
    if code == "groww":
        return [table(GROWW_HEADER, rows)]
    if code == "icicidirect":
        members = {}
        for name in ("NSE", "BSE", "FONSE", "FOBSE", "CDNSE", "MCX"):
            head = ICICI_HEADERS.get(name, ICICI_HEADERS["FO"])
            members[f"{name}ScripMaster.txt"] = (
                "\n".join([head, *(row for member, row in rows if member == name)]) + "\n"
            )
        return [zipped(members)]
    heads = {"NSE": "cash", "BSE": "cash", "CDS": "CDS", "MCX": "MCX", "NCX": "MCX"}
    return [
        zipped(
            {
                f"{name}_symbols.txt": "\n".join(
                    [SHOONYA_HEADERS[heads.get(name, "contract")], *(row for row in rows if row.startswith(f"{name},"))]
                )
                + "\n"
            }
        )
        for name in SHOONYA_FILES
    ]


def read(code, things=tuple(THINGS)):
    return build_registry()[code].instruments.read_files(bodies(code, things))
