"""A real browser for the tests of pages, which are skipped where it or playwright is missing."""

import pytest

from waiting import PATIENCE


@pytest.fixture(scope="session")
def browser(chromium):
    running = chromium()
    yield running
    running.close()


@pytest.fixture
def tab(browser):
    """A tab that notes what it asks for and what goes wrong."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(1000 * PATIENCE)
    page.requests, page.errors = [], []
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("console", lambda message: page.errors.append(message.text))
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    assert page.errors == []
    page.close()
