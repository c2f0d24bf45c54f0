"""What of the whole table a run of the suite plays: everything with `--whole-table`, else some of it: the same on every machine until a life
changes, another part with every value of LIVES_SEED."""

import hashlib
import os
import random
from pathlib import Path

HERE = Path(__file__).parent
SEED = os.environ.get("LIVES_SEED") or hashlib.sha256(
    b"".join(file.read_bytes() for file in sorted(HERE.glob("*.py")))
).hexdigest()


def some(config, number, those):
    """Return so many of them, or all."""
    if config.getoption("--whole-table") or number >= len(those):
        return list(those)
    return sorted(random.Random(f"{SEED} {number}").sample(list(those), number), key=those.index)
