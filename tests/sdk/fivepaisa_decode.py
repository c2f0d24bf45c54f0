"""An independent reader of 5paisa's market data, written from the documents: the SDK has none. Runs in the SDK's environment.

Reads `{"connections": [[frame, ...], ...]}` (texts), each a connection of its own; writes step `read`: per connection and frame
the instruments it was about, each as all that has been told of it so far, or null for a frame that cannot be read.
"""

import json
import sys

QUOTE = ("LastRate", "LastQty", "TotalQty", "High", "Low", "OpenRate", "PClose", "AvgRate", "TBidQ", "TOffQ")
PRICES = ("LastRate", "High", "Low", "OpenRate", "PClose", "AvgRate")
INTEREST = ("OpenInterest", "DayHiOI", "DayLoOI")


def milliseconds(text):
    """`/Date(1715238154000)/`, or with an offset that only informs; the null date is before 1970."""
    if not isinstance(text, str) or not text.startswith("/Date("):
        return None
    number = int(text[6:].split(")")[0].split("+")[0])
    return number if number > 0 else None


def told(known, row):
    where = f"{row['Exch']}:{row['ExchType']}:{row['Token']}"
    state = known.setdefault(where, {})
    for name in (*QUOTE, *INTEREST):
        if name in row and not (name in PRICES and row[name] == 0):
            state[name] = row[name]
    if "Details" in row:
        for side, flag in (("buy", 66), ("sell", 83)):
            state[side] = [
                [level["Price"], level["Quantity"], level["NumberOfOrders"]]
                for level in row["Details"]
                if level["BbBuySellFlag"] == flag and level["Quantity"]
            ]
    stamps = [milliseconds(row.get(name)) for name in ("TickDt", "Time")]
    stamps = [stamp for stamp in stamps if stamp]
    if stamps:
        state["time"] = max(stamps[0], state.get("time", 0))
    return where, dict(state)


def main():
    line = json.loads(sys.stdin.readline())
    read = []
    for frames in line["connections"]:
        known, answers = {}, []
        for frame in frames:
            try:
                message = json.loads(frame)
            except ValueError:
                answers.append(None)
                continue
            rows = message if isinstance(message, list) else [message]
            answers.append(dict(told(known, row) for row in rows))
        read.append(answers)
    print(json.dumps({"step": "read", "value": read}), flush=True)


main()
