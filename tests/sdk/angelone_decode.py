"""Angel One's official SDK as a decoder: base64 frames in, what it reads out. Runs in the SDK's environment.

Frames it cannot read are answered with the name of its exception.
"""

import base64
import json
import math
import sys

from SmartApi.smartWebSocketV2 import SmartWebSocketV2


def main():
    line = json.loads(sys.stdin.readline())
    socket = SmartWebSocketV2("jwt", "key", "client", "feed")
    for number, frame in enumerate(line["frames"]):
        try:
            value = socket._parse_binary_data(base64.b64decode(frame))
        except Exception as error:  # noqa: BLE001  # whatever it is, it is the answer
            value = {"error": type(error).__name__}
        # JSON has no infinity and no NaN.
        value = {
            name: None if isinstance(each, float) and not math.isfinite(each) else each for name, each in value.items()
        }
        print(json.dumps({"step": str(number), "value": value}), flush=True)


main()
