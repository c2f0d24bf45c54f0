"""The fields of order bodies, as rows of the route table: their kinds, words, bounds and forms. Their readers are in the engine's intake
(`actors/engine/intake/place_body.py`) and next to this module."""

from onebroker.actors.engine.intake.place_body import MOST_UNITS
from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.config.schema_marks import COMPONENTS
from onebroker.config.vocabulary import SENDABLE_PRODUCTS, SENDABLE_VALIDITIES, OrderType, Side
from onebroker.http.answers.shared import BROKER
from onebroker.http.route import Kind, Parameter

ORDER_ID_PATTERN = "^[A-Za-z0-9_-]{1,64}$"
ORDER_ID = "251125000012345"
"""An example."""
NAMED = {"broker": BROKER, "order_id": ORDER_ID}
"""What failures of a change repeat, as an example."""


def field(
    name: str,
    doc: str,
    kind: Kind = "string",
    *,
    choices: tuple[str, ...] = (),
    pattern: str = "",
    minimum: int | None = None,
    maximum: int | None = None,
) -> Parameter:
    return Parameter(
        name=name, place="body", kind=kind, choices=choices, pattern=pattern, minimum=minimum, maximum=maximum, doc=doc
    )


def _uuid(name: str, doc: str) -> Parameter:
    return Parameter(name=name, place="body", schema={"type": "string", "format": "uuid"}, doc=doc)


def _component(name: str, component: str, doc: str) -> Parameter:
    return Parameter(name=name, place="body", schema={"$ref": COMPONENTS + component}, doc=doc)


DRY_RUN_FIELD = Parameter(
    name="dry_run",
    place="body",
    kind="boolean",
    null_is_absent=False,
    doc="Build the broker's request and send nothing.",
)

# --- names of orders --------------------------------------------------------------------------------------------------------

ORDER_ID_FIELD = Parameter(
    name="order_id",
    place="body",
    schema={"anyOf": [{"type": "string", "pattern": ORDER_ID_PATTERN}, {"type": "integer"}]},
    doc="The broker's own id: 1 to 64 letters, digits, hyphens or underscores; or an integer.",
)
BROKER_FIELD = field("broker", "Broker code; needed only when two brokers hold the id.")
PARENT_ID_FIELD = _uuid("parent_id", "UUID of a parent of the order engine.")
PART_FIELD = field("part", "Path of a part of a plan.", pattern=r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$")

# --- instruments ------------------------------------------------------------------------------------------------------------

INSTRUMENT_FIELDS = (
    _uuid("instrument_id", "UUID of the instrument; or name it by exchange, segment and identity fields."),
    field("exchange", "nse, bse, mcx or ncdex.", choices=tuple(map(str, TRADING_EXCHANGES))),
    _component("segment", "SegmentOrdered", "Segment of the exchange, with or without its prefix."),
    field("symbol", "For a security segment."),
    field("underlying_symbol", "For a future or option segment."),
    field("expiry_date", "For a future or option segment.", "date"),
    field("strike_price", "For an option segment, in rupees.", "number"),
    field("option_type", "For an option segment: CE or PE.", choices=("CE", "PE")),
)

# --- the order itself -------------------------------------------------------------------------------------------------------

QUANTITY_FIELD = field("quantity", "Units.", "integer", minimum=1, maximum=MOST_UNITS)
DISCLOSED_FIELD = field("disclosed_quantity", "Units, at most quantity.", "integer", minimum=0, maximum=MOST_UNITS)
PRICE_FIELD = field("price", "Rupees.", "number", minimum=0)
TRIGGER_PRICE_FIELD = field("trigger_price", "Rupees.", "number", minimum=0)
ORDER_TYPE_FIELD = field("order_type", "MARKET, LIMIT, SL or SL-M.", choices=tuple(OrderType))
VALIDITY_FIELD = field("validity", "DAY (default) or IOC.", choices=SENDABLE_VALIDITIES)
SIDE_FIELD = field(
    "transaction_type",
    "BUY or SELL. This, product and order_type are required but for basket, oca and plan.",
    choices=tuple(Side),
)
PRODUCT_FIELD = field("product", "CNC, MIS or NRML.", choices=SENDABLE_PRODUCTS)
TAG_FIELD = field("tag", "1 to 20 letters and digits; comes back in the order book.", pattern="^[A-Za-z0-9]{1,20}$")
PRICE_REFERENCE_FIELD = _component(
    "price_reference",
    "PriceReference",
    "In the place of a price, worked out from the live quote just before the order is built. Offsets are towards filling.",
)
QUANTITY_REFERENCE_FIELD = _component(
    "quantity_reference",
    "QuantityReference",
    "What the quantity is measured by; reduce_position and liquidate_position send the side that closes the position.",
)
SYNTHETIC_FIELD = _component(
    "synthetic",
    "SyntheticOrder",
    "The type of the order with its settings (docs/order-types.md). Without it an order is simple, but a MARKET order runs as a "
    "marketable_limit while that mode is on.",
)
