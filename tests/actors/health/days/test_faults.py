"""Each fault of the simulated brokers: the problem that it causes comes soon after it shows at the broker, and goes soon after the heal."""

from decimal import Decimal

import attrs
import pytest
import trio

from onebroker.actors.engine.context.messages import Place
from onebroker.actors.store.durable import Halt, HaltMode
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import ProblemBegan, ProblemOver

CODES = ("zerodha", "upstox")
GONE_SECONDS = 10.0


@attrs.frozen
class Fault:
    kind: FaultKind
    problem: str | None
    """Kind of the problem; None: the fault causes none."""
    seconds: float = 5.0
    """Within so many seconds the problem is there."""
    delay_seconds: float | None = None
    broker: str = "zerodha"
    gone_seconds: float = GONE_SECONDS
    status: int = 200
    """Status of an order that is placed while a fault is on that causes no problem."""
    lingers_seconds: float = 0.0
    """Calls that are under way at the heal still fail for so long."""


FAULTS = (
    Fault(FaultKind.HTTP_500, "data"),
    Fault(FaultKind.GARBAGE_BODY, "data"),
    Fault(FaultKind.REFUSAL_IN_200, "data"),
    Fault(FaultKind.REFUSE_CONNECTIONS, "data"),
    # A read fails after its ten seconds, twice. Holdings are read once a minute.
    Fault(FaultKind.LATENCY, "data", seconds=26.0, delay_seconds=30.0, lingers_seconds=25.0, gone_seconds=62.0),
    Fault(FaultKind.EXPIRE_SESSION, "login"),
    Fault(FaultKind.DROP_STREAM, "feed"),
    Fault(FaultKind.CORRUPT_FRAME, "feed"),
    # An open connection that says nothing is suspected by the ticks of the other feed: half a minute of them.
    Fault(FaultKind.STALL_STREAM, "feed", seconds=40.0),
    Fault(FaultKind.WRONG_DATE, "clock", delay_seconds=60.0),
    Fault(FaultKind.LATENCY, None, delay_seconds=0.5),
    Fault(FaultKind.LATE_BOOK, None, delay_seconds=2.0),
    Fault(FaultKind.DUPLICATE_FILL_EVENTS, None),
    Fault(FaultKind.REJECT_ORDERS, None, status=422),
    Fault(FaultKind.REJECT_CANCELS, None),
    Fault(FaultKind.DROP_AFTER_ACCEPT, None, status=504),
    Fault(FaultKind.ANOTHER_ORDER, None),
    # Nothing is held here: what concerns the rows of a position is in tests/actors/engine/days/positions.
    Fault(FaultKind.LATE_POSITIONS, None, delay_seconds=3.0),
    Fault(FaultKind.PARTIAL_POSITIONS, None),
    Fault(FaultKind.PARTIAL_HOLDINGS, None),
    Fault(FaultKind.PARTIAL_ORDERS, None),
    Fault(FaultKind.PARTIAL_TRADES, None),
    Fault(FaultKind.SECOND_SALE_MARGIN, None),
    Fault(FaultKind.NO_AVERAGE, None),
    Fault(FaultKind.ODD_QUANTITY, None),
    Fault(FaultKind.ODD_VALUE, None),
    Fault(FaultKind.ODD_FUNDS, None),
    Fault(FaultKind.ODD_VOLUME, None),
    Fault(FaultKind.STALLED_QUOTES, None),
    Fault(FaultKind.UNLISTED, None),
)
QUIET_SECONDS = 8.0
"""Time in which a fault without a problem would have caused one."""


def test_each_kind_of_fault_is_in_the_table():
    assert {fault.kind for fault in FAULTS} == set(FaultKind)


async def _moving(day, tree):
    """Follow shares of both brokers, and trade them twice a second."""
    shares = [contract for contract in day.exchange.contracts() if contract.bare == "equities"][:4]
    follower = tree.quotes.follow([share.instrument_id for share in shares])
    prices = [day.exchange.market(share.instrument_id).last_price for share in shares]
    step = 1
    try:
        while True:
            for share, price in zip(shares, prices, strict=True):
                day.simulator.set_price(share.instrument_id, price + step * share.tick_size)
            step = -step
            await trio.sleep(0.5)
    finally:
        follower.close()


async def _place(here, intent: str, broker: str = "zerodha"):
    """Place a buy that rests, and return the answer."""
    day = here.day
    contract = next(
        one for one in day.exchange.contracts() if one.bare == "equities" and one.identity.exchange == "nse"
    )
    last = day.exchange.market(contract.instrument_id).last_price
    price = (last * Decimal("0.97") / contract.tick_size).quantize(Decimal(1)) * contract.tick_size
    instrument = here.tree.catalogue.value.latest.instrument(contract.instrument_id)
    order, now = day.body(instrument, price=price, broker=broker), day.clock.monotonic()
    return await here.tree.engine.ask(
        lambda reply: Place(intent_id=intent, order=order, dry_run=False, routed=now, deadline=now + 5, reply=reply), 6
    )


async def test_a_fault_is_a_problem_soon_and_no_longer_than_it_lasts(day, watch, autojump_clock):
    day.__init__(brokers=CODES, number=60)
    async with day.market(), watch() as here, trio.open_nursery() as nursery:
        assert {("login", code) for code in CODES} <= here.kinds()
        for code in CODES:
            await here.log_in(code)
        await day.until(lambda: not here.kinds(), 10)
        nursery.start_soon(_moving, day, here.tree)
        await trio.sleep(10)
        for fault in FAULTS:
            await _play(here, fault)
        nursery.cancel_scope.cancel()
    assert here.tree.crashes.records() == ()


async def _play(here, fault: Fault) -> None:
    day, heard = here.day, len(here.day.heard)
    more = {} if fault.delay_seconds is None else {"delay_seconds": fault.delay_seconds}
    assert here.kinds() == set(), f"before {fault.kind}"
    began = day.clock.epoch()
    day.simulator.fault(fault.broker, fault.kind, **more)
    if fault.problem is None:
        answer = await _place(here, fault.kind)
        assert answer.status == fault.status, (fault.kind, answer)
        await trio.sleep(QUIET_SECONDS)
        assert here.kinds() == set(), fault.kind
    else:
        wanted = (fault.problem, None if fault.problem == "clock" else fault.broker)
        try:
            await day.until(lambda: wanted in here.kinds(), fault.seconds)
        except trio.TooSlowError:
            pytest.fail(f"{fault.kind}: {here.problems()}")
        shown = next(one for one in here.problems().values() if (one.problem.kind, one.problem.broker) == wanted)
        assert began - 1 <= shown.since <= day.clock.epoch()
        await trio.sleep(3)  # longer than a problem must stand to be told
    day.simulator.faults.heal()
    if fault.kind is FaultKind.EXPIRE_SESSION:
        await here.log_in(fault.broker)
    await trio.sleep(fault.lingers_seconds)
    try:
        await day.until(lambda: not here.kinds(), fault.gone_seconds)
    except trio.TooSlowError:
        pytest.fail(f"{fault.kind} is healed: {here.problems()}")
    await trio.sleep(3)
    told = [event for event in day.heard[heard:] if isinstance(event, ProblemBegan | ProblemOver)]
    begun = [event.kind for event in told if isinstance(event, ProblemBegan)]
    assert sorted(begun) == sorted(event.kind for event in told if isinstance(event, ProblemOver)), fault.kind
    assert (fault.problem in begun) == (fault.problem is not None), fault.kind


async def test_the_other_problems_of_a_day_come_and_go(day, watch, autojump_clock):
    """An order whose outcome stays unknown, a halt, a store that is away, feeds that are all silent."""
    day.__init__(brokers=CODES, number=60)
    async with day.market(), watch() as here, trio.open_nursery() as nursery:
        for code in CODES:
            await here.log_in(code)
        await day.until(lambda: not here.kinds(), 10)
        nursery.start_soon(_moving, day, here.tree)
        await trio.sleep(10)

        day.simulator.fault("zerodha", FaultKind.HTTP_500)
        placed = day.clock.epoch()
        assert (await _place(here, "unknown")).status == 504
        await day.until(lambda: ("order_unknown", "zerodha") in here.kinds(), 63)
        unknown = next(one for (kind, _, _), one in here.problems().items() if kind == "order_unknown")
        assert day.clock.epoch() - 62 < unknown.since <= placed + 1
        day.simulator.faults.heal()
        await day.until(lambda: ("data", "zerodha") not in here.kinds(), GONE_SECONDS)
        settle_seconds = (
            day.settings().engine.unknown_settle_seconds
        )  # until then the order may still appear in the book
        await day.until(lambda: not here.kinds(), GONE_SECONDS + settle_seconds)

        gate = here.tree.halt
        gate.set(Halt(mode=HaltMode.REDUCE_ONLY, reason="lunch", since=day.clock.now().isoformat()))
        assert here.kinds() == {("halt", None)}
        assert here.problems()["halt", None, ""].problem.do == "onebroker resume"
        gate.set(None)
        assert here.kinds() == set()

        day.store.fail_with(StoreError("away"))
        await day.until(lambda: ("store", None) in here.kinds(), 5)
        day.store.come_back()
        await day.until(lambda: not here.kinds(), GONE_SECONDS)

        day.simulator.fault("all", FaultKind.STALL_STREAM)
        await day.until(lambda: ("feed", None, "nse equity") in here.problems(), 15)
        day.simulator.faults.heal()
        await day.until(lambda: not here.kinds(), GONE_SECONDS)
        nursery.cancel_scope.cancel()
