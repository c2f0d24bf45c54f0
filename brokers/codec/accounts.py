"""Which account an answer, or a message of an order stream, is about. An answer about another account is a failed read;
such a message is a corrupt frame. Neither is ever data (lesson 10).

Where a broker's answers name the account, `Broker.account_field` gives the field; `Broker.event_account_field` does so
for the order stream. The field is searched in the bytes, at any depth: one broker's answers hold it in rows, in envelopes
and next to lists. A broker's own user of an order (Kite's and Upstox' `placed_by`) is not an account: a dealer may have
placed the order.
"""

import re
from functools import cache

from onebroker.brokers.broker import Access, AccountField, ReadFlow
from onebroker.brokers.requests import BadAnswer, WireResponse

MASKED = "*"
"""Documents print accounts as `X******`; a masked account names nobody."""


def same_account(named: object, own: str | None) -> bool:
    """Tell whether the account that an answer names may be `own`: the two are equal, one is blank, or the answer's is masked."""
    said, ours = str(named or "").strip().upper(), str(own or "").strip().upper()
    return said == ours or not said or not ours or MASKED in said


def of_account(calls: ReadFlow, field: AccountField | None, access: Access) -> ReadFlow:
    """Yield the calls of a read and check each answer as it comes; raise `BadAnswer` for an answer about another account."""
    if field is None:
        yield from calls
        return
    try:
        request = next(calls)
        while True:
            answer = yield request
            check(answer, field, access)
            request = calls.send(answer)
    except StopIteration:
        return
    finally:
        calls.close()


def check(answer: WireResponse, field: AccountField, access: Access) -> None:
    """Raise `BadAnswer` for an answer that names another account than the login's. Where the login's account is not
    known, raise it for an answer that names two accounts."""
    if _about_another(answer.body, field, access):
        raise BadAnswer("the answer is about another account")


def heard_of_another(frame: bytes | str, field: AccountField, access: Access) -> bool:
    """Tell whether a frame of the order stream names another account than the login's; a frame that is not JSON text names none."""
    message = frame.encode("utf-8", "replace") if isinstance(frame, str) else frame
    return message[:1] in _JSON_BEGINS and _about_another(message, field, access)


_JSON_BEGINS = (b"{", b"[")


def _about_another(body: bytes, field: AccountField, access: Access) -> bool:
    found = _pattern(field.name).findall(body)
    named = {(written or digits).decode("utf-8", "replace").strip().upper() for written, digits in found}
    accounts = {account for account in named if account and MASKED not in account}
    own = field.own(access) if accounts else None
    return len(accounts) > 1 or any(not same_account(account, own) for account in accounts)


@cache
def _pattern(name: str) -> "re.Pattern[bytes]":
    # A text that quotes the field escapes its quotes, and does not match. Dhan's documents and its frames differ in case.
    return re.compile(rb'"' + re.escape(name).encode() + rb'"\s*:\s*(?:"([^"\\]*)"|([0-9]+))', re.IGNORECASE)
