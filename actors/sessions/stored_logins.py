"""The brokers' logins in the store, sealed where the settings hold keys (`actors.store.sealing`).

A stored login that cannot be opened counts as not there. Nothing but a login by a person takes its place: without its key the service would put
an encrypted login's successor in plain text on the disk.
"""

import attrs
import msgspec

from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, Store, StoreError
from onebroker.actors.store.sealing import ADVICE, Seal, SealLocked
from onebroker.brokers.broker import Login


@attrs.frozen
class StoredLogins:
    store: Store
    seal: Seal

    async def read(self, code: str) -> Login | None:
        """Return the stored login of a broker; None when there is none that can be read. A login that is stored plain, or with an older key,
        is written anew with the newest key. Raises StoreError."""
        key = keys.broker_login(code)
        stored = await self.store.get(key)
        if stored is None:
            return None
        try:
            body = self.seal.open(key, stored)
        except SealLocked:
            return None
        if not self.seal.is_newest(stored):
            await self._write_anew(Set(key, self.seal.seal(key, body)))
        return decode_login(body)

    async def _write_anew(self, op: Set) -> None:
        try:
            await self.store.write(op)
        except StoreError:
            self.store.post(op)

    async def last(self, code: str) -> Login | None:
        """Return the stored login, to whose account a new login must belong; None when there is none.

        Raises ValueError when it cannot be opened, so that its account is not known. Raises StoreError."""
        login = await self.read(code)
        if login is None and self.is_locked(code):
            raise ValueError(
                f"the stored login of {code} is encrypted and cannot be opened, so its account is not known: nothing was changed; {ADVICE}, "
                f"or give it up with onebroker login {code} --other-account"
            )
        return login

    def is_locked(self, code: str) -> bool:
        """Tell whether the last read found a login that it could not open."""
        return keys.broker_login(code) in self.seal.locked

    def written(self, code: str, login: Login) -> Set:
        """Return the write that stores a login."""
        key = keys.broker_login(code)
        return Set(key, self.seal.seal(key, encode_login(login)))


def encode_login(login: Login) -> bytes:
    return msgspec.json.encode(attrs.asdict(login))


def decode_login(body: bytes) -> Login | None:
    """Return the stored login, or None when it cannot be read as one."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, object])
        return Login(
            tokens=msgspec.convert(fields["tokens"], dict[str, str]),
            user_id=msgspec.convert(fields["user_id"], str),
            logged_in_at=msgspec.convert(fields["logged_in_at"], float),
            expires_at=msgspec.convert(fields["expires_at"], float),
            profile=msgspec.convert(fields.get("profile", {}), dict[str, object]),
        )
    except (msgspec.MsgspecError, KeyError):
        return None


def refuse_other_account(code: str, known: Login | None, login: Login) -> None:
    """Raise ValueError when `login` belongs to another account than the last login, even if the last login has ended. Any page that
    reaches the port of `login --listen` first can hand in a code of its own account, and orders would go to that account."""
    if known is not None and known.user_id and login.user_id.strip().upper() != known.user_id.strip().upper():
        raise ValueError(
            f"this login is of account {login.user_id}, and {code} was logged in to as {known.user_id}: nothing was changed; "
            f"if that is meant, log in with onebroker login {code} --other-account"
        )
