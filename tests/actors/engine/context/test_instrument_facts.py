"""Facts of instruments are worked out once for each list of instruments, and never outlive their list."""

from datetime import date
from decimal import Decimal

import attrs

from onebroker.actors.catalogue.interface import Found
from onebroker.actors.engine.context.instrument_facts import InstrumentFacts
from tests.actors.engine.choice.test_choosing import Market


class Snapshot:
    def __init__(self, **changes):
        self.held = attrs.evolve(Market("zerodha").instrument(), **changes)
        self.read = 0

    def instrument(self, instrument_id):
        self.read += 1
        return self.held if instrument_id == "i" else None


def test_an_instrument_is_read_once_for_all_looks():
    facts, listed = InstrumentFacts({}), Snapshot()
    assert facts.of(listed, "i") is facts.of(listed, "i")
    assert facts.of(listed, "i").terms.tick == Decimal("0.05")
    assert listed.read == 1
    assert (facts.of(listed, "unknown"), facts.of(None, "i")) == (None, None)


def test_a_newer_list_brings_its_own_facts():
    facts, before, after = InstrumentFacts({}), Snapshot(), Snapshot(tick_size=0.1, freeze_quantity=500)
    assert facts.of(before, "i").terms.freeze is None
    assert (facts.of(after, "i").terms.tick, facts.of(after, "i").terms.freeze) == (Decimal("0.1"), 500)


class Unlisted:
    def __init__(self, instrument=None):
        self.instrument = instrument

    def find(self, instrument_id):
        if self.instrument is None or instrument_id != "i":
            return None
        return Found(instrument=self.instrument, mapping_date=date(2026, 11, 20))


class Empty:
    def instrument(self, instrument_id):
        return None


def test_an_instrument_that_the_list_has_lost_keeps_its_last_known_facts():
    facts, before = InstrumentFacts({}), Snapshot(tick_size=0.1, freeze_quantity=500)
    known = facts.of(before, "i")
    assert known.standing.is_listed
    for _ in range(2):  # the second list without it too
        lost = facts.of(Empty(), "i", Unlisted(attrs.evolve(before.held, tick_size=0.05)))
        assert (lost.terms, lost.market, lost.standing.is_listed) == (known.terms, known.market, False)
    assert facts.of(before, "i").standing.is_listed


def test_after_a_restart_the_last_known_facts_are_those_of_the_file_of_unlisted_instruments():
    held = attrs.evolve(Snapshot(tick_size=0.1).held, listings={})
    lost = InstrumentFacts({}).of(Empty(), "i", Unlisted(held))
    assert (lost.terms.tick, lost.standing.is_listed) == (Decimal("0.1"), False)
    assert InstrumentFacts({}).of(Empty(), "i", Unlisted()) is None
