"""The pages of the order types, made of the registry, of one example order each and of what the plan machine does with it:
`PYTHONPATH=. python tests/support/order_type_pages.py` writes docs/order-types.md's table and docs/order-types/<type>.md.

What a page says of ends, restarts and failures follows from the plan: stops lie at the broker, what is held or waits lies in the
engine.
"""

import contextlib
import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import attrs

from onebroker.actors.engine.context.messages import PlaceBody
from onebroker.actors.engine.intake.synthetic import defaults_of
from onebroker.actors.engine.plan.execution_kinds import ONE_AFTER_ANOTHER
from onebroker.actors.engine.plan.kinds import WORDS
from onebroker.actors.engine.plan.parts import (
    OneCancelsOthersPart,
    OrderPart,
    Part,
    TogetherPart,
    Units,
    orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import Cap, Marketable, Stages, Trail, is_stop, uncapped
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import Rule, Unfit
from onebroker.actors.engine.plan.shown_tree import shown_execution, shown_lifetime, shown_price, shown_quantity
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.preset import Holding, Preset, Refs
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.instruments import security
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import OrderType
from tests.actors.engine.plan.strategies import INDEX, NOW, OPTION, SHARE, TRADED, World, listed
from tests.support.type_examples import Example, examples
from tests.support.typed import accepted, running

T = TypeVar("T")
D = TypeVar("D")

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- types: begin -->", "<!-- types: end -->"
_REFERENCES = {
    Refs.NEVER: "never", Refs.INTAKE: "at intake", Refs.EACH: "for each order", Refs.SCHEDULED: "when it is due",
}  # fmt: skip
_HELD = {Holding.BY_SWITCH: "yes", Holding.OFF: "no", Holding.ALWAYS: "always"}
OTHER = listed(security("nse", "equities", "TCS"))
_TRADES_OTHER = ("legged_spread", "attached_hedge", "exposure_hedge", "strategy_stop")
WORLD = World(known=(*TRADED, INDEX, OTHER), calendar=calendar_from_documents(exchange_documents()))


_SAID = {
    "volume_profile": (
        "a list of as many numbers of at least 0 as there are slices",
        "of the stored volumes, else a U over the day",
    ),
    "watch_instrument_id": ("a UUID", "the traded one"),
    "then": (
        "an order object: `transaction_type`, `order_type` and what else differs from the body; a `price_reference` in it is worked out when it is sent",
        "required",
    ),
    "target_quantities": ("a list of whole lots that add up to the quantity", "equal lots, spare ones to the first"),
    "at_time": (
        "a time of day such as 15:10",
        "20 minutes before the close, 30 for commodities (`[engine.square_off]`)",
    ),
    "products": ("a list of position products", '["intraday"]'),
    "instrument_ids": ("a list of 1 to 50 UUIDs", "the body's"),
}
"""What is read by none of the plain rules: setting -> what it may be, its default."""


# --- the table of all types ------------------------------------------------------------------------------------------------


def table() -> str:
    lines = ["| Type | Does | Settings | Body `order_type` | `hold_limits` | References |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(_row(preset) for preset in PRESETS.values())])


def _row(preset: Preset[Any]) -> str:
    settings = ", ".join(f"`{name}`" for name in _names(preset)) or "none"
    link = f"[`{preset.name}`](order-types/{preset.name}.md)"
    return f"| {link} | {preset.title} | {settings} | {_body_types(preset)} | {_HELD[preset.hold]} | {_REFERENCES[preset.references]} |"


def _names(preset: Preset[Any]) -> list[str]:
    return [field.name for field in attrs.fields(preset.settings)]


def _body_types(preset: Preset[Any]) -> str:
    types = (
        "of each order"
        if preset.per_part
        else "any"
        if set(preset.order_types) == set(OrderType)
        else ", ".join(preset.order_types)
    )
    return types + (" (price unused)" if preset.engine_priced else "")


# --- one page --------------------------------------------------------------------------------------------------------------


def page(preset: Preset[Any]) -> str:
    """The text of one type's page."""
    example = example_of(preset.name)
    parts = [
        f"# {preset.name}",
        f"{preset.title[0].upper()}{preset.title[1:]}. [All types](../order-types.md)",
        f"![A course of the market, and what the orders of {preset.name} do in it](drawings/{preset.name}.svg)",
        "## Settings", _settings(preset, example),
        f"Body `order_type`: {_body_types(preset)}. `hold_limits` by default: {_HELD[preset.hold]}. References: {_REFERENCES[preset.references]}.",
        "## Example", _example(preset, example),
        "## What happens to it", "\n".join(f"- {line}" for line in _life(preset, example)),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def example_of(name: str) -> Example:
    """The example of one type, with the instruments and prices of its page."""
    return _examples(name)[name]


def _examples(name: str) -> dict[str, Example]:
    def at(percent: float) -> float:
        return round(100 * (1 + percent / 100), 2)

    def near(minutes: int) -> str:
        return (NOW + timedelta(minutes=minutes)).strftime("%H:%M:%S")

    return examples(at, (OTHER if name in _TRADES_OTHER else INDEX).instrument_id, near)


class _Noted(Fields):
    """Reads settings as ever, and keeps what each may be."""

    noted: ClassVar[dict[str, tuple[str, Any]]] = {}  # one page at a time

    def required(self, field: str, rule: Rule[T]) -> T:
        self._note(field, rule, "required")
        return super().required(field, rule)

    def optional(self, field: str, rule: Rule[T], default: D) -> T | D:
        self._note(field, rule, default)
        return super().optional(field, rule, default)

    def items(self, field: str, least: int, most: int) -> tuple[object, ...]:
        self.noted.setdefault(self.name(field), (f"must be a list of {least} to {most} items", "required"))
        return super().items(field, least, most)

    def _note(self, field: str, rule: Rule[Any], default: object) -> None:
        try:
            rule(object(), "it")
        except Unfit as error:
            self.noted.setdefault(self.name(field), (str(error).removeprefix("it "), default))


def _settings(preset: Preset[Any], example: Example) -> str:
    _Noted.noted = {}
    order = order_of(preset, example)
    own = {name: value for name, value in example.settings.items() if name != "hold_limits"}
    fields = _Noted.of(own, path="", owner=f"{preset.name} order")
    with contextlib.suppress(Refusal):
        preset.settings_of(fields, Body(defaults=defaults_of(order), world=WORLD))
    if not _names(preset):
        return "It has none of its own."
    rows = [f"| `{name}` | {_what(name)} | {_default(name)} |" for name in _names(preset)]
    return "\n".join(["| Setting | What it may be | Default |", "|---|---|---|", *rows])


def _what(name: str) -> str:
    said, _ = _Noted.noted.get(name) or _SAID.get(name, ("", ""))
    return said.removeprefix("must be ")


def _default(name: str) -> str:
    if name not in _Noted.noted:
        return _SAID.get(name, ("", ""))[1]
    _, default = _Noted.noted[name]
    if default is None or default == "required":
        return default or ""
    shown = getattr(default, "value", default)
    return f"`{str(shown).lower() if isinstance(shown, bool) else shown}`"


def order_of(preset: Preset[Any], example: Example) -> PlaceBody:
    of = OPTION if example.instrument == "option" else SHARE
    body: dict[str, Any] = {"order_type": "MARKET", "price": None, **example.body}
    if of is OPTION:
        body["quantity"] = OPTION.lot_size
    else:
        body = {"quantity": 10, **body}
    return accepted({"type": preset.name, **example.settings}, of=of, world=WORLD, **body)


def _example(preset: Preset[Any], example: Example) -> str:
    order = order_of(preset, example)
    assert order.plan is not None
    sent = {
        "instrument_id": "…",
        **{name: value for name, value in order.sent.items() if name not in ("instrument_id", "synthetic")},
    }
    sent["synthetic"] = order.sent["synthetic"]
    text = json.dumps(sent, indent=1, ensure_ascii=False).replace("\n  ", " ").replace("\n }", " }").replace("[\n", "[")
    first = _first_messages(order)
    said = f"With the market at 100 (99.95 bid, 100.05 offered) this goes out first:\n\n```\n{first}\n```" if first else (
        "With the market at 100 (99.95 bid, 100.05 offered) nothing goes out at first."
    )  # fmt: skip
    return f"```json\n{_short(text)}\n```\n\nThe plan it makes:\n\n```\n{_tree(order.plan)}\n```\n\n{said}"


def _short(text: str) -> str:
    for one in (SHARE, OTHER, INDEX, OPTION):
        text = text.replace(one.instrument_id, "…")
    return text


def _first_messages(order: PlaceBody) -> str:
    run = running(order)
    for of in ("I", "O", "N", OTHER.instrument_id):
        run.quote(100, 99.95, 100.05, of=of)
    run.at(1)
    return _short("\n".join(run.sent()))


def _tree(part: Part, depth: int = 0) -> str:
    name = part.path.rpartition(".children.")[2] if ".children." in part.path else part.path.rpartition(".")[2]
    lines = [f"{'  ' * depth}{name}: {_part(part)}"]
    below: list[Part] = [part.each_fill] if isinstance(part, OrderPart) and part.each_fill is not None else []
    below += [getattr(part, field) for field in ("first", "then") if hasattr(part, field)]
    below += list(getattr(part, "children", ()))
    return "\n".join([*lines, *(_tree(one, depth + 1) for one in below)])


def _part(part: Part) -> str:
    if isinstance(part, OneCancelsOthersPart):
        return f"one cancels others, rule {part.rule.value}{_limits(part)}"
    if not isinstance(part, OrderPart):
        return f"{WORDS[type(part)]}{_limits(part)}"
    size = part.quantity.quantity if isinstance(part.quantity, Units) else _flat(shown_quantity(part.quantity))
    execution = shown_execution(part.execution)
    how = "" if execution["kind"] == "all_at_once" else f", {_flat(execution)}"
    held = ", held in the engine" if part.hold else ""
    return _short(f"{part.transaction_type} {size}, {_flat(shown_price(part.price))}{how}{held}{_limits(part)}")


def _limits(part: Part) -> str:
    when = "" if part.when is None else f", when {WORDS[type(part.when)]} {_short(_flat(attrs.asdict(part.when)))}"
    life = "" if part.lifetime is None else f", lifetime {_flat(shown_lifetime(part.lifetime))}"
    return when + life


def _flat(value: object) -> str:
    """A small object in one line: its kind, then what is set."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_flat, value))}]"
    if not isinstance(value, dict):
        shown = getattr(value, "value", value)
        return str(shown).lower() if isinstance(shown, bool) else str(shown)
    inner = [
        f"{name} {_flat(one)}" for name, one in value.items() if name != "kind" and one not in (None, False, [], {}, ())
    ]
    return " ".join([*([str(value["kind"])] if "kind" in value else []), *inner])


# --- ends, restarts, failures ------------------------------------------------------------------------------------------------


_NUMBERS_ONLY = "Its candidates give real numbers: a reference in one of them is refused (400)."
_NOTES = {
    "account_conditional": (
        "`day_pnl`, `realized_pnl` and `unrealized_pnl` are sums over every broker that answers, of the results that the "
        "[daily loss limit](../charges.md#the-daily-loss-limit) goes by. While one of these brokers tells no result, or of `realized_pnl` and "
        "`unrealized_pnl` not that part of it, there is no figure: the order waits, and its `status_message` names the broker."
    ),
    "basket": _NUMBERS_ONLY,
    "oca": _NUMBERS_ONLY,
    "oto": "A `quantity_reference` in `then` is refused (400): its quantity is what the first has filled.",
    "two_sided_quote": (
        "A `price_reference` (with `order_type` LIMIT) stands in the place of the middle, and is followed as the middle is; a "
        "`quantity_reference` is worked out once, at intake, and both sides are quoted in that size."
    ),
    "indicator_triggered": (
        "`trigger_direction` left out is the side on which the level lies when the order is armed; of `volume`, which only rises, always "
        "`above`: a level that is passed already is true at once."
    ),
    "volatility": (
        "Watch the future of the same expiry: it is the forward that the option is priced by. From a spot or an index the forward is spot times "
        "e to the rate (`interest_rate`, 0 by default) times the time left: of NIFTY that can be forty points off, some ₹20 of an "
        "at-the-money premium. A dry run says so in `warnings`."
    ),
}


def _life(preset: Preset[Any], example: Example) -> Iterator[str]:
    if preset.name in _NOTES:
        yield _NOTES[preset.name]
    root = order_of(preset, example).plan
    assert root is not None
    orders = list(orders_of(root))
    yield "`completed` when what it was to do has filled; a cancel of the parent cancels what rests, and what has filled stays."
    if any(part.lifetime is not None for part in walk(root)):
        yield "Its time ends it as the plan above says (`lifetime`)."
    if preset.any_day:
        yield "It outlives its day, and the weekends and holidays of its exchange."
    else:
        yield "At the close of its session what waits expires; what rests is left to the exchange."
    if preset.sees_market:
        yield "Sent before the day's opening it waits for it; after the close it is refused (409)."
    if any(is_stop(part.price.of if isinstance(part.price, Cap) else part.price) for part in orders):
        yield "Its stops rest at the broker, so they work while the service is away; moves of a stop go on after a restart from where it was."
    if any(isinstance(part.price, Trail | Stages) for part in orders):
        yield "Where the market has fallen through its new trigger before it could be moved there, it goes at the market at once."
    if any(part.hold or part.when is not None for part in orders):
        yield (
            "What is held or waits for a price or a time lies in the engine: it goes on after a restart, judged by the quotes of then; an "
            "entry whose time passed more than five minutes ago expires."
        )
    yield "A restart sends nothing twice: an order whose answer was lost is looked for at its broker first, and nothing takes its place until then."
    if any(
        isinstance(part.execution, ONE_AFTER_ANOTHER) and isinstance(uncapped(part.price), Marketable)
        for part in orders
    ):
        yield "A piece at the market that is left behind is moved to the fresh price every few seconds (`follow_seconds`); a LIMIT piece stays at its price."
    if isinstance(root, TogetherPart) and root.inseparable:
        yield "When a broker refuses one side the other is cancelled, and the order ends with the broker's words; what has filled stays, and nothing is tried again."
    else:
        yield "A broker's refusal ends the part with the broker's words; other parts go on, and nothing is tried again."
    if any(part.each_fill is not None for part in orders):
        yield "What hangs on fills is sized to what has filled, at the broker that filled it; a refused stop cancels the unfilled rest of its entry."


def write() -> None:
    """Bring the pages in line with the code."""
    index = DOCS / "order-types.md"
    before, _, rest = index.read_text().partition(BEGIN)
    index.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}")
    folder = DOCS / "order-types"
    folder.mkdir(exist_ok=True)
    for preset in PRESETS.values():
        (folder / f"{preset.name}.md").write_text(page(preset))


if __name__ == "__main__":
    write()
