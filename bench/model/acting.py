"""Plays a story on one day: the service on a mocked clock, in one process, with the simulator as the world around it."""

import contextlib
import random
import unittest.mock
import uuid
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import attrs
import trio
import trio.testing

from bench.model.judging import judge
from bench.model.story import BLINDING, GUARDED, GUARDS, Story, Theme
from bench.model.telling import told
from bench.model.watching import TAKEN_BACK_SECONDS, Watch
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.sessions.messages import LoginNeeded
from onebroker.actors.store.durable import HaltMode
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import SimHolding, SimOrder, SimRefusal
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Product, Side
from tests.support.day import Day
from tests.support.engine_orders import ticks
from tests.support.halts import Halted, halt, resume
from tests.support.plan_days import Script, beating_market, live, quiet
from tests.support.trading import Trading
from tests.support.type_examples import Example, examples

UNTIL_HEALED_SECONDS = 100
"""An order of unknown outcome is settled a minute after the first book without it."""
UNTIL_TOLD_SECONDS = 20
UNTIL_HELD_SECONDS = 86_400
INSTRUMENTS = 100
WALK_PERCENT, WALK_SECONDS = 0.1, 0.3
CALM_SECONDS = 3.0
"""Longer than the cancel or the change that answers a fill."""
WRITTEN_UNITS = 20
"""Units of a plan that its caller has put together by hand."""
WAITING = ("hidden_stop", "daily_stop", "limit_if_touched", "market_if_touched")
"""Types of an exit whose orders leave later, not while their caller waits."""
SOON = {"minutes": 1, "over_minutes": 1, "every_seconds": 5, "step_seconds": 5}
"""Settings that would take longer than a story."""
GIVEN_UP = (ActorNotRunning, AskTimedOut, LoginNeeded, Refusal, SimRefusal)
"""A step may meet a service that is dead, logged out or refuses, and a broker's app that refuses."""


def written_tree(kind: str, size: str, rule: str, at: Callable[[float], float]) -> dict[str, Any]:
    """Return the tree of a plan. `halves`: two groups of half the entry each, below it; `entries`: two entries with a group each; `side by side`: stop and
    target without a group; `two stops`: each for the whole entry; `grouped`, `in turn`: a stop beside two targets in a group or a sequence of their own;
    `pair`: a group over what is held; `grouped pair`, `pair in turn`: the same with two targets; `stops`: two stops over what is held. `at`: percent ->
    price."""
    half = {
        "share": {"share": 0.5}, "ratio": {"from_fill": {"ratio": 0.5}}, "units": WRITTEN_UNITS // 2,
    }[size]  # fmt: skip

    def exits(target: float, quantity: Any) -> dict[str, Any]:
        own = {"transaction_type": "SELL"} if quantity is None else {"transaction_type": "SELL", "quantity": quantity}
        stop = {**own, "price": {"kind": "native_stop", "trigger_price": at(-2), "limit_price": at(-3.5)}}
        limit = {**own, "price": {"kind": "fixed", "price": at(target)}}
        if kind == "side by side":
            return {"part": "together", "children": [stop, limit]}
        if kind in ("stops", "two stops"):
            return stop
        return {"part": "one_cancels_others", "rule": rule, "children": [stop, limit]}

    def entry(units: int, below: dict[str, Any]) -> dict[str, Any]:
        price = {"kind": "fixed", "price": at(0.5)}
        return {"transaction_type": "BUY", "quantity": units, "price": price, "each_fill": below}

    def two_targets(quantity: Any) -> dict[str, Any]:
        stop, first = exits(1.5, None)["children"][0], exits(1.5, quantity)["children"][1]
        then = exits(3, quantity)["children"][1]
        turns = (
            {"part": "sequence", "first": first, "then": then}
            if "turn" in kind
            else {"part": "together", "children": [first, then]}
        )
        return {"part": "one_cancels_others", "rule": "shrink", "children": [stop, turns]}

    units = WRITTEN_UNITS // 2
    match kind:
        case "grouped" | "in turn" | "grouped pair" | "pair in turn":
            alone, by_first = "pair" in kind, kind == "in turn" and size == "ratio"  # a ratio in a `then` is of `first`
            targets = two_targets(units if alone or by_first else half)
            return targets if alone else entry(WRITTEN_UNITS, targets)
        case "halves":
            return entry(WRITTEN_UNITS, {"part": "together", "children": [exits(1.5, half), exits(3, half)]})
        case "entries":
            return {"part": "together", "children": [entry(units, exits(1.5, None)), entry(units, exits(3, None))]}
        case "side by side":
            return entry(WRITTEN_UNITS, exits(3, None))
        case "two stops":
            return entry(WRITTEN_UNITS, {"part": "together", "children": [exits(0, None), exits(0, None)]})
        case "pair":
            return exits(3, WRITTEN_UNITS)
        case _:
            return {"part": "together", "children": [exits(1.5, units), exits(3, units)]}


def _alone(kind: str, at: Callable[[float], float]) -> dict[str, Any]:
    """Return one stop over what is held, as a plan: at a broker, or (`hidden alone`) in the engine."""
    more: dict[str, Any] = {"price": {"kind": "native_stop", "trigger_price": at(-2), "limit_price": at(-3.5)}}
    if kind == "hidden alone":
        falls = {"price": {"level": at(-2), "direction": "below"}}
        more = {"when": falls, "price": {"kind": "marketable", "follow": True}}
    return {"transaction_type": "SELL", "quantity": WRITTEN_UNITS, **more}


class Actor(Script):
    """One story's callers, person, brokers and market. Each step is a method of its verb."""

    def __init__(self, day: Day, story: Story) -> None:
        super().__init__(day)
        self.story = story
        self.watch = Watch(day, story)
        self.trading: Trading | None = None
        self.squared_off: set[str] = set()
        self.sent: dict[str, Any] = {}
        """The newest order, with its intent."""
        self.percent = {False: 0.0, True: 0.0}
        """Of the second share or not -> where its price was sent last."""
        self.moves = {False: 0, True: 0}
        """The number of its newest move."""
        self.calm_until = 0.0
        """On a plain day a partial fill at a limit is answered before the market walks on to the stop beside it (trio's clock)."""
        self.acts: list[tuple[str, str]] = []
        """(time, words) of every step."""

    def begin(self) -> None:
        self.trading = Trading(self.day)
        super().begin()
        self.watch.follow(self.instruments)

    async def act(self, verb: str, given: Mapping[str, Any]) -> None:
        self.acts.append((self.day.clock.now().isoformat(), f"{verb} {dict(given)}"))
        with contextlib.suppress(*GIVEN_UP):
            await getattr(self, f"do_{verb}")(**given)

    # --- callers ---------------------------------------------------------------------------------------------------------

    def example(self, kind: str, scale: float, seconds: float, *, mirrored: bool) -> Example:
        assert self.share is not None
        assert self.second is not None
        sign = -1 if mirrored else 1
        due = (self.day.clock.now().timestamp() + seconds) // 1 + 1

        def near(_: int) -> str:
            return _hhmmss(self.day, due)

        def level(percent: float) -> float:
            away = sign * percent * scale
            # On a plain day callers mean what they send: a stop is not past when it is sent.
            return float(ticks(self.day, self.share, away) if self.story.theme is Theme.PLAIN else self.at(away))

        return examples(level, self.second.instrument_id, near)[kind]

    async def do_place(
        self, kind: str, scale: float, quantity: int, product: str, seconds: float, broker: str | None, *,
        mirrored: bool, closes: bool, holds: bool, follows: bool = True,
    ) -> None:  # fmt: skip
        """`follows`: whether the exits become smaller with the position; a story that was kept without it means the default."""
        assert self.trading is not None
        assert self.share is not None
        own = self.example(kind, scale, seconds, mirrored=mirrored)
        settings = {**own.settings, "type": kind}
        settings |= {name: value for name, value in SOON.items() if name in settings}
        if "trail_percent" in settings:
            settings["trail_percent"] *= scale  # within the price band
        if kind == "strategy_stop":
            settings["instrument_ids"] = self.instruments
        if kind in (*GUARDED, "oco"):
            settings["hold_limits"] = holds  # false: the target rests beside the stop
        elif "hold_limits" in settings and holds:
            del settings["hold_limits"]
        if not follows:
            settings["exits_follow_position"] = False
        body: dict[str, Any] = {"quantity": quantity, "product": product, "broker": broker, **own.body}
        if mirrored:
            body["transaction_type"] = "BUY" if body.get("transaction_type") == "SELL" else "SELL"
        if body.get("transaction_type") == "SELL" and closes and kind not in GUARDED:  # the entry of these is no close
            if (quantity or 0) > self._most_held(broker, product, waits=kind in WAITING):
                return  # who says that he closes sells no more than is held
            settings["closes_position"] = True
        # On a day of purchases and their exits, what a caller guards is held.
        is_alone = kind in GUARDS and self.story.theme is Theme.LONG
        if is_alone and (quantity or 0) > self._most_held(broker, product, waits=kind in WAITING):
            return
        if own.instrument == "option":
            body["instrument_id"] = self.day.listed("nse_equity_options")[0].instrument_id
            body["product"] = "MIS"
        await self.send(synthetic=settings, **body)

    def _most_held(self, broker: str | None, product: str, *, waits: bool) -> int:
        """`waits`: whether the exit leaves later. Without a broker it then goes to each holder; at once it goes to one broker."""
        codes = self.day.codes if broker is None else [broker]
        held = [self.day.exchange.account(code).net_quantity(self._share, Product(product)) for code in codes]
        return sum(units for units in held if units > 0) if waits else max(held)

    async def do_exit_plan(self, kind: str, quantity: int) -> None:
        """A plan of one exit without a broker that waits for 1 %: `resting` above the market, or in two `rungs`."""
        if quantity > self._most_held(None, Product.MIS.value, waits=True):
            return
        level, low, high = self.at(1), self.at(2), self.at(3)
        when = {"price": {"level": level, "direction": "above"}}
        root: dict[str, Any] = {"when": when, "price": {"kind": "fixed", "price": low}}
        if kind == "rungs":
            root["execution"] = {"kind": "ladder", "from_price": low, "to_price": high, "steps": 2}
        settings = {"type": "plan", "root": root, "closes_position": True, "hold_limits": False}
        await self.send(transaction_type="SELL", quantity=quantity, product=Product.MIS.value, synthetic=settings)

    async def do_written(self, kind: str, size: str, rule: str, product: str, broker: str) -> None:
        """A plan of 20 units that its caller has put together by hand (`written_tree`): an entry with its exits, or exits of what is held."""
        alone = kind in ("pair", "stops", "grouped pair", "pair in turn")
        if alone and self._most_held(broker, product, waits=True) < WRITTEN_UNITS:
            return
        root = _alone(kind, self.at) if kind.endswith(" alone") else written_tree(kind, size, rule, self.at)
        side = "SELL" if alone else "BUY"
        settings = {"type": "plan", "root": root, "hold_limits": False}
        if kind == "stops":
            settings["closes_position"] = True  # without it they are their caller's entries (1.13)
        body = {"transaction_type": side, "quantity": WRITTEN_UNITS, "order_type": "LIMIT", "price": self.at(0.5)}
        await self.send(**body, product=product, broker=broker, synthetic=settings)

    async def do_simple(
        self, side: str, percent: float | None, quantity: int, product: str, broker: str | None
    ) -> None:
        price = {} if percent is None else {"order_type": "LIMIT", "price": self.at(percent)}
        body = {"transaction_type": side, "quantity": quantity, "product": product, "broker": broker, **price}
        await self.send(**body)

    async def send(self, **body: Any) -> None:
        assert self.trading is not None
        if self.story.theme is Theme.PLAIN:  # on a plain day nobody buys what a flatten then closes
            await self.day.until(lambda: not self.watch.closes, UNTIL_HEALED_SECONDS)
        self.intents += 1
        self.sent = {"intent_id": f"m-{self.intents}", **body}
        answer = await self.trading.send(**self.sent)
        if answer.body.get("parent_id"):
            self.parents.append(answer.body["parent_id"])

    async def do_again(self) -> None:
        """A caller who heard no answer sends the same order again."""
        if self.sent and self.trading is not None:
            await self.trading.send(**self.sent)

    async def do_cancel(self, which: int) -> None:
        await self.cancel(which, None)

    async def do_modify(self, which: int, change: Mapping[str, Any]) -> None:
        order = self._one(which)
        if order is not None:
            if self.story.theme is Theme.PLAIN and order.trigger_price is not None and "price" in change:
                return  # on a plain day nobody puts a stop's limit where it cannot fill
            self.watch.changed.add((order.broker, order.order_id))
        await self.modify(which, change)

    async def do_lower(self, which: int, units: int) -> None:
        """A caller makes an exit of a guarded plan smaller."""
        names = {(leg["broker"], leg["order_id"]) for leg in self.watch.guarding_legs()}
        exits = [
            order
            for order in self.day.exchange.all_orders()
            if not order.status.finished and (order.broker, order.order_id) in names and order.pending_quantity > units
        ]
        if exits:
            order = exits[which % len(exits)]
            name, left = (order.broker, order.order_id), order.quantity - units
            answer = await self.day.modify(order.order_id, broker=order.broker, quantity=left)
            if answer.status == 200:
                self.watch.lowered[name] += units
            elif answer.status >= 500:
                self.watch.changed.add(name)  # its outcome is not known

    async def do_modify_held(self, which: int, change: Mapping[str, Any]) -> None:
        if self.story.theme is Theme.PLAIN and "price" in change:
            return  # on a plain day nobody puts an entry past its own stop
        if self.parents:
            self.watch.resized.add(self.parents[which % len(self.parents)])
        await self.modify_held(which, change)

    async def do_stop(self, which: int, path: str | None) -> None:
        if path is not None and self.parents:
            self.watch.resized.add(
                self.parents[which % len(self.parents)]
            )  # who ends a stop before its entry fills wants none
        await self.stop(which, path)

    async def do_overtake(self, by: str, which: int) -> None:
        if by == "stop" and self.story.theme is Theme.PLAIN:
            return  # what fills before the cancel has no stop then, and that is rightly told
        order = self._one(which)
        if order is not None:
            self.watch.changed.add((order.broker, order.order_id))
        self.watch.blind(2)
        await self.overtake(by, which)

    async def do_flatten(self) -> None:
        await self.watch.flat_is_flat(self.day.flatten)

    async def do_close(self, product: str | None, broker: str | None) -> None:
        limits = {name: value for name, value in (("product", product), ("broker", broker)) if value is not None}
        await self.watch.flat_is_flat(lambda: self.day.close(**limits), **limits)

    async def do_halt(self, mode: str, seconds: float) -> None:
        if self.watch.halted:
            return
        self.watch.halted = (
            True  # before the answer: a second halt at the same moment would be judged after the first one's resume
        )
        answer = await halt(self.day, HaltMode(mode))
        halted = Halted(self.day)
        try:
            await trio.sleep(seconds)
        finally:
            if answer.status == 200:
                self.watch.violations += [f"halt: {slip}" for slip in halted.slipped() if not self.watch.annulled]
        await resume(self.day)
        self.watch.halted = False

    # --- market ------------------------------------------------------------------------------------------------------------

    async def do_move(self, percent: float, *, second: bool, walks: bool) -> None:
        """Let the price jump, or walk there in steps that jump over no limit."""
        self.moves[second] += 1
        mine, before = self.moves[second], self.percent[second]
        count = max(1, round(abs(percent - before) / WALK_PERCENT)) if walks else 1
        for step in range(1, count + 1):
            await trio.sleep_until(self.calm_until)
            self.percent[second] = before + (percent - before) * step / count
            await self.move(self.percent[second], second)
            if step < count:
                await trio.sleep(WALK_SECONDS)
            if self.moves[second] != mine:
                return  # a later move goes on from here

    async def move(self, percent: float, second: bool) -> None:
        """Send a price there, at most to just within the day's circuit limits."""
        share = self.second if second else self.share
        assert share is not None
        market = self.day.exchange.market(share.instrument_id)
        lowest, highest = market.lower_circuit + 2 * market.tick_size, market.upper_circuit - 2 * market.tick_size
        wanted = self.at(percent) if share is self.share else ticks(self.day, share, percent)
        self.day.simulator.set_price(share.instrument_id, max(lowest, min(wanted, highest)), UNTIL_HELD_SECONDS)
        await trio.lowlevel.checkpoint()

    async def do_fill(self, which: int, units: int | None) -> None:
        if self.story.theme is Theme.PLAIN:
            self.calm_until = trio.current_time() + CALM_SECONDS
        await self.fill(which, units)

    async def do_empty_side(self, side: str, seconds: float, *, circuit: bool) -> None:
        assert self.share is not None
        self.watch.odd_market(seconds)
        self.day.simulator.empty_side(self.share.instrument_id, Side(side), seconds, at_circuit=circuit)
        if circuit:
            await trio.sleep(seconds)
            self.day.simulator.set_price(self.share.instrument_id, self.at(0), UNTIL_HELD_SECONDS)

    # --- a person at the broker's app -----------------------------------------------------------------------------------------

    def code(self, broker: int) -> str:
        return self.day.codes[broker % len(self.day.codes)]

    async def do_reduce(self, broker: int, units: int | None) -> None:
        await trio.lowlevel.checkpoint()
        for product in (Product.MIS, Product.CNC):
            held = self._held(broker, product)
            if held > 0:
                self.watch.person_acts()
                some = None if units is None else min(units, held)
                self.day.person.reduce(self.code(broker), self._share, product, some)
                return

    def _held(self, broker: int, product: Product) -> int:
        return self.day.exchange.account(self.code(broker)).net_quantity(self._share, product)

    @property
    def _share(self) -> str:
        assert self.share is not None
        return self.share.instrument_id

    async def do_app_cancel(self, which: int) -> None:
        await trio.lowlevel.checkpoint()
        order = self._one(which)
        if order is not None:
            self.watch.person_acts()
            self.day.person.cancel(order.broker, order.order_id)
            self.watch.took_off(order, order.pending_quantity)

    async def do_app_modify(self, which: int, what: str, percent: float) -> None:
        await trio.lowlevel.checkpoint()
        order = self._one(which)
        change = None if order is None else self._app_change(order, what, percent)
        if order is None or change is None:
            return
        self.watch.person_acts()
        if "quantity" in change:
            self.watch.took_off(order, order.quantity - change["quantity"])
        else:
            self.watch.changed.add((order.broker, order.order_id))
            self.watch.moved(order, change.get("trigger_price"))
        self.day.person.modify(order.broker, order.order_id, **change)

    def _app_change(self, order: SimOrder, what: str, percent: float) -> dict[str, Any] | None:
        if what == "quantity":
            less = order.filled_quantity + order.pending_quantity // 2
            return {"quantity": less} if order.filled_quantity < less < order.quantity else None
        name = "price" if what == "price" else "trigger_price"
        now = getattr(order, name)
        if now is None:
            return None
        tick = self.day.exchange.market(order.new.instrument_id).tick_size
        moved = (now * (100 + Decimal(str(percent))) / 100 / tick).quantize(Decimal(1)) * tick
        return {name: moved}

    async def do_convert(self, broker: int, units: int | None) -> None:
        await trio.lowlevel.checkpoint()
        held = self._held(broker, Product.MIS)
        if held > 0:
            self.watch.person_acts()
            some = None if units is None else min(units, held)
            self.day.person.convert(self.code(broker), self._share, Product.MIS, Product.CNC, some)

    async def do_broker_squares_off(self, broker: int) -> None:
        await trio.lowlevel.checkpoint()
        code = self.code(broker)
        if code not in self.squared_off:
            self.squared_off.add(code)
            self.watch.person_acts()
            self.day.exchange.hands.square_off_at(code, self.day.clock.now().time())

    async def do_annul(self, which: int) -> None:
        await trio.lowlevel.checkpoint()
        fills = [fill for fill in self.day.exchange.ledger.fills() if fill.counterparty == "market"]
        if fills and not self.watch.annulled:  # of two such trades that cancel each other out no position tells
            fill = fills[-1 - which % len(fills)]
            self.watch.person_acts()
            self.watch.annulled_at.append(self.watch.now)
            self.watch.blind(TAKEN_BACK_SECONDS)
            with contextlib.suppress(ValueError):  # of another day
                self.day.exchange.hands.annul(fill.broker, fill.trade_id)

    # --- brokers and store --------------------------------------------------------------------------------------------------------

    async def do_fault(
        self, kind: str, broker: str, seconds: float | None, count: int | None, delay: float | None
    ) -> None:
        await trio.lowlevel.checkpoint()
        if kind in BLINDING or kind == "reject_orders":
            self.watch.blind(seconds or 0)
        self.watch.odd(kind, seconds, delay)
        more = {"seconds": seconds, "count": count, "delay_seconds": delay}
        self.day.simulator.fault(
            broker, FaultKind(kind), **{name: value for name, value in more.items() if value is not None}
        )

    async def do_outage(self, broker: int, seconds: float) -> None:
        self.watch.blind(seconds)
        await self.outage(broker, seconds)

    async def do_lose_store(self, error: str, seconds: float) -> None:
        self.watch.blind(seconds)
        await self.lose_store(error, seconds)

    async def do_lose_answer(self) -> None:
        self.watch.blind(2)
        await self.lose_answer()


def _hhmmss(day: Day, epoch: float) -> str:
    return day.clock.now().fromtimestamp(epoch, day.clock.now().tzinfo).strftime("%H:%M:%S")


def _prepare(day: Day) -> None:
    """Let the accounts begin with money, and at the first broker with shares."""
    for code in day.codes:
        account = day.exchange.account(code)
        account.begin_day(attrs.evolve(account.state, positions=[], holdings=[]))


def _give_shares(day: Day, story: Story, instrument_id: str) -> None:
    account = day.exchange.account(day.codes[0])
    shares = SimHolding(
        instrument_id=instrument_id, settled_quantity=story.held, t1_quantity=0, collateral_quantity=0,
        average_price=day.exchange.market(instrument_id).last_price,
    )  # fmt: skip
    account.begin_day(attrs.evolve(account.state, positions=[], holdings=[shares]))


async def play(story: Story) -> tuple[list[str], Actor]:
    """Play a story to its end, heal everything, and return the violated rules and the actor."""
    day = Day(brokers=story.brokers, number=INSTRUMENTS)
    _prepare(day)
    actor = Actor(day, story)
    if story.held:
        first = sorted(
            (one for one in day.exchange.contracts() if one.identity.segment == "nse_equities"),
            key=lambda one: str(one.identity.symbol),
        )[0]
        _give_shares(day, story, first.instrument_id)
    with trio.fail_after(UNTIL_HELD_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(beating_market, actor)
            nursery.start_soon(actor.watch.run)
            for life in story.lives:
                actor.watch.begin_life()
                await live(actor, [(("act", step.verb, step.given), step.pause) for step in life.steps], life.death)
                actor.watch.end_life()
                day.store.come_back()
            day.simulator.faults.heal()
            actor.slow = True
            async with day.service(log_in=not actor.logged_in, quotes=True):
                actor.watch.begin_life()
                await day.until(lambda: day.status.value.running, UNTIL_HEALED_SECONDS)
                for code, handle in day.sessions.items():
                    if not handle.view.value.live:
                        await day.log_in(code)
                with day.quotes.follow(actor.instruments):
                    await trio.sleep(UNTIL_HEALED_SECONDS if actor.watch.lost_knowledge else UNTIL_TOLD_SECONDS)
                    await quiet(day)
                actor.watch.end_life()
            nursery.cancel_scope.cancel()
    return [*actor.watch.violations, *judge(day, actor.watch)], actor


@contextlib.contextmanager
def _same_each_time(seed: int) -> Iterator[None]:
    """Let trio, which shuffles its tasks, and the services, which draw their waits and ids, do the same each time. (`__main__` fixes the order of sets.)"""
    run: Any = trio._core._run
    known, state = run._ALLOW_DETERMINISTIC_SCHEDULING, random.getstate()
    run._ALLOW_DETERMINISTIC_SCHEDULING = True
    run._r.seed(seed)
    random.seed(seed)
    try:
        with unittest.mock.patch("uuid.uuid4", side_effect=lambda: uuid.UUID(int=random.getrandbits(128), version=4)):
            yield
    finally:
        run._ALLOW_DETERMINISTIC_SCHEDULING = known
        random.setstate(state)


def violations(story: Story, tell: Callable[[str], None] | None = None) -> list[str]:
    """Play a story on a clock of its own; `tell` is told the course of the day."""
    with _same_each_time(story.seed):
        found, actor = trio.run(play, story, clock=trio.testing.MockClock(autojump_threshold=0))
    for line in () if tell is None else told(actor):
        tell(line)
    return found
