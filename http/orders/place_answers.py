"""The answers of place, as rows of the route table: when each status is answered, with an example."""

from decimal import Decimal

from onebroker.config.messages import instruments as instrument_texts
from onebroker.config.messages import orders as texts
from onebroker.http.answers import place as answers
from onebroker.http.answers.shared import BROKER, INTENT_ID, PARENT_ID, SHARE
from onebroker.http.route import Answer, failure

IDS = {"intent_id": INTENT_ID, "parent_id": PARENT_ID}
"""What failures of an order that was taken up repeat, as an example."""

PLACE_ANSWERS = (
    Answer(status=200, doc="Accepted by the broker.", type=answers.Placed, example=answers.PLACED_EXAMPLE),
    Answer(
        status=200,
        doc="A dry run of a simple order.",
        type=answers.PlaceDryRun,
        example=answers.DRY_RUN_EXAMPLE,
    ),
    Answer(
        status=200,
        doc="A dry run of an order that runs as a plan.",
        type=answers.PlanDryRun,
        example=answers.PLAN_DRY_RUN_EXAMPLE,
    ),
    Answer(
        status=200,
        doc="A list, every status in it 200 or 202.",
        type=answers.PlaceResults,
        example={"results": answers.RESULTS_EXAMPLE["results"][:1]},
    ),
    Answer(
        status=202,
        doc="Nothing was sent yet: outcome `armed`, with `trigger_direction` and `trigger_level` where it waits for a price.",
        type=answers.Placed,
        example=answers.ARMED_EXAMPLE,
    ),
    Answer(
        status=207,
        doc="Several orders of which some were accepted (`legs`).",
        type=answers.Placed,
        example=answers.PARTIAL_EXAMPLE,
    ),
    Answer(
        status=207,
        doc="A list of which an entry has another status than 200 and 202.",
        type=answers.PlaceResults,
        example=answers.RESULTS_EXAMPLE,
    ),
    failure(400, "A field is malformed, or the list as a whole; the sentence names it.", texts.QUANTITY_REQUIRED),
    failure(
        403,
        "The day is down past the configured loss limit, or trading is halted.",
        texts.day_is_down(Decimal(12500), Decimal(10000)),
        **IDS,
    ),
    failure(
        404,
        "No such instrument is mapped.",
        instrument_texts.not_mapped(str(SHARE["instrument_id"]), "2026-11-25"),
    ),
    failure(
        409,
        "The pinned broker cannot take it; the engine read it too late; no position to close; nobody on the other side of the "
        "book, a market past the stop, or one closed for the day.",
        texts.STALE_INTENT,
        intent_id=INTENT_ID,
        expired_seconds=31.2,
    ),
    Answer(
        status=422,
        doc="Rejected by the broker, or no connection to it could be opened.",
        type=answers.Placed,
        example=answers.REJECTED_EXAMPLE,
    ),
    failure(
        429,
        "The broker's daily order cap has no room.",
        texts.daily_cap(BROKER, 2800, 3000, 200),
        **IDS,
    ),
    failure(
        503,
        "Nothing was placed: engine not running or too busy, catalogue not published, store away, no broker, no rate room, "
        "no live quote, book level, tick size or readable positions for a reference.",
        texts.NO_BROKER,
        skipped=[{"broker": BROKER, "reason": texts.no_login(BROKER)}],
        **IDS,
    ),
    Answer(
        status=504,
        doc="Outcome unknown (`outcome`, `intent_id`): read the order book before sending again.",
        type=answers.Placed,
        example=answers.UNKNOWN_EXAMPLE,
    ),
    failure(
        504,
        "The engine did not answer in time, or failed.",
        texts.engine_did_not_answer(5.0),
        outcome="unknown",
        intent_id=INTENT_ID,
    ),
)
