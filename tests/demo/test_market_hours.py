"""`--market-hours real` with `--now`: the demo at a moment of one's choice, before and after the close, and the day limits."""

import pytest

pytestmark = pytest.mark.long

MONDAY_AFTERNOON = "2026-11-23T15:20:00+05:30"
MONDAY_EVENING = "2026-11-23T16:30:00+05:30"
SATURDAY = "2026-11-28T11:00:00+05:30"
REAL = ("--market-hours", "real", "--instruments", "300", "--day-limits")


def started(new_demo, now):
    demo = new_demo(*REAL, "--now", now).start()
    demo.until_ready()
    return demo


def test_before_the_close_orders_are_taken_and_the_clock_is_the_one_given(new_demo):
    demo = started(new_demo, MONDAY_AFTERNOON)
    assert demo.read("/api/health")["time"].startswith("2026-11-23T15:2")
    assert demo.read("/api/portfolio/funds")["as_of"].startswith("2026-11-23T15:2")
    share = demo.share()
    answer = demo.place(**demo.limit_buy(share))
    assert answer.status == 200, answer
    row = demo.until_status(answer.json["order_id"], "OPEN")
    assert row["order_timestamp"].startswith("2026-11-23T15:2")
    assert row["order_timestamp"].endswith("+05:30")
    demo.move(share["instrument_id"], demo.at_price(share, -3))
    demo.until_status(answer.json["order_id"], "COMPLETE")
    room = demo.read("/api/health")["brokers"]["zerodha"]["room"]
    assert (room["daily_cap"], room["order_messages_today"]) == (3000, 1 if answer.json["broker"] == "zerodha" else 0)
    assert demo.end() == 0
    demo.start()
    demo.until_ready()
    assert demo.until_status(answer.json["order_id"], "COMPLETE")["filled_quantity"] == 1


@pytest.mark.parametrize("now", [MONDAY_EVENING, SATURDAY])
def test_after_the_close_documents_are_served_and_orders_answered_without_a_fault(new_demo, now):
    demo = started(new_demo, now)
    share = demo.share()
    answer = demo.place(**demo.limit_buy(share))
    assert answer.status in (200, 409, 422), answer
    assert answer.json.get("status_message") or answer.json.get("error") or answer.json["outcome"] == "accepted"
    assert demo.read("/api/health")["crashes"] == []
    assert len(demo.assert_sent_once()) == (1 if "outcome" in answer.json else 0)
