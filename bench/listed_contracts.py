"""A market as large as the real one, for benchmarks: contracts in the proportions of the exchanges' own lists.

Names, prices and ISINs are invented. Lots, ticks and expiries are the simulator's conventions. The market depends only on a number and a day, so two
runs of one day list the same contracts.
"""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import count, islice, product

import attrs

from onebroker.brokers.simulator.world.conventions import (
    COMMODITIES,
    CURRENCIES,
    FURTHER_INDICES,
    INDEX_SYMBOLS,
    INDEX_UNDERLYINGS,
    TUESDAY,
    Convention,
    last_weekday,
    monthly,
)
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.instruments import Identity, future, option, security
from onebroker.config.money import snap

FULL = 150_000
"""The length of one broker's list for which the numbers below hold. Another size has a proportional part of each."""
NSE_SHARES, BOTH_SHARES, BSE_SHARES = 800, 1_900, 2_600
"""Listed only on NSE, on both, only on BSE."""
FUNDS, TRUSTS, MUTUAL_FUNDS, NSE_BONDS, BSE_BONDS = 260, 30, 100, 3_000, 3_600
THEME_INDICES = 90
NSE_UNDERLYINGS, BSE_UNDERLYINGS = 210, 120
"""Number of shares with futures and options."""
INDEX_STRIKES, GOODS_STRIKES, CURRENCY_STRIKES = 150, 120, 40
"""Strikes of one expiry. Shares have as many as are needed."""
INDEX_EXPIRIES, CURRENCY_EXPIRIES = 14, 12

_SYLLABLES = (
    "BHA",
    "RAT",
    "VIN",
    "SUR",
    "KAL",
    "MAN",
    "TEJ",
    "NAV",
    "GAN",
    "SHA",
    "PRA",
    "DEV",
    "RIL",
    "TAN",
    "MIT",
    "ESH",
)
_TRADES = ("Industries", "Finance", "Steel", "Pharma", "Power", "Textiles", "Infotech", "Motors", "Cements", "Foods")
_FIRST_DERIVATIVE_TOKEN = 35_000
_ISSUERS = 26 * 26


@attrs.frozen(kw_only=True)
class _Security:
    """How one kind of security is listed."""

    bare: str
    ending: str
    isin: tuple[str, str]
    """Country letters and kind of security."""
    series: str
    tick: str


_SHARE = _Security(bare="equities", ending="", isin=("INE", "01"), series="EQ", tick="0.05")
_BSE_SHARE = attrs.evolve(_SHARE, series="A")
_FUND = _Security(bare="exchange_traded_funds", ending="BEES", isin=("INF", "01"), series="EQ", tick="0.01")
_TRUST = _Security(bare="investment_trusts", ending="INVIT", isin=("INE", "23"), series="IV", tick="0.01")
_MUTUAL = _Security(bare="mutual_funds", ending="GROWTH", isin=("INF", "02"), series="MF", tick="0.01")
_BOND = _Security(bare="fixed_income", ending="29", isin=("INE", "07"), series="N1", tick="0.01")
_BSE_BOND = attrs.evolve(_BOND, ending="31", series="F")


class _Exchanges:
    """Gives every contract its numbers."""

    def __init__(self) -> None:
        self._tokens = {"nse": count(1_001), "bse": count(500_001), "index": count(90_001)}
        self._derivatives = count(_FIRST_DERIVATIVE_TOKEN)
        self._issuers = count(1)

    def index(self, exchange: str, symbol: str, price: Decimal) -> Contract:
        identity = security(exchange, "equity_indices", symbol)
        return _contract(identity, name=symbol.title(), token=next(self._tokens["index"]), price=price)

    def security(self, exchange: str, kind: _Security, number: int) -> Contract:
        stem, trade = _stem(number), _TRADES[number % len(_TRADES)]
        symbol, name = stem + kind.ending, f"{stem.title()} {trade} Limited"
        if kind.bare == "fixed_income":  # a bond's symbol begins with its rate and ends with its year
            rate = 700 + number % 500
            symbol, name = f"{rate}{symbol}", f"{rate / 100}% {stem.title()} {trade} 20{kind.ending}"
        return _contract(
            security(exchange, kind.bare, symbol), name=name,
            token=next(self._tokens[exchange]), price=_price(number), isin=self._isin(*kind.isin), series=kind.series,
            tick=Decimal(kind.tick), freeze=100_000,
        )  # fmt: skip

    def twin(self, first: Contract) -> Contract:
        """The same share on BSE."""
        identity = security("bse", first.bare, str(first.identity.symbol))
        return attrs.evolve(
            first,
            identity=identity,
            instrument_id=identity.instrument_id,
            exchange_token=next(self._tokens["bse"]),
            series="A",
        )

    def derivative(self, convention: Convention, identity: Identity) -> Contract:
        return _contract(
            identity, name=f"{identity.underlying_symbol} {identity.expiry_date}", token=next(self._derivatives),
            price=convention.base_price, lot=convention.lot_size, tick=convention.tick_size,
            freeze=convention.freeze_quantity,
        )  # fmt: skip

    def _isin(self, country: str, kind: str) -> str:
        number = next(self._issuers)
        letters = "".join(chr(ord("A") + number // part % 26) for part in (26, 1))
        return f"{country}{number // _ISSUERS % 10}{letters}A{kind}{number // (10 * _ISSUERS) % 100:02d}{number % 10}"


def _contract(
    identity: Identity, *, name: str, token: int, price: Decimal, isin: str | None = None, series: str = "", lot: int = 1,
    tick: Decimal = Decimal("0.05"), freeze: int | None = None,
) -> Contract:  # fmt: skip
    return Contract(
        identity=identity, instrument_id=identity.instrument_id, name=name, isin=isin, exchange_token=token, lot_size=lot,
        tick_size=tick, freeze_quantity=freeze, series=series, base_price=price, band_percent=Decimal(20),
    )  # fmt: skip


def contracts(rows: int, today: date) -> Iterator[Contract]:
    """Yield the contracts listed on `today`, without end. The last kind, options on shares, continues from the money outwards.

    A list that is cut after `rows` contracts has every kind in the proportion of a broker's file of `FULL` rows.
    """
    exchanges = _Exchanges()
    securities = list(_securities(exchanges, rows / FULL))
    yield from securities
    shares = [contract for contract in securities if contract.bare == "equities"]
    on_nse = [share for share in shares if share.identity.exchange == "nse"][: _part(NSE_UNDERLYINGS, rows / FULL)]
    on_bse = [share for share in shares if share.identity.exchange == "bse"][: _part(BSE_UNDERLYINGS, rows / FULL)]
    stocks = [_convention(share) for share in (*on_nse, *on_bse)]
    listed = _fewer(rows / FULL, stocks, today)
    for convention, identity in listed:
        yield exchanges.derivative(convention, identity)


def _part(number: int, scale: float) -> int:
    return max(2, round(number * scale))


def _securities(exchanges: _Exchanges, scale: float) -> Iterator[Contract]:
    known = [(index.exchange, INDEX_SYMBOLS[index.symbol], index.base_price) for index in INDEX_UNDERLYINGS]
    themes = [*FURTHER_INDICES, *(("nse", f"DESH THEME {n}") for n in range(1, _part(THEME_INDICES, scale)))]
    for exchange, symbol, price in (*known, *((*theme, Decimal(12_000)) for theme in themes)):
        yield exchanges.index(exchange, symbol, price)
    numbers = count()
    for _ in range(_part(BOTH_SHARES, scale)):
        first = exchanges.security("nse", _SHARE, next(numbers))
        yield first
        yield exchanges.twin(first)
    kinds = (
        ("nse", _SHARE, NSE_SHARES), ("bse", _BSE_SHARE, BSE_SHARES), ("nse", _FUND, FUNDS), ("nse", _TRUST, TRUSTS),
        ("nse", _MUTUAL, MUTUAL_FUNDS), ("nse", _BOND, NSE_BONDS), ("bse", _BSE_BOND, BSE_BONDS),
    )  # fmt: skip
    for exchange, kind, many in kinds:
        for _ in range(_part(many, scale)):
            yield exchanges.security(exchange, kind, next(numbers))


def _fewer(scale: float, stocks: Sequence[Convention], today: date) -> Iterator[tuple[Convention, Identity]]:
    """Futures, then options on indices, goods and currencies, then options on shares without end."""
    three = {commodity.symbol: commodity.expiries(today) for commodity in COMMODITIES}
    three |= {index.symbol: monthly(index.expiries(today)[0].weekday())(today) for index in INDEX_UNDERLYINGS}
    months = monthly(TUESDAY)(today)
    many = {index.symbol: _days(index, today, _part(INDEX_EXPIRIES, scale)) for index in INDEX_UNDERLYINGS}
    for currency in CURRENCIES:
        many[currency.symbol] = tuple(last_weekday(*month, TUESDAY) for month in _months(today, CURRENCY_EXPIRIES))
    for convention in (*INDEX_UNDERLYINGS, *COMMODITIES, *CURRENCIES, *stocks):
        for expiry in many[convention.symbol] if convention in CURRENCIES else three.get(convention.symbol, months):
            yield convention, future(convention.exchange, f"{convention.kind}_futures", convention.symbol, expiry)
    limits = (
        (INDEX_UNDERLYINGS, many, INDEX_STRIKES),
        (COMMODITIES, three, GOODS_STRIKES),
        (CURRENCIES, many, CURRENCY_STRIKES),
    )
    for listed, expiries, strikes in limits:
        for convention in listed:
            yield from islice(
                _options(convention, expiries[convention.symbol]),
                2 * _part(strikes, scale) * len(expiries[convention.symbol]),
            )
    endless = [_options(convention, months) for convention in stocks]
    yield from _in_turn(endless)


def _in_turn(
    streams: Sequence[Iterator[tuple[Convention, Identity]]],
) -> Iterator[tuple[Convention, Identity]]:
    while True:
        for stream in streams:
            yield from islice(stream, 6)


def _options(convention: Convention, expiries: Sequence[date]) -> Iterator[tuple[Convention, Identity]]:
    """Strikes from the money outwards, while they are above zero; after that only upwards."""
    money = snap(convention.base_price, convention.strike_step, "nearest")
    for ring in count():
        offset = (ring + 1) // 2 if ring % 2 else -(ring // 2)
        strike = money + offset * convention.strike_step
        if strike <= 0:
            continue
        for expiry, option_type in product(expiries, ("CE", "PE")):
            identity = option(
                convention.exchange, f"{convention.kind}_options", convention.symbol, expiry, float(strike), option_type
            )
            yield convention, identity


def _convention(share: Contract) -> Convention:
    price = share.base_price
    return Convention(
        exchange=share.identity.exchange, symbol=str(share.identity.symbol), name=share.name, kind="equity", base_price=price,
        lot_size=max(25, round(600_000 / float(price) / 25) * 25), tick_size=share.tick_size, freeze_quantity=20_000,
        strike_step=Decimal(max(1, round(float(price) / 100))), volatility=0.3, expiries=monthly(TUESDAY),
    )  # fmt: skip


def _days(convention: Convention, today: date, number: int) -> tuple[date, ...]:
    """Weekly expiries of the next weeks, then the last expiry of each month. An index without weekly expiries has only months."""
    first, second, *_ = convention.expiries(today)
    weeks = [first + timedelta(days=7 * n) for n in range(5)] if (second - first).days == 7 else []
    months = [last_weekday(*month, first.weekday()) for month in _months(today, number)]
    return tuple(sorted({*weeks, *(day for day in months if day >= today)})[:number])


def _months(today: date, number: int) -> list[tuple[int, int]]:
    """The months after this one, so that no last weekday is before today."""
    first = today.year * 12 + today.month
    return [((first + n) // 12, (first + n) % 12 + 1) for n in range(number)]


def _stem(number: int) -> str:
    """A stem of syllables that no other number has; at least four syllables."""
    stem = ""
    rest = number * 7 + 4_369  # spreads the first syllables
    while rest:
        rest, place = divmod(rest, len(_SYLLABLES))
        stem += _SYLLABLES[place]
    return stem


def _price(number: int) -> Decimal:
    return snap(Decimal(40 + number * 7919 % 4100), Decimal("0.05"), "nearest")
