"""The screen in Chromium, driven by Playwright.

Needs Chromium (CHROMIUM, or on PATH) and the extra `browser`; without them the tests are skipped and name what is missing.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
MILLISECONDS = 20_000


def open_browser() -> Iterator[Any]:
    """Yield a browser."""
    if CHROMIUM is None:
        pytest.skip("no Chromium: install it, or name it in CHROMIUM")
    playwright = pytest.importorskip("playwright.sync_api", reason="the extra `browser` is not installed")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


class Screen:
    """A page of the browser, what it asked and what it complained about."""

    def __init__(self, browser: Any, demo: Any, *, port: int | None = None, **given: Any) -> None:
        """`port`: where the page is, if it is not at the demo itself."""
        self.demo = demo
        self.address = f"http://127.0.0.1:{port or demo.port}/"
        self.page = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **given}).new_page()
        self.page.set_default_timeout(MILLISECONDS)
        self.complaints: list[str] = []
        self.hosts: set[str] = set()
        self.sent: Counter[tuple[str, str]] = Counter()
        self.page.on("console", lambda told: told.type == "error" and self.complaints.append(told.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._note)

    def _note(self, request: Any) -> None:
        self.hosts.add(urlsplit(request.url).netloc)
        self.sent[request.method, urlsplit(request.url).path] += 1

    def open(self, name: str = "overview") -> "Screen":
        """Connect by key and secret, and wait until the page is live."""
        self.page.goto(f"{self.address}#/{name}")
        self.page.fill("input[name=key]", "demo-key")
        self.page.fill("input[name=secret]", "demo-secret")
        self.page.click("button:has-text('Connect')")
        self.page.wait_for_selector("#connection.good")
        return self

    def go(self, name: str) -> None:
        self.page.click(f"nav a[href='#/{name}']")
        self.page.wait_for_selector(f"nav a[href='#/{name}'][aria-current=page]")

    def close(self) -> None:
        self.page.context.close()
