"""An assembler that has been through any sequence of changes shows what a fresh assembler shows. And how a build shares the loop
(architecture 12, Rebuild): short slices while it is quiet, longer slices when others take their time."""

from types import SimpleNamespace

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.portfolio.assembler import MOST_SLICE_SECONDS, SLICE_SECONDS, run_steps
from onebroker.actors.portfolio.funds import FundsAssembler
from onebroker.actors.portfolio.holdings import HoldingsAssembler
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.portfolio.positions import PositionsAssembler
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.brokers.records import FundsRow
from onebroker.config.instruments import security
from tests.support.further import searched

BROKERS = ("a", "b", "c")
TOKENS = ("T1", "T2", "T3")
NAMES = {"T1": "ONE", "T2": "TWO"}

numbers = st.integers(0, 3)
steps = st.one_of(
    st.tuples(st.just("read"), st.sampled_from(BROKERS), st.lists(st.tuples(numbers, numbers, numbers), max_size=4)),
    st.tuples(st.just("edit"), st.sampled_from(BROKERS), st.tuples(numbers, numbers, numbers, numbers)),
    st.tuples(st.just("turn"), st.sampled_from(BROKERS), numbers),
    st.tuples(st.just("drop"), st.sampled_from(BROKERS), numbers),
    st.tuples(st.just("seen"), st.sampled_from(BROKERS), numbers),
    st.tuples(st.just("refused"), st.sampled_from(BROKERS), st.none()),
    st.tuples(st.just("catalogue"), st.sampled_from(BROKERS), st.sets(st.sampled_from(["T1", "T2"]))),
    st.tuples(st.just("leg"), st.sampled_from(BROKERS), numbers),
    st.tuples(st.just("quote"), st.sampled_from(["T1", "T2"]), st.one_of(st.none(), numbers)),
    st.tuples(st.just("close"), st.sampled_from(["T1", "T2"]), numbers),
)


class Scene:
    """Everything a document is made from, changed step by step."""

    def __init__(self, world: SimpleNamespace, resource: str) -> None:
        self.world, self.resource = world, resource
        self.catalogue = SimpleNamespace(value=CatalogueState(latest=None, published_today=False, reason=""))
        self.legs, self.quotes = world.Legs(), world.Quotes()
        self.slices: dict[str, object] = {}
        self.closes: dict[str, float] = {}
        self.tick = 0.0

    def close(self, instrument_id: str) -> float | None:
        return self.closes.get(instrument_id)

    def fresh(self) -> object:
        return {
            "funds": FundsAssembler,
            "holdings": lambda: HoldingsAssembler(self.catalogue, self.quotes, self),
            "positions": lambda: PositionsAssembler(self.catalogue, self.quotes),
            "orders": lambda: OrderBookAssembler(self.catalogue, self.legs),
            "trades": lambda: TradeBookAssembler(self.catalogue, self.legs),
        }[self.resource]()

    def row(self, number: int, token: int, figure: int) -> object:
        name, price = TOKENS[token % 3], 100.0 + figure
        match self.resource:
            case "funds":
                return FundsRow(available_balance=price)
            case "holdings":
                isin = f"I{number}" if number % 2 else None
                return self.world.holding(
                    isin, instrument_token=name, last_price=price if figure else None, average_price=price,
                    close_price=price - 1 if figure > 1 else None, settled_quantity=figure,
                    tradingsymbol=f"S{figure}" if number else "INFY",
                )  # fmt: skip
            case "positions":
                return self.world.position(
                    str(number), instrument_token=name, last_price=price if figure % 2 else None, quantity=figure,
                    average_price=price, view="day" if number == 3 else "net", buy_quantity=number or None,
                    product="MIS" if token else "CNC", tradingsymbol=f"S{figure}",
                )  # fmt: skip
            case "orders":
                return self.world.order(str(number), instrument_token=name, price=price)
            case _:
                return self.world.trade(str(number), order_id=str(figure), instrument_token=name, price=price)

    def change(self, kind: str, name: str, value: object) -> None:
        self.tick += 1
        match kind:
            case "read":
                rows = {number: self.row(number, token, figure) for number, token, figure in value}
                shown = list(rows.values()) or ([self.row(0, 0, 0)] if self.resource == "funds" else [])
                self.slices[name] = self.world.slice_of(name, self.resource, *shown, age=-self.tick)
            case "edit" | "turn" | "drop" if name in self.slices and self.resource != "funds":
                self.slices[name] = self.world.slice_of(
                    name, self.resource, *self.edited(kind, list(self.slices[name].rows), value), age=-self.tick
                )
            case "seen" if name in self.slices:
                held = self.slices[name]
                rows = held.rows if isinstance(held.rows, tuple) else (held.rows,)
                self.slices[name] = self.world.slice_of(name, self.resource, *rows, age=-self.tick)
                if value % 2 and self.resource != "funds":  # the very object again
                    self.slices[name] = type(held)(
                        broker=name, resource=self.resource, rows=held.rows, received_at=self.world.NOW + self.tick
                    )
            case "refused":
                self.slices.pop(name, None)
            case "catalogue":
                snapshot = self.world.Snapshot()
                for token in value:
                    snapshot.add(
                        security("nse", "equities", NAMES[token]),
                        isin=f"I{token[1]}",
                        tokens=dict.fromkeys(BROKERS, token),
                    )
                self.catalogue.value = CatalogueState(latest=snapshot, published_today=True, reason="")
            case "leg":
                owner = LegOwner(
                    parent_id=f"p{self.tick}",
                    leg_id="l",
                    synthetic_type="plan",
                    intent_id="i",
                    leg_role="root",
                    tag="t",
                )
                self.legs.own(name, str(value), owner)
            case "close":
                self.closes[security("nse", "equities", NAMES[name]).instrument_id] = 300.0 + value
            case "quote":
                self.quotes.prices.pop(security("nse", "equities", NAMES[name]).instrument_id, None)
                if value:
                    self.quotes.prices[security("nse", "equities", NAMES[name]).instrument_id] = 200.0 + value
            case _:
                pass

    def edited(self, kind: str, rows: list[object], value: object) -> list[object]:
        """Change one row, begin the list with another row, or leave one row out. All other rows are the very objects."""
        if not rows:
            return rows
        if kind == "edit":
            index, *figures = value
            rows[index % len(rows)] = self.row(*figures)
        elif kind == "turn":
            rows = rows[value % len(rows) :] + rows[: value % len(rows)]
        else:
            del rows[value % len(rows)]
        return rows

    def content(self, assembler: object) -> tuple[bytes, object, bytes]:
        content = self.world.finish(assembler.assemble(dict(self.slices)))
        return content.fields, content.rows, content.summary


few_rows = st.lists(st.tuples(numbers, numbers, numbers), max_size=4)
begun = st.one_of(
    st.just([]),
    st.tuples(few_rows, few_rows, few_rows).map(
        lambda rows: [
            ("catalogue", "a", {"T1", "T2"}),
            *(("read", broker, some) for broker, some in zip(BROKERS, rows, strict=True)),
        ]
    ),
)
"""Nothing at all, or a mapped catalogue and a first read of every broker."""


@pytest.mark.parametrize("resource", ["funds", "holdings", "positions", "orders", "trades"])
@searched(150, 1500)
@given(beginning=begun, sequence=st.lists(steps, min_size=5, max_size=25))
def test_the_incremental_document_equals_the_one_built_from_nothing(
    world: SimpleNamespace, resource: str, beginning: list[tuple], sequence: list[tuple]
) -> None:
    scene = Scene(world, resource)
    kept = scene.fresh()
    for step in beginning + sequence:
        scene.change(*step)
        assert scene.content(kept) == scene.content(scene.fresh())


@pytest.mark.parametrize("resource", ["positions", "orders"])
@given(rows=st.lists(st.tuples(numbers, numbers, numbers), min_size=2, max_size=4, unique_by=lambda row: row[0]))
def test_the_order_in_which_a_broker_lists_its_rows_does_not_show(
    world: SimpleNamespace, resource: str, rows: list[tuple]
) -> None:
    scene, turned = Scene(world, resource), Scene(world, resource)
    scene.change("read", "a", rows)
    turned.change("read", "a", rows[::-1])
    assert scene.content(scene.fresh()) == turned.content(turned.fresh())


@pytest.mark.parametrize("resource", ["funds", "holdings", "positions", "orders", "trades"])
def test_building_twice_changes_nothing(world: SimpleNamespace, resource: str) -> None:
    scene = Scene(world, resource)
    scene.change("read", "a", [(0, 0, 1), (1, 1, 2)])
    scene.change("read", "b", [(0, 0, 1)])
    kept = scene.fresh()
    assert scene.content(kept) == scene.content(kept)


@pytest.mark.parametrize("resource", ["holdings", "positions", "orders", "trades"])
def test_a_big_book_is_built_in_many_small_steps(world: SimpleNamespace, resource: str) -> None:
    scene = Scene(world, resource)
    for broker in BROKERS:
        row = {"orders": world.order, "trades": world.trade, "positions": world.position}.get(resource)
        rows = [
            world.holding(f"I{number}", instrument_token=str(number))
            if row is None
            else row(str(number), instrument_token=str(number))
            for number in range(500)
        ]
        scene.slices[broker] = world.slice_of(broker, resource, *rows)
    assert sum(1 for _ in scene.fresh().assemble(scene.slices)) > 10


# --- slices -----------------------------------------------------------------------------------------------------------


STEPS, STEP_SECONDS = 60, 0.001
TWICE = 2
"""trio runs what is ready in any order, so that two slices may follow each other."""


class Loop:
    """A processor clock that moves with the work done: a step of the build, and each turn of somebody else."""

    def __init__(self, others_seconds):
        self.seconds, self.others_seconds = 0.0, others_seconds
        self.slices = [0.0]

    def steps(self):
        for _ in range(STEPS):
            self.seconds += STEP_SECONDS
            self.slices[-1] += STEP_SECONDS
            yield
        return "built"

    async def others(self):
        while True:
            self.seconds += self.others_seconds
            self.slices.append(0.0)
            await trio.lowlevel.checkpoint()

    async def build(self):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.others)
            await trio.lowlevel.checkpoint()
            began = self.seconds
            assert await run_steps(self.steps(), SimpleNamespace(thread_seconds=lambda: self.seconds)) == "built"
            nursery.cancel_scope.cancel()
        return self.seconds - began


async def test_on_a_quiet_loop_nobody_waits_longer_than_a_slice():
    loop = Loop(others_seconds=0.0)
    await loop.build()
    assert max(loop.slices) <= TWICE * (SLICE_SECONDS + STEP_SECONDS)


async def test_on_a_loaded_loop_the_build_is_not_crowded_out_and_still_lets_others_in():
    loop = Loop(others_seconds=0.03)
    took = await loop.build()
    assert took < 10 * STEPS * STEP_SECONDS
    assert max(loop.slices) <= TWICE * (MOST_SLICE_SECONDS + STEP_SECONDS)
    assert len([one for one in loop.slices if one]) > 2
