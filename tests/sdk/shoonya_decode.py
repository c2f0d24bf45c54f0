"""Shoonya's official client as a reader of frames: texts in, what it hands to which callback out. Runs in the SDK's environment.

The client keeps no image of a scrip: merging the frames of changes is the test's.
"""

import json
import sys

from NorenRestApiPy.NorenApi import NorenApi

OUT = sys.stdout
sys.stdout = sys.stderr


class Sink:
    """Stands in for the client's socket: nothing is sent."""

    def __init__(self, api):
        self.heard = []
        api._NorenApi__subscribe_callback = lambda frame: self.heard.append(["market", frame])
        api._NorenApi__order_update_callback = lambda frame: self.heard.append(["order", frame])
        api._NorenApi__on_open = lambda: self.heard.append(["open", None])
        api._NorenApi__on_error = lambda frame: self.heard.append(["error", frame])


def main():
    line = json.loads(sys.stdin.readline())
    api = NorenApi(host="http://127.0.0.1:9", websocket="ws://127.0.0.1:9/")
    sink = Sink(api)
    answers = []
    for frame in line["frames"]:
        sink.heard.clear()
        try:
            api._NorenApi__on_data_callback(None, frame, None, None)
            answers.append({"heard": list(sink.heard)})
        except (ValueError, KeyError, TypeError) as error:
            answers.append({"failed": type(error).__name__})
    print(json.dumps({"step": "answers", "value": answers}), file=OUT, flush=True)


main()
