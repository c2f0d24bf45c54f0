"""What the simulated exchanges list: a universe of contracts made from a seed, a number and a date.

The cash side depends only on the seed and the number. Derivatives also depend on the date. So a simulator that is restarted on a later day lists the
same shares, drops the expired contracts, and adds the next expiries. Ids and tokens do not change. Prices are not here:
`brokers/simulator/exchange/market_board.py` moves each `Walk`.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from itertools import count, islice

import attrs

from onebroker.brokers.simulator.world.conventions import (
    COMMODITIES,
    CURRENCIES,
    FURTHER_INDICES,
    INDEX_SYMBOLS,
    INDEX_UNDERLYINGS,
    TUESDAY,
    Convention,
    monthly,
)
from onebroker.brokers.simulator.world.model import Contract
from onebroker.config.instruments import Identity, Shape, calendar_of, future, option, security
from onebroker.config.money import snap

SMALLEST = 60
"""Below this number, some shapes would be missing."""
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
_BANDS = (Decimal(20), Decimal(20), Decimal(20), Decimal(10), Decimal(5))
_OPTION_UNDERLYINGS, _FUTURE_UNDERLYINGS = 10, 50
"""Numbers for the default of 2,000 instruments. They grow in proportion above it."""
_DEFAULT_NUMBER = 2000
_TOKENS_PER_UNDERLYING = 64
_WEEKS = 64
"""Derivative tokens repeat after this many weeks. By then the old contracts are long gone."""
_LONGEST_BREAK_DAYS = 10
_FIRST_DERIVATIVE_TOKEN = 300_000


@attrs.frozen(kw_only=True)
class Walk:
    """One price that moves by itself: that of a share, an index, a currency pair or a commodity."""

    key: str
    base_price: Decimal
    tick_size: Decimal
    volatility: float
    """Annual standard deviation, as a fraction."""


@attrs.frozen(kw_only=True)
class Universe:
    contracts: tuple[Contract, ...]
    """In a fixed order: cash, futures and options, commodities, currency."""
    walks: Mapping[str, Walk]
    walk_of: Mapping[str, str]
    """instrument_id -> key of the walk that it follows. Contracts of one underlying share one walk."""
    by_id: Mapping[str, Contract] = attrs.field(init=False)

    @by_id.default
    def _by_id(self) -> Mapping[str, Contract]:
        return {contract.instrument_id: contract for contract in self.contracts}

    def followers(self, instrument_id: str) -> frozenset[str]:
        """Return the ids of all contracts that move with this one, itself included."""
        key = self.walk_of[instrument_id]
        return frozenset(other for other, walk in self.walk_of.items() if walk == key)


def every_day(_exchange: str, _calendar: str, _day: date) -> bool:
    """Say that every day is a trading day."""
    return True


def build_universe(
    number: int, seed: int, today: date, is_session: Callable[[str, str, date], bool] = every_day
) -> Universe:
    """Return the universe of `number` contracts (at least 60) listed on `today`.

    `is_session(exchange, calendar, day)` tells whether a day is a trading day. An expiry on any other day moves to the trading day before.
    """
    if number < SMALLEST:
        raise ValueError(f"the simulator needs at least {SMALLEST} instruments, not {number}")
    return _Builder(number, seed, today, is_session).build()


class _Builder:
    def __init__(self, number: int, seed: int, today: date, is_session: Callable[[str, str, date], bool]) -> None:
        self._is_session = is_session
        self._number, self._today = number, today
        self._random = random.Random(f"universe|{seed}")
        self._contracts: list[Contract] = []
        self._walks: dict[str, Walk] = {}
        self._walk_of: dict[str, str] = {}
        self._symbols: set[str] = set()
        self._issuer = count(1)
        self._tokens = {"nse": count(1001), "bse": count(500_001), "index": count(26_001)}
        self._shares: list[Convention] = []
        self._with_futures = 0
        """How many of the first shares have futures."""

    def build(self) -> Universe:
        number = self._number
        options = max(12, number * 3 // 10)
        futures = max(6, number * 3 // 40)
        goods = max(6, number // 50)
        pairs = max(3, number // 200)
        scale = max(1, number // _DEFAULT_NUMBER)
        few = max(3, min(_OPTION_UNDERLYINGS, options // 12)) * scale
        many = max(few, min(_FUTURE_UNDERLYINGS * scale, -(-futures // 3)))
        indices = INDEX_UNDERLYINGS if few >= len(INDEX_UNDERLYINGS) + 2 else INDEX_UNDERLYINGS[: few - 1]
        self._with_futures = many - len(indices)
        self._add_cash(number - options - futures - goods - pairs)
        listed = [*indices, *self._shares]
        slots = {
            (convention.exchange, convention.symbol): n
            for n, convention in enumerate((*listed[:many], *COMMODITIES, *CURRENCIES))
        }
        self._slots = slots
        self._list(islice(self._futures(tuple(listed[:many])), futures))
        self._list(islice(self._options(tuple(listed[:few])), options))
        self._list(islice(self._goods(), goods))
        self._list(islice(self._pairs(), pairs))
        return Universe(contracts=tuple(self._contracts), walks=self._walks, walk_of=self._walk_of)

    # cash -----------------------------------------------------------------------------------------------------------

    def _add_cash(self, number: int) -> None:
        def share(part: int, least: int) -> int:
            return max(least, number * part // 1200)

        indices, funds, bonds, trusts, mutual = share(10, 4), share(30, 2), share(10, 1), share(5, 1), share(5, 1)
        self._add_indices(indices)
        equities = number - indices - funds - bonds - trusts - mutual
        on_both = equities // 8
        made = [self._add_share() for _ in range(equities - on_both)]
        for contract in made[:on_both]:
            self._add_second_listing(contract)
        special = (
            (funds, "exchange_traded_funds", "BEES", "INF", "01", "EQ", "0.01"),
            (bonds, "fixed_income", "GS26", "IN0", "01", "GS", "0.01"),
            (trusts, "investment_trusts", "INVIT", "INE", "23", "IV", "0.01"),
            (mutual, "mutual_funds", "GROWTH", "INF", "02", "MF", "0.01"),
        )
        for many, bare, ending, country, kind, series, tick in special:
            for _ in range(many):
                self._add_special(bare, ending, country, kind, series, tick)

    def _add_indices(self, number: int) -> None:
        known = [(index.exchange, INDEX_SYMBOLS[index.symbol], index) for index in INDEX_UNDERLYINGS]
        more = [(exchange, symbol, None) for exchange, symbol in FURTHER_INDICES]
        more += [("nse", f"DESH THEME {n}", None) for n in range(1, max(0, number - 14) + 1)]
        for exchange, symbol, convention in [*known, *more][:number]:
            price = convention.base_price if convention else self._price(5000, 40000, Decimal("0.05"))
            key = f"{exchange}|{convention.symbol if convention else symbol}"
            self._walks[key] = Walk(key=key, base_price=price, tick_size=Decimal("0.05"), volatility=0.13)
            self._add(
                security(exchange, "equity_indices", symbol), key, name=symbol.title(), isin=None,
                token=next(self._tokens["index"]), lot=1, tick=Decimal("0.05"), freeze=None, series="", price=price,
                band=Decimal(20),
            )  # fmt: skip

    def _band(self, has_futures: bool) -> Decimal:
        """Return how far from its last close a share may trade, in percent. The exchanges give a share with futures no narrow band."""
        band = self._random.choice(_BANDS)
        return _BANDS[0] if has_futures else band

    def _add_share(self) -> Contract:
        stem = self._symbol("")
        tick = Decimal("0.05")
        price = self._price(40, 4200, tick)
        key = f"nse|{stem}"
        volatility = self._random.uniform(0.18, 0.42)
        self._walks[key] = Walk(key=key, base_price=price, tick_size=tick, volatility=volatility)
        has_futures = len(self._shares) < self._with_futures
        name = f"{stem.title()} {self._random.choice(_TRADES)} Limited"
        contract = self._add(
            security("nse", "equities", stem), key, name=name, isin=self._isin("INE", "01"),
            token=next(self._tokens["nse"]), lot=1, tick=tick, freeze=100_000 if price > 100 else 500_000, series="EQ",
            price=price, band=self._band(has_futures),
        )  # fmt: skip
        lot = max(25, round(600_000 / float(price) / 25) * 25)
        step = Decimal(max(1, round(float(price) / 100)))
        self._shares.append(
            Convention(
                exchange="nse",
                symbol=stem,
                name=name,
                kind="equity",
                base_price=price,
                lot_size=lot,
                tick_size=tick,
                freeze_quantity=40 * lot,
                strike_step=step,
                volatility=volatility,
                expiries=monthly(TUESDAY),
            )
        )
        return contract

    def _add_second_listing(self, first: Contract) -> None:
        symbol = str(first.identity.symbol)
        self._add(
            security("bse", "equities", symbol), f"nse|{symbol}", name=first.name, isin=first.isin,
            token=next(self._tokens["bse"]), lot=1, tick=first.tick_size, freeze=first.freeze_quantity, series="A",
            price=first.base_price, band=first.band_percent,
        )  # fmt: skip

    def _add_special(self, bare: str, ending: str, country: str, kind: str, series: str, tick_text: str) -> None:
        symbol, tick = self._symbol(ending), Decimal(tick_text)
        price = self._price(20, 1100, tick)
        key = f"nse|{symbol}"
        self._walks[key] = Walk(key=key, base_price=price, tick_size=tick, volatility=0.08)
        self._add(
            security("nse", bare, symbol), key, name=f"{symbol.title()} {bare.replace('_', ' ').title()}",
            isin=self._isin(country, kind), token=next(self._tokens["nse"]), lot=1, tick=tick, freeze=200_000,
            series=series, price=price, band=Decimal(10 if bare != "fixed_income" else 5),
        )  # fmt: skip

    def _symbol(self, ending: str) -> str:
        for tries in count():
            stem = "".join(self._random.choice(_SYLLABLES) for _ in range(2 + tries // 20)) + ending
            if self._random.random() < 0.5 and not ending:
                stem = stem[: self._random.randint(4, len(stem))] + self._random.choice("ABCDEILMNOST")
            if stem not in self._symbols:
                self._symbols.add(stem)
                return stem
        raise AssertionError("count never ends")

    def _price(self, low: int, high: int, tick: Decimal) -> Decimal:
        value = low * (high / low) ** self._random.random()
        return snap(Decimal(f"{value:.4f}"), tick, "nearest")

    def _isin(self, country: str, kind: str) -> str:
        number = next(self._issuer)
        letter = chr(ord("A") + number // 1000 % 26)
        body = f"{country}{number % 1000:03d}{letter}{kind}{1 + number // 26000:02d}"
        return body + _check_digit(body)

    # derivatives ----------------------------------------------------------------------------------------------------

    def _futures(self, underlyings: tuple[Convention, ...]) -> Iterator[tuple[Convention, Identity, int]]:
        for n in range(3):
            for convention in underlyings:
                yield self._future(convention, n)

    def _future(self, convention: Convention, n: int) -> tuple[Convention, Identity, int]:
        # Futures of underlyings with weekly expiries are monthly: only options have weekly expiries.
        rule = (
            monthly(convention.expiries(self._today)[0].weekday())
            if convention.kind == "equity_index"
            else convention.expiries
        )
        expiry = self._expiries(convention, rule)[n]
        return convention, future(convention.exchange, f"{convention.kind}_futures", convention.symbol, expiry), 0

    def _options(self, underlyings: tuple[Convention, ...]) -> Iterator[tuple[Convention, Identity, int]]:
        """Strikes from the money outwards, so that a small universe holds the contracts that matter most."""
        for ring in count():
            offset = (ring + 1) // 2 if ring % 2 else -(ring // 2)
            for convention in underlyings:
                for n in range(3):
                    yield from self._strike(convention, n, offset)

    def _strike(self, convention: Convention, n: int, offset: int) -> Iterator[tuple[Convention, Identity, int]]:
        strike = snap(convention.base_price, convention.strike_step, "nearest") + offset * convention.strike_step
        slot = 1 + 2 * ((offset + 15) % 31)
        for side, option_type in enumerate(("CE", "PE")):
            expiry = self._expiries(convention, convention.expiries)[n]
            identity = option(
                convention.exchange, f"{convention.kind}_options", convention.symbol, expiry, float(strike), option_type
            )
            yield convention, identity, slot + side

    def _expiries(self, convention: Convention, rule: Callable[[date], tuple[date, ...]]) -> tuple[date, ...]:
        """The rule's days. A day that is not a trading day moves to the trading day before."""
        days = self._moved(convention, rule(self._today))
        return days if days[0] >= self._today else self._moved(convention, rule(self._after_this_expiry(rule)))

    def _after_this_expiry(self, rule: Callable[[date], tuple[date, ...]]) -> date:
        return rule(self._today)[0] + timedelta(days=1)

    def _moved(self, convention: Convention, days: tuple[date, ...]) -> tuple[date, ...]:
        moved = []
        for day in days:
            tries = (day - timedelta(days=back) for back in range(_LONGEST_BREAK_DAYS))
            calendar = calendar_of(convention.kind)
            moved.append(
                next((tried for tried in tries if self._is_session(convention.exchange, calendar, tried)), day)
            )
        return tuple(moved)

    def _goods(self) -> Iterator[tuple[Convention, Identity, int]]:
        for n in range(3):
            for commodity in COMMODITIES:
                yield self._future(commodity, n)
            if n == 0:
                yield from self._strike(COMMODITIES[0], 0, 0)
                yield from self._strike(COMMODITIES[2], 0, 0)
        crude = COMMODITIES[0]
        for offset in count(1):
            for n in range(3):
                yield from self._strike(crude, n, offset)
                yield from self._strike(crude, n, -offset)

    def _pairs(self) -> Iterator[tuple[Convention, Identity, int]]:
        dollar = CURRENCIES[0]
        yield self._future(dollar, 0)
        yield from self._strike(dollar, 0, 0)
        yield from (self._future(currency, 0) for currency in CURRENCIES[1:])
        yield from (self._future(currency, 1) for currency in CURRENCIES)
        for offset in count(1):
            yield from self._strike(dollar, 0, offset)
            yield from self._strike(dollar, 0, -offset)

    def _list(self, rows: Iterator[tuple[Convention, Identity, int]]) -> None:
        for convention, identity, slot in rows:
            key = f"{convention.exchange}|{convention.symbol}"
            if key not in self._walks:
                self._walks[key] = Walk(
                    key=key,
                    base_price=convention.base_price,
                    tick_size=convention.tick_size,
                    volatility=convention.volatility,
                )
            expiry = date.fromisoformat(str(identity.expiry_date))
            week = expiry.toordinal() // 7 % _WEEKS
            place = self._slots[convention.exchange, convention.symbol] * _TOKENS_PER_UNDERLYING + slot
            self._add(
                identity, key, name=_contract_name(identity), isin=None,
                token=_FIRST_DERIVATIVE_TOKEN + week * len(self._slots) * _TOKENS_PER_UNDERLYING + place,
                lot=convention.lot_size, tick=convention.tick_size, freeze=convention.freeze_quantity, series="",
                price=convention.base_price, band=Decimal(100) if identity.shape is Shape.OPTION else Decimal(10),
            )  # fmt: skip

    def _add(
        self, identity: Identity, key: str, *, name: str, isin: str | None, token: int, lot: int, tick: Decimal,
        freeze: int | None, series: str, price: Decimal, band: Decimal,
    ) -> Contract:  # fmt: skip
        contract = Contract(
            identity=identity, instrument_id=identity.instrument_id, name=name, isin=isin, exchange_token=token,
            lot_size=lot, tick_size=tick, freeze_quantity=freeze, series=series, base_price=price, band_percent=band,
        )  # fmt: skip
        self._contracts.append(contract)
        self._walk_of[contract.instrument_id] = key
        return contract


def _contract_name(identity: Identity) -> str:
    strike = f" {identity.strike_price:g} {identity.option_type}" if identity.shape is Shape.OPTION else " FUT"
    return f"{identity.underlying_symbol} {identity.expiry_date}{strike}"


def _check_digit(body: str) -> str:
    """The last digit of an ISIN (ISO 6166: letters become two digits; digits are doubled alternately from the right)."""
    digits = [int(digit) for character in body for digit in str(int(character, 36))]
    total = sum(sum(divmod(digit * (2 - n % 2), 10)) for n, digit in enumerate(reversed(digits)))
    return str(-total % 10)
