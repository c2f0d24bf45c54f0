"""The funds document (rules 1.2.5)."""

import json
import math
from types import SimpleNamespace

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.portfolio.assembler import document_body
from onebroker.actors.portfolio.funds import FundsAssembler, merge_funds
from onebroker.actors.portfolio.read_status import read_broker, read_brokers
from onebroker.brokers.records import FundsRow, FundsSegment
from onebroker.config.money import paise
from tests.support.further import searched

FIGURES = (
    "available_balance", "cash_balance", "collateral_value", "adhoc_credit", "margin_utilized", "withdrawable_balance",
    "realized", "unrealized", "span_margin", "exposure_margin", "other_margin", "pay_in_today", "pay_out_today",
    "uncleared_funds", "pending_withdrawal",
)  # fmt: skip

amounts = st.one_of(st.none(), st.integers(-(10**12), 10**12).map(lambda amount: amount / 100), st.floats(-1e9, 1e9))
segments = st.dictionaries(
    st.sampled_from(["equity", "derivatives", "currency", "commodity", "other"]),
    st.builds(
        FundsSegment, available_balance=amounts, margin_utilized=amounts, span_margin=amounts, exposure_margin=amounts
    ),
)
rows = st.builds(FundsRow, **dict.fromkeys(FIGURES, amounts), segments=segments)


def test_the_document_by_hand(world: SimpleNamespace) -> None:
    one = FundsRow(
        available_balance=1000.105, cash_balance=900.0, margin_utilized=200.1, realized=-5.25, unrealized=3.0,
        span_margin=150.0, pay_in_today=10.0, segments={"commodity": FundsSegment(available_balance=5.5)},
    )  # fmt: skip
    two = FundsRow(
        available_balance=0.2, collateral_value=50.0, margin_utilized=0.1, unrealized=-1.0,
        segments={"equity": FundsSegment(available_balance=0.2, margin_utilized=0.1), "commodity": FundsSegment()},
        pools={"equity": 0.2, "commodity": 7.0},
    )  # fmt: skip
    held = world.by_broker(
        world.slice_of("zerodha", "funds", one), world.slice_of("angelone", "funds", two, age=61),
        world.slice_of("dhan", "funds", error="Invalid token"),
    )  # fmt: skip
    assembler = FundsAssembler()
    reads = read_brokers("funds", ("zerodha", "angelone", "dhan", "fyers"), held, world.NOW)
    usable = {read.broker: read.slice for read in reads if read.usable}
    content = world.finish(assembler.assemble(usable))
    brokers = msgspec.json.encode([assembler.broker_entry(read) for read in reads])
    document = json.loads(document_body(content, brokers, "2026-11-18T16:36:40"))
    assert document == {
        "summary": {
            "total_balance": 1200.51, "available_balance": 1000.31, "cash_balance": 900.0, "collateral_value": 50.0,
            "adhoc_credit": 0.0, "margin_utilized": 200.2, "withdrawable_balance": 0.0,
        },
        "pnl": {"realized": -5.25, "unrealized": 2.0},
        "margin_breakdown": {"span_margin": 150.0, "exposure_margin": 0.0, "other_margin": 0.0},
        "cash_movement": {
            "pay_in_today": 10.0, "pay_out_today": 0.0, "uncleared_funds": 0.0, "pending_withdrawal": 0.0,
        },
        "segments": {
            "equity": {
                "available_balance": 0.2, "margin_utilized": 0.1, "span_margin": 0.0, "exposure_margin": 0.0,
            },
            "commodity": {
                "available_balance": 5.5, "margin_utilized": 0.0, "span_margin": 0.0, "exposure_margin": 0.0,
            },
        },
        "brokers": [
            {
                "broker": "angelone", "status": "stale", "as_of": "2026-11-18T16:35:39", "available_balance": 0.2,
                "pools": {"equity": 0.2, "commodity": 7.0},
            },
            {
                "broker": "dhan", "status": "unreadable", "as_of": "2026-11-18T16:36:40", "pools": {},
                "error": "Invalid token",
            },
            {"broker": "fyers", "status": "missing", "as_of": None, "pools": {}},
            {
                "broker": "zerodha", "status": "ok", "as_of": "2026-11-18T16:36:40", "available_balance": 1000.11,
                "pools": {},
            },
        ],
        "as_of": "2026-11-18T16:36:40",
    }  # fmt: skip
    assert list(document) == [
        "summary", "pnl", "margin_breakdown", "cash_movement", "segments", "brokers", "as_of",
    ]  # fmt: skip
    assert list(document["segments"]) == ["equity", "commodity"]


def test_a_figure_that_is_no_number_counts_as_zero() -> None:
    assert merge_funds([FundsRow(available_balance=math.nan, margin_utilized=math.inf), FundsRow()]) == merge_funds([])


def test_an_unreadable_broker_without_a_reason_still_says_that_it_could_not_be_read(world: SimpleNamespace) -> None:
    held = world.slice_of("a", "funds", None)
    entry = FundsAssembler().broker_entry(read_broker("funds", "a", held, world.NOW))
    assert entry["error"] == "the answer could not be read"


def every_figure(view: object) -> dict[str, int]:
    """All numbers of the document in paise, by path."""
    found: dict[str, int] = {}

    def walk(path: str, value: object) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                walk(f"{path}.{name}", inner)
        else:
            found[path] = paise(value)

    walk("", msgspec.to_builtins(view))
    return found


@searched(40, 100)
@given(st.lists(rows, max_size=6), st.randoms())
def test_the_document_is_the_sum_of_its_brokers_to_the_paisa_in_any_order(held: list[FundsRow], random: object) -> None:
    whole = merge_funds(held)
    shuffled = list(held)
    random.shuffle(shuffled)
    assert merge_funds(shuffled) == whole
    parts = [every_figure(merge_funds([row])) for row in held]
    for path, amount in every_figure(whole).items():
        assert amount == sum(part.get(path, 0) for part in parts)
    assert paise(whole.summary.total_balance) == paise(whole.summary.available_balance) + paise(
        whole.summary.margin_utilized
    )
