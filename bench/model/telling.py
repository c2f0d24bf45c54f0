"""Tells the course of a day that was played: steps, order messages, fills, acts of other hands, and what parents said."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from onebroker.config.clock import IST, from_epoch
from tests.support.plan_judge import histories

if TYPE_CHECKING:
    from bench.model.acting import Actor


def told(actor: "Actor") -> list[str]:
    """Return one line for each thing that happened, by time."""
    names = {parent["parent_order_id"]: f"P{number}" for number, parent in enumerate(actor.watch.parents(), 1)}
    lines = [*_acts(actor), *_ledger(actor), *_parents(actor, names)]
    return [
        f"{moment.astimezone(IST):%H:%M:%S.%f}"[:-3] + f" {words}"
        for moment, words in sorted(lines, key=lambda one: one[0])
    ]


def _acts(actor: "Actor") -> Iterator[tuple[datetime, str]]:
    for at, words in actor.acts:
        yield datetime.fromisoformat(at), f"STEP {words}"


def _ledger(actor: "Actor") -> Iterator[tuple[datetime, str]]:
    ledger = actor.day.exchange.ledger
    for one in ledger.messages(1):
        given = f"{one.side or ''} {one.quantity or ''} at {one.price} trigger {one.trigger_price}"
        yield (
            datetime.fromisoformat(one.at),
            f"  message {one.n} {one.broker} {one.verb} {one.order_id} {given} -> {one.answer.get('status')} {'' if one.delivered else 'LOST'}",
        )
    for one in ledger.fills():
        yield (
            datetime.fromisoformat(one.at),
            f"  fill {one.broker} {one.order_id} {one.side} {one.quantity} {one.product} at {one.price}",
        )
    for one in ledger.acts():
        yield (
            datetime.fromisoformat(one.at),
            f"  {one.hand} {one.verb} {one.broker} {one.order_id} {one.side} {one.quantity} {one.price} {one.trigger_price}",
        )


def _parents(actor: "Actor", names: dict[str, str]) -> Iterator[tuple[datetime, str]]:
    for versions in histories(actor.day).values():
        before = None
        for record in versions:
            legs = [
                f"{leg.part} {leg.transaction_type} {leg.quantity} {leg.state.value} {leg.order_id} {leg.filled_quantity}"
                for leg in record.legs
            ]
            parts = {path: part.state.value for path, part in record.parts.items()}
            words = f"  {names[record.parent_order_id]} {record.routed_from} {record.state.value} {parts} {legs} {record.said() or ''}"
            if words != before:
                yield from_epoch(record.updated_at), words
            before = words
