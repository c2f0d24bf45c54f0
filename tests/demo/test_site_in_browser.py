"""The documentation site in Chromium, opened from its folder without a network: it loads nothing from elsewhere, its search finds, and
nobody is kept out of a page. Needs Chromium and the extras `browser` and `docs`."""

import pytest

from tests.support.site_build import build_site

pytestmark = pytest.mark.long

PAGES = (
    "index", "concepts", "first-broker/index", "first-broker/zerodha", "order-types", "order-types/bracket",
    "order-types/two_sided_quote", "rules/index", "events", "repository/readme", "repository/python-client",
)  # fmt: skip
SERIOUS = {"serious", "critical"}
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(params=["light", "dark"])
def page(browser, request):
    """A page of a browser without a network, in each scheme."""
    context = browser.new_context(color_scheme=request.param, offline=True, viewport={"width": 1280, "height": 900})
    yield context.new_page()
    context.close()


@pytest.fixture
def asked(page):
    """The addresses that the page asked for, and what it complained about."""
    seen = []
    page.on("request", lambda request: seen.append(request.url))
    page.on("requestfailed", lambda request: seen.append(f"failed: {request.url}"))
    page.on("console", lambda told: told.type == "error" and seen.append(f"error: {told.text}"))
    return seen


def test_every_page_comes_whole_from_its_folder(site, page, asked):
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        page.wait_for_load_state("networkidle")
        broken = "[...document.images].filter(one => !one.complete || one.naturalWidth === 0).map(one => one.src)"
        assert page.evaluate(broken) == [], name
    assert len(asked) > len(PAGES)
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []


def test_the_search_finds_without_a_server(site, page):
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("UDAPI1154")
    page.wait_for_selector(".md-search-result__item:has-text('Upstox')")


def test_nobody_is_kept_out_of_a_page_of_the_site(site, page):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="the extra `browser` is not installed"
    ).Axe()
    found = []
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        told = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        found += [
            (name, each["id"], each["nodes"][0]["html"][:200], len(each["nodes"]))
            for each in told
            if each["impact"] in SERIOUS
        ]
    assert found == []


def test_a_phone_needs_no_sideways_scroll(site, page):
    page.set_viewport_size(PHONE)
    for name in PAGES:
        page.goto((site / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name
