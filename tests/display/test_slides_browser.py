"""A deck of slides in a real browser: keys and buttons, figures one by one, light and dark."""

import pathlib

import pytest

import render
import simpleautodiff as ad

pytestmark = pytest.mark.browser
BOOK = pathlib.Path(__file__).parents[2] / "tools" / "book"


@pytest.fixture
def deck(tab, tmp_path):
    jinja2 = pytest.importorskip("jinja2", reason="the template of the decks is one of Jinja's")
    frames = ad.figure(ad.trace(lambda x: ad.sin(x) * x, 2.0), "construction")
    bodies = ["", render.render(frames, tmp_path, "slide"), "<p>the last</p>"]
    slides = [{"title": f"{k}", "body": body, "chapter": "a"} for k, body in enumerate(bodies)]
    page = jinja2.Template((BOOK / "deck.html").read_text(encoding="utf-8")).render(
        heading="A deck",
        chapter_slides=slides,
        style=(BOOK / "deck.css").read_text(encoding="utf-8"),
        script=(BOOK / "deck.js").read_text(encoding="utf-8"),
        pathto=lambda *_: "#",
    )
    path = tmp_path / "deck.html"
    path.write_text(page, encoding="utf-8")
    tab.goto(path.as_uri())
    return tab


def seen(deck):
    """Return the number of the slide that is seen, and which of its figures."""
    assert deck.locator("section:visible").count() == 1
    frames = deck.locator("section.here .frames svg")
    now = [k for k in range(frames.count()) if frames.nth(k).is_visible()]
    return deck.url.partition("#")[2], now


def test_keys_go_through_slides_and_their_figures_and_back(deck):
    way = [("1", []), ("2", [0]), ("2", [1]), ("2", [2]), ("3", [])]
    assert seen(deck) == way[0]
    for place in way[1:]:
        deck.keyboard.press("ArrowRight")
        assert seen(deck) == place
    deck.keyboard.press(" ")
    assert seen(deck) == way[-1]  # there is nothing after the last
    for place in way[-2::-1]:
        deck.keyboard.press("ArrowLeft")
        assert seen(deck) == place
    deck.keyboard.press("End")
    assert seen(deck) == way[-1]
    deck.click("[aria-label=Back]")
    assert seen(deck) == way[-2]


def test_the_address_opens_a_slide_and_the_button_darkens_it(deck):
    deck.goto(deck.url.partition("#")[0] + "#3")
    assert seen(deck)[0] == "3"
    colour = "getComputedStyle(document.body).backgroundColor"
    light = deck.evaluate(colour)
    deck.click("#theme")
    assert (light, deck.evaluate(colour)) == ("rgb(255, 255, 255)", "rgb(21, 25, 30)")


@pytest.mark.parametrize(
    ("address", "slide"), [("#/6", "1"), ("#", "1"), ("#0", "1"), ("#2.5", "2"), ("#99", "3")]
)
def test_an_address_of_no_slide_shows_one_of_them(deck, address, slide):
    deck.keyboard.press("ArrowRight")
    deck.evaluate("address => { location.hash = address }", address)
    deck.wait_for_function("slide => location.hash === `#${slide}`", arg=slide)
    assert seen(deck)[0] == slide


def test_a_slide_is_as_large_as_the_screen(deck):
    deck.keyboard.press("ArrowRight")
    size = "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    assert deck.evaluate(size) == [1280, 800]
