"""The words of the plan grammar for its kinds: word -> class, in the order of the tables in order-engine 1.2 to 1.6."""

from collections.abc import Mapping

from onebroker.actors.engine.plan.execution_kinds import (
    AllAtOnce,
    BookDepth,
    Daily,
    FreezeLimit,
    FrontLoaded,
    Iceberg,
    Ladder,
    Participation,
    TopUp,
    Twap,
    Vwap,
)
from onebroker.actors.engine.plan.parts import (
    AccountAt,
    AllOf,
    AnyOf,
    BarClosed,
    FromExposure,
    FromFill,
    FromPosition,
    JointPnl,
    OneCancelsOthersPart,
    OrderPart,
    PriceAt,
    SequencePart,
    Share,
    TimeOfDay,
    TogetherPart,
    Units,
)
from onebroker.actors.engine.plan.price_kinds import (
    Cap,
    Chase,
    Discretion,
    Fixed,
    FollowInstrument,
    FromFillPrice,
    FromParentFill,
    Marketable,
    NativeStop,
    OptionModel,
    Peg,
    Referenced,
    Stages,
    Trail,
)

PARTS: Mapping[str, type] = {
    "order": OrderPart,
    "sequence": SequencePart,
    "together": TogetherPart,
    "one_cancels_others": OneCancelsOthersPart,
}
"""`preset` is not listed: once it is read, it is the parts that it was expanded to."""

QUANTITIES: Mapping[str, type] = {
    "units": Units,
    "share": Share,
    "from_fill": FromFill,
    "position": FromPosition,
    "exposure": FromExposure,
}
"""`units` is a bare number in the grammar."""

PRICES: Mapping[str, type] = {
    "fixed": Fixed,
    "marketable": Marketable,
    "native_stop": NativeStop,
    "trail": Trail,
    "stages": Stages,
    "peg": Peg,
    "chase": Chase,
    "follow_instrument": FollowInstrument,
    "option_model": OptionModel,
    "from_parent_fill": FromParentFill,
    "from_fill": FromFillPrice,
    "discretion": Discretion,
    "cap": Cap,
}

MADE_PRICES: Mapping[str, type] = {"referenced": Referenced}
"""Price kinds that a caller cannot name: only types make them."""

EXECUTIONS: Mapping[str, type] = {
    "all_at_once": AllAtOnce,
    "iceberg": Iceberg,
    "twap": Twap,
    "vwap": Vwap,
    "front_loaded": FrontLoaded,
    "participation": Participation,
    "book_depth": BookDepth,
    "top_up": TopUp,
    "daily": Daily,
    "ladder": Ladder,
    "freeze_limit": FreezeLimit,
}

CONDITIONS: Mapping[str, type] = {
    "price": PriceAt,
    "bar_close": BarClosed,
    "time": TimeOfDay,
    "account": AccountAt,
    "pnl": JointPnl,
    "all": AllOf,
    "any": AnyOf,
}

WORDS: Mapping[type, str] = {
    cls: word
    for table in (PARTS, QUANTITIES, PRICES, MADE_PRICES, EXECUTIONS, CONDITIONS)
    for word, cls in table.items()
}
"""Class -> its word."""
