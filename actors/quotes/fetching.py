"""Asking brokers for quotes over REST: one instrument of one broker after the other (rules 1.4.7-3), or many at once of one.

Which brokers are asked is decided by what they list and by `Broker.quotes_in_service`; in which order by `priority`.
"""

from collections.abc import Mapping, Sequence

import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.quotes.fold import Quote, is_price
from onebroker.actors.quotes.messages import FetchDone, Found
from onebroker.actors.quotes.watching import Session
from onebroker.actors.sessions.messages import FetchQuotes, LoginNeeded
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BrokerError
from onebroker.config.clock import Clock
from onebroker.config.messages import quotes as sentences

BROKER_SECONDS = 25.0
"""For one broker: its answer, and the one repair of a dead login with a second try."""
FETCH_SECONDS = 100.0
"""For all brokers together; those not asked by then count as having given no answer in time."""


def priority(sessions: Mapping[str, Session], exchange: str) -> list[str]:
    """Return the codes in the order in which they are asked for an instrument of `exchange`: the registry's; on an exchange whose
    list names only some, these, then the others by code (architecture 13)."""
    named = [code for code, session in sessions.items() if exchange in session.broker.quotes_first_on]
    return [*named, *sorted(code for code in sessions if code not in named)] if named else list(sessions)


def askable(sessions: Mapping[str, Session], instrument: Instrument) -> list[tuple[str, Listing]]:
    """Return the brokers whose REST quotes are in service and that list the instrument, in priority order."""
    return [
        (code, instrument.listings[code])
        for code in priority(sessions, instrument.identity.exchange)
        if serves_quotes(sessions[code]) and code in instrument.listings
    ]


def serves_quotes(session: Session) -> bool:
    return session.broker.quotes is not None and session.broker.quotes_in_service


async def fetch(sessions: Mapping[str, Session], instrument: Instrument, clock: Clock) -> FetchDone:
    """Ask until one broker gives a usable last price; never raises what a broker can cause."""
    options = askable(sessions, instrument)
    reasons = {code: sentences.NO_ANSWER for code, _ in options}  # what stands when time runs out
    with trio.move_on_after(FETCH_SECONDS):
        for code, listing in options:
            answer = await ask_one(sessions[code], listing)
            if isinstance(answer, Tick):
                quote = Quote(broker=code, tick=answer, received_at=clock.epoch())
                return FetchDone(instrument_id=instrument.instrument_id, found=Found(quote=quote, source="broker"))
            reasons[code] = answer
    return FetchDone(instrument_id=instrument.instrument_id, found=None, failed=tuple(reasons.items()))


async def ask_one(session: Session, listing: Listing) -> Tick | str:
    """Return the tick, or why there is none."""
    answer = await ask_many(session, (listing,))
    if isinstance(answer, str):
        return answer
    tick = answer.get(listing.broker_token)
    if tick is None or tick.broker_token != listing.broker_token:
        return sentences.OTHER_INSTRUMENT
    return tick if is_price(tick.last_price) else sentences.NO_LAST_PRICE


async def ask_many(session: Session, listings: Sequence[Listing]) -> dict[str, Tick] | str:
    """Return ticks by broker_token for at most `most_per_call` instruments, or why there are none."""
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
