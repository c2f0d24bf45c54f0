"""At which of its states a type is struck by a run that plays not all of them (`--whole-table`): the same on every machine until a life
changes, another one with every value of LIVES_SEED."""

import hashlib
import os
import random
from pathlib import Path

HERE = Path(__file__).parent
SEED = (
    os.environ.get("LIVES_SEED")
    or hashlib.sha256(b"".join(file.read_bytes() for file in sorted(HERE.glob("*.py")))).hexdigest()
)


def one_of_each(those, kind_of):
    """Return one of those of each kind, in their order."""
    kinds = {}
    for each in those:
        kinds.setdefault(kind_of(each), []).append(each)
    return [random.Random(f"{SEED} {kind}").choice(own) for kind, own in kinds.items()]
