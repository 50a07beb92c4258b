"""The pages of exercises and reports in a browser: they check answers by themselves."""

import pytest

from simpleautodiff import learn
from waiting import PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def tab(chromium):
    browser = chromium()
    page = browser.new_page(viewport={"width": 900, "height": 700})
    page.set_default_timeout(1000 * PATIENCE)
    page.errors, page.requests = [], []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda message: page.errors.append(message.text))
    page.on("request", lambda request: page.requests.append(request.url))
    yield page
    browser.close()


def show(tab, tmp_path, text):
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    tab.goto(path.as_uri())


def test_a_page_of_exercises_checks_and_explains(tab, tmp_path):
    sheet = learn.exercise("x/y - x", 3, 4, about=["adjoints"], blanks=1)
    show(tab, tmp_path, sheet.to("html"))

    def answer(key, text):
        field = tab.get_by_label(key, exact=True)
        field.fill(text)
        field.blur()
        return field.get_attribute("class"), field.locator(
            "xpath=following-sibling::span"
        ).inner_text()

    assert answer("adjoints y", "-3/16") == ("right", "right")
    assert answer("adjoints y", "3/16")[0] == "wrong"
    assert "the sign is missing" in answer("adjoints y", "3/16")[1]
    assert answer("adjoints x", "-0.75") == ("right", "right")
    assert answer("adjoints x", "-0,75") == ("right", "right")
    assert answer("adjoints x", "17") == ("wrong", "not yet")
    assert answer("adjoints x", "abc") == ("wrong", "this is no number: 5.5, 11/2 or -3 are")
    assert tab.errors == []
    assert all(url.startswith("file:") for url in tab.requests)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_is_legible(tab, tmp_path, scheme):
    tab.emulate_media(color_scheme=scheme)
    report = learn.grade(learn.bugs.load("first_place"), depth=500, programs=5)
    show(tab, tmp_path, report.to("html"))
    assert tab.locator("svg").count() == 1
    assert tab.locator("tr.wrong").count() == 1
    wide = tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert wide
    tab.screenshot(path=tmp_path / "report.png")
    assert tab.errors == []
