"""What befalls an order at a state of its life: a caller cancels or changes it, the market fills a part, a broker refuses or loses an
answer, the service is killed, the market closes. Each ends with what must hold, and says in words what became of the order."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import attrs
import pytest

from tests.demo.lives.judging import assert_nothing_rests, cancel_parent, clean_up, judged, outcome, said_in_words
from tests.demo.lives.keeping import brokers_kept_in
from tests.demo.lives.lives import LIVES, Played
from tests.demo.lives.run import FINAL, Refused, Stuck
from tests.demo.lives.said import assert_said
from tests.demo.lives.staging import Stage

START = "(sent)"
"""The state before the first: what befalls it strikes its first messages."""
NOTHING = "—"
"""What a scenario comes to that has nothing to strike."""
AT_ONCE = 16
CLOSED_SECONDS, CLOSING_SECONDS = 8.0, 300.0
"""What the end of day may take, and the longest wait for it."""
BESIDE_A_STOP = {
    ("oco", START),
    ("plan", "the entry rests"),
    ("scale_out", "the entry rests"),
    ("two_sided_breakout", "both stops wait"),
    ("two_sided_breakout", "one is triggered, its limit rests"),
}
"""Where a stop and limits leave in one moment: brokers refuse the stop."""
STRUCK_PATIENCE_SECONDS = 10.0
"""How long an order that was struck stands still, more than its life does of itself, when it will not go on."""


FAILURES = (AssertionError, LookupError, OSError, pytest.fail.Exception)
"""What one case may fail with; the others go on."""


@attrs.frozen
class Case:
    scenario: str
    name: str
    state: str

    def __str__(self):
        return f"{self.scenario}: {self.name}, {self.state}"

    @property
    def turn(self):
        """Which broker plays it: the same in every run, another at the next state."""
        every = [(name, state) for name in sorted(LIVES) for state in (START, *LIVES[name].states)]
        return every.index((self.name, self.state))


def states_of(scenario, name):
    """The states of a type that a scenario strikes at."""
    return ((START,) if scenario in ("rejection", "unknown outcome") else ()) + LIVES[name].states


def cases(scenario, names):
    return [Case(scenario, name, state) for name in names for state in states_of(scenario, name)]


def selected(session):
    """The cases of the tests that a run has selected."""
    given = [item.callspec.params.get("case") for item in session.items if hasattr(item, "callspec")]
    return [case for case in given if isinstance(case, Case)]


def play_all(stage, all_cases):
    """Play cases, several at a time; return case -> what it came to, or the error that it failed with."""
    with brokers_kept_in(stage.demo), ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda case: _guarded(stage, case), all_cases)
        return dict(zip(all_cases, found, strict=True))


def _guarded(stage, case):
    try:
        return play_case(stage, case)
    except FAILURES as error:
        return error


def play_case(stage, case):
    """Bring an order to its state, strike it there, and return what became of it."""
    run = stage.run(case.name, case.turn)
    played = Played(run)
    try:
        if case.state != START:
            played.to(case.state)
            run.settled()
        words = STRIKES[case.scenario](played)
        if words is NOTHING:
            return NOTHING
        if run.parent_id is None:
            assert_nothing_rests(run)
            return words
        run.quiet()
        ledger = judged(run)
        return f"{words}: {outcome(run, ledger)}" if words else outcome(run, ledger)
    finally:
        played.close()
        clean_up(run)
        stage.give_back(run)


# --- what befalls it --------------------------------------------------------------------------------------------------------


def cancel(played):
    """Its caller cancels it: nothing of it rests then, whatever brokers say."""
    cancel_parent(played.run)
    assert played.run.record()["state"] == "cancelled", played.run.record()


def cancel_part(played):
    """Its caller cancels the last of its parts that still works or waits."""
    run = played.run
    parts = run.record()["parameters"].get("parts")
    if not parts:
        return NOTHING
    alive = [path for path, part in parts.items() if part["part"] == "order" and part["state"] not in FINAL]
    body = {"parent_id": run.parent_id, "part": alive[-1]}

    def answered():
        answer = run.demo.ask("DELETE", "/api/orders/cancel", body=body)
        return answer if answer.status != 207 else None

    answer = run.demo.until(answered, f"{run.name}: {alive[-1]} to be cancelled", 60)
    assert answer.status in (200, 409), answer
    return alive[-1] if answer.status == 200 else f"{alive[-1]} stays"


def modify(played):
    """Its caller moves the price of its first order, or of what it holds, by a tick away from the market."""
    run = played.run
    leg = next((leg for leg in run.legs() if leg["price"]), None)
    if leg is None:
        return NOTHING
    run.demo.until(lambda: run.demo.orders(order_id=leg["order_id"]), "the order to be in its broker's book", 70)
    price = round(leg["price"] - run.tick_of(leg) * (1 if leg["transaction_type"] == "BUY" else -1), 2)
    answer = run.demo.ask(
        "PUT", "/api/orders/modify", {"order_id": leg["order_id"], "broker": leg["broker"], "price": price}
    )
    assert answer.status in (200, 409), answer
    if answer.status == 409:
        return "refused"
    told = [one for one in run.messages() if one["verb"] == "modify" and one["order_id"] == leg["order_id"]]
    assert price in [one["price"] for one in told], told
    return "moved"


def partial_fill(played):
    """The market fills half of what rests; it goes on to its end."""
    run, struck = played.run, False
    for leg in run.legs():
        lot = run.lot_of(leg)
        units = leg["pending_quantity"] // lot // 2 * lot
        if units and run.is_in_the_book(leg):
            run.fill_leg(leg, units)
            run.quiet()
            struck = True
    if not struck:
        return NOTHING
    judged(run)
    return _goes_on(played)


def rejection(played):
    """Brokers refuse the next order that is sent of it."""
    at = (played.run.name, played.passed[-1] if played.passed else START)
    only = {"order_type": "SL"} if at in BESIDE_A_STOP else {}
    return _struck(played, "reject_orders", lambda one: one["verb"] == "place" and one["order_id"] is None, **only)


def unknown_outcome(played):
    """The answer to the next message of it is lost, of which brokers took the order."""
    return _struck(played, "drop_after_accept", lambda one: not one["delivered"])


def _struck(played, kind, hit, **only):
    run = played.run

    def arm():
        for instrument in run.instruments:
            run.demo.fault("all", kind, count=1, instrument=instrument, **only)

    run.struck = True
    if run.parent_id is None:
        run.before_order = arm
    else:
        arm()
    try:
        words = _goes_on(played)
    finally:
        for instrument in run.instruments:
            run.demo.control("POST", "/heal", {"instrument": instrument})
    return words if any(map(hit, run.messages())) else NOTHING


def _goes_on(played):
    """Let its life go on as far as it does."""
    run = played.run
    run.patience = STRUCK_PATIENCE_SECONDS + played.life.lull
    try:
        played.finish()
    except Refused:
        return f"answered {run.answer.status}"
    except Stuck:
        return None
    return None


STRIKES = {
    "cancel": cancel,
    "cancel of a part": cancel_part,
    "modify": modify,
    "partial fill": partial_fill,
    "rejection": rejection,
    "unknown outcome": unknown_outcome,
}


# --- what befalls all of them at once ------------------------------------------------------------------------------------


class Together:
    """Lives of several types that go on state by state in one demo; their keys are names of types, or cases."""

    def __init__(self, stage, keys):
        self.stage = stage
        self.failed = {}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            runs = pool.map(lambda key: stage.run(getattr(key, "name", key), getattr(key, "turn", None)), keys)
            self.played = {key: Played(run) for key, run in zip(keys, runs, strict=True)}

    def each(self, act, *, among=None):
        """Do something with each life that has not failed, several at a time."""
        concerned = [key for key in (self.played if among is None else among) if key not in self.failed]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda key: self._guarded(act, key), concerned))

    def _guarded(self, act, key):
        try:
            act(key, self.played[key])
        except FAILURES as error:
            self.failed[key] = error

    def unfinished(self):
        return [key for key, one in self.played.items() if key not in self.failed and not one.over]

    def ended(self):
        """Return key -> what became of its order; its error where it failed. Messages are those of its life, in order."""
        self.each(lambda _, played: played.run.quiet() if played.run.parent_id else None)
        return {key: self._ended(key, played) for key, played in self.played.items()}

    def _ended(self, key, played):
        if key in self.failed:
            error = self.failed[key]
            return said_in_words(played.run) if isinstance(error, Refused) else error
        try:
            ledger = judged(played.run)
            if played.over:
                assert_said(played.run, played.expected, ledger)
            return outcome(played.run, ledger)
        except (AssertionError, LookupError) as error:
            return error


def whole_lives(demo, now, names):
    """Each type's whole life, on one demo."""
    together = Together(Stage(demo, now), names)
    together.each(lambda _, played: played.finish())
    return together.ended()


def lives_with_kills(demo, now, names):
    """Each type's whole life, and a kill -9 of the service at every state: the messages are those of a life without."""
    stage = Stage(demo, now)
    together = Together(stage, names)
    together.each(_advance)
    while together.unfinished():
        stage.restart()
        together.each(_advance, among=together.unfinished())
    return together.ended()


def _advance(_, played):
    played.advance()


def closing_lives(demo, now, all_cases, close):
    """Each order brought to its state before the market closes; `close` is when it does, ISO 8601."""
    stage = Stage(demo, now)
    together = Together(stage, all_cases)
    together.each(lambda case, played: played.to(case.state))
    assert stage.now() < close, "the machine was too slow for the close"
    closed = (datetime.fromisoformat(close) + timedelta(seconds=CLOSED_SECONDS)).isoformat()
    demo.until(lambda: stage.now() > closed, "the close", CLOSING_SECONDS)
    return together.ended()
