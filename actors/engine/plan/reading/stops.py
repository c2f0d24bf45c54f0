"""The stops among the prices of an order part: native_stop, trail, stages (order-engine 1.4, 3.43). Pure; raises Refusal."""

from decimal import Decimal

from onebroker.actors.engine.plan.price_kinds import Atr, Milestone, NativeStop, Stages, Trail
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.reading_context import Traded
from onebroker.actors.engine.plan.reading.value_rules import (
    above_zero,
    above_zero_to,
    at_least,
    number,
    price,
    whole_from,
)
from onebroker.config.messages import plan as texts
from onebroker.config.vocabulary import Side

MOST_MILESTONES = 20


def read_native_stop(given: Fields, traded: Traded) -> NativeStop:
    given.only("kind", "trigger_price", "limit_price", "limit_offset", "marketable_after_seconds")
    stop = NativeStop(
        trigger_price=given.required("trigger_price", price(traded.tick)),
        limit_price=given.optional("limit_price", price(traded.tick), None),
        limit_offset=given.optional("limit_offset", above_zero, None),
        marketable_after_seconds=given.optional("marketable_after_seconds", above_zero, None),
    )
    if stop.limit_price is not None and stop.limit_offset is not None:
        raise given.refusal(texts.not_both("limit_price", "limit_offset"))
    side = traded.side
    if stop.limit_price is not None and (stop.limit_price - stop.trigger_price) * side.sign < 0:
        direction = "below" if side is Side.BUY else "above"
        raise given.refusal(texts.not_past("limit_price", side, "trigger_price", direction))
    if stop.limit_offset is not None and side is Side.SELL and stop.limit_offset >= stop.trigger_price:
        # No order can carry such a limit price.
        raise given.refusal(texts.below_for_sell("limit_offset", "trigger_price"))
    return stop


def read_trail(given: Fields, traded: Traded) -> Trail:
    given.only(
        "kind", "points", "percent", "limit_offset", "step_ticks", "activate_at", "atr", "marketable_after_seconds"
    )
    atr = given.inner("atr", prefix="atr.")
    points = given.optional("points", above_zero, None)
    percent = given.optional("percent", above_zero_to(100, reached=False), None)
    if atr is not None and points is None and percent is None:
        raise given.refusal(texts.is_required("points"))
    if (points is None) == (percent is None):
        raise given.refusal(texts.either("points", "percent"))
    if atr is not None and points is None:
        raise given.refusal(texts.is_required("points"))
    return Trail(
        points=points,
        percent=percent,
        limit_offset=given.required("limit_offset", above_zero),
        step_ticks=read_step_ticks(given),
        activate_at=given.optional("activate_at", price(traded.tick), None),
        atr=None if atr is None else _atr(atr),
        marketable_after_seconds=given.optional("marketable_after_seconds", above_zero, None),
    )


def _atr(given: Fields) -> Atr:
    given.only("bar_minutes", "periods", "multiple")
    return Atr(
        bar_minutes=given.optional("bar_minutes", above_zero, Decimal(5)),
        periods=given.optional("periods", whole_from(2, 49), 14),
        multiple=given.optional("multiple", above_zero, Decimal(2)),
    )


def read_stages(given: Fields, traded: Traded) -> Stages:
    for name in ("trail_points", "trail_percent", "activate_at"):
        if given.has(name):
            raise given.refusal(texts.inside_a_rule(name))
    given.only("kind", "entry_price", "stop_price", "limit_offset", "rules", "step_ticks", "marketable_after_seconds")
    linked = traded.around.defaults.linked
    entry = given.optional("entry_price", price(traded.tick), None)
    if entry is None and not linked:
        entry = traded.body_price(given)
    if entry is None and not linked:
        raise given.refusal(texts.is_required("entry_price"))
    stop = given.required("stop_price", price(traded.tick))
    stages = Stages(
        entry_price=entry,
        stop_price=stop,
        limit_offset=given.required("limit_offset", above_zero),
        rules=read_milestones(given),
        step_ticks=read_step_ticks(given),
        marketable_after_seconds=given.optional("marketable_after_seconds", above_zero, None),
    )
    side = traded.side
    if entry is not None and (stop - entry) * side.sign <= 0:
        sentence = texts.below_for_sell if side is Side.SELL else texts.above_for_buy
        raise given.refusal(sentence("stop_price", "entry_price"))
    return stages


def read_milestones(given: Fields) -> tuple[Milestone, ...]:
    """Read `rules` of a stepped stop (order-engine 3.43)."""
    rules: list[Milestone] = []
    objects = given.objects("rules", 1, MOST_MILESTONES)
    for index, fields in enumerate(objects):
        name = f"rules.{index}"
        fields.only("gain", "stop_at_gain", "trail_points")
        rule = Milestone(
            gain=fields.required("gain", above_zero),
            stop_at_gain=fields.optional("stop_at_gain", number, None),
            trail_points=fields.optional("trail_points", above_zero, None),
        )
        if rules and rule.gain <= rules[-1].gain:
            raise given.refusal(texts.larger_than_before(fields.name("gain")))
        if (rule.stop_at_gain is None) == (rule.trail_points is None):
            raise given.refusal(texts.stop_or_trail(name))
        if rule.trail_points is not None and index < len(objects) - 1:
            raise given.refusal(texts.trailing_rule_last(name))
        if rule.stop_at_gain is not None and rule.stop_at_gain >= rule.gain:
            raise given.refusal(texts.less_than_its_gain(fields.name("stop_at_gain")))
        rules.append(rule)
    return tuple(rules)


def read_step_ticks(given: Fields) -> int:
    """Read by how many ticks the wanted price must differ before the leg is moved."""
    return given.optional("step_ticks", at_least(1), 1)
