"""The screen in Chromium: what a load costs, how soon it can be used, and how it bears a thousand quote updates a second.

- `load`: a demo; the page is opened with a token in an empty browser, with the processor at a quarter of its speed. Bytes on the wire; milliseconds
  until the available money is shown; the same of a page of this process without scripts, and the ratio of both.
- `lost`: the demo is stopped in its tracks (SIGSTOP); milliseconds until the page says that the connection is lost.
- `quotes`: a service with made-up ticks of 200 instruments, 1,000 a second, all on the watchlist. Paints a second; milliseconds from a tick to its
  figure on the screen; milliseconds from a key to the paint after it; the longest task; the heap at the beginning and the end, after a collection.

Needs Chromium (CHROMIUM, or on PATH) and the extra `browser`.

    python -m bench.bench_screen [--seconds 60] [--loads 5]
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.bench_stream import TOKEN, instruments_named, start_service
from bench.simulated_service import free_port

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SLOWER = 4
"""Of the processor's speed, a quarter is left."""
WATCHED = 200
UPDATES = 1_000
READY_SECONDS = 90.0
KEY_SECONDS = 0.25

MEASURE = """async ([seconds, instruments]) => {
  localStorage.setItem("onebroker-watched", JSON.stringify(instruments));
  location.hash = "#/market";
  const rows = () => document.querySelectorAll("#watchlist td[data-received]");
  while (rows().length < instruments.length) await new Promise((then) => setTimeout(then, 50));
  const found = { paints: 0, updates: 0, keys: [], longest_task: 0 };
  const lags = new Uint32Array(2001); // how many figures came so many milliseconds after their tick; an array of all would grow the heap
  const tasks = new PerformanceObserver((list) => list.getEntries().forEach((one) => { found.longest_task = Math.max(found.longest_task, one.duration); }));
  tasks.observe({ type: "longtask" });
  const keys = new PerformanceObserver((list) => list.getEntries().forEach((one) => one.name === "keydown" && found.keys.push(one.duration)));
  keys.observe({ type: "event", durationThreshold: 16 });
  const seen = new Map();
  const ends = performance.now() + seconds * 1000;
  await new Promise((then) => {
    function frame() {
      found.paints += 1;
      const now = Date.now();
      for (const cell of rows()) {
        const id = cell.parentElement.dataset.id;
        const received = cell.dataset.received;
        if (seen.get(id) !== received) {
          if (seen.has(id)) { found.updates += 1; lags[Math.min(2000, Math.max(0, Math.round(now - received * 1000)))] += 1; }
          seen.set(id, received);
        }
      }
      if (performance.now() < ends) requestAnimationFrame(frame);
      else then();
    }
    requestAnimationFrame(frame);
  });
  tasks.disconnect();
  keys.disconnect();
  return { ...found, lags: [...lags] };
}"""


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


# --- load -------------------------------------------------------------------------------------------------------------


@contextmanager
def demo() -> Iterator[tuple[str, str, int]]:
    """Yield the address of a demo, its token, and its process id."""
    import subprocess
    import urllib.request

    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "onebroker.http", "demo", "--port", str(port), "--data-dir", folder]
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen([*command, "--no-past", "--instruments", "600"], stdout=log, stderr=log)
        try:
            given = {"api-key": "demo-key", "api-secret": "demo-secret"}
            request = urllib.request.Request(f"{address}/api/session/connect", method="POST", headers=given)
            until = time.monotonic() + READY_SECONDS
            while True:
                try:
                    with urllib.request.urlopen(request) as answer:
                        token = json.load(answer)["access-token"]
                    with urllib.request.urlopen(
                        urllib.request.Request(f"{address}/api/portfolio/funds", headers={"access-token": token})
                    ):
                        break
                except OSError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.1)
            time.sleep(3.0)  # the work of the start is over
            yield address, token, process.pid
        finally:
            process.terminate()
            process.wait()


def load(browser: Any, loads: int) -> dict[str, object]:
    usable, bare, lost, received = [], [], [], 0
    with demo() as (address, token, pid):
        for _ in range(loads):
            seconds, received = _opened(browser, address, token)
            usable.append(seconds * 1000)
            bare.append(_bare(browser) * 1000)
            lost.append(_lost(browser, address, token, pid))
    return {
        "lost_ms": round(statistics.median(lost)),
        "lost_worst_ms": round(max(lost)),
        "bytes": received,
        "usable_ms": round(statistics.median(usable)),
        "worst_ms": round(max(usable)),
        "bare_ms": round(statistics.median(bare)),
        "ratio": round(statistics.median(usable) / statistics.median(bare), 1),
    }


def _slowed(browser: Any) -> tuple[Any, Any]:
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    return page, session


def _opened(browser: Any, address: str, token: str) -> tuple[float, int]:
    page, session = _slowed(browser)
    page.add_init_script(f"sessionStorage.setItem('onebroker-token', {json.dumps(token)})")
    session.send("Network.enable")
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(f"{address}/", wait_until="commit")
    page.wait_for_selector("#available")
    # From the start of the navigation to the first paint with the figure, by the browser's own clock.
    milliseconds = page.evaluate("new Promise((then) => requestAnimationFrame(() => then(performance.now())))")
    received = sum(sizes)
    page.context.close()
    return milliseconds / 1000, received


LOST = """() => new Promise((then) => {
  const began = performance.now();
  const look = () => (document.querySelector("#connection.bad") ? then(performance.now() - began) : requestAnimationFrame(look));
  look();
})"""


def _lost(browser: Any, address: str, token: str, pid: int) -> float:
    page = browser.new_page()
    page.add_init_script(f"sessionStorage.setItem('onebroker-token', {json.dumps(token)})")
    page.goto(f"{address}/")
    page.wait_for_selector("#connection.good")
    page.wait_for_timeout(1000)
    os.kill(pid, signal.SIGSTOP)
    try:
        return float(page.evaluate(LOST))
    finally:
        os.kill(pid, signal.SIGCONT)
        page.context.close()


def _bare(browser: Any) -> float:
    page, _ = _slowed(browser)
    page.route("http://bare.invalid/", lambda route: route.fulfill(body="<!doctype html><p id=available>1</p>"))
    page.goto("http://bare.invalid/", wait_until="commit")
    page.wait_for_selector("#available")
    milliseconds = page.evaluate("new Promise((then) => requestAnimationFrame(() => then(performance.now())))")
    page.context.close()
    return float(milliseconds) / 1000


# --- quotes -----------------------------------------------------------------------------------------------------------


def quotes(browser: Any, seconds: float) -> dict[str, object]:
    process = start_service([sys.executable, "-m", "bench.bench_stream", "--serve", str(WATCHED), str(UPDATES)])
    assert process.stdout is not None
    try:
        port = json.loads(process.stdout.readline())["port"]
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.add_init_script(f"sessionStorage.setItem('onebroker-token', {json.dumps(TOKEN)})")
        session = context.new_cdp_session(page)
        page.goto(f"http://127.0.0.1:{port}/#/market")
        page.wait_for_selector("#connection.good")
        watched = [
            {"instrument_id": one.instrument_id, "symbol": f"S{number:05}", "segment": "nse_equities"}
            for number, one in enumerate(instruments_named(WATCHED))
        ]
        page.evaluate("list => localStorage.setItem('onebroker-watched', JSON.stringify(list))", watched)
        page.reload()
        page.wait_for_selector("#watchlist")
        heap = _heap(session)
        page.evaluate(f"given => {{ window.measured = ({MEASURE})(given); }}", [seconds, watched])
        page.click("#find")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            page.keyboard.press("a")
            page.keyboard.press("Backspace")
            time.sleep(KEY_SECONDS)
        found = page.evaluate("window.measured")
        after = _heap(session)
        context.close()
    finally:
        process.kill()
        process.communicate()
    keys = sorted(found["keys"]) or [0]
    return {
        "updates/s": round(found["updates"] / seconds),
        "paints/s": round(found["paints"] / seconds),
        **{f"lag_{name}_ms": _lag(found["lags"], share) for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0))},
        "key_p95_ms": round(keys[len(keys) * 95 // 100]),
        "longest_task_ms": round(found["longest_task"]),
        "heap_before_mb": round(heap, 1),
        "heap_after_mb": round(after, 1),
    }


def _lag(lags: list[int], share: float) -> int:
    """Return the milliseconds within which this share of the figures came; `lags` counts them by milliseconds."""
    wanted, counted = share * sum(lags), 0
    for milliseconds, count in enumerate(lags):
        counted += count
        if counted >= wanted:
            return milliseconds
    return len(lags)


def _heap(session: Any) -> float:
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the updates")
    parser.add_argument("--loads", type=int, default=5)
    options = parser.parse_args()
    with chromium() as browser:
        rows = {"load": load(browser, options.loads), "quotes": quotes(browser, options.seconds)}
    print(json.dumps({"benchmark": "screen", "units": __doc__, **rows}))


if __name__ == "__main__":
    main()
