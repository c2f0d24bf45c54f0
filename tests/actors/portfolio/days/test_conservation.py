"""Nothing is lost or made between ten brokers' own row formats and the documents, whatever was traded.

Each example trades at random on ten accounts of a simulated exchange; then the dialects render every account in the brokers' own
words, the codecs read them, the assemblers add them up, and the exchange's ledger judges. No sockets, no sessions, no time passes
but trio's.
"""

import json
from collections import Counter
from types import SimpleNamespace

import trio
import trio.testing
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from onebroker.actors.portfolio.assembler import document_body
from onebroker.actors.portfolio.funds import FundsAssembler
from onebroker.actors.portfolio.holdings import HoldingsAssembler
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.positions import PositionsAssembler
from onebroker.actors.portfolio.read_status import read_brokers
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.brokers.simulator.world.model import SimRefusal
from onebroker.config.money import paise
from onebroker.config.vocabulary import Side
from tests.support.further import searched
from tests.support.ledger_judge import TEN, judge_funds, judge_holdings, judge_orders, judge_positions, judge_trades
from tests.support.ten_accounts import Ten, Trading, markets, snapshot

RESOURCES = ("orders", "trades", "positions", "holdings", "funds")
BETWEEN_SECONDS = 0.25
EXAMPLES = searched(
    10, 30, phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip

numbers = st.integers(0, 999)
actions = st.one_of(
    st.tuples(
        st.just("place"), st.sampled_from(TEN), numbers, st.sampled_from(Side), st.integers(-60, 60), st.integers(1, 4)
    ),
    st.tuples(st.just("take"), st.sampled_from(TEN), numbers, st.sampled_from(Side), st.booleans(), st.integers(1, 4)),
    st.tuples(st.just("sell"), st.sampled_from(TEN), numbers),
    st.tuples(st.just("cancel"), st.sampled_from(TEN), numbers),
    st.tuples(st.just("move"), numbers, st.integers(-40, 40)),
)
"""Limit and market orders, sales of what is held, cancels, and moves of the market by ticks."""


class NobodysLegs:
    def version_of(self, broker):
        return 0

    def owner(self, broker, order_id, tag):
        return None

    def knows(self, row, broker):
        return True


class NoQuotes:
    def usable_price(self, instrument_id):
        return None

    def usable_tick(self, instrument_id):
        return None


def document(world, resource, rows):
    """Return the document of these slices, as a client reads it."""
    catalogue = world.catalogue(snapshot())
    assembler = {
        "funds": FundsAssembler,
        "holdings": lambda: HoldingsAssembler(catalogue, NoQuotes()),
        "positions": lambda: PositionsAssembler(catalogue),
        "orders": lambda: OrderBookAssembler(catalogue, NobodysLegs()),
        "trades": lambda: TradeBookAssembler(catalogue, NobodysLegs()),
    }[resource]()
    slices = world.by_broker(
        *[world.slice_of(code, resource, *([held] if resource == "funds" else held)) for code, held in rows.items()]
    )
    content = world.finish(assembler.assemble(slices))
    reads = read_brokers(resource, tuple(rows), slices, world.NOW)
    brokers = json.dumps([assembler.broker_entry(read) for read in reads]).encode()
    return json.loads(document_body(content, brokers, "2026-11-18T16:36:40"))


def hold_prices(ten):
    """Let the price of what was traded or is held stand still, so that all reads and the ledger are of one moment."""
    accounts = [ten.exchange.account(code) for code in TEN]
    concerned = {one.instrument_id for one in markets()}
    concerned |= {one.instrument_id for account in accounts for one in (*account.positions(), *account.holdings())}
    for instrument_id in sorted(concerned):
        last = ten.exchange.last_price(ten.exchange.contract(instrument_id))
        ten.simulator.set_price(instrument_id, last, hold_seconds=3600)


def traded(done, look):
    """Trade on ten fresh accounts, then `look` at the exchange and at the rows of every resource by broker."""
    markets()  # read from the brokers' files once, in a run of its own

    async def run():
        ten = Ten()
        await ten.log_in()
        trading = Trading(ten)
        for action in done:
            try:
                trading.act(*action)
            except SimRefusal:
                continue
            await trio.sleep(BETWEEN_SECONDS)
        hold_prices(ten)
        await trio.sleep(60)  # every broker's limit of calls has room again
        rows = {resource: await ten.rows(snapshot(), resource) for resource in RESOURCES}
        look(SimpleNamespace(exchange=ten.exchange, **rows))

    trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))


@EXAMPLES
@given(done=st.lists(actions, min_size=40, max_size=160))
def test_ten_brokers_own_words_come_to_what_the_ledger_holds(world, done):
    def judge(day):
        judge_orders(day.exchange, document(world, "orders", day.orders), set())
        judge_trades(day.exchange, document(world, "trades", day.trades), set())
        judge_positions(day.exchange, document(world, "positions", day.positions))
        judge_funds(day.exchange, document(world, "funds", day.funds))
        judge_holdings(day.exchange, document(world, "holdings", day.holdings))

    traded(done, judge)


def known(rows):
    """Return (instrument or own name, product) -> row; a name of its own where no instrument is known."""
    return {(row["instrument_id"] or row["by_broker"][0]["tradingsymbol"], row["product"]): row for row in rows}


SUMS = ("quantity", "buy_quantity", "sell_quantity", "overnight_quantity", "buy_value", "sell_value")


def added(rows, name):
    """Add a figure up over rows, in paise; None where one of them is not known."""
    values = [row[name] for row in rows]
    return None if None in values else sum(paise(value) for value in values)


@EXAMPLES
@given(done=st.lists(actions, min_size=40, max_size=160))
def test_the_document_of_ten_is_the_sum_of_ten_documents_of_one(world, done):
    def look(day):
        for resource in ("orders", "trades"):
            check_book(world, resource, getattr(day, resource))
        check_funds(world, day.funds)
        check_positions(world, day.positions)
        check_holdings(world, day.holdings)

    traded(done, look)


def check_book(world, resource, rows):
    ten = document(world, resource, rows)
    alone = [document(world, resource, {code: rows[code]}) for code in sorted(TEN)]
    assert ten[resource] == [row for one in alone for row in one[resource]]
    assert ten["summary"]["count"] == sum(one["summary"]["count"] for one in alone)


def check_funds(world, rows):
    ten = document(world, "funds", rows)
    alone = [document(world, "funds", {code: rows[code]}) for code in TEN]
    for part in ("summary", "pnl", "margin_breakdown", "cash_movement"):
        added_up = {name: sum(paise(one[part][name]) for one in alone) for name in ten[part]}
        assert {name: paise(figure) for name, figure in ten[part].items()} == added_up


def check_positions(world, rows):
    ten = document(world, "positions", rows)
    alone = [document(world, "positions", {code: rows[code]}) for code in TEN]
    for view in ("net", "day"):
        single = [known(one[view]) for one in alone]
        merged = known(ten[view])
        assert merged.keys() == {key for one in single for key in one}
        for key, row in merged.items():
            parts = [one[key] for one in single if key in one]
            for name in SUMS:
                assert added([row], name) == added(parts, name), (view, key, name)
            for name in ("realized", "unrealized"):
                assert added([row["pnl"]], name) == added([part["pnl"] for part in parts], name), (view, key, name)


def check_holdings(world, rows):
    ten = document(world, "holdings", rows)
    alone = [document(world, "holdings", {code: rows[code]}) for code in TEN]
    for name in ("quantity", "collateral_quantity"):
        total = Counter()
        for one in alone:
            total.update({row["isin"]: row[name] for row in one["holdings"]})
        assert {row["isin"]: row[name] for row in ten["holdings"]} == total
    invested = sum(paise(one["summary"]["total_investment"]) for one in alone)
    assert paise(ten["summary"]["total_investment"]) == invested


def test_the_examples_do_fill_and_sell(world):
    """A quiet example proves nothing: one by hand, whose figures are known."""

    def look(day):
        (share, *_) = markets()
        row = known(document(world, "positions", day.positions)["net"])[share.instrument_id, "intraday"]
        lot = day.exchange.contract(share.instrument_id).lot_size
        assert (row["quantity"], row["buy_quantity"], row["sell_quantity"]) == (4 * lot, 5 * lot, lot)
        bought = [
            one for one in day.exchange.ledger.fills() if (one.instrument_id, one.side) == (share.instrument_id, "BUY")
        ]
        assert added([row], "buy_value") == sum(paise(float(one.quantity * one.price)) for one in bought)
        assert row["pnl"]["total"] != 0
        assert document(world, "orders", day.orders)["summary"]["by_status"]["OPEN"] == 1

    done = [
        ("take", "zerodha", 0, Side.BUY, True, 3), ("take", "dhan", 0, Side.BUY, True, 2), ("move", 0, 40),
        ("take", "zerodha", 0, Side.SELL, True, 1), ("place", "upstox", 1, Side.BUY, -60, 1),
    ]  # fmt: skip
    traded(done, look)
