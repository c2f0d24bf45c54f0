"""Chooses a broker for a future, or for a sold option. Brokers are asked how much margin the order needs before one of them is chosen
(order-engine 4.1).

The first broker of the ranking is asked. If its money is not enough, the broker that is then first is asked. No more brokers are asked
than this needs. A broker that does not answer in time keeps its place: it accepts or refuses the order when the order comes.
Exits, and orders that reduce a position, ask no broker and do not wait.
"""

import trio

from onebroker.actors.engine.choice.broker_checks import Candidate
from onebroker.actors.engine.choice.choose import Choice, choose, looks_at_money
from onebroker.actors.engine.choice.expected_price import expected_price
from onebroker.actors.engine.choice.fund_checks import by_margin, margin_figure
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.placing.seats import ticket
from onebroker.actors.engine.placing.settled_positions import settle
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.actors.sessions.messages import AskMargin

LONGEST_SECONDS = 0.8
"""How long an order waits for all the margin figures that it needs."""
FRESH_SECONDS = 60.0
"""A figure older than this is asked for again. Meanwhile the old one still counts for a while (`funds.MARGIN_COUNTS_SECONDS`)."""


async def choose_asking(order: LegOrder, context: EngineContext) -> Choice:
    """Choose as `choose` does, with the margin figures that brokers give for the order. While entries are locked out, wait a moment for positions
    that show the last fills."""
    await settle(order, context)
    choice = choose(order, context)
    if not by_margin(order):
        return choice
    until = trio.current_time() + LONGEST_SECONDS
    asked: set[str] = set()
    while choice.candidates and choice.candidates[0].broker.code not in asked:
        best = choice.candidates[0]
        asked.add(best.broker.code)
        if not _asks(best, context):
            break
        await _ask(best, context, until)
        choice = choose(order, context)
    return choice


def _asks(candidate: Candidate, context: EngineContext) -> bool:
    return candidate.broker.margins is not None and looks_at_money(candidate, context)


async def _ask(candidate: Candidate, context: EngineContext, until: float) -> None:
    """Ask for a figure where none is known or the known one grows old. Wait only where none is known."""
    now = context.clock.monotonic()
    known = margin_figure(candidate, now)
    price = expected_price(candidate.order, context.quotes)
    if price is None or (known is not None and known.asked_at > now - FRESH_SECONDS):
        return
    sent = ticket(candidate, token="")
    handle = context.sessions[candidate.broker.code]
    if known is not None:
        key = ("margin", sent.listing.broker_token, sent.transaction_type, sent.product)
        handle.address.replace(key, AskMargin(ticket=sent, price=price, reply=Reply()))
        return

    def asked(reply: Reply[None]) -> AskMargin:
        return AskMargin(ticket=sent, price=price, reply=reply)

    try:
        await handle.address.ask(asked, max(until - trio.current_time(), 0.0))
    except (ActorNotRunning, AskTimedOut):
        return
