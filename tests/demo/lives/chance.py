"""What of the whole table a run of the suite plays: everything with `--whole-table`, else some of it by chance, another part each time."""

import os
import random

SEED = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(random.randrange(1 << 32))
"""The same in all workers of a run. What was chosen stands in the tests' names."""


def some(config, number, those):
    """Return so many of them, or all."""
    if config.getoption("--whole-table") or number >= len(those):
        return list(those)
    return sorted(random.Random(f"{SEED} {number}").sample(list(those), number), key=those.index)
