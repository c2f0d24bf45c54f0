"""The model of the whole (`bench/model`): drawn days violate no rule, a day is the same each time, and its planted faults can still be planted."""

import msgspec
import pytest

from bench.model.acting import violations
from bench.model.planted import PLANTED, ROOT
from bench.model.story import Story, Theme, draw

DAYS = 120
"""So many days of each theme. All belong to the further command: strings hash anew in each process, so a seed is not wholly the same day there.
`python -m bench.model` fixes the hash."""


@pytest.mark.long
@pytest.mark.parametrize(("theme", "seed"), [(theme, seed) for seed in range(DAYS) for theme in Theme])
def test_a_drawn_day_violates_no_rule(theme, seed):
    assert violations(draw(seed, theme)) == []


@pytest.mark.parametrize("theme", Theme)
def test_a_seed_draws_the_same_story_also_after_it_was_kept(theme):
    story = draw(7, theme)
    assert draw(7, theme) == story != draw(8, theme)
    assert msgspec.json.decode(msgspec.json.encode(story), type=Story) == story


@pytest.mark.long
def test_a_story_is_the_same_day_each_time():
    story = draw(7, Theme.LONG)
    first, second = list[str](), list[str]()
    violations(story, first.append)
    violations(story, second.append)
    assert len(first) == len(second) > 10
    assert [line[:16] for line in first] == [line[:16] for line in second]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.about)
def test_a_planted_fault_stands_in_the_code_exactly_once(planted):
    assert (ROOT / planted.file).read_text().count(planted.before) == 1
    assert planted.before != planted.after
