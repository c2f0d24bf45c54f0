"""Builds a chain from stored quotes, in steps of less than a millisecond. It asks no broker.

First the forward: it says which strikes are near the money. Then the cells of these strikes, their volatilities and greeks, and the totals.
Outside market hours a price is as old as the last close, and so is the time to expiry that goes with it.
"""

from collections.abc import Generator, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

import attrs
import msgspec

from onebroker.actors.catalogue.interface import Instrument, Snapshot
from onebroker.actors.chain import forward as forwards
from onebroker.actors.chain.contracts import ChainContracts, ChainName
from onebroker.actors.chain.documents import Cell, Chain, Forward, Row
from onebroker.actors.chain.greeks import YEAR_DAYS, greeks
from onebroker.actors.chain.implied_volatility import NoVolatility, implied_volatility
from onebroker.actors.chain.totals import totals
from onebroker.actors.quotes.tick_fold import Quote, is_price
from onebroker.brokers.records import DepthLevel
from onebroker.config.instruments import price_places
from onebroker.config.money import round_half_up

DAY_SECONDS = 86_400.0
PLACES = 6
AGE_PLACES = 1

NO_QUOTE = "no quote has come yet; the brokers' feeds were asked for it"
OLD_QUOTE = "the last quote is too old; the brokers' feeds were asked for it"
NO_DEPTH = "the feed sends no depth of it"
NO_BUYERS, NO_SELLERS = "nobody buys", "nobody sells"
NOT_TOLD = "the feed does not tell it"
NO_DAY_BEFORE = "the open interest of the day before is not stored"
OF_A_CANDLE = "only the last day candle is known"
NO_FORWARD = "the forward is not known"


class DayCandle(msgspec.Struct, frozen=True, gc=False):
    """The last stored day candle of an option before today."""

    close: float
    oi: int | None
    at: float
    """Epoch seconds of its day's midnight in India."""


class StoredQuotes(Protocol):
    """Quotes that are held already. A read makes the feeds carry the instrument."""

    def stored(self, instrument: Instrument) -> Quote | None:
        """Return the quote when it may be served."""

    def known(self, instrument_id: str) -> bool:
        """Tell whether any quote is held, however old."""


@attrs.frozen(kw_only=True)
class Moment:
    """When a chain is made."""

    now: float
    """Epoch seconds."""
    market_open: bool
    last_close: float | None
    """Epoch seconds of the market's last close, when it is closed and that is known."""
    expires_at: datetime

    @property
    def days(self) -> float:
        """Calendar days from now to the expiry."""
        return max(0.0, (self.expires_at.timestamp() - self.now) / DAY_SECONDS)

    @property
    def years(self) -> float:
        """The time to expiry that goes with the prices."""
        priced = self.now if self.market_open or self.last_close is None else self.last_close
        return max(0.0, (self.expires_at.timestamp() - priced) / DAY_SECONDS / YEAR_DAYS)


@attrs.frozen(kw_only=True)
class _Read:
    """What is known of one option before the forward is."""

    cell: Cell
    price: float | None
    """The price for the volatility."""


class ChainBuild:
    """One build: first `strikes`, then `chain` with the chosen strikes and their day candles."""

    def __init__(
        self,
        name: ChainName,
        snapshot: Snapshot,
        contracts: ChainContracts,
        quotes: StoredQuotes,
        moment: Moment,
        rate: float,
    ) -> None:
        self._name = name
        self._snapshot = snapshot
        self._contracts = contracts
        self._quotes = quotes
        self._moment = moment
        self._rate = rate
        self._candles: Mapping[str, DayCandle] = {}
        self._places = price_places(contracts.segment)
        self._read: dict[int, _Read] = {}

    def chain(self, chosen: Sequence[float], candles: Mapping[str, DayCandle]) -> Generator[None, None, Chain]:
        """Return the chain of these strikes, after steps. `candles` holds the last day candles by instrument_id."""
        self._candles, self._read = candles, {}
        yield from self._read_all(chosen)
        forward = self._forward(chosen)
        rows = []
        for strike in chosen:
            cells = {kind: self._priced(strike, kind, row, forward.price) for kind, row in self._rows(strike).items()}
            rows.append(Row(strike_price=strike, ce=cells.get("CE"), pe=cells.get("PE")))
            yield
        prices = {read.cell.instrument_id: read.price for read in self._read.values() if read.price is not None}
        return Chain(
            mapping_date=self._snapshot.mapping_date.isoformat(),
            exchange=self._name.exchange,
            segment=self._contracts.segment,
            underlying_symbol=self._name.underlying_symbol,
            expiry_date=self._name.expiry_date,
            strikes_listed=len(self._contracts.strikes),
            as_of=self._moment.now,
            market_open=self._moment.market_open,
            expires_at=self._moment.expires_at.timestamp(),
            days_to_expiry=round(self._moment.days, PLACES),
            rate=self._rate,
            forward=forward,
            totals=totals(rows, forward.price, prices),
            rows=rows,
        )

    # Which strikes

    def strikes(self) -> Generator[None, None, list[float]]:
        """Return the strikes nearest to the money, as well as it is known: from the futures, from options, or the middle of the listed strikes."""
        most, strikes = self._name.strikes, self._contracts.strikes
        money = self._future_price(self._contracts.future) or self._future_price(self._contracts.near_future)
        if money is None:
            pairs = yield from self._held_pairs()
            money = forwards.parity_forward(pairs, self._moment.years, self._rate)
        if money is not None:
            return self._contracts.nearest(money, most)
        first = max(0, (len(strikes) - most) // 2)
        return list(strikes[first : first + most])

    def _held_pairs(self) -> Generator[None, None, dict[float, tuple[float, float]]]:
        """Return the prices of calls and puts of all strikes, where both have a quote already."""
        pairs: dict[float, tuple[float, float]] = {}
        for number, strike in enumerate(self._contracts.strikes):
            rows = self._rows(strike)
            instruments = [self._snapshot.at(row) for row in rows.values()]
            if len(rows) == 2 and all(self._quotes.known(instrument.instrument_id) for instrument in instruments):
                self._read_strike(strike)
                self._add_pair(pairs, strike)
            if number % 2:
                yield
        return pairs

    def instrument_ids(self, chosen: Sequence[float]) -> Generator[None, None, list[str]]:
        """Return the options of these strikes, after steps: each may be read from the catalogue's file."""
        found = []
        for strike in chosen:
            found += [self._snapshot.at(row).instrument_id for row in self._rows(strike).values()]
            yield
        return found

    # Reading

    def _rows(self, strike: float) -> Mapping[str, int]:
        return self._contracts.rows[strike]

    def _read_all(self, chosen: Sequence[float]) -> Generator[None, None, None]:
        for strike in chosen:
            self._read_strike(strike)
            yield

    def _read_strike(self, strike: float) -> None:
        for row in self._rows(strike).values():
            if row not in self._read:
                self._read[row] = self._read_option(self._snapshot.at(row))

    def _read_option(self, instrument: Instrument) -> _Read:
        quote = self._quotes.stored(instrument)
        if quote is not None:
            return self._of_quote(instrument, quote)
        candle = None if self._moment.market_open else self._candles.get(instrument.instrument_id)
        if candle is None:
            why = OLD_QUOTE if self._quotes.known(instrument.instrument_id) else NO_QUOTE
            return _Read(cell=Cell(instrument_id=instrument.instrument_id, missing={"quote": why}), price=None)
        close = round_half_up(candle.close, self._places)
        missing = {**dict.fromkeys(("bid", "ask", "volume", "oi_change"), OF_A_CANDLE)}
        if candle.oi is None:
            missing["oi"] = OF_A_CANDLE
        cell = Cell(
            instrument_id=instrument.instrument_id, last_price=close, oi=candle.oi, priced_by="last", source="candle",
            received_at=candle.at, age_seconds=self._age(candle.at), missing=missing,
        )  # fmt: skip
        return _Read(cell=cell, price=close if is_price(close) else None)

    def _of_quote(self, instrument: Instrument, quote: Quote) -> _Read:
        tick, missing = quote.tick, {}
        last = round_half_up(tick.last_price, self._places)
        bid, ask = self._best(tick.buy), self._best(tick.sell)
        if bid is None:
            missing["bid"] = NO_DEPTH if tick.buy is None else NO_BUYERS
        if ask is None:
            missing["ask"] = NO_DEPTH if tick.sell is None else NO_SELLERS
        missing |= {name: NOT_TOLD for name in ("volume", "oi") if getattr(tick, name) is None}
        candle = self._candles.get(instrument.instrument_id)
        change = None if tick.oi is None or candle is None or candle.oi is None else tick.oi - candle.oi
        if change is None:
            missing["oi_change"] = NOT_TOLD if tick.oi is None else NO_DAY_BEFORE
        price, by = last, "last"
        if bid is not None and ask is not None and bid <= ask:
            price, by = (bid + ask) / 2, "mid"
        cell = Cell(
            instrument_id=instrument.instrument_id, last_price=last, bid=bid, ask=ask, volume=tick.volume, oi=tick.oi,
            oi_change=change, priced_by=_word(by), source="quote", received_at=quote.received_at,
            age_seconds=self._age(quote.received_at), missing=missing,
        )  # fmt: skip
        return _Read(cell=cell, price=price)

    def _best(self, levels: tuple[DepthLevel, ...] | None) -> float | None:
        level = next((level for level in levels or () if level.quantity > 0 and is_price(level.price)), None)
        return None if level is None else round_half_up(level.price, self._places)

    def _age(self, at: float) -> float:
        return round(max(0.0, self._moment.now - at), AGE_PLACES)

    # The forward

    def _forward(self, chosen: Sequence[float]) -> Forward:
        future = self._contracts.future
        price = self._future_price(future)
        if price is not None and future is not None:
            return Forward(price=price, source="future", instrument_id=future.instrument_id, reason=None)
        pairs: dict[float, tuple[float, float]] = {}
        for strike in chosen:
            self._add_pair(pairs, strike)
        parity = forwards.parity_forward(pairs, self._moment.years, self._rate)
        if parity is None:
            return Forward(price=None, source=None, instrument_id=None, reason=forwards.NO_PAIR)
        return Forward(price=round(parity, self._places), source="parity", instrument_id=None, reason=None)

    def _future_price(self, future: Instrument | None) -> float | None:
        """Return the middle of the future's bid and ask, else its last price."""
        quote = None if future is None else self._quotes.stored(future)
        if quote is None:
            return None
        bid, ask = self._best(quote.tick.buy), self._best(quote.tick.sell)
        if bid is not None and ask is not None and bid <= ask:
            return (bid + ask) / 2
        return round_half_up(quote.tick.last_price, self._places)

    def _add_pair(self, pairs: dict[float, tuple[float, float]], strike: float) -> None:
        rows = self._rows(strike)
        if len(rows) == 2:
            call, put = self._read[rows["CE"]].price, self._read[rows["PE"]].price
            if call is not None and put is not None:
                pairs[strike] = (call, put)

    # Volatility and greeks

    def _priced(self, strike: float, kind: str, row: int, forward: float | None) -> Cell:
        read = self._read[row]
        if read.price is None:
            return read.cell
        if forward is None:
            return _without_greeks(read.cell, NO_FORWARD)
        call, years, rate = kind == "CE", self._moment.years, self._rate
        try:
            volatility = implied_volatility(call, read.price, forward, strike, years, rate)
        except NoVolatility as error:
            return _without_greeks(read.cell, str(error))
        figures = greeks(call, forward, strike, years, rate, volatility)
        return msgspec.structs.replace(
            read.cell,
            implied_volatility=round(volatility, PLACES),
            delta=round(figures.delta, PLACES),
            gamma=float(f"{figures.gamma:.6g}"),
            theta=round(figures.theta, PLACES),
            vega=round(figures.vega, PLACES),
            rho=round(figures.rho, PLACES),
        )


def _word(by: str) -> Literal["mid", "last"]:
    return "mid" if by == "mid" else "last"


def _without_greeks(cell: Cell, why: str) -> Cell:
    return msgspec.structs.replace(cell, missing={**cell.missing, "greeks": why})
