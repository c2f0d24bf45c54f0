"""Plans written short, for tests of the machine."""

from decimal import Decimal as D
from typing import Any

from onebroker.actors.engine.plan.execution_kinds import AllAtOnce
from onebroker.actors.engine.plan.parts import (
    OneCancelsOthersPart,
    OrderPart,
    Part,
    Quantity,
    Rule,
    TogetherPart,
    Units,
)
from onebroker.actors.engine.plan.price_kinds import Fixed, Price


def order(
    path: str = "root", side: str = "BUY", quantity: int | Quantity = 10, price: float | str | Price = 100, **more: Any
) -> OrderPart:
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


def oco(path: str, *children: Part, rule: Rule = Rule.SHRINK, **more: Any) -> OneCancelsOthersPart:
    return OneCancelsOthersPart(path=path, children=children, rule=rule, **more)


def together(path: str, *children: Part, **more: Any) -> TogetherPart:
    return TogetherPart(path=path, children=children, **more)
