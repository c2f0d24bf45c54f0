"""Asking brokers for quotes over REST: one instrument from one broker after the other (rules 1.4.7-3), or many instruments from one broker.

A broker is asked when it lists the instrument and its `Broker.quotes_in_service` is set. `priority` decides the order.
"""

from collections.abc import Mapping, Sequence

import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.quotes.messages import FetchDone, Found
from onebroker.actors.quotes.tick_fold import Quote, is_price
from onebroker.actors.quotes.wanted_instruments import Session
from onebroker.actors.sessions.messages import FetchQuotes, LoginNeeded
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BrokerError
from onebroker.config.clock import Clock
from onebroker.config.messages import quotes as sentences

BROKER_SECONDS = 25.0
"""Limit for one broker: its answer, plus one repair of a dead login and a second try."""
FETCH_SECONDS = 100.0
"""Limit for all brokers together. A broker not asked by then counts as having given no answer in time."""


def priority(sessions: Mapping[str, Session], exchange: str) -> list[str]:
    """Return the codes in the order in which the brokers are asked for an instrument of `exchange` (architecture 13). Brokers with
    `exchange` in `quotes_first_on` come first, then the others by code. If no broker names it, the registry's order holds."""
    named = [code for code, session in sessions.items() if exchange in session.broker.quotes_first_on]
    return [*named, *sorted(code for code in sessions if code not in named)] if named else list(sessions)


def askable(sessions: Mapping[str, Session], instrument: Instrument) -> list[tuple[str, Listing]]:
    """Return, in priority order, the brokers that list the instrument and have REST quotes in service."""
    return [
        (code, instrument.listings[code])
        for code in priority(sessions, instrument.identity.exchange)
        if serves_quotes(sessions[code]) and code in instrument.listings
    ]


def serves_quotes(session: Session) -> bool:
    return session.broker.quotes is not None and session.broker.quotes_in_service


async def fetch(sessions: Mapping[str, Session], instrument: Instrument, clock: Clock) -> FetchDone:
    """Ask the brokers until one gives a usable last price. Never raises an error that a broker can cause."""
    options = askable(sessions, instrument)
    reasons = {code: sentences.NO_ANSWER for code, _ in options}  # the reason if time runs out
    with trio.move_on_after(FETCH_SECONDS):
        for code, listing in options:
            answer = await ask_one(sessions[code], listing)
            if isinstance(answer, Tick):
                quote = Quote(broker=code, tick=answer, received_at=clock.epoch())
                return FetchDone(instrument_id=instrument.instrument_id, found=Found(quote=quote, source="broker"))
            reasons[code] = answer
    return FetchDone(instrument_id=instrument.instrument_id, found=None, failed=tuple(reasons.items()))


async def ask_one(session: Session, listing: Listing) -> Tick | str:
    """Return the tick, or the reason why there is none."""
    answer = await ask_many(session, (listing,))
    if isinstance(answer, str):
        return answer
    tick = answer.get(listing.broker_token)
    if tick is None or tick.broker_token != listing.broker_token:
        return sentences.OTHER_INSTRUMENT
    return tick if is_price(tick.last_price) else sentences.NO_LAST_PRICE


async def ask_many(session: Session, listings: Sequence[Listing]) -> dict[str, Tick] | str:
    """Return ticks by broker_token for at most `most_per_call` instruments, or the reason why there are none."""
    try:
        ticks: dict[str, Tick] = await session.address.ask(
            lambda reply: FetchQuotes(listings=tuple(listings), reply=reply), BROKER_SECONDS
        )
    except LoginNeeded:
        return sentences.NO_LOGIN
    except BrokerError as error:
        return str(error)
    except ActorNotRunning:
        return sentences.NOT_RUNNING
    except AskTimedOut:
        return sentences.NO_ANSWER
    return ticks
