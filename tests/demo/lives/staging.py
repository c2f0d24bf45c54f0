"""Gives each run of a demo instruments of its own, and the demo's time of day."""

import threading
import time
from datetime import datetime, timedelta

from onebroker.config.instruments import calendar_of
from tests.demo.lives.lives import LIVES
from tests.demo.lives.run import Run

WORTH = 20
"""Rupees that any option is worth, so that prices near its own differ."""
FREE_SECONDS = 240.0
"""How long a run waits for what others use."""
SPANS, SHORT_SECONDS = 50, 0.2
"""How exactly the demo's clock is found out, and how many answers that may take."""


class Stage:
    """A running demo whose day began at `now` (ISO 8601)."""

    def __init__(self, demo, now):
        self.demo = demo
        self._began = datetime.fromisoformat(now)
        self._start = self._day_began()
        self._options = self._listed_options()
        self._underlyings = {one["underlying_symbol"] for one in self._options}
        held = self._held()
        self._shares = self._in_turn([one for one in demo.shares() if one["instrument_id"] not in held])
        self._lock = threading.Condition()

    def now(self):
        return (self._began + timedelta(seconds=time.monotonic() - self._start)).isoformat()

    def _day_began(self):
        """When the demo's day began, in monotonic seconds. It tells whole seconds, and an answer may be slow: each leaves a span of
        time for it, and what several of them leave is short."""
        earliest, latest = self._span()
        for _ in range(SPANS):
            if latest - earliest < SHORT_SECONDS:
                break
            time.sleep(SHORT_SECONDS / 2)
            first, last = self._span()
            earliest, latest = max(earliest, first), min(latest, last)
        return (earliest + latest) / 2

    def _span(self):
        """(earliest, latest) that its day can have begun, by one answer."""
        asked = time.monotonic()
        told = datetime.fromisoformat(self.demo.read("/api/health")["time"])
        passed = (told.replace(tzinfo=self._began.tzinfo) - self._began).total_seconds()
        return asked - passed - 1, time.monotonic() - passed

    def run(self, name, turn=None):
        """Return a run of that type on instruments that no other uses, at the broker whose turn that number is."""
        with self._lock:
            shares = self._shares.pop(0), self._shares.pop(0)
        run = Run(self.demo, name, shares, self.now, turn)
        if run.example().instrument == "option":
            self._give_option(run)
        elif LIVES[name].option:
            self._give_any_option(run)
        return run

    def restart(self):
        """Kill the service and start it again on its directory, at the same time of day."""
        self.demo.kill()
        self.demo.until(lambda: self.demo.simulators() == [], "the simulator to end itself")
        options = self.demo.options
        at = options.index("--now") + 1
        self.demo.options = (*options[:at], self.now(), *options[at + 1 :])
        self.demo.start()
        self._start = self._day_began()  # its day goes on when its process has come so far, not when it was started
        self.demo.until_ready()

    def give_back(self, run):
        """Its instruments may be used again."""
        with self._lock:
            self._shares = self._in_turn([*self._shares, run.share, run.other])
            self._options += [run.option] if run.option else []
            self._lock.notify_all()

    def _in_turn(self, shares):
        """The underlyings of options last: they are wanted with those."""
        return sorted(shares, key=lambda one: one["symbol"] in self._underlyings)

    def _give_any_option(self, run):
        with self._lock:
            run.option = next(one for one in reversed(self._options) if one["last_price"] > WORTH)
            self._options.remove(run.option)
        run.hold(run.option)

    def _give_option(self, run):
        """An option in the money that lives past the month, and its underlying as the other share; waits for one to be given back."""
        with self._lock:
            found = self._lock.wait_for(self._in_the_money, FREE_SECONDS)
            if not found:
                raise LookupError("no option in the money is free")
            run.option, underlying = found
            self._options.remove(run.option)
            self._shares.remove(underlying)
            self._shares = self._in_turn([*self._shares, run.other])
            run.other = underlying
        run.hold(run.other)

    def _in_the_money(self):
        """The first free one and its underlying, or None."""
        shares = {one["symbol"]: one for one in self._shares}
        pairs = ((one, shares.get(one["underlying_symbol"])) for one in self._options)
        return next((pair for pair in pairs if _is_in_the_money(*pair)), None)

    def _held(self):
        """The instruments that accounts hold from the beginning: an order that closes positions would close those too."""
        accounts = self.demo.ledger()["positions"].values()
        return {row["instrument_id"] for rows in accounts for row in rows if row["quantity"]}

    def _listed_options(self):
        """Of shares and their indices: they trade in the hours of shares."""
        listed = self.demo.control("GET", "/instruments?shape=option&limit=500")
        return [one for one in listed if len(one["brokers"]) == 10 and calendar_of(one["segment"]) == "equity"]


def _is_in_the_money(option, underlying):
    """Whether it is worth at least a hundredth of its strike at once, and more than that for the time it has left."""
    if underlying is None or option["expiry_date"] < "2026-12":
        return False
    up = 1 if option["option_type"] == "CE" else -1
    return up * (underlying["last_price"] - option["strike_price"]) > 0.01 * option["strike_price"]
