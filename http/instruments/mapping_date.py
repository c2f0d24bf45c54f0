"""Which mapping date answers a request (rules 1.4.4): the latest mapping, or with `date` the latest on or before that day."""

from datetime import date

from quart.wrappers import Response

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.catalogue.messages import GetSnapshot
from onebroker.config.messages import instruments as sentences
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http.instruments.instrument_names import mapped
from onebroker.http.route import Parameter, failure
from onebroker.http.services import InstrumentServices

ASK_SECONDS = 10.0
"""Seconds that a client waits for an older mapping to be opened."""

DATE = Parameter(
    name="date", place="query", kind="date",
    doc="Answer from the latest mapping on or before this day; the latest when not given.",
)  # fmt: skip

HEADER = {"X-Mapping-Date": "YYYY-MM-DD: the mapping that answered."}
NEVER_MAPPED = failure(503, sentences.NEVER_MAPPED)
DATE_ANSWERS = (
    failure(404, sentences.nothing_mapped_by("<date>"), sentences.nothing_mapped_by("2020-01-01")),
    NEVER_MAPPED,
    failure(503, sentences.file_unreadable("<date>"), sentences.file_unreadable("2026-11-20")),
    failure(504, "An older mapping could not be opened in time.", shared.late("the catalogue did not answer in time")),
)


async def mapping(instrument_services: InstrumentServices, day: date | None) -> Snapshot:
    """Return the mapping of `day`. Refusal 503 if there is no mapping at all, 404 if every mapping is later than `day`."""
    latest = mapped(instrument_services.catalogue.value.latest)
    if day is None or day >= latest.mapping_date:
        return latest
    older: Snapshot | None = await instrument_services.catalogue_actor.ask(
        lambda reply: GetSnapshot(day, reply), ASK_SECONDS
    )
    if older is None:
        raise Refusal(404, sentences.nothing_mapped_by(day))
    return older


def dated(response: Response, snapshot: Snapshot) -> Response:
    """Return `response` with the header that says which mapping answered."""
    response.headers["X-Mapping-Date"] = snapshot.mapping_date.isoformat()
    return response
