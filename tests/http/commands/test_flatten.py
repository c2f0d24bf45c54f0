"""What `onebroker flatten` prints, and its exit codes, for answers of the service."""

from argparse import Namespace

import pytest

from onebroker.http.commands import flatten
from onebroker.http.commands.exit_codes import CommandFailed

POSITION = {
    "broker": "dhan",
    "tradingsymbol": "INFY",
    "product": "MIS",
    "transaction_type": "SELL",
    "close_quantity": 5,
}
CLOSED = {**POSITION, "sent": True, "outcome": "accepted", "status_message": None}
CANCEL = {"broker": "dhan", "order_id": "7", "sent": False, "outcome": None, "status_message": "no\x1broom"}
UNREAD = {"brokers_not_read": ["upstox"], "positions_not_readable": [{"broker": "fyers", "status_message": "row 3"}]}
NOT_FLAT = UNREAD | {
    "halted": {"error": "the engine is away"},
    "cancelled": [CANCEL],
    "closed": [CLOSED],
    "still_open_after_waiting": ["dhan:7"],
    "not_shown_after_waiting": [{"broker": "groww", "status_message": "not shown yet"}],
    "positions_still_open_after_waiting": ["dhan:INFY"],
    "flat": False,
}
WOULD = UNREAD | {
    "would_cancel": [{"broker": "dhan", "order_id": "7", "status": "OPEN"}],
    "would_close": [POSITION, POSITION],
}


@pytest.fixture
def service(monkeypatch):
    """Return what the service is asked; a test sets its `answer`."""
    asked = Namespace(requests=[], answer=None)

    def ask(parsed, request):
        asked.requests.append(request)
        return asked.answer

    monkeypatch.setattr(flatten, "ask", ask)
    return asked


def run(**given):
    return flatten.run(Namespace(**{"dry_run": False, "yes": None, "json": False} | given))


def test_everything_that_is_not_flat_has_a_line(service, capsys):
    service.answer = NOT_FLAT
    assert run(yes="FLATTEN") == 1
    assert capsys.readouterr().out.splitlines() == [
        "cancel dhan 7: not sent (no\\x1broom)",
        "close dhan INFY MIS by SELL 5: accepted",
        "parents were not halted: the engine is away",
        "order dhan:7 is still open",
        "an order at groww is not shown yet: not shown yet",
        "position dhan:INFY is still open",
        "upstox could not be read",
        "positions of fyers could not be read: row 3",
        "NOT all is flat: look at the lines above, and flatten again",
    ]
    assert service.requests == [{"command": "flatten", "confirm": "FLATTEN"}]


def test_a_dry_run_needs_no_word_and_lists_what_would_be_done(service, capsys):
    service.answer = WOULD
    assert run(dry_run=True) == 0
    assert capsys.readouterr().out.splitlines() == [
        "would cancel dhan 7 (OPEN)",
        "would close dhan INFY MIS by SELL 5",
        "would close dhan INFY MIS by SELL 5",
        "upstox could not be read",
        "positions of fyers could not be read: row 3",
        "a flatten would cancel 1 order and close 2 positions; nothing was sent",
    ]
    assert service.requests == [{"command": "flatten", "confirm": "FLATTEN", "dry_run": "true"}]


@pytest.mark.parametrize("word", ["", "flatten", "FLATTEN ", "yes"])
def test_another_word_asks_nothing(service, word):
    with pytest.raises(CommandFailed) as failed:
        run(yes=word)
    assert failed.value.code == 2
    assert service.requests == []
