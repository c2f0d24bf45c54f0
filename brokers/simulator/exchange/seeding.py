"""An account's first day: holdings, carried derivatives, one position of today (intraday if the broker's API takes intraday orders), and one crore
rupees free.

Seeded, so the same seed makes the same ten accounts. Three holdings are the same shares at every broker.
"""

import random
from collections.abc import Sequence
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.exchange.accounts import Account, AccountState
from onebroker.brokers.simulator.exchange.risk import COLLATERAL_AFTER_HAIRCUT, position_blocks
from onebroker.brokers.simulator.world.model import Contract, SimHolding, SimPosition
from onebroker.config.instruments import Shape
from onebroker.config.money import snap
from onebroker.config.vocabulary import Product, Side

FREE_RUPEES = Decimal(10_000_000)
HOLDINGS, SHARED_HOLDINGS = 8, 3
_ZERO = Decimal(0)


@attrs.frozen
class Seeded:
    """A first day: the account's state, and the day's trade, which must be entered through the exchange."""

    state: AccountState
    traded: Contract
    product: Product
    side: Side
    quantity: int


def seed_account(account: Account, state: AccountState, seed: int, holdings: int = HOLDINGS) -> Seeded:
    """Fill `state` with the account's first day, with only the first `holdings`; its own day is kept. Return it with the day's trade."""
    dice = random.Random(f"account|{seed}|{account.code}")
    shares = [share for share in account.contracts() if share.bare == "equities" and share.identity.exchange == "nse"]
    shared = shares[:SHARED_HOLDINGS]
    own = dice.sample(shares[SHARED_HOLDINGS:], HOLDINGS - SHARED_HOLDINGS)
    state.holdings = [_holding(n, share, dice) for n, share in enumerate((*shared, *own))][:holdings]
    state.positions = _carried(account.contracts(), dice)
    traded = dice.choice([share for share in shares if share not in own and share not in shared])
    quantity = max(1, int(Decimal(40_000) / traded.base_price))
    blocked, gained = position_blocks(state.positions, account.contract)
    collateral = sum((_pledge_value(account, holding) for holding in state.holdings), _ZERO)
    state.cash = FREE_RUPEES + blocked.total - gained - collateral
    side = dice.choice(list(Side))
    if account.traits.intraday:
        return Seeded(state, traded, Product.MIS, side, quantity)
    return Seeded(state, traded, Product.CNC, Side.BUY, quantity)


def _holding(n: int, contract: Contract, dice: random.Random) -> SimHolding:
    """The fourth holding has units bought yesterday; the fifth has pledged units."""
    units = dice.randint(2, 12) * 10
    paid = contract.base_price * Decimal(dice.randint(70, 115)) / 100
    return SimHolding(
        instrument_id=contract.instrument_id,
        settled_quantity=units,
        t1_quantity=units // 2 if n == SHARED_HOLDINGS else 0,
        collateral_quantity=units if n == SHARED_HOLDINGS + 1 else 0,
        average_price=snap(paid, contract.tick_size, "nearest"),
    )


def _carried(contracts: Sequence[Contract], dice: random.Random) -> list[SimPosition]:
    """A bought stock future and a written index option, both with an expiry after the nearest one."""
    futures = [contract for contract in contracts if contract.bare == "equity_futures"]
    options = [contract for contract in contracts if contract.bare == "equity_index_options"]
    return [
        _position(dice.choice(_later(futures)), 1),
        _position(dice.choice(_later(options)), -1),
    ]


def _later(contracts: list[Contract]) -> list[Contract]:
    nearest = min(str(contract.identity.expiry_date) for contract in contracts)
    return [contract for contract in contracts if str(contract.identity.expiry_date) > nearest] or contracts


def _position(contract: Contract, sign: int) -> SimPosition:
    price = contract.base_price
    if contract.identity.shape is Shape.OPTION:
        price = snap(price / 100, contract.tick_size, "nearest")
    return SimPosition(
        instrument_id=contract.instrument_id, product=Product.NRML, overnight_quantity=sign * contract.lot_size,
        overnight_price=price, day_buy_quantity=0, day_buy_value=_ZERO, day_sell_quantity=0, day_sell_value=_ZERO,
    )  # fmt: skip


def _pledge_value(account: Account, held: SimHolding) -> Decimal:
    if not held.collateral_quantity:
        return _ZERO
    price = account.market(held.instrument_id).last_price
    return price * held.collateral_quantity * COLLATERAL_AFTER_HAIRCUT
