"""Faults to put into the engine, one at a time: the model must find at least nine in ten (`python -m bench.model --planted`).

Each one is a mistake that an engineer could make: a forgotten check, a wrong sign, an early end. A fault is a piece of text of one file and what stands
there instead. The text must be there exactly once. So a fault whose code has changed is found at once, and is written anew.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]


@attrs.frozen(kw_only=True)
class Planted:
    about: str
    file: str
    before: str
    after: str

    def put(self, root: Path) -> None:
        """Write the fault into a copy of the checkout. Raises ValueError if the text is not there exactly once."""
        path = root / self.file
        text = path.read_text()
        if text.count(self.before) != 1:
            raise ValueError(f"{self.about}: the text is {text.count(self.before)} times in {self.file}")
        path.write_text(text.replace(self.before, self.after))


def _planted(about: str, file: str, before: str, after: str) -> Planted:
    return Planted(about=about, file=f"actors/{file}", before=before, after=after)


MACHINE = "engine/plan/machine"
PLANTED: Sequence[Planted] = (
    _planted("what an exit has closed counts as open", f"{MACHINE}/held_units.py",
             "    for order in exits:\n        for leg in look.legs(order):\n            found[leg.broker] -= leg.filled\n    return",
             "    return"),
    _planted("an exit does not grow with its entry's fills", f"{MACHINE}/target_quantities.py",
             "wanted = filled  # an odd", "wanted = min(filled, 1)  # an odd"),
    _planted("units without a stop are not told", f"{MACHINE}/unprotected_units.py",
             "+= _kept(look, part)\n    return {instrument_id: units for instrument_id, units in found.items() if units > 0}\n",
             "+= _kept(look, part)\n    return {}\n"),
    _planted("what is due is overdue after ten minutes", f"{MACHINE}/overdue.py",
             "        told_at = since + (PATIENT_SECONDS if is_patient else OVERDUE_SECONDS)", "        told_at = since + 600"),
    _planted("exits do not follow the position", f"{MACHINE}/held_units.py",
             "return sum(max(0, units - gone.get(broker, 0)) for", "return sum(max(0, units) for"),
    _planted("a stop that was jumped over guards", f"{MACHINE}/jumped_stops.py",
             "    return (quote.last_price - leg.price) * side_of(part).sign > 0\n", "    return False\n"),
    _planted("a trailing stop moves away from the market", "engine/plan/pricing/moving_stops.py",
             "    return (trigger - other) * side.sign < 0\n", "    return (trigger - other) * side.sign > 0\n"),
    _planted("nobody remembers that a close took a stop away", "engine/plan_parent/plan_positions.py",
             "        if new:\n            keys, first = ", "        if not new:\n            keys, first = "),
    _planted("what is on its way is sent again", f"{MACHINE}/new_legs.py",
             "        missing = self.target - self.committed\n",
             "        missing = self.target - self.look.filled(self.part)\n"),
    _planted("what a person took off is sent again", "engine/orders/transitions.py",
             '"taken_off": leg.taken_off + leg.quantity - quantity,', '"taken_off": leg.taken_off,'),
    _planted("another hand is not seen", "engine/orders/another_hand.py",
             "        if not _says_something(leg, row) or began < answered:\n            return None\n",
             "        if leg or not _says_something(leg, row) or began < answered:\n            return None\n"),
    _planted("an order without an answer counts as refused", "sessions/order_sender.py",
             "                outcome=Outcome.UNKNOWN, order_id=None, status_message=str(error), broker_response=None\n",
             "                outcome=Outcome.REJECTED, order_id=None, status_message=str(error), broker_response=None\n"),
    _planted("an order of unknown outcome is given up at the first book", "engine/parent/reconciler.py",
             "        return began >= self._unseen_since[leg.leg_id] + self._context.settings.unknown_settle_seconds\n",
             "        return True\n"),
    _planted("each plan over one position guards all of it", "engine/context/guarded_units.py",
             "        if own is not None:\n            yield from (\n", "        if own is not None and not plans:\n            yield from (\n"),
    _planted("a time of day never comes", f"{MACHINE}/conditions.py",
             "            return _time(look, part, condition)\n", "            return False\n"),
    _planted("parents are not taken up after a start", "engine/actor.py",
             "                for record in records:\n                    self._parents.start(nursery, record, None)\n",
             "                for record in records[:0]:\n                    self._parents.start(nursery, record, None)\n"),
    _planted("an order is sent without being written", "engine/placing/write_ahead.py",
             "            await self._commit(Set(keys.parent(after.parent_order_id), encode_parent(after)), *ops)\n", ""),
    _planted("the orders of a cancelled parent are left", "engine/parent/parent_end.py",
             "    return not leg.state.final and not leg.cancel_accepted\n", "    return False\n"),
    _planted("filled units are closed twice", f"{MACHINE}/close_filled.py",
             "        left = units - sum(leg.filled for leg in legs)\n", "        left = units + sum(leg.filled for leg in legs)\n"),
    _planted("a flatten with open orders is flat", "engine/desk/flatten.py",
             "            and not still_open\n            and not not_shown\n            and all(close.accepted for close in closed)\n",
             "            and all(close.accepted for close in closed)\n"),
    _planted("a flatten with open positions is flat", "engine/desk/flatten.py",
             "            and not open_positions\n            and not not_read\n", "            and not not_read\n"),
    _planted("a close closes at one broker only", "engine/plan_parent/position_rows.py",
             "    return tuple(sorted(rows, key=lambda row: row.key)), notes\n",
             "    return tuple(sorted(rows, key=lambda row: row.key))[:1], notes\n"),
    _planted("no position is ever doubted", "engine/context/position_days.py",
             "        for key in list(differing):\n            doubt = self.doubts[key]\n            if doubt.late or read.began - doubt.same_since < needed:\n                continue\n",
             "        for key in list(differing):\n            doubt = self.doubts[key]\n"),
    _planted("a flatten leaves the parents", "engine/desk/flatten.py",
             "        desk = self._desk\n        intent = desk.intent(IntentKind.HALT, {})\n",
             '        desk = self._desk\n        if self._scope.is_whole:\n            return {"halted_parents": 0}\n        intent = desk.intent(IntentKind.HALT, {})\n'),
    _planted("a halt lets entries pass", "engine/context/trading_gate.py",
             "        if halt is None or (passage is Passage.EXIT and ",
             "        if halt is None or passage is Passage.ENTRY or (passage is Passage.EXIT and "),
    _planted("the troubles of parents are not shown", "engine/parent/open_parent.py",
             "        self.context.troubles.note(self.parent_id, found, now, is_ended=record.state.final)\n", ""),
    _planted("fills after a parent's end are not heard", "engine/order_router.py",
             "            self._ended.tell_row(entry.parent_id, code, row)\n", "            return\n"),
    _planted("a lost stop is not lost", f"{MACHINE}/unprotected_units.py",
             "    if record.own in (PartState.REJECTED, PartState.FAILED):\n        return True\n",
             "    if record.own in (PartState.REJECTED, PartState.FAILED):\n        return False\n"),
    _planted("a ladder that becomes smaller fills its rungs up again", f"{MACHINE}/executions.py",
             "        missing = min(most, wanted_units -", "        missing = min(wanted_units, wanted_units -"),
    _planted("books are not followed", "engine/parent/parent.py",
             "                self._parent.work.book_arrived()\n                self._following.read(message)\n",
             "                self._parent.work.book_arrived()\n"),
    _planted("an intent is taken up again", "engine/admission.py", "                absent=keys.started(place.intent_id),\n",
             ""),
    _planted("a refused stop is final", f"{MACHINE}/verdicts.py",
             "    return ((part.is_exit or part.uncovered is not None) and leg.never_reached) or leg.unsent\n", "    return leg.unsent\n"),
    _planted("a cancelled rung is sent again", f"{MACHINE}/verdicts.py",
             "        return sum(map(_own_unfilled, cancelled))\n", "        return 0\n"),
    _planted("settled positions are believed while doubted", "engine/books/settled_positions.py",
             "    if found is None or key in found.doubts or key in found.unjudged or key in found.moving:\n", "    if found is None:\n"),
    _planted("an entry is sent again after a cancel in the app", f"{MACHINE}/verdicts.py",
             "    return Verdict(PartState.CANCELLED, leg.status_message)  # row 16\n", "    return None\n"),
    _planted("an exit is sent for what its entry may still fill", f"{MACHINE}/target_quantities.py",
             "        wanted = filled  # an odd", "        wanted = look.committed(context.base) if filled else 0  # an odd"),
    _planted("an exit of a single fill asks for what was taken off it", f"{MACHINE}/instances.py",
             "    missing = min(most, _units(look, part, made)", "    missing = min(10**9, _units(look, part, made)"),
    _planted("exits that leave together are sized by the same holding", "engine/plan_parent/leg_placement.py",
             "            standing.is_sized(sized)\n", "            pass\n"),
    _planted("an exit without a broker grows where it rests", f"{MACHINE}/leg_changes.py",
             "    if not is_at_holders(look, part):\n        return True\n    where = (leg", "    if part:\n        return True\n    where = (leg"),
    _planted("exits side by side are bounded only when units have gone", f"{MACHINE}/held_units.py",
             "    left = still_open(look, base, exits)\n    link =",
             "    left = still_open(look, base, exits)\n    if left == sum(own_open(look, base, exits).values()):\n        return left\n    link ="),
    _planted("each entry of a plan has the whole position", f"{MACHINE}/held_units.py",
             "    return sum(found.values())\n\n\ndef _of_unknown", "    return 0\n\n\ndef _of_unknown"),
    _planted("a stop and a target written by hand are no pair", "engine/plan/reading/exit_marks.py",
             "    if not isinstance(part, OneCancelsOthersPart) or part.preset is not None:\n", "    if part.path:\n"),
    _planted("a lone exit takes what other plans guard", f"{MACHINE}/free_units.py",
             "    return held if own is None else max(0, min(held, held - _taken(look, part) + own))\n", "    return held\n"),
    _planted("an exit without a broker goes where most is held, whoever guards it", "engine/plan_parent/exit_holders.py",
             "        return free if own == 0 or any(units > 0 for units in free.values()) else left\n", "        return left\n"),
    _planted("what a caller takes off an exit comes back", f"{MACHINE}/caller_changes.py",
             "taken_by_caller=look.record(part).taken_by_caller + units)", "taken_by_caller=look.record(part).taken_by_caller)"),
    _planted("what a caller takes off an exit is taken off twice", f"{MACHINE}/caller_changes.py",
             "        _take(look, group, less)\n", "        _take(look, group, less)\n        _take(look, group, less)\n"),
    _planted("a daily stop does not grow back", f"{MACHINE}/executions.py",
             "    return settled and sending.missing > 0 and grow(sending, sending.missing)\n", "    return False\n"),
    _planted("an exit of an entry grows back over units that another exit guards", f"{MACHINE}/grown_units.py",
             "    return max(gone, most - max(0, held - (units - most) - others))\n", "    return gone\n"),
    _planted("an exit without an entry grows back over units that another exit guards", f"{MACHINE}/grown_units.py",
             '    return max(gone, most - max(0, held + (record.armed_beside or 0) - (units - most) - others))\n', "    return gone\n"),
    _planted("a single stop of a plan is an entry", "engine/plan/reading/exit_marks.py",
             "return as_lone_exit(part) if lone and not part.is_exit else part", "return part"),
)  # fmt: skip


def run(seed: int, days: int, numbers: Iterable[int] | None = None) -> int:
    """Put each fault into a copy and let the model look for it, at most for so many days. Print a line of JSON for each and the sums at the end."""
    killed, tried = 0, 0
    with tempfile.TemporaryDirectory(prefix="onebroker-model-") as folder:
        for number, planted in enumerate(PLANTED):
            if numbers is not None and number not in set(numbers):
                continue
            tried += 1
            began = time.monotonic()
            found = _look_for(planted, Path(folder) / str(number), seed, days)
            killed += found is not None
            told = {"fault": number, "about": planted.about, "found": found, "seconds": round(time.monotonic() - began)}
            print(json.dumps(told), flush=True)
    print(json.dumps({"planted": tried, "found": killed}))
    return 0 if killed >= 0.9 * tried else 1


def _look_for(planted: Planted, folder: Path, seed: int, days: int) -> str | None:
    """Return the first violation in a copy with the fault; None if the model finds none."""
    root = folder / "onebroker"  # found as the package of that name, in front of the installed one
    root.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x"], cwd=root, input=archive.stdout, check=True)
    planted.put(root)
    command = [sys.executable, "-m", "bench.model", "--days", str(days), "--seed", str(seed), "--first"]
    done = subprocess.run(
        command, cwd=root, env={**os.environ, "PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    violated = next((line for line in lines if "violations" in line), None)
    if violated is None and done.returncode not in (0, 1):
        return f"ended with {done.returncode}"
    return None if violated is None else f"day {violated['seed'] - seed}: {violated['violations'][0][:160]}"
