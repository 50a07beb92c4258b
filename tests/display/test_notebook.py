"""What a notebook shows: run by a real kernel."""

import pytest

from waiting import PATIENCE

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

CODE = """
import simpleautodiff as ad
def f(x1, x2):
    product = x1 * x2
    return ad.log(x1) + product - ad.sin(x2)
t = ad.trace(f, 2.0, 5.0)
t.values()
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_tables_name_the_cell_and_align_their_signs():
    cells = [nbformat.v4.new_code_cell(source) for source in ("1 + 1", CODE.strip())]
    notebook = nbformat.v4.new_notebook(cells=cells)
    patient = {"timeout": PATIENCE, "startup_timeout": PATIENCE}
    nbclient.NotebookClient(notebook, kernel_name="python3", **patient).execute()
    (output,) = notebook.cells[1].outputs
    assert "product   Cell In[2]:3: product = x1 * x2" in output.data["text/plain"]
    assert "Cell In[2]:4: return" in output.data["text/plain"]
    html = output.data["text/html"]
    assert "text-align: left !important" in html  # notebooks align at the right
    assert "<td>= log(x<sub>1</sub>)</td>" in html
