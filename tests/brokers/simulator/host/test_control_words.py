"""The words of the control API: every fault has a sentence, and the page has every word."""

from pathlib import Path

from onebroker.brokers.simulator.exchange.faults import FAULTS, FaultKind
from onebroker.brokers.simulator.host.control_words import control_words

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how-to" / "paper.md"


def test_every_kind_of_fault_has_a_sentence():
    assert list(FAULTS) == list(FaultKind)


def test_the_page_has_every_request_fault_and_verb():
    page = PAGE.read_text()
    for table in control_words().values():
        for word, sentence in table.items():
            assert f"| `{word}` | {sentence} |" in page
