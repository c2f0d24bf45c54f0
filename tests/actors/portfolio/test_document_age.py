"""What a reader checks (rules 1.4.10, rules 2.4.1): one test per row."""

import json

import msgspec
import pytest

from onebroker.actors.portfolio.assembler import Content, DocumentState
from onebroker.actors.portfolio.document_age import READ_RULES, servable
from onebroker.config.refusal import Refusal

NOW = 1_795_000_000.0

MISSING = {
    "funds": "Funds are not available: nothing is keeping portfolio:funds",
    "holdings": "Holdings are not available: nothing is keeping portfolio:holdings",
    "positions": "Positions are not available: nothing is keeping portfolio:positions",
    "orders": "Orders are not available",
    "trades": "Trades are not available",
}
OUT_OF_DATE = {
    "funds": "Funds are out of date: portfolio:funds was last written at 2026-11-18T16:36:40",
    "holdings": "Holdings are out of date: portfolio:holdings was last written at 2026-11-18T16:36:40",
    "positions": "Positions are out of date: portfolio:positions was last written at 2026-11-18T16:36:40",
    "orders": "Orders are out of date: orders:book was last written at 2026-11-18T16:36:40",
    "trades": "Trades are out of date: orders:trades was last written at 2026-11-18T16:36:40",
}
UNABLE = {
    "funds": "Unable to retrieve funds information",
    "holdings": "Unable to retrieve holdings information",
    "positions": "Unable to retrieve positions information",
    "orders": "Unable to retrieve orders information",
    "trades": "Unable to retrieve trades information",
}
OLDEST = {"funds": 30, "holdings": 300, "positions": 30, "orders": 30, "trades": 30}
BROKERS = [{"broker": "a", "status": "missing", "as_of": None}]


def state(resource: str, *, usable: bool = True) -> DocumentState:
    return DocumentState(
        resource=resource, body=b"{}", as_of="2026-11-18T16:36:40", as_of_epoch=NOW, published_monotonic=0.0,
        brokers=msgspec.json.encode(BROKERS), reads=(), usable_brokers=usable,
        content=Content(pieces=(), rows=(), summary=b"{}"), build_seconds=0.0, gap_seconds=None,
    )  # fmt: skip


def refused(resource: str, held: DocumentState | None, now: float) -> tuple[int, dict[str, object]]:
    with pytest.raises(Refusal) as refusal:
        servable(READ_RULES[resource], held, now)
    return refusal.value.status, json.loads(msgspec.json.encode(refusal.value.body()))


@pytest.mark.parametrize("resource", list(MISSING))
def test_a_missing_document_is_503(resource: str) -> None:
    assert refused(resource, None, NOW) == (503, {"error": MISSING[resource]})


@pytest.mark.parametrize("resource", list(MISSING))
def test_a_document_is_served_up_to_its_oldest_age_and_is_503_after_it(resource: str) -> None:
    held = state(resource)
    assert servable(READ_RULES[resource], held, NOW + OLDEST[resource]) is held
    assert refused(resource, held, NOW + OLDEST[resource] + 0.01) == (
        503,
        {"error": OUT_OF_DATE[resource], "as_of": "2026-11-18T16:36:40", "brokers": BROKERS},
    )


@pytest.mark.parametrize("resource", list(MISSING))
def test_a_recent_document_without_a_usable_broker_is_502(resource: str) -> None:
    assert refused(resource, state(resource, usable=False), NOW) == (
        502,
        {"error": UNABLE[resource], "brokers": BROKERS},
    )


def test_an_old_document_without_a_usable_broker_is_out_of_date_first() -> None:
    assert refused("orders", state("orders", usable=False), NOW + 31)[0] == 503
