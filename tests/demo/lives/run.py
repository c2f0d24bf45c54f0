"""One order of one type in a running demo, over HTTP: what its life asks of the market, and what became of it by the exchange's ledger.

A life is a generator (`lives.py`): it brings its order from state to state and stops at each, so that a scenario can strike there.
"""

import time
from collections import defaultdict
from datetime import datetime, timedelta
from itertools import count

from tests.support.type_examples import Example, examples

FINAL = ("completed", "cancelled", "rejected", "expired", "failed", "halted")
LIVE_LEG = ("open", "pending")
ENDED_LEG = ("complete", "cancelled", "rejected", "expired", "not_sent")
HOLD_SECONDS = 3_600
POLL_SECONDS = 0.2
PATIENCE_SECONDS = 40.0
QUIET_SECONDS, SETTLED_SECONDS = 3.0, 0.6
LONGEST_SECONDS = 240.0
"""How long an order may go on changing, or have a message under way, until whatever waits for it gives up."""


class Stuck(AssertionError):
    """What a life waits for has not come, or its parent has ended otherwise."""


def end_of(demo):
    """The number that the next message will have."""
    return demo.ledger(1 << 60)["next"]


class Refused(Stuck):
    """Its order was not taken."""


class Brokers:
    """Gives each run a broker in turn, so that no one's rate is used up: those with an order stream."""

    CODES = ("zerodha", "upstox", "fyers", "dhan", "angelone", "shoonya", "kotakneo", "fivepaisa")
    _next = count()

    @classmethod
    def another(cls, turn=None):
        """The next one; or the one whose turn that number is, so that a scenario meets the same one in every run."""
        return cls.CODES[(next(cls._next) if turn is None else turn) % len(cls.CODES)]


class Stillness:
    """How long an order has stood still: its orders and parts unchanged, and nothing of it under way. Never the time alone: on a machine
    that is slow an order that is still to be heard of is waited for."""

    def __init__(self):
        self._seen, self._since = None, time.monotonic()
        self._until = self._since + LONGEST_SECONDS

    def seconds(self, record):
        """So far, with the record as it is now (None: it has none); endless after a long time."""
        now = time.monotonic()
        seen, busy = (None, False) if record is None else (_standing(record), _is_busy(record))
        if busy or seen != self._seen:
            self._seen, self._since = seen, now
        return float("inf") if now > self._until else now - self._since


def _standing(record):
    fields = "state", "order_id", "filled_quantity", "quantity", "price", "trigger_price"
    parts = record["parameters"].get("parts", {})
    legs = [[leg[field] for field in fields] for leg in record["legs"]]
    return record["state"], {path: part["state"] for path, part in parts.items()}, legs


def _is_busy(record):
    """Whether a message of it has no answer yet, or the end of an order is still to be seen in its broker's book."""
    return record["state"] in ("received", "cancelling") or any(
        leg["state"] not in LIVE_LEG + ENDED_LEG for leg in record["legs"]
    )


class Run:
    """See the module. `shares` are the traded one and another, both of its own."""

    def __init__(self, demo, name, shares, now, turn=None):
        self.demo, self.name, self.now = demo, name, now
        self.share, self.other = shares
        self.broker = Brokers.another(turn)
        self.patience = PATIENCE_SECONDS
        self.option = None
        self.parent_id = None
        self.answer = None
        self.struck = False
        """Whether its first answer may be another than its example's."""
        self.before_order = lambda: None
        """Called right before its order is sent: what comes ahead of it is not struck."""
        self.before = defaultdict(int)
        """Units of each (broker, instrument) that were bought ahead of the order."""
        self.beside = []
        """Orders of others that rest in its instruments."""
        self._started = time.monotonic()
        for one in shares:
            self.hold(one)
        self.began = end_of(demo)

    # --- the market ---------------------------------------------------------------------------------------------------

    def at(self, percent, share=None):
        """A share's price so many percent from its first one."""
        return self.demo.at_price(share or self.share, percent)

    def hold(self, share):
        self.move(0, share)

    def move(self, percent, share=None):
        """Move a market, and wait until the service quotes it."""
        share = share or self.share
        self.price(self.at(percent, share), share)

    def price(self, price, share=None):
        share = share or self.share
        self.demo.move(share["instrument_id"], price, HOLD_SECONDS)

        def quoted():
            answer = self.demo.ask("GET", "/api/instruments/ltp", instrument_id=share["instrument_id"])
            return answer.status == 200 and answer.json["last_price"] == price

        # A price may end the order, and the broker may tell that before it tells the price.
        self.wait(quoted, f"{share['symbol']} to be quoted at {price}", until_it_ends=False)

    def offer(self, share=None):
        """The best (bid, offer) that the service quotes, once they are those of its last price."""
        share = share or self.share

        def quoted():
            quote = self.demo.read("/api/instruments/quote", instrument_id=share["instrument_id"])
            bid, offer = (quote["depth"][side][0]["price"] for side in ("buy", "sell"))
            return (bid, offer) if bid < quote["last_price"] < offer else None

        return self.wait(quoted, f"the book of {share['symbol']} to be quoted")

    def near(self, minutes):
        """The time of day so many minutes from now, by the demo's clock."""
        moment = datetime.fromisoformat(self.now()) + timedelta(minutes=minutes)
        return moment.strftime("%H:%M:%S")

    # --- the order ------------------------------------------------------------------------------------------------------

    def example(self):
        made = examples(lambda percent: self.at(percent), self.other["instrument_id"], self.near)
        return made.get(self.name) or Example(settings={}, status=200)

    def place(self, settings=None, *, status=None, **body):
        """Place the example of the type (tests/support/type_examples.py) with settings and fields of its own, and hold its first
        answer. A value None leaves one out."""
        example = self.example()
        kept = lambda values: {name: value for name, value in values.items() if value is not None}  # noqa: E731
        traded = self.share if example.instrument == "share" else self.option
        fields = {
            "instrument_id": traded["instrument_id"], "transaction_type": "BUY", "product": "MIS", "order_type": "MARKET",
            "quantity": 10 if example.instrument == "share" else traded["lot_size"], "broker": self.broker, **example.body, **body,
        }  # fmt: skip
        synthetic = {"type": self.name, **kept({**example.settings, **(settings or {})})}
        self.before_order()
        self.answer = self.demo.until(
            lambda: self._taken(self.demo.place(**kept(fields), synthetic=synthetic)),
            f"{self.name} to be taken at {self.broker}",
            60,
        )
        self.parent_id = self.answer.json.get("parent_id")
        if self.parent_id is None or (self.answer.status != (status or example.status) and not self.struck):
            raise Refused(f"{self.name}: {self.answer}")
        return self.answer.json

    @staticmethod
    def _taken(answer):
        """The answer, unless it asks to try again: nothing was sent, for want of room at the broker or of a whole quote."""
        return None if answer.status == 503 and "outcome" not in answer.json else answer

    def buy_first(self, units, share=None, side="BUY", product="MIS"):
        """Have a position before the order: bought (or sold) at market at this run's broker."""
        share = share or self.share
        fields = {
            "instrument_id": share["instrument_id"],
            "transaction_type": side,
            "product": product,
            "order_type": "MARKET",
        }
        self.demo.until_status(self.place_beside(**fields, quantity=units), "COMPLETE")
        self.before[self.broker, share["instrument_id"]] += units if side == "BUY" else -units
        self.wait(
            lambda: self._position(share) == self.before[self.broker, share["instrument_id"]], "the position to be read"
        )
        self.began = end_of(self.demo)

    def rest_first(self, side, units, price):
        """Have another's order at this run's broker rest in the share, before the order."""
        fields = {
            "instrument_id": self.share["instrument_id"],
            "transaction_type": side,
            "product": "MIS",
            "order_type": "LIMIT",
        }
        order_id = self.place_beside(**fields, quantity=units, price=price, synthetic={"type": "simple"})
        self.demo.until_status(order_id, "OPEN")
        self.beside.append(order_id)
        self.began = end_of(self.demo)

    def place_beside(self, **fields):
        """Have another's order taken at this run's broker, and return its id."""
        answer = self.demo.until(
            lambda: self._taken(self.demo.place(**fields, broker=self.broker)),
            f"an order to be taken at {self.broker}",
            60,
        )
        assert answer.status == 200, answer
        return answer.json["order_id"]

    def _position(self, share):
        rows = [
            row
            for row in self.demo.read("/api/portfolio/positions")["net"]
            if row["instrument_id"] == share["instrument_id"]
        ]
        return sum(one["quantity"] for row in rows for one in row["by_broker"] if one["broker"] == self.broker)

    def record(self):
        return self.demo.read("/api/orders/parents", parent_id=self.parent_id)

    def part(self, path="root"):
        return self.record()["parameters"]["parts"][path]

    def legs(self, part=None, states=LIVE_LEG):
        """Its orders at brokers in those states, oldest first."""
        return [
            leg for leg in self.record()["legs"] if leg["state"] in states and (part is None or leg["part"] == part)
        ]

    def working(self, number, part=None):
        """Wait until so many of its orders work at brokers, and return them."""
        return self.wait(lambda: self._counted(number, part), f"{number} orders to work")

    def begins(self):
        """Wait until orders of it work at brokers: one, or on a slow machine also those that came due since."""
        return self.wait(self.legs, "an order to work")

    def _counted(self, number, part):
        found = self.legs(part)
        return (found or True) if len(found) == number else None

    def fill(self, units=None, part=None):
        """Let the market trade with its first resting limit order (of a part): so many units, or all that is left."""
        leg = self.wait(lambda: next(iter(self._limits(part)), None), "an order to fill")
        self.fill_leg(leg, units or leg["pending_quantity"])

    def fill_leg(self, leg, units):
        before = leg["filled_quantity"]
        try:
            self.demo.control(
                "POST", "/fill", {"broker": leg["broker"], "order_id": leg["order_id"], "quantity": units}
            )
        except AssertionError:  # the market was faster, or it is being cancelled
            units = 1

        def heard():
            now = self._leg(leg["leg_id"])
            return now["filled_quantity"] >= before + units or now["state"] in ENDED_LEG

        self.wait(heard, "the fill to be heard")

    def _limits(self, part):
        return [leg for leg in self.legs(part, ("open",)) if leg["order_type"] == "LIMIT"]

    def leg(self, part=None):
        """Its newest order (of a part)."""
        return [leg for leg in self.record()["legs"] if part in (None, leg["part"])][-1]

    def is_in_the_book(self, leg):
        """Whether an order that was seen at a broker is in the exchange's book, and not being cancelled: some brokers show a triggered
        stop as one that waits."""
        mine = leg["broker"], leg["order_id"], "open"
        listed = [(one["broker"], one["order_id"], one["status"]) for one in self.demo.ledger()["orders"]]
        return mine in listed and self._leg(leg["leg_id"])["state"] in LIVE_LEG

    def _leg(self, leg_id):
        return next(leg for leg in self.record()["legs"] if leg["leg_id"] == leg_id)

    def ends(self, state="completed"):
        """Wait until its parent has ended in a state."""
        self.wait(lambda: self.record()["state"] == state, f"the parent to be {state}")

    def wait(self, condition, what, *, until_it_ends=True):
        """Return the condition's first true value; raise Stuck when it stays false while the order stands still, or, with
        `until_it_ends`, the parent has ended otherwise."""
        still = Stillness()
        while True:
            record = None if self.parent_id is None else self.record()
            value = condition()
            if value:
                return value
            if until_it_ends and record is not None and record["state"] in FINAL:
                raise Stuck(f"{self.name}: waited for {what}, and the parent is {record['state']}: {self._told()}")
            if still.seconds(record) > self.patience:
                raise Stuck(f"{self.name}: waited {self.patience:g} s for {what}: {self._told()}")
            time.sleep(POLL_SECONDS)

    def _told(self):
        if self.parent_id is None:
            return self.answer
        record = self.record()
        legs = [
            (leg["part"], leg["state"], leg["order_type"], leg["filled_quantity"], leg["status_message"])
            for leg in record["legs"]
        ]
        parts = {path: part["state"] for path, part in record["parameters"].get("parts", {}).items()}
        return f"{record['state']} ({record['status_message']}); parts {parts}; legs {legs}"

    def quiet(self, seconds=QUIET_SECONDS):
        """Wait until its record has not changed for a while and no order of it is under way."""
        still = Stillness()
        while still.seconds(self.record()) < seconds:
            time.sleep(POLL_SECONDS)

    def settled(self):
        """Wait until no order of it is under way, no longer than that takes: what comes with the clock is not waited for."""
        self.quiet(SETTLED_SECONDS)

    # --- the ledger -----------------------------------------------------------------------------------------------------

    def _traded(self, leg):
        """The instrument of a leg, as the control API lists it."""
        named = {one["order_id"]: one["instrument_id"] for one in self.messages() if one["order_id"]}
        return next(one for one in self.traded if one["instrument_id"] == named[leg["order_id"]])

    def tick_of(self, leg):
        return self._traded(leg)["tick_size"]

    def lot_of(self, leg):
        return self._traded(leg)["lot_size"]

    @property
    def traded(self):
        """Its instruments, as the control API lists them."""
        return [one for one in (self.share, self.other, self.option) if one is not None]

    @property
    def instruments(self):
        return [one["instrument_id"] for one in self.traded]

    def messages(self, ledger=None):
        """What was said to brokers about its instruments since it began."""
        ledger = ledger or self.demo.ledger(self.began)
        return [
            one for one in ledger["messages"] if one["n"] >= self.began and one["instrument_id"] in self.instruments
        ]

    def said(self, ledger=None):
        """Its messages as (verb, side, quantity, limit price, trigger price); of another instrument with its number behind."""
        return [
            (one["verb"], one["side"], one["quantity"], one["price"], one["trigger_price"], *self._number(one))
            for one in self.messages(ledger)
        ]

    def _number(self, message):
        number = self.instruments.index(message["instrument_id"]) + 1
        return () if number == 1 or message["instrument_id"] == (self.option or {}).get("instrument_id") else (number,)
