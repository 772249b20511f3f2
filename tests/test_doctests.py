"""Every example in a docstring runs and prints what it says."""

from __future__ import annotations

import doctest
import importlib
import importlib.util

import pytest

from .test_architecture import FILES, name_of

WITH_EXAMPLES = [name_of(path) for path in FILES if ">>>" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_print_what_they_say(name):
    if name.startswith("nn") and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    module = importlib.import_module("monolip" if name == "__init__" else f"monolip.{name}")
    result = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.attempted > 0
    assert result.failed == 0
