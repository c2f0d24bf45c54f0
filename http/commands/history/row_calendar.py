"""The calendar that judges rows of files: from the imported exchange documents, else from the documents that come with
onebroker.

It is the exchanges' own calendar even where a demo's market never closes, because the loaded rows were traded on real
days.
"""

import msgspec

from onebroker.actors.store.durable import Durable
from onebroker.config.calendars import Calendar, calendar_from_documents
from onebroker.config.exchange_documents import exchange_documents


async def stored_calendar(durable: Durable) -> Calendar:
    """Raises DurableError."""
    imported = [msgspec.json.decode(body, type=dict[str, object]) for body in await durable.documents("exchanges")]
    return calendar_from_documents(imported or exchange_documents())
