"""Parts of the screen in Node, over answers that a service could give: which words a reader gets, and what a press sends.

Node paints them into the elements of `page_in_node.mjs`. In Chromium they are tried by tests/demo/test_dashboard.py.
"""

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from onebroker.http.answers import stopping
from onebroker.http.dashboard.page_files import HERE
from tests.support.patience import PATIENCE_SECONDS

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")

BEGIN = """
import { asked, find, happen, having, serve, settled, text, texts, type } from "./page_in_node.mjs";
import { readFileSync } from "node:fs";
const given = JSON.parse(readFileSync("given.json", "utf8"));
const { html, render } = await import("./preact-htm.mjs");
const { changed, known, painter } = await import("./store.mjs");
for (const order of given.orders ?? []) known.orders.set(`${order.broker} ${order.order_id}`, order);
for (const parent of given.parents ?? []) known.parents.set(parent.parent_order_id, parent);
Object.assign(known, { documents: given.documents ?? {}, health: given.health ?? null, hasParents: true });
serve(given.answers ?? [[404, {}]]);
const page = document.createElement("body");
const show = async (Part) => {
  painter(() => render(html`<${Part} />`, page));
  changed();
  await settled();
};
"""


@pytest.fixture
def run(tmp_path):
    """Run a script over the modules of the screen, with `given`; return what it puts into `result`."""
    for folder in ("static", "vendor"):
        for path in (HERE / folder).glob("*.js"):
            text = path.read_text().replace('"/dashboard/', '"./').replace('.js";', '.mjs";')
            (tmp_path / f"{path.stem}.mjs").write_text(text)
    shutil.copy(Path(__file__).with_name("page_in_node.mjs"), tmp_path)

    def call(script, **given):
        (tmp_path / "given.json").write_bytes(msgspec.json.encode(given))
        (tmp_path / "main.mjs").write_text(f"{BEGIN}let result;\n{script}\nconsole.log(JSON.stringify(result));")
        told = subprocess.run(
            [NODE, "main.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        assert told.returncode == 0, told.stderr
        return msgspec.json.decode(told.stdout)

    return call


# --- FLATTEN and CLOSE ------------------------------------------------------------------------------------------------------

SHARE = "11111111-1111-4111-8111-111111111111"
CLOSING = {**stopping.DRY_RUN_EXAMPLE["would_close"][0], "broker": "zerodha", "position_key": "408065:MIS"}
OPTION = {
    **CLOSING,
    "broker": "upstox",
    "position_key": "NFO|7:D",
    "tradingsymbol": "NIFTY26D0124000CE",
    "product": "carry",
}
NET = [
    {
        "instrument_id": "o", "underlying_symbol": "NIFTY", "symbol": None, "expiry_date": "2026-12-01", "strike_price": 24000,
        "option_type": "CE", "product": "carry", "quantity": 10,
        "by_broker": [{"broker": "upstox", "position_key": "NFO|7:D", "quantity": 10}],
    }
]  # fmt: skip
ORDERS = [
    {
        "broker": "zerodha", "order_id": "251", "transaction_type": "SELL", "quantity": 50, "symbol": "INFY", "tradingsymbol": "INFY-EQ"
    }
]  # fmt: skip
DOUBT = {
    "broker": "zerodha", "position_key": "408065:MIS", "instrument_id": SHARE, "tradingsymbol": "INFY", "product": "intraday",
    "shown": 0, "by_fills": 100, "since": "2026-11-30T10:00:05", "status_message": "zerodha shows 0 units",
}  # fmt: skip
HEALTH = {
    "brokers": {
        "zerodha": {"login": "live", "parts": {}, "read_errors": {}},
        "groww": {"login": "login needed", "parts": {}, "read_errors": {}},
        "dhan": {"login": "live", "parts": {}, "read_errors": {}},
        "kotakneo": {"login": "repairing", "parts": {}, "read_errors": {}},
    }
}
UNREAD = {
    "brokers_not_read": ["dhan", "fyers", "groww", "kotakneo"],
    "positions_not_readable": [{"broker": "upstox", "status_message": "one row has no quantity"}],
    "positions_doubted": [DOUBT],
    "trades_not_read": ["upstox:NFO|7:D"],
}
PLAN = {
    **stopping.DRY_RUN_EXAMPLE,
    **UNREAD,
    "would_cancel": [{"broker": "zerodha", "order_id": "251", "status": "OPEN"}],
    "would_close": [
        CLOSING,
        OPTION,
        {
            **CLOSING,
            "position_key": "9",
            "tradingsymbol": "GOLD26DEC",
            "product": "carry",
            "close_quantity": None,
            "quantity": None,
        },
        {**CLOSING, "position_key": "8", "tradingsymbol": "ODD", "segment": None},
    ],
}
FLAT_PLAN = {**stopping.DRY_RUN_EXAMPLE, "would_close": [CLOSING]}
AFTER = {
    **stopping.FLAT_EXAMPLE,
    **UNREAD,
    "flat": False,
    "halted": {"error": "the order engine is not running"},
    "cancelled": [
        {"broker": "zerodha", "order_id": "251", "sent": False, "outcome": None, "status_message": "no login at zerodha"},
        {"broker": "dhan", "order_id": "7", "sent": False, "outcome": None, "status_message": "no room"},
        {"broker": "dhan", "order_id": "8", "sent": True, "outcome": "rejected", "status_message": "it is complete"},
    ],
    "still_open_after_waiting": ["zerodha:251", "dhan:9"],
    "not_shown_after_waiting": [
        {
            "broker": "dhan", "leg_id": "1", "order_id": None, "tradingsymbol": "TCS", "transaction_type": "BUY", "quantity": 5,
            "status_message": "the broker does not show this order yet",
        }
    ],
    "closed": [
        {**CLOSING, "sent": True, "outcome": "accepted", "status_message": None},
        {**OPTION, "sent": True, "outcome": "rejected", "status_message": "no margin"},
        {**OPTION, "position_key": "5", "tradingsymbol": "TCS", "sent": True, "outcome": "unknown", "status_message": "no answer"},
        {**OPTION, "position_key": "4", "tradingsymbol": "SBIN", "sent": True, "outcome": "accepted", "status_message": None},
        {**OPTION, "position_key": "6", "tradingsymbol": "WIPRO", "sent": False, "outcome": None, "status_message": "no login"},
    ],
    "positions_still_open_after_waiting": ["upstox:NFO|7:D", "upstox:5", "upstox:4", "zerodha:408065:MIS", "zerodha:new"],
}  # fmt: skip

UNREAD_AT = {
    "dhan": "Look at its own app.",
    "fyers": "The settings leave it out: put it into the settings again, or look at its own app.",
    "groww": "It has no login: give it one on the page Brokers.",
    "kotakneo": "It has no login yet: ask again in a moment, or look at its own app.",
}
IN_DOUBT = (
    "zerodha shows 0 units of INFY intraday, but by its orders it holds 100, since 10:00:05. "
    "Look at the position in its own app until they agree."
)
TRADES = "Not all trades of NIFTY 2026-12-01 24000 CE carry at upstox are known: look whether the units of the tag are closed."
BEFORE_WORDS = [
    *(f"{code} cannot be read: its orders and positions are not in this list. {do}" for code, do in UNREAD_AT.items()),
    "Some positions of upstox cannot be read and are not in this list: one row has no quantity. Look at its own app.",
    IN_DOUBT,
    TRADES,
    "GOLD26DEC carry at zerodha is not closed from here: its units are not known. Close it in the broker's own app.",
    "ODD intraday at zerodha is not closed from here: its instrument is not known. Close it in the broker's own app.",
]


def after_words(word):
    return [
        f"The plans of the engine were not halted and may send more orders: the order engine is not running. Press {word} again.",
        *(f"{code} could not be read: it may have open orders and positions. {do}" for code, do in UNREAD_AT.items()),
        "Some positions of upstox could not be read and may be open: one row has no quantity. Look at its own app.",
        IN_DOUBT,
        TRADES,
        f"SELL 50 INFY (251) at zerodha is still open: no login at zerodha. Cancel it on the page Orders, or press {word} again.",
        f"Order 9 at dhan is still open. Cancel it on the page Orders, or press {word} again.",
        "The cancel of order 7 at dhan was not sent: no room. Look whether it is still open on the page Orders.",
        "BUY 5 TCS at dhan: the broker does not show this order yet. Look for it in the broker's own app.",
        f"NIFTY 2026-12-01 24000 CE carry at upstox is still open: SELL 10 rejected (no margin). Close it in the broker's own app, or press {word} again.",
        f"TCS carry at upstox is still open: it is not known whether SELL 10 left (no answer). Look at the page Orders before you close it or press {word} again.",
        f"SBIN carry at upstox is still open: SELL 10 accepted. Look at the page Orders before you close it or press {word} again.",
        f"zerodha:new is still open. Close it in the broker's own app, or press {word} again.",
        "WIPRO carry at upstox: SELL 10 not sent (no login). Look at the page Positions whether it is closed.",
    ]


DIALOG = """
const { Stops, ...stops } = await import("./stops.mjs");
await show(Stops);
stops[given.opened](given.about);
await settled();
const seen = () => ({
  lines: having(page, "id", "stop-trouble").map((each) => texts(each, "p")),
  rows: texts(page, "tr").slice(1),
  summary: texts(page, "p").find((each) => each.includes("would be cancelled")) ?? null,
  status: having(page, "role", "status").map(text),
});
const before = seen();
const [box] = having(page, "id", "skip-covered");
if (given.skips) {
  box.checked = true;
  await happen(box, "change");
}
const chosen = seen();
for (const field of having(page, "id", "stop-word")) await type(field, "FLATTEN");
await happen(find(page, "form")[0], "submit");
result = { asked, before, hasBox: Boolean(box), chosen, after: seen() };
"""
OPENED = [("openFlatten", None, "FLATTEN"), ("openClose", {"title": "INFY", "limits": {"broker": "zerodha"}}, "CLOSE")]


def dialog(run, plan, answer, opened="openFlatten", about=None, **given):
    answers = [[200, plan], [200 if answer["flat"] else 207, answer]]
    known = {"documents": {"positions": {"net": NET}}, "orders": ORDERS, "health": HEALTH, **given}
    return run(DIALOG, answers=answers, opened=opened, about=about, **known)


@pytest.mark.parametrize(("opened", "about", "word"), OPENED)
def test_all_that_is_not_read_believed_or_done_is_said_before_and_after(run, opened, about, word):
    limits = {"closes": {}} if word == "CLOSE" else {}
    told = dialog(run, {**PLAN, **limits}, {**AFTER, **limits}, opened, about)
    assert told["before"]["lines"] == [BEFORE_WORDS]
    assert told["after"]["lines"] == [after_words(word)]
    (status,) = told["after"]["status"]
    assert status.startswith("Not all is")


@pytest.mark.parametrize(("opened", "about", "word"), OPENED)
def test_nothing_is_said_of_what_is_well(run, opened, about, word):
    told = dialog(run, FLAT_PLAN, stopping.FLAT_EXAMPLE, opened, about)
    assert (told["before"]["lines"], told["after"]["lines"]) == ([], [])
    assert not told["hasBox"]
    assert told["asked"][1][2] == {"confirm": word, **(about or {}).get("limits", {})}


def test_the_same_is_said_once_and_a_missing_reason_leaves_no_gap(run):
    piece = {**CLOSING, "sent": True, "outcome": "rejected", "status_message": "no margin"}
    unread = [{"broker": "upstox", "status_message": ""}]
    answer = {**stopping.FLAT_EXAMPLE, "closed": [piece, piece], "positions_not_readable": unread, "flat": False}
    unread_words = "Some positions of upstox could not be read and may be open. Look at its own app."
    refused = "INFY intraday at zerodha: SELL 10 rejected (no margin). Look at the page Positions whether it is closed."
    assert dialog(run, FLAT_PLAN, answer)["after"]["lines"] == [[unread_words, refused]]
    answer["positions_still_open_after_waiting"] = ["zerodha:408065:MIS"]
    refused = "INFY intraday at zerodha is still open: SELL 10 rejected (no margin). Close it in the broker's own app, or press FLATTEN again."
    assert dialog(run, FLAT_PLAN, answer)["after"]["lines"] == [[unread_words, refused]]


def test_the_list_names_orders_and_instruments_as_the_other_pages_do(run):
    rows = dialog(run, PLAN, AFTER)["before"]["rows"]
    assert rows == [
        "zerodhaSELL 50 INFY (251)cancel",
        "zerodhaINFY intradaySELL 10",
        "upstoxNIFTY 2026-12-01 24000 CE carrySELL 10",
        "zerodhaGOLD26DEC carrynot from here",
        "zerodhaODD intradaynot from here",
    ]


def test_what_goes_on_beside_a_close_is_said(run):
    halted = {"halted_parents": 0, "partly": ["p1", "p2"]}
    answer = {**stopping.CLOSED_EXAMPLE, "halted": halted}
    opened, about, _ = OPENED[1]
    parents = [{"parent_order_id": "p1", "routed_from": "bracket"}]
    told = dialog(run, FLAT_PLAN, answer, opened, about, parents=parents)
    assert told["after"]["lines"] == [
        [
            "bracket p1 also works outside of this and goes on: see the page Parents.",
            "p2 also works outside of this and goes on: see the page Parents.",
        ]
    ]


# --- sales out of the holdings ----------------------------------------------------------------------------------------------

COVERED = {**CLOSING, "position_key": "1:CNC", "tradingsymbol": "ITC", "product": "delivery", "quantity": -5}
COVERED |= {"transaction_type": "BUY", "close_quantity": 5, "covered_by_holdings": True}
COVERED_PLAN = {**stopping.DRY_RUN_EXAMPLE, "would_cancel": [], "would_close": [CLOSING, COVERED]}


def test_a_flatten_buys_back_what_was_sold_out_of_the_holdings_unless_it_is_told_otherwise(run):
    told = dialog(run, COVERED_PLAN, stopping.FLAT_EXAMPLE)
    assert told["hasBox"]
    assert told["before"]["rows"][1].endswith("BUY 5 (covered by holdings: it buys back what was sold)")
    assert "2 positions closed" in told["before"]["summary"]
    assert told["asked"][1] == ["POST", "/api/orders/flatten", {"confirm": "FLATTEN"}]
    assert told["after"]["status"] == ["All is flat."]


def test_it_leaves_them_when_the_box_is_ticked(run):
    told = dialog(run, COVERED_PLAN, stopping.FLAT_EXAMPLE, skips=True)
    assert told["chosen"]["rows"][1].endswith("left as it is (covered by holdings)")
    assert told["chosen"]["rows"][0] == told["before"]["rows"][0]
    assert "1 position closed" in told["chosen"]["summary"]
    assert told["asked"][1][2] == {"confirm": "FLATTEN", "skip_covered": True}
    assert told["after"]["status"] == ["All is flat, without the sales out of the holdings: they are left as they are."]


def test_a_close_offers_no_such_box(run):
    opened, about, _ = OPENED[1]
    told = dialog(run, COVERED_PLAN, stopping.FLAT_EXAMPLE, opened, about)
    assert not told["hasBox"]


# --- positions --------------------------------------------------------------------------------------------------------------

PNL = {"realized": 0, "unrealized": 0, "total": 0}
HELD = {
    "instrument_id": SHARE, "symbol": "INFY", "underlying_symbol": None, "product": "intraday", "quantity": 5, "average_price": 1,
    "last_price": 1, "pnl": PNL, "by_broker": [{"broker": "zerodha", "position_key": "k", "tradingsymbol": "INFY-EQ", "quantity": 5}],
}  # fmt: skip
LEFT = {
    **HELD, "instrument_id": "i", "symbol": "ITC", "product": "delivery", "quantity": -5,
    "by_broker": [
        {"broker": "dhan", "position_key": "l", "quantity": -2},
        {"broker": "upstox", "position_key": "k", "quantity": -3, "covered_by_holdings": True},
    ],
}  # fmt: skip
POSITIONS = """
const { Positions } = await import("./positions.mjs");
await show(Positions);
result = { doubts: having(page, "id", "doubted").map((each) => texts(each, "p")), brokers: find(page, "tr").slice(1).map((row) => texts(row, "td").slice(-2)[0]) };
"""


def positions(run, *doubts):
    parts = [
        {"broker": "zerodha", "status": "ok", "as_of": None, **({"doubted": doubts} if doubts else {})},
        {"broker": "upstox", "status": "ok", "as_of": None},
        {"broker": "dhan", "status": "ok", "as_of": None},
    ]
    summary = {"total": 0, "realized": 0, "unrealized": 0, "unknown_rows": 0}
    document = {"net": [HELD, LEFT], "day": [], "summary": summary, "brokers": parts, "as_of": "2026-11-30T10:00:06"}
    return run(POSITIONS, documents={"positions": document})


def test_a_doubted_position_is_told_with_both_figures_and_by_the_name_of_its_row(run):
    names = ("instrument_id", "tradingsymbol", "product", "shown", "by_fills", "since")
    doubt = {name: DOUBT[name] for name in names}
    gone = {**doubt, "instrument_id": None, "tradingsymbol": "TCS-EQ", "product": "delivery", "by_fills": -7}
    told = positions(run, {**doubt, "tradingsymbol": "INFY-EQ"}, gone)
    other = IN_DOUBT.replace("INFY intraday", "TCS-EQ delivery").replace("100", "-7")
    assert told["doubts"] == [[IN_DOUBT, other]]
    assert positions(run)["doubts"] == []


def test_a_sale_out_of_the_holdings_is_marked_at_its_broker_alone(run):
    assert positions(run)["brokers"] == ["zerodha 5", "dhan -2upstox -3 covered by holdings"]


# --- parents ----------------------------------------------------------------------------------------------------------------

PARENT = {
    "parent_order_id": "p", "instrument_id": SHARE, "routed_from": "bracket", "state": "working", "created_at": 0, "legs": [],
    "parameters": {"parts": {}}, "status_message": "40 units are open without a stop",
}  # fmt: skip
TROUBLE = {
    "parent_id": "p",
    "instrument_id": SHARE,
    "message": "40 units are open without a stop",
    "why": "no login at zerodha",
}
PARENTS = """
const { Parents } = await import("./parents.mjs");
await show(Parents);
result = having(page, "class", "bad").map(text);
"""


def test_a_parent_says_why_its_units_are_open_without_a_stop(run):
    other = {**TROUBLE, "message": "orders still to be cancelled at dhan: 1", "why": None}
    elsewhere = {**TROUBLE, "parent_id": "q", "message": "of another parent"}
    health = {**HEALTH, "order_problems": [TROUBLE, other, elsewhere]}
    answers = [[200, {"symbol": "INFY"}]]
    said = run(PARENTS, parents=[PARENT], health=health, answers=answers)
    assert said == [
        "INFY: 40 units are open without a stop: no login at zerodha",
        "INFY: orders still to be cancelled at dhan: 1",
    ]
    assert run(PARENTS, parents=[PARENT], health=HEALTH, answers=answers) == []
