"""The figure of a sparse pattern: colours, seeds, and the product from which entries are read."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import simpleautodiff as ad

pytest.importorskip("scipy.sparse")


def banded(x):
    return x[1:] * x[:-1]


def by_rows(x):
    return np.stack([np.sum(x[:3]), np.sum(x[3:] ** 2), np.prod(x)])


def neighbours_squared(x):
    return np.sum(x[1:] * x[:-1] ** 2) + x[0] * np.sum(x**2)


def read(panel):
    """Return a matrix of bools: the cells of a panel that are drawn."""
    matrix = np.zeros((len(panel.rows), len(panel.columns)), bool)
    for place in panel.cells:
        matrix[place] = True
    return matrix


@pytest.mark.parametrize("f", [banded, by_rows])
def test_the_product_holds_every_entry_of_the_jacobian(f):
    x = np.linspace(0.5, 1.5, 6)
    drawn = ad.figure(ad.sparsity(f)(x))
    first, second, product = drawn.panels
    np.testing.assert_array_equal(read(product), read(first).astype(int) @ read(second) > 0)
    jacobian = ad.jacobian(f)(x)
    pattern = first if drawn.forward else second
    np.testing.assert_array_equal(read(pattern), jacobian != 0)
    seeds = read(second if drawn.forward else first).astype(float)
    compressed = jacobian @ seeds if drawn.forward else seeds @ jacobian
    for (i, j), (_, name) in product.cells.items():
        which = int(name[1:]) - 1  # each number of the product is one entry of the Jacobian
        entry = jacobian[i, which] if drawn.forward else jacobian[which, j]
        assert compressed[i, j] == pytest.approx(entry, rel=1e-14)


def test_rows_are_coloured_where_they_need_fewer_colours():
    drawn = ad.figure(ad.sparsity(lambda x: np.stack([np.sum(x[:4]), np.sum(x[4:])]))(np.ones(8)))
    assert not drawn.forward
    assert drawn.title == "8 of 16 entries by 1 reverse sweep instead of 2"
    assert [panel.name for panel in drawn.panels] == ["S", "J", "SJ"]


def test_every_entry_of_a_hessian_is_alone_in_its_row_or_in_its_column():
    x = np.linspace(0.5, 1.5, 6)
    drawn = ad.figure(ad.sparsity(ad.grad(neighbours_squared))(x), "hessian")
    whole, _seeds, product = drawn.panels
    np.testing.assert_array_equal(read(whole), ad.hessian(neighbours_squared)(x) != 0)
    for i, j in whole.cells:
        found = {product.cells[i, drawn.colors[j]][1], product.cells[j, drawn.colors[i]][1]}
        assert found & {f"x{j + 1}", f"x{i + 1}"}


def test_text():
    drawn = ad.figure(ad.sparsity(banded)(np.ones(3)))
    assert str(drawn).splitlines()[2:5] == [
        "J   x1  x2  x3      S   A  B      JS  A   B",
        "y1  B   A   .       x1  .  1      y1  x2  x1",
        "y2  .   A   B   ×   x2  1  .  =   y2  x2  x3",
    ]
    narrow = drawn.text(width=20)
    assert max(map(len, narrow.splitlines()[2:])) <= 20
    assert narrow.count("\n\n") == 3


def test_svg_and_tikz():
    drawn = ad.figure(ad.sparsity(banded)(np.ones(5)))
    root = ElementTree.fromstring(drawn.svg())
    rects = [each for each in root if each.tag.endswith("rect")]
    assert len(rects) == 1 + sum(len(panel.cells) for panel in drawn.panels)
    width, height = float(root.get("width")), float(root.get("height"))
    for rect in rects[1:]:
        assert float(rect.get("x")) + float(rect.get("width")) < width
        assert float(rect.get("y")) + float(rect.get("height")) < height
    assert "prefers-color-scheme:dark" in drawn.svg()
    assert drawn.tikz().count(r"\fill") == len(rects) - 1
    assert "$x_{5}$" in drawn.tikz()


def test_files(tmp_path):
    drawn = ad.figure(ad.sparsity(banded)(np.ones(5)))
    assert drawn.save(tmp_path / "pattern.svg").read_text() == drawn.svg()
    assert drawn.save(tmp_path / "pattern.tex").read_text() == drawn.to("tikz")
    with pytest.raises(ad.ArgumentError, match="ending"):
        drawn.save(tmp_path / "pattern.jpeg")


def test_large_patterns_have_no_letters_and_very_large_ones_are_refused():
    large = ad.figure(ad.sparsity(banded)(np.ones(60)))
    assert large.svg().count("<text") == 3 + 2 + 1  # names, signs, title
    with pytest.raises(ad.ArgumentError, match="1 to 200 rows"):
        ad.figure(ad.sparsity(banded)(np.ones(300)))
