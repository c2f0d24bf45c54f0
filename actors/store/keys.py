"""Every key in the store: its name, owner, content and life. No key is spelled anywhere else (architecture 4).

| Key | Owner | Content | Life |
|---|---|---|---|
| session:token | token actor | JSON {token, last_login, expires_at}, sealed (`sealing`) | until replaced |
| broker:login:<code> | session actor | JSON Login, sealed (`sealing`) | until replaced |
| broker:profile:<code> | session actor | JSON, the broker's own profile body | until replaced |
| broker:rows:<code>:<resource> | session actor | hash: row id -> JSON row; `:received_at`, `:status` | until replaced |
| broker:acknowledged:<code> | session actor | hash: order id -> JSON of what was accepted and is not shown yet | until replaced |
| broker:corrected:<code> | session actor | JSON [start of the broking day, {order id: filled units}]: orders of which the broker has taken units back | until replaced |
| reference:users, :brokers, :exchanges | reference actor | JSON array | until replaced |
| quotes:live | quote book | hash: instrument_id -> JSON | until replaced |
| quotes:fetched:<instrument_id> | quote book | JSON | 2 days |
| quotes:fetched | quote book | set of the instrument ids with a fetched quote | until replaced |
| rate:<code> | session actor | JSON counts | until replaced |
| orders:engine:lock | engine | `epoch:owner` | 30 s |
| orders:intents | intake | stream, about 10,000 | trimmed |
| orders:answer:<intent_id> | intake | JSON {status, body} | 300 s |
| orders:started:<intent_id> | intake | parent id | 2 days |
| orders:parent:<id> | parent actor | JSON parent document | 8 days after its end |
| orders:parents:open | parent actor | set of parent ids | |
| orders:parents:ended:<day> | parent actor | set of `<epoch seconds> <parent id>` of the parents that ended on that broking day | 8 days after its last end |
| orders:parents:troubled | parent actor | set of the ids of ended parents that left something wrong | until the next broking day |
| orders:leg:<broker>:<day>:<order_id> | parent actor | JSON {parent_id, leg_id, path, tag, …} | 8 days |
| orders:token:<leg token> | parent actor | JSON {parent_id, leg_id, …} | 8 days |
| orders:tagging | engine | set of the codes of brokers whose books have shown a leg token | |
| orders:engine:writes | engine | count of its writes | |
| orders:engine:whole | engine | number of its last run that missed nothing of what was written before | |
| orders:lockout:<date> | engine | JSON | 2 days |
| orders:loss_level:<date> | engine | the highest level of the day's loss that was told, percent of the limit | 2 days |
| orders:carried:<broker>:<date> | engine | JSON {account, units}: what the broker's positions began the day with | 2 days |
| onebroker:schema | store | version of what is stored | |
"""

from typing import Literal

Resource = Literal["orders", "trades", "positions", "holdings", "funds"]
RESOURCES: tuple[Resource, ...] = ("orders", "trades", "positions", "holdings", "funds")

SESSION_TOKEN = "session:token"
ENGINE_LOCK = "orders:engine:lock"
ENGINE_WRITES = "orders:engine:writes"
ENGINE_WHOLE = "orders:engine:whole"
INTENTS = "orders:intents"
OPEN_PARENTS = "orders:parents:open"
TROUBLED_PARENTS = "orders:parents:troubled"
TAGGING = "orders:tagging"
QUOTES_LIVE = "quotes:live"
QUOTES_FETCHED = "quotes:fetched"
SCHEMA = "onebroker:schema"

PREFIXES = ("broker:", "onebroker:", "orders:", "quotes:", "rate:", "reference:", "session:")
"""How every key begins: the keys to which the user of a server by URL needs access."""

DOCUMENT_KEYS: dict[str, str] = {
    "funds": "portfolio:funds",
    "holdings": "portfolio:holdings",
    "positions": "portfolio:positions",
    "orders": "orders:book",
    "trades": "orders:trades",
}
"""The names of built documents in the API's messages; documents themselves are not stored (architecture 4)."""


def broker_login(code: str) -> str:
    return f"broker:login:{code}"


def broker_profile(code: str) -> str:
    return f"broker:profile:{code}"


def broker_rows(code: str, resource: Resource) -> str:
    return f"broker:rows:{code}:{resource}"


def acknowledged(code: str) -> str:
    return f"broker:acknowledged:{code}"


def corrected_fills(code: str) -> str:
    return f"broker:corrected:{code}"


def reference(collection: Literal["users", "brokers", "exchanges"]) -> str:
    return f"reference:{collection}"


def fetched_quote(instrument_id: str) -> str:
    return f"quotes:fetched:{instrument_id}"


def rate(code: str) -> str:
    return f"rate:{code}"


def answer(intent_id: str) -> str:
    return f"orders:answer:{intent_id}"


def started(intent_id: str) -> str:
    return f"orders:started:{intent_id}"


def parent(parent_id: str) -> str:
    return f"orders:parent:{parent_id}"


def ended_parents(day: str) -> str:
    """`day` is the broking day on which the parents ended, YYYY-MM-DD."""
    return f"orders:parents:ended:{day}"


def leg(broker: str, day: str, order_id: str) -> str:
    """`day` is the leg's session day, YYYY-MM-DD: brokers reuse order ids."""
    return f"orders:leg:{broker}:{day}:{order_id}"


def leg_token(token: str) -> str:
    return f"orders:token:{token}"


def lockout(day: str) -> str:
    return f"orders:lockout:{day}"


def carried_units(broker: str, day: str) -> str:
    return f"orders:carried:{broker}:{day}"


def loss_level(day: str) -> str:
    return f"orders:loss_level:{day}"
