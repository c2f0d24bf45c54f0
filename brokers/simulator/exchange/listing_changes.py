"""Changes of listed instruments overnight: a bonus or split of a share, and an expiry that the exchange moves. Values, and their effects on accounts.

A corporate action: from the ex-date the share's raw price, its previous close and its circuit limits are multiplied by the factor, and holdings have
that many more units at a lower average. Orders that would rest over the night end, as they do at exchanges and brokers (a broker's GTT too; no GTT is
simulated). A share with derivatives takes no action here, because strikes and lots would change with it; `world/past.py` keeps the same rule.

A moved expiry: the contract keeps its exchange number and has another expiry, so it has another identity. Files, orders, trades and positions name the
new one from that moment. Its working orders end.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal

import attrs
import msgspec

from onebroker.brokers.simulator.world.model import Contract, SimHolding
from onebroker.brokers.simulator.world.universe import Universe
from onebroker.config.clock import from_epoch

_FOUR_PLACES = Decimal("0.0001")
CORPORATE_ACTION = "corporate action"
EXPIRY_MOVED = "the contract's expiry has moved"


class CorporateAction(msgspec.Struct, frozen=True, kw_only=True):
    """A bonus or split. `had` units become `has` units."""

    instrument_id: str
    ex_at: float
    """07:00 IST of the ex-date, epoch seconds."""
    had: int
    has: int

    @property
    def ex_date(self) -> date:
        return from_epoch(self.ex_at).date()

    @property
    def factor(self) -> float:
        """The factor of prices."""
        return self.had / self.has


class MovedExpiry(msgspec.Struct, frozen=True, kw_only=True):
    """The contracts of an underlying with one expiry get another."""

    exchange: str
    underlying: str
    old: str
    """YYYY-MM-DD."""
    new: str

    def moves(self, contract: Contract) -> bool:
        identity = contract.identity
        return (identity.exchange, identity.underlying_symbol, identity.expiry_date) == (
            self.exchange, self.underlying, self.old,
        )  # fmt: skip


def with_moved_expiries(universe: Universe, moved: Iterable[MovedExpiry]) -> Universe:
    """Return the universe after the moves."""
    for move in moved:
        names = moved_ids(universe, move)
        if names:
            universe = Universe(
                contracts=tuple(_moved(contract, move) for contract in universe.contracts),
                walks=universe.walks,
                walk_of={names.get(key, key): walk for key, walk in universe.walk_of.items()},
            )
    return universe


def moved_ids(universe: Universe, move: MovedExpiry) -> Mapping[str, str]:
    """Return old id -> new id of the contracts that a move concerns."""
    return {
        contract.instrument_id: _moved(contract, move).instrument_id
        for contract in universe.contracts
        if move.moves(contract)
    }


def refuse_move(universe: Universe, move: MovedExpiry) -> None:
    """Raise ValueError for a move of contracts that are not listed, or to an expiry that the underlying has already."""
    names = moved_ids(universe, move)
    date.fromisoformat(move.new)
    if not names:
        raise ValueError(f"{move.underlying} has no contract that expires on {move.old}")
    if any(new in universe.by_id for new in names.values()):
        raise ValueError(f"{move.underlying} has contracts that expire on {move.new} already")


def scaled_holding(holding: SimHolding, action: CorporateAction) -> SimHolding:
    """Return a holding after a corporate action. Fractions of a unit are lost, as brokers pay them out."""
    return attrs.evolve(
        holding,
        settled_quantity=holding.settled_quantity * action.has // action.had,
        t1_quantity=holding.t1_quantity * action.has // action.had,
        collateral_quantity=holding.collateral_quantity * action.has // action.had,
        average_price=(holding.average_price * action.had / action.has).quantize(_FOUR_PLACES),
    )


def _moved(contract: Contract, move: MovedExpiry) -> Contract:
    if not move.moves(contract):
        return contract
    identity = attrs.evolve(contract.identity, expiry_date=move.new)
    name = contract.name.replace(move.old, move.new)
    return attrs.evolve(contract, identity=identity, instrument_id=identity.instrument_id, name=name)
