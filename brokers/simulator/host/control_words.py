"""What the control API takes, in words: requests, kinds of faults, verbs of a person. `GET` of its address answers this, and README.md repeats it.

A sentence for each word. A test compares the page with this table.
"""

from collections.abc import Mapping

from onebroker.brokers.simulator.exchange.faults import FAULTS

REQUESTS: Mapping[str, str] = {
    "POST /price {instrument, last_price, hold_seconds?}": "moves the market of an instrument",
    "POST /fill {broker, order_id, quantity}": "lets the market trade this quantity with a resting order",
    "POST /funds {broker, available}": "makes this the money that new orders of the broker may use, in ₹",
    "POST /empty-side {instrument, side, seconds?, at_circuit?}": "lets nobody bid (BUY) or offer (SELL), also with the price at its circuit limit",
    "POST /square-off {broker, at}": "lets the broker square off intraday positions at this time of each day (15:20:00), or never (null)",
    "POST /annul {broker, trade_id}": "annuls a trade: it disappears, its order's filled quantity and the position follow",
    "POST /bonus {instrument, had, has}": "lets had units of a share become has units with the next trading day: price, previous close, holdings",
    "POST /move-expiry {exchange, underlying, old, new}": "gives contracts another expiry under the same exchange numbers",
    "POST /fault {broker, kind, seconds?, count?, delay_seconds?, instrument?, order_type?}": "switches a fault on",
    "POST /heal {broker?, kind?, instrument?}": "switches faults off",
    "POST /person {broker, verb, ...}": "acts as a person at the broker's own app",
    "GET /ledger?since=N": "reads the exchange's ledger",
    "GET /calls": "reads when each broker was called",
    "GET /instruments?shape=&limit=": "lists instruments",
}
PERSON_VERBS: Mapping[str, str] = {
    "place": "places an order {instrument, product, side, quantity, order_type?, price?, trigger_price?}",
    "modify": "changes an open order, whoever placed it {order_id, quantity?, price?, trigger_price?}",
    "cancel": "cancels an open order, whoever placed it {order_id}",
    "reduce": "squares off a position, or a part of it, at the market {instrument, product, quantity?}",
    "convert": "moves a position, or a part of it, to another product {instrument, product, to_product, quantity?}",
}


def control_words() -> dict[str, object]:
    """Return the document of `GET` of the control address."""
    return {"requests": REQUESTS, "faults": FAULTS, "person": PERSON_VERBS}
