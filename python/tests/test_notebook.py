"""``%%preheat`` in a real notebook kernel."""

import nbclient
import nbformat
import pytest


def executed(tmp_path, *cells, allow_errors=False):
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}},
    )
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        allow_errors=allow_errors,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def test_a_cell_is_recorded_and_its_report_shown(tmp_path):
    (tmp_path / "beside.py").write_text("VALUE = 6\n")
    loaded, shown, after = executed(
        tmp_path,
        "%load_ext preheat\nVALUE = 1",
        "%%preheat --starts 2\n"
        "import preheat\n"
        "from beside import VALUE\n"
        "for _ in range(3):\n"
        "    with preheat.iteration():\n"
        "        sum(range(VALUE))\n",
        "page = _\nprint(page.report.iteration, len(page.report.starts), VALUE)",
    )
    assert loaded == []
    html = shown[0]["data"]["text/html"]
    assert html.startswith('<iframe srcdoc="&lt;!')
    assert 'sandbox="allow-scripts"' in html
    assert "Python imports" in html
    assert " cell.py" in html and "/cell.py" not in html
    assert shown[0]["data"]["text/plain"].startswith("<preheat: time to first")
    # The cell ran elsewhere: the notebook's own variable is unchanged.
    assert after[0]["text"] == "iteration, named by the program 2 1\n"


def test_a_cell_that_fails_is_an_error_with_its_own_traceback(tmp_path):
    load = "%load_ext preheat"
    failing = "%%preheat --starts 1\nimport sys\nprint('unseen')\nraise KeyError('why')"
    _, wrong, unknown, none, usage, failed, invalid, silent = executed(
        tmp_path,
        load,
        "%%preheat --starts many\npass",
        "%%preheat --iterations bogus\npass",
        "%%preheat --starts 0\npass",
        "%%preheat --help\npass",
        failing,
        "%%preheat --starts 1\nx = = 1",
        "%%preheat --starts 1\nraise SystemExit(3)",
        allow_errors=True,
    )
    ((error,), (bogus,), (shown,)) = wrong, unknown, failed
    assert error["output_type"] == bogus["output_type"] == shown["output_type"] == "error"
    assert "%%preheat: argument --starts: invalid int value" in error["traceback"][-1]
    assert "invalid value 'bogus' for '--iterations <HOW>'" in "\n".join(bogus["traceback"])
    # A message does not show the file of the cell, which no longer exists.
    assert " <cell> could not be recorded: invalid value '0'" in "\n".join(none[0]["traceback"])
    assert usage[0]["text"].count("--starts N") == 2  # The usage, and the option.
    assert "the height of the report (640)" in usage[0]["text"]
    assert shown["traceback"] == [
        "Traceback (most recent call last):",
        '  File "<cell>", line 3, in <module>',
        "    raise KeyError('why')",
        "KeyError: 'why'",
        "",
        "%%preheat: the cell failed with exit code 1",
    ]
    # A SyntaxError has no line before the indented one.
    assert invalid[0]["traceback"][0] == '  File "<cell>", line 1'
    assert silent[0]["traceback"] == ["%%preheat: the cell failed with exit code 3"]
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        executed(tmp_path, load, failing)
