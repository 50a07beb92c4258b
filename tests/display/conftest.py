"""A real browser for the tests of pages, which are skipped where it or playwright is missing."""

import pytest

from browsing import CHROMIUM


@pytest.fixture(scope="session")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not CHROMIUM:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as play:
        running = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def tab(browser):
    """A tab that notes what it asks for and what goes wrong."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.requests, page.errors = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("console", lambda message: page.errors.append(message.text))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    assert page.errors == []
    page.close()
