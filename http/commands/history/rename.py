"""`onebroker history rename OLD NEW --from DAY`: for an instrument that had another name before. Then /prices and
/ticks of the new name also return what is stored under the old name. `--forget` removes the rename; `history check`
lists all renames."""

import argparse
import re
import sys
from datetime import date

import trio

from onebroker.actors.store.durable import Durable
from onebroker.actors.store.durable_history import Rename
from onebroker.actors.store.open_durable import open_durable
from onebroker.config.instruments import Identity
from onebroker.config.refusal import Refusal
from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.history.load_report import places_of
from onebroker.http.commands.history.row_instruments import Identities
from onebroker.http.commands.history.store_access import Places, open_taker
from onebroker.http.instruments import instrument_names

SOURCE = "history rename"
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def run(parsed: argparse.Namespace) -> int:
    return trio.run(_rename, parsed, strict_exception_groups=True)


async def _rename(parsed: argparse.Namespace) -> int:
    places = places_of(parsed)
    from_day = _day(parsed.from_day)
    with open_durable(places.data_dir, places.store) as durable:
        return await _rename_in(durable, places, parsed, from_day)


async def _rename_in(durable: Durable, places: Places, parsed: argparse.Namespace, from_day: date) -> int:
    old, new = await _named(parsed, Identities(places.data_dir, durable))
    if old.instrument_id == new.instrument_id:
        raise CommandFailed("OLD and NEW are the same instrument", WRONG_USE)
    if (old.exchange, old.shape) != (new.exchange, new.shape):
        raise CommandFailed("OLD and NEW are not of one exchange and shape: they are two instruments", WRONG_USE)
    rename = Rename(old_id=old.instrument_id, new_id=new.instrument_id, from_day=from_day, source=SOURCE)
    async with open_taker(places, durable) as taker:
        changed = await taker.rename(rename, forget=parsed.forget)
    said = "forgotten" if parsed.forget else "kept"
    sys.stdout.write(
        f"{said}: {_text(old)} is {_text(new)} from {from_day} on\n" if changed else "nothing has changed\n"
    )
    return DONE


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise CommandFailed("--from must be a date in YYYY-MM-DD format", WRONG_USE) from None


async def _named(parsed: argparse.Namespace, identities: Identities) -> tuple[Identity, Identity]:
    """Return the named instruments. Both must be listed, have been listed, or have been entered together with their history."""
    found = [await _one(text, parsed, identities) for text in (parsed.old, parsed.new)]
    return found[0], found[1]


async def _one(text: str, parsed: argparse.Namespace, identities: Identities) -> Identity:
    given = (
        {"instrument_id": text}
        if _UUID.fullmatch(text)
        else {"exchange": parsed.exchange, "segment": parsed.segment, "symbol": text}
    )
    try:
        name = instrument_names.read_name(given)
    except Refusal as refusal:
        raise CommandFailed(refusal.sentence, WRONG_USE) from None
    identity = await identities.identity_of(name.instrument_id)
    if identity is None:
        raise CommandFailed(
            f"{name.text} is not known: it was never listed, and no history of it was loaded", WRONG_USE
        )
    return identity


def _text(identity: Identity) -> str:
    return identity.natural_key.replace("|", " ")
