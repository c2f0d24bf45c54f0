"""The reference documents that the demo starts with: an invented user, its simulated brokers, the real exchanges."""

from datetime import datetime

from onebroker.actors.reference.import_checks import Document, encode, prepare
from onebroker.actors.store.durable import Collection, Durable
from onebroker.brokers.broker import Registry
from onebroker.brokers.codec.display_names import display_names
from onebroker.config.exchange_documents import exchange_documents

_USER: Document = {
    "name": "Demo Trader",
    "email": "trader@demo.invalid",
    "mobile_number": "0000000000",
    "pan": "AAAAA0000A",
    "bank": {"name": "Bank of the Demo", "ifsc": "DEMO0000000", "account_number": "000000000000"},
    "note": "An invented person; import your own with `onebroker import users FILE`.",
}


async def give_documents(durable: Durable, registry: Registry, now: datetime) -> None:
    """Fill the empty collections, through the checks of the import. Raises DurableError."""
    brokers: list[Document] = [
        {"name": broker.name, "note": "Simulated; none of this is the real broker."} for broker in registry.values()
    ]
    given: dict[Collection, list[Document]] = {"users": [_USER], "brokers": brokers, "exchanges": exchange_documents()}
    for collection, documents in given.items():
        if not await durable.documents(collection):
            body = b"[" + b",".join(encode(documents)) + b"]"
            prepared = prepare(collection, body, codes_by_name=display_names(registry), now=now)
            await durable.replace_documents(collection, encode(prepared))
