"""The model of the whole (`bench/model`): drawn days violate no rule, a day is the same each time, and its planted faults can still be planted."""

import msgspec
import pytest

from bench.model.acting import violations
from bench.model.planted import PLANTED, ROOT
from bench.model.story import Story, Theme, draw
from tests.support.further import split

FEW, DAYS = 3, 120
"""So many days of each theme the first command plays, and so many both commands together."""


@pytest.mark.parametrize(
    ("theme", "seed"), split([(theme, seed) for seed in range(DAYS) for theme in Theme], lambda place: place < FEW * len(Theme))
)  # fmt: skip
def test_a_drawn_day_violates_no_rule(theme, seed):
    assert violations(draw(seed, theme)) == []


def test_a_story_is_the_same_day_each_time_also_after_it_was_kept():
    story = draw(7, Theme.LONG)
    kept = msgspec.json.decode(msgspec.json.encode(story), type=Story)
    assert kept == story
    first, second = list[str](), list[str]()
    violations(story, first.append)
    violations(kept, second.append)
    assert len(first) == len(second) > 10
    assert [line[:16] for line in first] == [line[:16] for line in second]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.about)
def test_a_planted_fault_stands_in_the_code_exactly_once(planted):
    assert (ROOT / planted.file).read_text().count(planted.before) == 1
    assert planted.before != planted.after
