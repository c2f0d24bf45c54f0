"""The calendar that rows of files are judged by: of the imported exchange documents, else of those that come with onebroker.

It is the exchanges' own also where a demo's market never closes: what is loaded was traded on real days.
"""

import msgspec

from onebroker.actors.store.durable import SqliteDurable
from onebroker.config.calendars import Calendar, calendar_from_documents
from onebroker.config.exchange_documents import exchange_documents


async def stored_calendar(durable: SqliteDurable) -> Calendar:
    """Raises DurableError."""
    imported = [msgspec.json.decode(body, type=dict[str, object]) for body in await durable.documents("exchanges")]
    return calendar_from_documents(imported or exchange_documents())
