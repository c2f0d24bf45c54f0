"""Facts of instruments are worked out once for each list of instruments, and never outlive their list."""

from decimal import Decimal

import attrs

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
