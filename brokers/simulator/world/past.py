"""What came before a simulator's first day: which days traded, past prices, corporate actions, and instruments that are no longer listed.

The past ends on the day when the simulator's data directory was made (`first_day`). It depends only on that day, the seed and the number of
instruments. Prices of past days follow the same walk as later days, with two additions. Slow layers, which are zero at the end of the past, make two
years of a share look like two years. Corporate actions add jumps: these are raw prices, as an exchange publishes them.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.world.conventions import INDEX_UNDERLYINGS, TUESDAY, monthly
from onebroker.brokers.simulator.world.model import Contract
from onebroker.brokers.simulator.world.universe import Universe, Walk
from onebroker.config.clock import IST
from onebroker.config.instruments import Shape, future, security

LISTED_DAYS: Mapping[Shape, int] = {Shape.FUTURE: 91, Shape.OPTION: 49}
"""How many days a contract trades before it expires."""
DELISTED_SYMBOL = "PURANAMIL"
"""Made of no syllable of the universe, so that no listed share can have this symbol."""
DELISTED_DAYS = 210
"""The delisted share's last day is this many days before the first day."""

_LONGEST_BREAK_DAYS = 12
_EVENTS: tuple[tuple[int, int, str, str, str], ...] = (
    (0, 520, "split", "0.2", "5"),
    (0, 131, "dividend", "0.982", "1"),
    (1, 333, "bonus", "0.5", "2"),
    (2, 241, "split", "0.1", "10"),
    (3, 402, "dividend", "0.97", "1"),
    (3, 164, "bonus", "0.8", "1.25"),
    (4, 380, "dividend", "0.975", "1"),
    (4, 14, "dividend", "0.965", "1"),
)
"""Share (of five), days before the first day, kind, price factor, volume factor (architecture 11)."""

IsSession = Callable[[str, str, date], bool]
"""(exchange, calendar, day) -> whether anything traded."""


@attrs.frozen(kw_only=True)
class Action:
    """A corporate action, with the factors by which raw prices and volumes before its ex-date are multiplied."""

    ex_date: date
    kind: str
    price_factor: Decimal
    volume_factor: Decimal


@attrs.frozen(kw_only=True)
class Past:
    first_day: date
    """The first day that is not part of the past."""
    actions: Mapping[str, tuple[Action, ...]]
    """Walk key -> its actions, all on past days."""

    @property
    def ends(self) -> float:
        """Midnight in India at the start of the first day, epoch seconds."""
        return midnight(self.first_day)

    def first_trading_day(self, contract: Contract) -> date | None:
        """Return the day from which a derivative trades; None for a security, which has always traded."""
        identity = contract.identity
        if identity.expiry_date is None:
            return None
        return date.fromisoformat(str(identity.expiry_date)) - timedelta(days=LISTED_DAYS[identity.shape])


def midnight(day: date) -> float:
    """Return the start of an India day in epoch seconds."""
    return datetime.combine(day, time(), IST).timestamp()


def past_of(universe: Universe, first_day: date, is_session: IsSession) -> Past:
    """Return the past of a universe. `is_session` knows the past's days. The result is the same on every later day of the universe."""
    keys = _acting(universe)
    actions: dict[str, list[Action]] = {}
    for share, days_ago, kind, price_factor, volume_factor in _EVENTS:
        action = Action(
            ex_date=trading_day_before(first_day - timedelta(days=days_ago), "nse", "equity", is_session),
            kind=kind,
            price_factor=Decimal(price_factor),
            volume_factor=Decimal(volume_factor),
        )
        actions.setdefault(keys[share], []).append(action)
    return Past(first_day=first_day, actions={key: tuple(rows) for key, rows in actions.items()})


def trading_day_before(day: date, exchange: str, calendar: str, is_session: IsSession) -> date:
    """Return the last trading day at or before a day."""
    days = (day - timedelta(days=back) for back in range(_LONGEST_BREAK_DAYS))
    return next((trading_day for trading_day in days if is_session(exchange, calendar, trading_day)), day)


def _acting(universe: Universe) -> list[str]:
    """The walks of five shares without derivatives (an action would change their contracts). Shares listed once come before shares listed twice."""
    followers: dict[str, list[Contract]] = {}
    for contract in universe.contracts:
        followers.setdefault(universe.walk_of[contract.instrument_id], []).append(contract)
    found = [
        (len(contracts), key)
        for key, contracts in followers.items()
        if all(contract.bare == "equities" for contract in contracts)
    ]
    return [key for _, key in sorted(found, key=lambda counted: counted[0])][: 1 + max(share for share, *_ in _EVENTS)]


@attrs.frozen(kw_only=True)
class Gone:
    """Instruments that once traded and are not listed any more: the contracts, the last day of each, and the universe that includes them."""

    universe: Universe
    last_days: Mapping[str, date]
    """instrument_id -> the last day it traded."""

    @property
    def contracts(self) -> tuple[Contract, ...]:
        return tuple(self.universe.by_id[instrument_id] for instrument_id in self.last_days)


def with_gone(universe: Universe, first_day: date, is_session: IsSession) -> Gone:
    """Return the universe with a future that has expired and a share that was delisted."""
    expired = _expired_future(universe, first_day, is_session)
    share, walk = _delisted_share()
    last = trading_day_before(first_day - timedelta(days=DELISTED_DAYS), "nse", "equity", is_session)
    index = next(index for index in INDEX_UNDERLYINGS if index.symbol == expired.identity.underlying_symbol)
    return Gone(
        universe=Universe(
            contracts=(*universe.contracts, expired, share),
            walks={**universe.walks, walk.key: walk},
            walk_of={
                **universe.walk_of,
                expired.instrument_id: f"{index.exchange}|{index.symbol}",
                share.instrument_id: walk.key,
            },
        ),
        last_days={
            expired.instrument_id: date.fromisoformat(str(expired.identity.expiry_date)),
            share.instrument_id: last,
        },
    )


def _expired_future(universe: Universe, first_day: date, is_session: IsSession) -> Contract:
    """The index future that expired last, modelled on a listed one."""
    index = INDEX_UNDERLYINGS[0]
    segment = f"{index.kind}_futures"
    model = next(
        contract
        for contract in universe.contracts
        if contract.bare == segment and contract.identity.underlying_symbol == index.symbol
    )
    month_before = first_day.replace(day=1) - timedelta(days=1)
    expiries = [*monthly(TUESDAY)(month_before.replace(day=1)), *monthly(TUESDAY)(first_day.replace(day=1))]
    moved = (trading_day_before(day, index.exchange, "equity", is_session) for day in expiries)
    expiry = max(day for day in moved if day < first_day)
    identity = future(index.exchange, segment, index.symbol, expiry)
    return attrs.evolve(
        model, identity=identity, instrument_id=identity.instrument_id, name=f"{index.symbol} {expiry} FUT",
        exchange_token=299_999,
    )  # fmt: skip


def _delisted_share() -> tuple[Contract, Walk]:
    identity = security("nse", "equities", DELISTED_SYMBOL)
    tick, price = Decimal("0.05"), Decimal("63.40")
    walk = Walk(key=f"nse|{DELISTED_SYMBOL}", base_price=price, tick_size=tick, volatility=0.38)
    share = Contract(
        identity=identity, instrument_id=identity.instrument_id, name="Puranamil Textiles Limited", isin=None,
        exchange_token=999, lot_size=1, tick_size=tick, freeze_quantity=500_000, series="BE", base_price=price,
        band_percent=Decimal(5),
    )  # fmt: skip
    return share, walk
