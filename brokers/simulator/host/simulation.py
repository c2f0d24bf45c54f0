"""The exchange with its dialects and faults, and the loop that lets the market move. The host and the in-process driver share it."""

from collections.abc import Mapping
from decimal import Decimal

import attrs
import trio

from onebroker.brokers.simulator.dialects.dialect import DialectFactory
from onebroker.brokers.simulator.exchange.call_limits import CallLimits
from onebroker.brokers.simulator.exchange.exchange import DEFAULT_HOLD_SECONDS, Exchange
from onebroker.brokers.simulator.exchange.faults import ALL_BROKERS, FaultKind, Faults
from onebroker.brokers.simulator.exchange.journal import Journal
from onebroker.brokers.simulator.exchange.seeding import HOLDINGS
from onebroker.brokers.simulator.host.gateway import Gateway
from onebroker.brokers.simulator.world.broker_traits import BROKERS, BrokerTraits
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.vocabulary import OrderType, Side

STEP_SECONDS = 0.5
DEFAULT_INSTRUMENTS = 2000
DEFAULT_SEED = 1


@attrs.frozen(kw_only=True)
class Recipe:
    """The inputs of a simulator. An existing data directory keeps its own instruments and seed."""

    dialects: Mapping[str, DialectFactory]
    """Code -> builder, for the brokers to start."""
    traits: Mapping[str, BrokerTraits] = BROKERS
    """Code -> the exchange's knowledge of a broker."""
    calendar: Calendar
    past_calendar: Calendar | None = None
    """Calendar of the days before the first one; None: `calendar`."""
    clock: Clock
    journal: Journal
    instruments: int = DEFAULT_INSTRUMENTS
    holdings: int = HOLDINGS
    """How many holdings a new account begins with, at most."""
    seed: int = DEFAULT_SEED
    day_limits: bool = False


class Simulator:
    """Build it inside `trio.run`. Nothing moves until `run_market` runs."""

    def __init__(self, recipe: Recipe) -> None:
        self.clock = recipe.clock
        self.faults = Faults(recipe.clock)
        self.exchange = Exchange(
            brokers=tuple(recipe.dialects),
            number=recipe.instruments,
            seed=recipe.seed,
            calendar=recipe.calendar,
            clock=recipe.clock,
            journal=recipe.journal,
            faults=self.faults,
            traits=recipe.traits,
            past_calendar=recipe.past_calendar,
            holdings=recipe.holdings,
        )
        limits = {
            code: CallLimits(recipe.traits[code].limits, recipe.clock, day_limits=recipe.day_limits)
            for code in recipe.dialects
        }
        self.exchange.before_order = lambda code: limits[code].count_order()
        self.gateways: dict[str, Gateway] = {}
        for code, build in recipe.dialects.items():
            dialect = build(self.exchange.account(code), self.exchange.tokens(code), recipe.clock, recipe.seed)
            self.gateways[code] = Gateway(code, dialect, self.exchange, self.faults, limits[code])

    async def run_market(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Let the market move about twice a second, and sockets beat once a second, until cancelled."""
        task_status.started()
        beats = 0
        while True:
            await trio.sleep(STEP_SECONDS)
            moved = self.exchange.step()
            beats += 1
            for gateway in self.gateways.values():
                if moved:
                    gateway.markets_moved(moved)
                if beats % round(1 / STEP_SECONDS) == 0:
                    gateway.beat()

    def set_price(self, instrument_id: str, price: Decimal, hold_seconds: float = DEFAULT_HOLD_SECONDS) -> None:
        """Move a market (see `Exchange.set_price`) and tell every open socket at once."""
        moved = self.exchange.set_price(instrument_id, price, hold_seconds)
        for gateway in self.gateways.values():
            gateway.markets_moved(moved)

    def empty_side(
        self, instrument_id: str, side: Side, seconds: float = DEFAULT_HOLD_SECONDS, *, at_circuit: bool = False
    ) -> None:
        """Empty a side of a book (see `Exchange.empty_side`), at the circuit limit if `at_circuit`, and tell every open socket at once."""
        moved = frozenset({instrument_id})
        if at_circuit:
            moved = self.exchange.circuit(instrument_id, side, seconds)
        else:
            self.exchange.empty_side(instrument_id, side, seconds)
        for gateway in self.gateways.values():
            gateway.markets_moved(moved)

    def fault(
        self, broker: str, kind: FaultKind, *, seconds: float | None = None, count: int | None = None,
        delay_seconds: float | None = None, instrument_id: str | None = None, order_type: OrderType | None = None,
    ) -> None:  # fmt: skip
        """Switch a fault on; `broker` may be `all`. Raises KeyError for a broker that was not started."""
        concerned = list(self.gateways.values()) if broker == ALL_BROKERS else [self.gateways[broker]]
        if kind is FaultKind.EXPIRE_SESSION:
            for gateway in concerned:
                gateway.expire_session()
            return
        more = {} if delay_seconds is None else {"delay_seconds": delay_seconds}
        self.faults.add(
            broker, kind, seconds=seconds, count=count, instrument_id=instrument_id, order_type=order_type, **more
        )
        if kind is FaultKind.DROP_STREAM:
            for gateway in concerned:
                gateway.drop_streams()
