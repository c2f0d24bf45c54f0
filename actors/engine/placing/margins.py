"""Choosing a broker for a future, or for an option sold: brokers are asked what the order needs before the choice settles on one of
them (order-engine 4.1).

The broker that comes first is asked; where its money does not reach, the one that comes first then. No more are asked than that takes,
and one that does not answer in time is taken at its place: it answers for itself when the order comes. Exits and what takes away from
a position ask nobody and wait for nobody.
"""

import trio

from onebroker.actors.engine.choice.checks import Candidate
from onebroker.actors.engine.choice.choose import Choice, choose, looks_at_money
from onebroker.actors.engine.choice.funds import by_margin, margin_figure
from onebroker.actors.engine.choice.order import LegOrder
from onebroker.actors.engine.choice.pricing import expected_price
from onebroker.actors.engine.context.context import EngineDoors
from onebroker.actors.engine.placing.seats import ticket
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.messages import AskMargin

LONGEST_SECONDS = 0.8
"""How long an order waits for all the figures it needs."""
FRESH_SECONDS = 60.0
"""After so long a figure is asked for anew; for a while it still counts meanwhile (`funds.MARGIN_COUNTS_SECONDS`)."""


async def choose_asking(order: LegOrder, doors: EngineDoors) -> Choice:
    """Choose as `choose` does, with what brokers say that the order needs."""
    choice = choose(order, doors)
    if not by_margin(order):
        return choice
    until = trio.current_time() + LONGEST_SECONDS
    asked: set[str] = set()
    while choice.candidates and choice.candidates[0].broker.code not in asked:
        best = choice.candidates[0]
        asked.add(best.broker.code)
        if not _asks(best, doors):
            break
        await _ask(best, doors, until)
        choice = choose(order, doors)
    return choice


def _asks(candidate: Candidate, doors: EngineDoors) -> bool:
    return candidate.broker.margins is not None and looks_at_money(candidate, doors)


async def _ask(candidate: Candidate, doors: EngineDoors, until: float) -> None:
    """Ask for a figure where there is none, or one that grows old; only the first is waited for."""
    now = doors.clock.monotonic()
    known = margin_figure(candidate, now)
    price = expected_price(candidate.order, doors.quotes)
    if price is None or (known is not None and known.asked_at > now - FRESH_SECONDS):
        return
    sent = ticket(candidate, token="")
    door = doors.sessions[candidate.broker.code]
    if known is not None:
        key = ("margin", sent.listing.broker_token, sent.transaction_type, sent.product)
        door.address.replace(key, AskMargin(ticket=sent, price=price, reply=Reply()))
        return

    def asked(reply: Reply[None]) -> AskMargin:
        return AskMargin(ticket=sent, price=price, reply=reply)

    try:
        await door.address.ask(asked, max(until - trio.current_time(), 0.0))
    except (ActorNotRunning, AskTimedOut):
        return
