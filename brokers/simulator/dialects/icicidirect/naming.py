"""How ICICI Direct names the exchange's contracts: exchange codes, six-letter short names, room numbers, the security master."""

import csv
import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import attrs

from onebroker.brokers.simulator.dialects.dialect import AccountView
from onebroker.brokers.simulator.dialects.icicidirect.envelope import day_text
from onebroker.brokers.simulator.dialects.listed import Listed
from onebroker.brokers.simulator.dialects.symbols import expiry_of
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.instruments import Shape, strike_text

_CODES = {
    ("nse", False, "equity"): "NSE",
    ("bse", False, "equity"): "BSE",
    ("nse", True, "equity"): "NFO",
    ("bse", True, "equity"): "BFO",
    ("nse", True, "currency"): "NDX",
    ("mcx", True, "commodity"): "MCX",
}
"""(exchange, derivative?, calendar) -> exchange code."""
_ROOMS = {"NSE": 4, "NFO": 4, "BSE": 1, "BFO": 8, "NDX": 13, "MCX": 6}
_LETTERS = 6
_ZIP_DAY = (1980, 1, 1, 0, 0, 0)


@attrs.frozen(kw_only=True)
class Name:
    """One contract under ICICI Direct's names."""

    contract: Contract
    exchange: str
    stock_code: str
    token: str
    """The room's number; for an index its name."""

    @property
    def room(self) -> str:
        """The room without the level: `4!2885`."""
        return f"{_ROOMS[self.exchange]}!{self.token}"

    @property
    def expiry(self) -> date | None:
        return None if self.kind == "cash" else expiry_of(self.contract)

    @property
    def kind(self) -> str:
        """cash, futures or options."""
        return {Shape.SECURITY: "cash", Shape.FUTURE: "futures", Shape.OPTION: "options"}[self.contract.identity.shape]

    @property
    def strike(self) -> float:
        return self.contract.identity.strike_price or 0.0

    @property
    def right(self) -> str | None:
        """Call, Put or Others; None for a share."""
        if self.kind == "cash":
            return None
        return {"CE": "Call", "PE": "Put"}.get(self.contract.identity.option_type or "", "Others")

    @property
    def key(self) -> tuple[str, str, date | None, float, str]:
        """The fields by which requests name the contract."""
        return self.exchange, self.stock_code, self.expiry, self.strike, (self.right or "Others").lower()


def short_names(contracts: Iterable[Contract]) -> dict[tuple[str, str], str]:
    """Return (exchange, exchange's symbol) -> the broker's own short name, for shares, indices and underlyings. No two are alike.

    A share listed twice has one short name. An underlying has the same short name as its share.
    """
    names: dict[str, str] = {}
    used: set[str] = set()
    listed: dict[tuple[str, str], str] = {}
    for contract in contracts:
        identity = contract.identity
        symbol = str(identity.symbol or identity.underlying_symbol)
        plain = "".join(filter(str.isalnum, symbol))
        if symbol not in names:
            names[symbol] = _unused(plain, used)
        listed[identity.exchange, symbol] = names[symbol]
    return listed


def _unused(plain: str, used: set[str]) -> str:
    short = (plain[:3] + plain[-3:] if len(plain) > _LETTERS else plain) or "X"
    name, place = short, 0
    while name in used:
        place += 1
        name = f"{short[: _LETTERS - len(str(place))]}{place}"
    used.add(name)
    return name


class IciciNames(Listed[Name]):
    """ICICI Direct's names for one account, also by the fields of requests and by room."""

    def __init__(self, account: AccountView) -> None:
        self._shorts: Mapping[tuple[str, str], str] = {}
        super().__init__(account, self._name_of)

    @property
    def by_key(self) -> Mapping[tuple[str, str, date | None, float, str], Name]:
        self._refresh()
        return self._by_key

    @property
    def by_room(self) -> Mapping[str, Name]:
        self._refresh()
        return self._by_room

    def _index(self, names: Sequence[Name]) -> None:
        self._by_key = {name.key: name for name in names}
        self._by_room = {name.room: name for name in names}

    def _name_of(self, contract: Contract) -> Name | None:
        identity = contract.identity
        code = _CODES.get((identity.exchange, identity.shape is not Shape.SECURITY, contract.calendar))
        if code is None:
            return None
        symbol = str(identity.symbol or identity.underlying_symbol)
        key = (identity.exchange, symbol)
        if key not in self._shorts:
            self._shorts = short_names(self._account.contracts())
        token = symbol if contract.is_index else str(contract.exchange_token)
        return Name(contract=contract, exchange=code, stock_code=self._shorts[key], token=token)


# the security master -----------------------------------------------------------------------------------------------------

_NSE_HEADER = (
    "Token,ShortName,Series,CompanyName,ticksize,Lotsize,DateOfListing,DateOfDeListing,IssuePrice,FaceValue,ISINCode,"
    "52WeeksHigh,52WeeksLow,LifeTimeHigh,LifeTimeLow,HighDate,LowDate,Symbol,InstrumentType,PermittedToTrade,IssueCapital,"
    "WarningPercent,FreezePercent,CreditRating,IssueRate,IssueStartDate,InterestPaymentDate,IssueMaturityDate,BoardLotQty,"
    "Name,ListingDate,ExpulsionDate,ReAdmissionDate,RecordDate,ExpiryDate,NoDeliveryStartDate,NoDeliveryEndDate,MFill,AON,"
    "ParticipantInMarketIndex,BookClsStartDate,BookClsEndDate,EGM,AGM,Interest,Bonus,Rights,Dividends,LocalUpdateDateTime,"
    "DeleteFlag,Remarks,NormalMarketStatus,OddLotMarketStatus,SpotMarketStatus,AuctionMarketStatus,NormalMarketEligibility,"
    "OddLotlMarketEligibility,SpotMarketEligibility,AuctionlMarketEligibility,MarginPercentage,ExchangeCode"
)
_BSE_HEADER = (
    "Token,ShortName,Series,CompanyName,TickSize,LotSize,ScripCode,MarketLot,BCastFlag,AVMBuyMargin,AVMSellMargin,ScripID,"
    "ScripName,GroupName,NdFlag,NDSDate,NDEDate,SuspStatus,avmflag,SuspensionReason,Suspensiondate,DateOfListing,"
    "DateOfDeListing,IssuePrice,FaceValue,ISINCode,52WeeksHigh,52WeeksLow,LifeTimeHigh,LifeTimeLow,HighDate,LowDate,"
    "MarginPercentage,ExchangeCode"
)
_CONTRACT_HEADER = (
    "Token,InstrumentName,ShortName,Series,ExpiryDate,StrikePrice,OptionType,CALevel,PermittedToTrade,IssueCapital,WarningQty,"
    "FreezeQty,CreditRating,NormalMarketStatus,OddLotMarketStatus,SpotMarketStatus,AuctionMarketStatus,NormalMarketEligibility,"
    "OddLotMarketEligibility,SpotMarketEligibility,AuctionMarketEligibility,IssueRate,IssueStartDate,InterestPaymentDate,"
    "IssueMaturityDate,MarginPercentage,MinimumLotQty,LotSize,TickSize,CompanyName,ListingDate,ExpulsionDate,ReAdmissionDate,"
    "RecordDate,LowPriceRange,HighPriceRange,SecurityExpiryDate,NoDeliveryStartDate,NoDeliveryEndDate,MF,AON,"
    "ParticipantInMarketIndex,BookClsStartDate,BookClsEndDate,ExcerciseStartDate,ExcerciseEndDate,OldToken,AssetInstrument,"
    "AssetName,AssetToken,IntrinsicValue,ExtrinsicValue,ExcerciseStyle,EGM,AGM,Interest,Bonus,Rights,Dividends,ExAllowed,"
    "ExRejectionAllowed,PlAllowed,IsThisAsset,IsCorpAdjusted,LocalUpdateDatetime,DeleteFlag,Remarks,BasePrice,ExchangeCode"
)
_MCX_HEADER = (
    "Token,InstrumentName,ShortName,Series,CompanyName,TickSize,LotSize,ExpiryDate,OptionType,StrikePrice,StartDate,EndDate,"
    "ExpiryMonth,MarketLot,MarginPercentage,LowerCktLimit,UpperCktLimit,OpenInterest,LifeTimeLow,LifeTimeHigh,LowPriceRange,"
    "HighPriceRange,QuantityUnit,PriceUnit,DeliveryUnit,Exchange,ExchangeCode"
)
_MEMBERS: Mapping[str, tuple[str, Sequence[str]]] = {
    "NSE": ("NSEScripMaster.txt", _NSE_HEADER.split(",")),
    "BSE": ("BSEScripMaster.txt", _BSE_HEADER.split(",")),
    "NFO": ("FONSEScripMaster.txt", _CONTRACT_HEADER.split(",")),
    "BFO": ("FOBSEScripMaster.txt", _CONTRACT_HEADER.split(",")),
    "NDX": ("CDNSEScripMaster.txt", _CONTRACT_HEADER.split(",")),
    "MCX": ("MCXScripMaster.txt", _MCX_HEADER.split(",")),
}
"""Exchange code -> the zip's member and its columns."""


def security_master(names: Iterable[Name]) -> bytes:
    """Return the zip of the day's markets."""
    rows: dict[str, list[dict[str, object]]] = {code: [] for code in _MEMBERS}
    for name in names:
        rows[name.exchange].append(_file_row(name))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for code, (member, header) in _MEMBERS.items():
            # Only NSE's header has a blank after every comma.
            comma = ", " if code == "NSE" else ","
            head = comma.join(f'"{column}"' for column in header)
            archive.writestr(zipfile.ZipInfo(member, _ZIP_DAY), f"{head}\n{_csv(header, rows[code])}")
    return packed.getvalue()


def _csv(header: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerows([row.get(column, "") for column in header] for row in rows)
    return text.getvalue()


def _file_row(name: Name) -> dict[str, object]:
    contract = name.contract
    symbol = str(contract.identity.symbol or contract.identity.underlying_symbol)
    row: dict[str, object] = {
        "Token": name.token,
        "ShortName": name.stock_code,
        "CompanyName": contract.name.upper(),
        "ExchangeCode": symbol,
        "MarginPercentage": 20,
        "DeleteFlag": "N",
    }
    if name.kind == "cash":
        series = "0" if contract.is_index else contract.series
        # The broker's column holds upper price bands for BSE, and a single figure for all NSE shares.
        band = float(round(contract.base_price * (100 + contract.band_percent) / 100, 2))
        tick = 0.0 if contract.is_index else band if name.exchange == "BSE" else 0.01
        return row | {
            "Series": series, "ticksize": tick, "TickSize": tick, "Lotsize": 1, "LotSize": 1, "MarketLot": 1, "BoardLotQty": 1,
            "ISINCode": contract.isin or "", "Symbol": name.stock_code, "ScripID": symbol, "ScripName": contract.name.upper(),
            "ScripCode": name.token, "GroupName": contract.series, "Name": contract.name.upper(),
        }  # fmt: skip
    expiry = day_text(name.expiry or date.min)
    option = name.kind == "options"
    # Ticks are in paise, except for currency.
    tick = float(contract.tick_size) if name.exchange == "NDX" else float(contract.tick_size * 100)
    return row | {
        "InstrumentName": _instrument_name(name, option),
        "Series": "OPTION" if option else "FUTURE",
        "ExpiryDate": expiry,
        "SecurityExpiryDate": expiry,
        "StrikePrice": strike_text(name.strike) if option else "0",
        "OptionType": contract.identity.option_type or "XX",
        "FreezeQty": 0,
        "MinimumLotQty": 1 if name.exchange == "NDX" else contract.lot_size,
        "LotSize": contract.lot_size,
        "MarketLot": contract.lot_size,
        "TickSize": int(tick) if tick == int(tick) else tick,
        "MF": "N,N",
        "AssetName": symbol,
        "BasePrice": float(contract.base_price),
        "Exchange": "MCX",
        "QuantityUnit": "MT",
    }


def _instrument_name(name: Name, option: bool) -> str:
    head = "OPT" if option else "FUT"
    if name.exchange == "NDX":
        return f"{head}CUR"
    if name.exchange == "MCX":
        return "OPTFUT" if option else "FUTSTK"
    if not name.contract.bare.startswith("equity_index"):
        return f"{head}STK"
    # BSE's index options have their own name.
    return "OPTIND" if option and name.exchange == "BFO" else f"{head}IDX"
