"""What the looks of plans ask of an instrument, and what stays the same as long as the list of instruments does: worked out once for all plans
and looks.

A list can lose an instrument: its contract has expired, its share was delisted, or a broker's file was cut. A plan in it goes on with the
facts of the last list that had it (in this process, else in the file of unlisted instruments), and `standing` says that it is not listed.
"""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta

import attrs

from onebroker.actors.catalogue.interface import NONE_UNLISTED, Instrument, Snapshot, Unlisted
from onebroker.actors.engine.orders.contract_size import contract_size
from onebroker.actors.engine.orders.freeze_quantity import most_per_order
from onebroker.actors.engine.plan.market import Standing, Terms
from onebroker.actors.engine.plan.pricing.black76 import Option
from onebroker.actors.quotes.usable_quotes import market_of
from onebroker.config.clock import IST
from onebroker.config.instruments import ADJUSTABLE_SEGMENTS, Identity, Shape, bare_segment, strike_text
from onebroker.config.money import exact

EXPIRY_TIME = time(15, 30)
"""When an option expires on its expiry day (rules 2.7, volatility)."""
MOST_KEPT = 10_000


@attrs.frozen(kw_only=True)
class Facts:
    """One instrument of one list."""

    market: tuple[str, str]
    """Exchange and calendar."""
    terms: Terms
    option: Option | None
    """None where the instrument is no option, or its strike or expiry is not known."""
    is_future: bool
    standing: Standing
    is_share: bool
    """Whether corporate actions change its price: a share, a fund or a trust that is traded as one (rules 1.3.2)."""


class InstrumentFacts:
    """Shared by all plans of an engine."""

    def __init__(self, freeze_quantities: Mapping[str, int]) -> None:
        self._freeze_quantities = freeze_quantities
        self._list: Snapshot | None = None
        """The list whose instruments are kept. A list never changes; a newer list is another object."""
        self._kept: dict[str, Facts | None] = {}
        self._former: dict[str, Facts] = {}
        """The facts of earlier lists."""

    def of(self, latest: Snapshot | None, instrument_id: str, unlisted: Unlisted = NONE_UNLISTED) -> Facts | None:
        """Return an instrument's facts by the present list, else by the last list that had it; None where no list had it, or there is no list."""
        if latest is None:
            return None
        if latest is not self._list or len(self._kept) >= MOST_KEPT:
            self._former = self._with_kept()
            self._list, self._kept = latest, {}
        if instrument_id not in self._kept:
            instrument = latest.instrument(instrument_id)
            listed = None if instrument is None else self._facts(instrument)
            self._kept[instrument_id] = listed or self._last_known(instrument_id, unlisted)
        return self._kept[instrument_id]

    def _with_kept(self) -> dict[str, Facts]:
        kept = {instrument_id: facts for instrument_id, facts in self._kept.items() if facts is not None}
        return {**(self._former if len(self._former) < MOST_KEPT else {}), **kept}

    def _last_known(self, instrument_id: str, unlisted: Unlisted) -> Facts | None:
        former = self._former.get(instrument_id)
        if former is None:
            found = unlisted.find(instrument_id)
            former = None if found is None else self._facts(found.instrument)
        return None if former is None else attrs.evolve(former, standing=attrs.evolve(former.standing, is_listed=False))

    def _facts(self, instrument: Instrument) -> Facts:
        identity = instrument.identity
        return Facts(
            market=market_of(identity),
            terms=self._terms(instrument),
            option=_option(identity),
            is_future=identity.shape is Shape.FUTURE,
            is_share=bare_segment(identity.segment) in ADJUSTABLE_SEGMENTS,
            standing=Standing(name=_name(identity), ends_at=_end_of(identity.expiry_date)),
        )

    def _terms(self, instrument: Instrument) -> Terms:
        size = contract_size(instrument)
        lot = instrument.lot_size if size is None else size.trusted
        freezes = [
            most
            for code in instrument.listings
            if (most := most_per_order(instrument, code, self._freeze_quantities)) is not None
        ]
        tick = None if instrument.tick_size is None else exact(instrument.tick_size)
        return Terms(tick=tick, lot=lot or 1, freeze=min(freezes, default=None))


def _option(identity: Identity) -> Option | None:
    if identity.shape is not Shape.OPTION or identity.strike_price is None or identity.expiry_date is None:
        return None
    expires = datetime.combine(datetime.fromisoformat(identity.expiry_date).date(), EXPIRY_TIME, IST)
    return Option(strike=identity.strike_price, call=identity.option_type == "CE", expires=expires)


def _end_of(expiry_date: str | None) -> float | None:
    """Return the end of a contract's expiry day, in epoch seconds."""
    if expiry_date is None:
        return None
    return datetime.combine(date.fromisoformat(expiry_date) + timedelta(days=1), time(), IST).timestamp()


def _name(identity: Identity) -> str:
    """Return the symbol, or `NIFTY 2026-12-29 24000 CE`."""
    strike = None if identity.strike_price is None else strike_text(identity.strike_price)
    words = (identity.symbol or identity.underlying_symbol, identity.expiry_date, strike, identity.option_type)
    return " ".join(word for word in words if word)
