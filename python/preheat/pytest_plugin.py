"""A pytest plugin that holds programs to a cold start budget.

    @pytest.mark.preheat(time_to_first="2 s", imports="800 ms", starts=5)
    def test_startup(preheat):
        preheat.run([sys.executable, "train.py"])

The fixture records the command with `preheat run` and compares it with the limits of the
marker, and of the file that ``--preheat-budget`` names, with `preheat check`. A limit fails only
if the measured value is conclusively above it, or above it with too few starts to decide.

pytest loads this module wherever the package is installed. Before pytest 7, it only explains
why the fixture does not work.
"""

import pytest

if hasattr(pytest, "StashKey"):
    from preheat._pytest_plugin import (
        PreheatWarning,
        Recorder,
        preheat,
        pytest_addoption,
        pytest_configure,
        pytest_runtest_call,
        pytest_runtest_setup,
    )

    __all__ = [
        "PreheatWarning",
        "Recorder",
        "preheat",
        "pytest_addoption",
        "pytest_configure",
        "pytest_runtest_call",
        "pytest_runtest_setup",
    ]
else:

    @pytest.fixture(name="preheat")
    def _unavailable() -> None:
        """Needs pytest 7 or later."""
        pytest.fail(
            f"the fixture `preheat` needs pytest 7 or later, and this is {pytest.__version__}",
            pytrace=False,
        )
