"""``%%preheat`` in a real notebook kernel."""

import nbclient
import nbformat


def executed(tmp_path, *cells):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}},
    )
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def test_a_cell_is_recorded_and_its_report_shown(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 6\n")
    loaded, shown, after, wrong, failing = executed(
        tmp_path,
        "%load_ext preheat\nVALUE = 1",
        "%%preheat --starts 2\n"
        "import preheat\n"
        "from beside import VALUE\n"
        "for _ in range(3):\n"
        "    with preheat.iteration():\n"
        "        sum(range(VALUE))\n",
        "page = _\nprint(page.report.iteration, len(page.report.starts), VALUE)",
        "%%preheat --starts many\npass",
        "%%preheat --starts 1\nraise SystemExit(4)",
    )
    assert loaded == []
    html = shown[0]["data"]["text/html"]
    assert html.startswith('<iframe srcdoc="&lt;!')
    assert 'sandbox="allow-scripts"' in html
    assert "Python imports" in html
    assert shown[0]["data"]["text/plain"].startswith("<preheat: time to first")
    # The cell ran elsewhere: the notebook's own variable is unchanged.
    assert after[0]["text"] == "iteration, named by the program 2 1\n"
    assert "%%preheat: argument --starts: invalid int value" in wrong[0]["text"]
    assert "failed with exit code 4" in failing[0]["text"]
