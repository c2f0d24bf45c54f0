"""Asking brokers for one quote over REST, one after the other (spec 1 §4.7, rule 3)."""

import math
from collections.abc import Mapping

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.quotes.fold import Quote
from onebroker.actors.quotes.messages import FetchDone, Found
from onebroker.actors.quotes.watching import Session
from onebroker.actors.sessions.messages import FetchQuotes, LoginNeeded
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BrokerError
from onebroker.config.clock import Clock
from onebroker.config.messages import quotes as sentences

BROKER_SECONDS = 25.0
"""For one broker: its answer, and the one repair of a dead login with a second try."""


def askable(sessions: Mapping[str, Session], instrument: Instrument) -> list[tuple[str, Listing]]:
    """Return the brokers whose REST quotes are in service and that list the instrument, in priority order."""
    return [
        (code, instrument.listings[code])
        for code, session in sessions.items()
        if session.broker.quotes is not None and session.broker.quotes_in_service and code in instrument.listings
    ]


async def fetch(sessions: Mapping[str, Session], instrument: Instrument, clock: Clock) -> FetchDone:
    """Ask until one broker gives a usable last price; never raises what a broker can cause."""
    failed: list[tuple[str, str]] = []
    for code, listing in askable(sessions, instrument):
        answer = await _ask(sessions[code], listing)
        if isinstance(answer, Tick):
            quote = Quote(broker=code, tick=answer, received_at=clock.epoch())
            return FetchDone(instrument_id=instrument.instrument_id, found=Found(quote=quote, source="broker"))
        failed.append((code, answer))
    return FetchDone(instrument_id=instrument.instrument_id, found=None, failed=tuple(failed))


async def _ask(session: Session, listing: Listing) -> Tick | str:
    """Return the tick, or why there is none."""
    try:
        ticks: dict[str, Tick] = await session.address.ask(
            lambda reply: FetchQuotes(listings=(listing,), reply=reply), BROKER_SECONDS
        )
    except LoginNeeded:
        return sentences.NO_LOGIN
    except BrokerError as error:
        return str(error)
    except ActorNotRunning:
        return sentences.NOT_RUNNING
    except AskTimedOut:
        return sentences.NO_ANSWER
    tick = ticks.get(listing.broker_token)
    if tick is None or tick.broker_token != listing.broker_token:
        return sentences.OTHER_INSTRUMENT
    if not (math.isfinite(tick.last_price) and tick.last_price > 0):
        return sentences.NO_LAST_PRICE
    return tick
