"""What is wrong with one parent now, as sentences for its record, `/api/health` and the log. Pure."""

from collections import Counter
from collections.abc import Mapping

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.engine.context.troubles import Found
from onebroker.actors.engine.orders.parent_records import LegState, ParentRecord
from onebroker.actors.engine.parent.work import WorkTroubles
from onebroker.config.messages import plan_life as plan_texts
from onebroker.config.messages import unknown_orders as unknown_texts


def troubles_of(
    record: ParentRecord,
    own: WorkTroubles,
    sessions: Mapping[str, SessionHandle],
    *,
    unsent_cancels: frozenset[str],
    waits_for_books: bool,
) -> list[Found]:
    """Return the troubles of a parent. `unsent_cancels`: ids of legs whose cancel the actor itself has still to send."""
    found = [
        Found(instrument_id, plan_texts.without_stop(units), units, own.why.get(instrument_id))
        for instrument_id, units in sorted(own.unprotected.items())
    ]
    found += [
        Found(instrument_id, plan_texts.stop_ended_by_hand(units))
        for instrument_id, units in sorted(own.ended_by_hand.items())
    ]
    sentences = list(own.untold)
    away = Counter(leg.broker for leg in record.legs if not leg.state.final and not leg.given_up)
    sentences += [
        plan_texts.not_watched(broker, count) for broker, count in sorted(away.items()) if broker not in sessions
    ]
    unsent = unsent_cancels | own.unsent_cancels
    waiting = Counter(leg.broker for leg in record.legs if leg.leg_id in unsent and not leg.state.final)
    sentences += [plan_texts.still_to_cancel(broker, count) for broker, count in sorted(waiting.items())]
    if waits_for_books:
        sentences.append(unknown_texts.WAITS_FOR_BOOKS)
    awaited = {leg.broker for leg in record.legs if leg.awaits_book}
    sentences += [unknown_texts.found_by_token(broker) for broker in sorted(awaited)]
    annulled = Counter({leg.broker: 0 for leg in record.legs})
    for leg in record.legs:
        annulled[leg.broker] += leg.taken_back
    sentences += [unknown_texts.took_back(broker, units) for broker, units in sorted(annulled.items()) if units]
    sentences += _unreadable(record, sessions)
    return found + [Found(record.instrument_id, sentence) for sentence in sentences]


def _unreadable(record: ParentRecord, sessions: Mapping[str, SessionHandle]) -> list[str]:
    """Return a sentence for each broker whose book hides rows that may be unknown legs of the parent."""
    unknown = Counter(leg.broker for leg in record.legs if leg.state is LegState.UNKNOWN and not leg.given_up)
    sentences = []
    for broker, count in sorted(unknown.items()):
        handle = sessions.get(broker)
        if handle is not None and handle.view.value.orders_partly is not None:
            sentences.append(plan_texts.not_known(broker, count))
    return sentences
