"""Plans written short, for tests of the machine."""

from decimal import Decimal as D

from onebroker.actors.engine.plan.executions import AllAtOnce
from onebroker.actors.engine.plan.parts import OneCancelsOthersPart, OrderPart, Rule, TogetherPart, Units
from onebroker.actors.engine.plan.prices import Fixed


def order(path="root", side="BUY", quantity=10, price=100, **more):
    """One order part; `price` a pricing kind, or the number of a plain limit."""
    return OrderPart(
        path=path,
        instrument_id=more.pop("of", "I"),
        transaction_type=side,
        product=more.pop("product", "MIS"),
        validity=more.pop("validity", "DAY"),
        quantity=Units(quantity) if isinstance(quantity, int) else quantity,
        price=Fixed(D(str(price))) if isinstance(price, int | float | str) else price,
        execution=more.pop("execution", AllAtOnce()),
        **more,
    )


def oco(path, *children, rule=Rule.SHRINK, **more):
    return OneCancelsOthersPart(path=path, children=children, rule=rule, **more)


def together(path, *children, **more):
    return TogetherPart(path=path, children=children, **more)
