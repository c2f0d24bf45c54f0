"""Whose account an answer is about: one of another account is a failed read, not data (lesson 10).

Where a broker's answers name the account, `Broker.account_field` says under which field. It is looked for at any depth, in the
bytes: the answers of one broker hold it in rows, in envelopes and beside lists. A broker's own user of an order (Kite's and
Upstox' `placed_by`) is no account: a dealer may have placed it.
"""

import re

from onebroker.brokers.broker import Access, AccountField, ReadFlow
from onebroker.brokers.requests import BadAnswer, WireResponse

MASKED = "*"
"""Documents print accounts as `X******`; a masked one names nobody."""


def same_account(named: object, own: str | None) -> bool:
    """Tell whether an account that an answer names may be `own`: it is, or one of the two is blank or masked."""
    said, ours = str(named or "").strip().upper(), str(own or "").strip().upper()
    return said == ours or not said or not ours or MASKED in said


def of_account(calls: ReadFlow, field: AccountField | None, access: Access) -> ReadFlow:
    """Return the calls of a read, each answer checked as it comes; raise `BadAnswer` at one about another account."""
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
    """Raise `BadAnswer` for an answer that names another account than the login's, or (where the login's name of it is not
    known) two accounts."""
    found = _pattern(field.name).findall(answer.body)
    named = {(written or digits).decode("utf-8", "replace").strip().upper() for written, digits in found}
    own = field.own(access)
    accounts = {account for account in named if account and MASKED not in account}
    if len(accounts) > 1 or any(not same_account(account, own) for account in accounts):
        raise BadAnswer("the answer is about another account")


def _pattern(name: str) -> "re.Pattern[bytes]":
    # A text that quotes the field escapes its quotes, and does not fit.
    return re.compile(rb'"' + re.escape(name).encode() + rb'"\s*:\s*(?:"([^"\\]*)"|([0-9]+))')
