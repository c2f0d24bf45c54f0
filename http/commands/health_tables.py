"""The tables of `onebroker status`, made of the health document. A key that a service does not send is left out."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from onebroker.http.commands.screen import Bar, Block, Table

Health = Mapping[str, Any]

NOT_TOLD = "-"
"""Stands where the service does not know a value."""


def health_block(health: Health) -> Block:
    """Return what `status` shows of a health document."""
    block: list[str | Table | Bar] = [Table(head=("service", ""), rows=[[name, text] for name, text in _facts(health)])]
    for table in (_problems(health), _brokers(health), _documents(health)):
        if table is not None:
            block += ["", table]
    return block


def _facts(health: Health) -> Iterator[tuple[str, str]]:
    yield "status", str(health["status"])
    yield "time", str(health["time"])
    if "market" in health:
        yield "market", _market(health["market"])
    yield "clock", _said(health.get("clock"), "problem", "ok")
    yield "store", _store(health["store"])
    yield "engine", _engine(health.get("engine"))
    yield "halt", _halt(health.get("halt"))
    if health.get("daily_loss") is not None:
        yield "daily loss", _loss(health["daily_loss"])
    yield "catalogue", _catalogue(health.get("catalogue"))
    down = [name for name, up in health["actors"].items() if not up]
    yield "actors", f"down: {', '.join(down)}" if down else "ok"
    for crash in health["crashes"]:
        yield "crash", f"{crash['actor']} {crash['count']} times, last at {crash['at']}: {crash['error']}"


def _store(store: Mapping[str, Any]) -> str:
    return "down" if not store["reachable"] else f"ok, {store['durability']}" if store.get("durability") else "ok"


def _market(market: Mapping[str, Mapping[str, Any]]) -> str:
    is_open = [name for name, state in market.items() if state["open"]]
    unknown = [name for name, state in market.items() if state["today"] == "unknown"]
    text = f"open: {', '.join(is_open)}" if is_open else "closed"
    return f"{text}; nobody knows whether it is a holiday at {', '.join(unknown)}" if unknown else text


def _said(part: Mapping[str, Any] | None, key: str, otherwise: str) -> str:
    return NOT_TOLD if part is None else str(part[key] or otherwise)


def _engine(engine: Mapping[str, Any] | None) -> str:
    if engine is None:
        return NOT_TOLD
    return "ok" if engine["running"] else f"not running: {engine['reason']}"


def _halt(halt: Mapping[str, Any] | None) -> str:
    if halt is None or halt["halted"] is None:
        return NOT_TOLD
    return f"{halt['mode']} since {halt['since']}: {halt['reason']}" if halt["halted"] else "no"


def _loss(loss: Mapping[str, Any]) -> str:
    known = NOT_TOLD if loss["loss"] is None else loss["loss"]
    return f"₹ {known} of ₹ {loss['limit']}" + (", locked" if loss["locked"] else "")


def _catalogue(catalogue: Mapping[str, Any] | None) -> str:
    if catalogue is None:
        return NOT_TOLD
    day = catalogue["mapping_date"] or "none yet"
    return f"{day}: {catalogue['reason']}" if catalogue["reason"] else str(day)


def _problems(health: Health) -> Table | None:
    head = ("problem", "broker", "since", "what to do")
    rows = [[_text(problem.get(key)) for key in ("what", "broker", "since", "do")] for problem in health["problems"]]
    return Table(head=head, rows=rows) if rows else None


def _brokers(health: Health) -> Table | None:
    head = ("broker", "login", "market feed", "order feed", "oldest part", "room", "messages today", "last error")
    rows = [_broker(code, broker) for code, broker in health.get("brokers", {}).items()]
    return Table(head=head, rows=rows, right=frozenset({"room", "messages today"})) if rows else None


def _broker(code: str, broker: Mapping[str, Any]) -> list[str]:
    room = broker["room"] or {}
    sent, cap = room.get("order_messages_today"), room.get("daily_cap")
    return [
        code,
        broker["login"],
        _market_feed(broker["market_feed"]),
        _feed(broker["order_feed"]),
        _oldest(broker.get("parts", {})),
        "no limit" if room and room["entry_room"] is None else _text(room.get("entry_room")),
        _text(sent) if cap is None else f"{_text(sent)} of {cap}",
        _last_error(broker),
    ]


def _market_feed(feed: Mapping[str, Any]) -> str:
    """Return the state of a market feed; a feed that no instrument needs is idle."""
    needed = feed["subscribed"] or feed["trouble"]
    return _feed(feed) if feed["connected"] or needed else "idle"


def _feed(feed: Mapping[str, Any] | None) -> str:
    if feed is None:
        return NOT_TOLD
    return "ok" if feed["connected"] else "down"


def _oldest(parts: Mapping[str, str | None]) -> str:
    """Return the part that was seen longest ago, with its time of day; a part that is missing is older than all others."""
    if not parts:
        return NOT_TOLD
    resource, seen = min(parts.items(), key=lambda part: part[1] or "")
    return f"{resource} missing" if seen is None else f"{resource} {seen.partition('T')[2]}"


def _last_error(broker: Mapping[str, Any]) -> str:
    if broker["trouble"]:
        return str(broker["trouble"])
    return "; ".join(f"{resource}: {why}" for resource, why in broker["read_errors"].items())


def _documents(health: Health) -> Table | None:
    documents: Mapping[str, str | None] = health.get("documents", {})
    rows = [
        [name, _text(seen), NOT_TOLD if seen is None else f"{_age_seconds(health['time'], seen):.0f} s"]
        for name, seen in documents.items()
    ]
    return Table(head=("document", "as of", "age"), rows=rows, right=frozenset({"age"})) if rows else None


def _age_seconds(now: str, seen: str) -> float:
    return (datetime.fromisoformat(now) - datetime.fromisoformat(seen)).total_seconds()


def _text(value: object) -> str:
    return NOT_TOLD if value is None else str(value)
