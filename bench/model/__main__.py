"""The command (`bench/model/__init__.py` shows its forms). One line of JSON for each violated story and a last line with the sums."""

import argparse
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench.model import planted
from bench.model.acting import violations
from bench.model.story import Story, Theme, draw

PLANTED_DAYS = 150


def played(story: Story, tell: Callable[[str], None] | None = None) -> list[str]:
    """Return the violated rules of a story. An error of the play itself is one too."""
    try:
        return violations(story, tell)
    except Exception as error:  # noqa: BLE001  # the next day is played all the same; the whole error is in the line
        return [f"error: {''.join(traceback.format_exception(error))[-3000:]}"]


def smaller(story: Story, budget: float) -> Story:
    """Leave out lives, deaths and steps without which the story is still violated in the same way; at most for `budget` seconds."""
    until = time.monotonic() + budget
    kind = played(story)[0].split(":")[0].split(" ")[0]

    def fails(other: Story) -> bool:
        return time.monotonic() < until and any(one.startswith(kind) for one in played(other))

    again = True
    while again and time.monotonic() < until:
        again = False
        for other in _less(story):
            if fails(other):
                story, again = other, True
                break
    return story


def _less(story: Story) -> list[Story]:
    found = []
    for place, life in enumerate(story.lives):
        rest = [*story.lives[:place], *story.lives[place + 1 :]]
        if rest:
            found.append(msgspec.structs.replace(story, lives=rest))
        if life.death is not None:
            found.append(_with(story, place, msgspec.structs.replace(life, death=None)))
        for step in range(len(life.steps)):
            steps = [*life.steps[:step], *life.steps[step + 1 :]]
            found.append(_with(story, place, msgspec.structs.replace(life, steps=steps)))
    return found


def _with(story: Story, place: int, life: object) -> Story:
    lives = [*story.lives]
    lives[place] = life
    return msgspec.structs.replace(story, lives=lives)


def _told(story: Story) -> int:
    found = played(story, print)
    print("\n".join(found) or "no violation")
    return 1 if found else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.model", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--days", type=int, help="so many days instead of minutes")
    parser.add_argument("--seed", type=int, default=1, help="of the first day; each day has the next one")
    parser.add_argument("--theme", choices=[theme.value for theme in Theme])
    parser.add_argument("--story", type=Path, help="play this story, and tell the course of its day")
    parser.add_argument("--keep", type=Path, help="folder for violated stories, made small")
    parser.add_argument("--first", action="store_true", help="end at the first violated day")
    parser.add_argument("--planted", action="store_true", help="look for planted faults, in the code of HEAD")
    parser.add_argument("--only", type=int, action="append", help="number of a planted fault; may be repeated")
    parser.add_argument("--tell", action="store_true", help="play the first day only, and tell its course")
    given = parser.parse_args()
    theme = None if given.theme is None else Theme(given.theme)
    if given.planted:
        return planted.run(given.seed, given.days or PLANTED_DAYS, given.only)
    if given.story is None and given.tell:
        return _told(draw(given.seed, theme))
    if given.story is not None:
        return _told(msgspec.json.decode(given.story.read_bytes(), type=Story))
    began, seed, lives, violated = time.monotonic(), given.seed, 0, 0
    while (seed - given.seed < given.days) if given.days else (time.monotonic() - began < given.minutes * 60):
        story = draw(seed, theme)
        found = played(story)
        lives += len(story.lives)
        if found:
            violated += 1
            print(json.dumps({"seed": seed, "theme": story.theme.value, "violations": found}), flush=True)
            if given.keep is not None:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{seed}.json").write_bytes(msgspec.json.format(msgspec.json.encode(smaller(story, 60))))
        seed += 1
        if found and given.first:
            break
    seconds = time.monotonic() - began
    sums = {
        "first seed": given.seed,
        "days": seed - given.seed,
        "lives": lives,
        "violated days": violated,
        "seconds": round(seconds),
    }
    print(json.dumps(sums))
    return 1 if violated else 0


def _with_fixed_hashes() -> None:
    """Start again with a fixed hash of strings: without it sets have another order in each process, and a seed plays another day."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})  # itself


if __name__ == "__main__":
    _with_fixed_hashes()
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)  # a seventh of the time otherwise
    sys.exit(main())
