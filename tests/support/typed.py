"""Order types without a service: a body as the API takes it into its plan or its refusal, and that plan in the machine.

The instruments are those of `tests.actors.engine.plan.strategies`; in the machine they are called I (the share), F (the future),
O (the option), N (the index)."""

from typing import Any

import msgspec
import pytest

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.context.messages import PlaceBody
from onebroker.actors.engine.intake.place_body import check_body, with_instrument
from onebroker.actors.engine.plan.stored_tree import decode_plan, encode_plan
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.strategies import BROKERS, FUTURE, INDEX, OPTION, SHARE, World
from tests.actors.engine.plan.world import Runner
from tests.actors.engine.plan.world import World as Market

NAMES = {SHARE.instrument_id: "I", FUTURE.instrument_id: "F", OPTION.instrument_id: "O", INDEX.instrument_id: "N"}


def accepted(synthetic: object, *, world: World | None = None, of: Instrument = SHARE, **body: Any) -> PlaceBody:
    """The order as the engine gets it: a BUY of 300 MIS at a LIMIT of 100 unless `body` says otherwise; None leaves a field out."""
    fields = {
        "instrument_id": of.instrument_id, "transaction_type": "BUY", "product": "MIS", "order_type": "LIMIT", "quantity": 300,
        "price": 100, "synthetic": synthetic, **body,
    }  # fmt: skip
    sent = {name: value for name, value in fields.items() if value is not None}
    return with_instrument(check_body(sent, brokers=BROKERS), sent, of, world or World())


def refusal(synthetic: object, **more: Any) -> tuple[int, str]:
    """The status and the sentence a body is refused with."""
    with pytest.raises(Refusal) as refused:
        accepted(synthetic, **more)
    return refused.value.status, refused.value.sentence


def running(order: PlaceBody, world: Market | None = None, **more: Any) -> Runner:
    """The order's plan in the machine, as it comes back from the store, with short names of its instruments."""
    assert order.plan is not None, order
    written = msgspec.json.encode(encode_plan(order.plan)).decode()
    for instrument_id, name in NAMES.items():
        written = written.replace(instrument_id, name)
    return Runner(decode_plan(msgspec.json.decode(written)), world, **more)


def trade(kind: str, world: Market | None = None, **more: Any) -> Runner:
    """A type of 10 units unless `quantity` says otherwise; settings and body fields together, as they do not share names here."""
    body = {
        name: more.pop(name)
        for name in ("transaction_type", "order_type", "price", "quantity", "validity", "product", "of", "limit") if name in more
    }  # fmt: skip
    if "limit" in body:
        body["price"] = body.pop("limit")
    return running(accepted({"type": kind, **more}, **{"quantity": 10, **body}), world)
