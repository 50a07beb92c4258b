"""Figures as PNG and PDF, and several figures in one file."""

import re
import shutil
import struct
import subprocess

import pytest

import simpleautodiff as ad
from simpleautodiff.cli import main
from simpleautodiff.display.figures import render as rendering
from simpleautodiff.errors import ArgumentError, MissingExtraError

CONVERTER = shutil.which("rsvg-convert")
BROWSER = next(filter(None, map(shutil.which, rendering.BROWSERS)), None)
WAYS = [
    pytest.param("rsvg-convert", marks=pytest.mark.skipif(not CONVERTER, reason="needs librsvg")),
    pytest.param(
        "browser",
        marks=[pytest.mark.browser, pytest.mark.skipif(not BROWSER, reason="needs Chromium")],
    ),
]


@pytest.fixture
def program():
    return ad.trace(lambda x1, x2: ad.log(x1) + x1 * x2 - ad.sin(x2), 2.0, 5.0)


@pytest.fixture
def way(request, monkeypatch):
    """Leave one of the programs that can draw, or none."""
    allowed = {"rsvg-convert": [CONVERTER], "browser": [BROWSER], "none": []}[request.param]
    there = {path.rsplit("/", 1)[-1]: path for path in allowed}
    monkeypatch.setattr(rendering.shutil, "which", there.get)


def png_size(path):
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", data[16:24])


def count_pages(path):
    data = path.read_bytes()
    assert data.startswith(b"%PDF-")
    return len(re.findall(rb"/Type\s*/Page\b", data))


@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_png_and_pdf(program, way, tmp_path):
    figure = ad.figure(program, "adjoints")
    width, height = rendering.read_size(figure.svg())
    assert png_size(figure.save(tmp_path / "f.png")) == (2 * width, 2 * height)
    assert count_pages(figure.save(tmp_path / "f.PDF")) == 1


@pytest.mark.parametrize("way", WAYS, indirect=True)
def test_a_construction_is_one_file(program, way, tmp_path):
    frames = ad.figure(program, "construction")
    assert count_pages(frames.save(tmp_path / "f.pdf")) == len(frames) == 6
    width, height = rendering.read_size(frames[-1].svg())
    assert png_size(frames.save(tmp_path / "f.png")) == (2 * width, 6 * 2 * height)
    written = frames.save(tmp_path / "f.svg").read_text()
    assert rendering.read_size(written) == (width, 6 * height)
    assert len(set(re.findall(r'<svg y="([\d.]+)"', written))) == 6


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.slow
def test_frames_compile_to_pages_of_one_size(program, tmp_path):
    ad.figure(program, "construction").save(tmp_path / "f.tex")
    run = ["pdflatex", "-interaction=batchmode", "-halt-on-error", "f.tex"]
    assert subprocess.run(run, cwd=tmp_path, capture_output=True).returncode == 0
    log = (tmp_path / "f.log").read_text(errors="replace")
    assert "(6 pages" in re.sub(r"\s+", " ", log)


@pytest.mark.parametrize("way", ["none"], indirect=True)
def test_without_a_program_that_draws_the_message_says_what_to_install(program, way, tmp_path):
    with pytest.raises(MissingExtraError, match=r"librsvg2-bin.*Chromium.*\.svg"):
        ad.figure(program).save(tmp_path / "f.png")
    assert not list(tmp_path.iterdir())


def test_unknown_endings_are_refused(program, tmp_path):
    for name in "f.jpg", "f", "f.PNGG":
        with pytest.raises(ArgumentError, match=r"\.svg, \.tex, \.txt, \.pdf, \.png"):
            ad.figure(program).save(tmp_path / name)


@pytest.mark.skipif(not (CONVERTER or BROWSER), reason="needs librsvg or Chromium")
def test_the_command_line_writes_them(tmp_path, capsys):
    assert main(["graph", "x*x", "x=2", "--output", str(tmp_path / "g.png")]) == 0
    png_size(tmp_path / "g.png")
    assert main(["graph", "x*x", "x=2", "--format", "pdf"]) == 2
    assert "--output graph.pdf" in capsys.readouterr().err
    frames = ["--show", "construction", "--output", str(tmp_path / "g.tex")]
    assert main(["graph", "x*x", "x=2", *frames]) == 0
    assert (tmp_path / "g.tex").read_text().count(r"\begin{tikzpicture}") == 2
