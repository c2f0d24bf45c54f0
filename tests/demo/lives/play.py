"""Play the lives of types by hand: `PYTHONPATH=. python tests/demo/lives/play.py bracket oco` starts a demo and says how each ended."""

import sys
import tempfile
import time
from pathlib import Path

from tests.demo.conftest import Demo
from tests.demo.lives.judging import clean_up, judge, outcome
from tests.demo.lives.lives import LIVES, Played, options
from tests.demo.lives.said import assert_said
from tests.demo.lives.staging import Stage


def play(names):
    """One demo for each time of day that the lives begin at."""
    for now in sorted({LIVES[name].now for name in names}):
        with tempfile.TemporaryDirectory() as folder:
            demo = Demo(Path(folder) / "data", *options(now)).start()
            try:
                demo.until_ready()
                stage = Stage(demo, now)
                for name in names:
                    if LIVES[name].now == now:
                        _one(stage, name)
            finally:
                demo.clean_up()


def _one(stage, name):
    began, run = time.monotonic(), stage.run(name)
    try:
        played = Played(run)
        played.finish()
        ledger = stage.demo.ledger()
        assert_said(run, played.expected, ledger)
        judge(run, ledger)
        said = outcome(run, ledger)
    except (AssertionError, LookupError, OSError) as error:
        said = f"{type(error).__name__}: {error}"
    sys.stdout.write(f"{name}: {said} ({time.monotonic() - began:.1f} s)\n")
    clean_up(run)


if __name__ == "__main__":
    play(sys.argv[1:] or list(LIVES))
