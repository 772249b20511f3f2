"""What `verbose` shows: plain lines into a pipe or a log, at once; bars on a terminal, of streams too."""

from __future__ import annotations

import contextlib
import io
import re
import sys

import numpy as np
import pytest

from monolip.engine._compile import _dispatcher
from monolip.estimators import MonotonicRegressor, _progress
from monolip.estimators._progress import Display

from .streams import numbers, shrink, write

SINCE = r"(\d+\.\d s|\d{1,3} ms)"
LOSS = r"(validation|training) loss \S+( \(best \S+\))?"
ENDS = rf"(additive model|stage \d+( again with all rows)?)(: {LOSS})?, after {SINCE}$"


class Log(io.StringIO):
    """A pipe: who reads it sees what was flushed."""

    def __init__(self, terminal: bool = False) -> None:
        super().__init__()
        self.seen, self.terminal = "", terminal

    def flush(self) -> None:
        self.seen = self.getvalue()

    def isatty(self) -> bool:
        return self.terminal


def listen(monkeypatch, terminal: bool = False) -> Log:
    found = Log(terminal)
    monkeypatch.setattr(sys, "stderr", found)
    return found


@pytest.fixture(autouse=True)
def nothing_is_compiled(request, monkeypatch):
    """Lines of a fit, whether or not it is the first one on this machine."""
    if "compiling" not in request.node.name:
        monkeypatch.setattr(_progress, "heard_compiling", lambda _: contextlib.nullcontext())


def fit(**more):
    x = np.linspace(-1, 1, 300)[:, None]
    return MonotonicRegressor(monotonic_cst=[1], random_state=0, max_iter=40, verbose=1, **more).fit(
        x, np.tanh(x[:, 0])
    )


def test_lines_are_plain_and_say_what_was_done(monkeypatch):
    log = listen(monkeypatch)
    model = fit()
    lines = log.seen.splitlines()
    assert len(lines) == len(model.history_)
    assert all(line.startswith("member ") and re.search(ENDS, line) for line in lines), lines
    assert any("validation loss" in line for line in lines)


def test_a_line_is_in_the_log_as_soon_as_its_stage_is_done(monkeypatch):
    log, original, seen = listen(monkeypatch), Display.row, []

    def watched(self, row):
        original(self, row)
        seen.append((f"member {row['member'] + 1}, ", log.seen.splitlines()[-1]))

    monkeypatch.setattr(Display, "row", watched)
    fit()
    assert len(seen) > 4
    assert all(line.startswith(words) for words, line in seen)


def test_a_bar_on_a_terminal_is_about_all_members_of_a_stage(monkeypatch):
    monkeypatch.setattr(_progress, "PATIENCE_SECONDS", 0.0)
    drawn = []
    monkeypatch.setattr(Display, "_bar", lambda self, *given: drawn.append(given))
    listen(monkeypatch, terminal=True)
    MonotonicRegressor(random_state=0, max_iter=20).fit(np.linspace(-1, 1, 300)[:, None], np.linspace(-1, 1, 300) ** 2)
    assert {words.split(",")[0] for words, *_ in drawn} >= {"stage 1"}
    assert all(re.fullmatch(r"stage \d+, \d+ members?", words) for words, *_ in drawn)
    assert all(0 <= done <= of for _, done, of, _ in drawn)
    assert any(done == of for _, done, of, _ in drawn)


def test_nothing_is_drawn_of_a_quick_fit_nor_where_there_is_no_terminal(monkeypatch):
    for terminal in (True, False):
        log = listen(monkeypatch, terminal=terminal)
        MonotonicRegressor(random_state=0, max_iter=2).fit(np.linspace(-1, 1, 30)[:, None], np.linspace(-1, 1, 30))
        assert log.getvalue() == ""


@pytest.mark.parametrize("kept", [True, False])
def test_a_stream_names_its_units(kept, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    shrink(monkeypatch)
    log = listen(monkeypatch)
    monkeypatch.setattr(_progress, "PAUSE_SECONDS", 0.0)
    folder = write(tmp_path / "d", numbers(4000))
    model = MonotonicRegressor(hidden_layer_sizes=(8,), random_state=0, verbose=1, max_iter=2)
    model.fit_stream(folder, "y", checkpoint=tmp_path / "c" if kept else None)
    for line in (
        rf"fit_stream: reading all rows once, batch \d+ of \d+, after {SINCE}",
        rf"fit_stream: fitting a sample of [\d,]+ rows, after {SINCE}",
        rf"member 1, stage 1: validation loss [\d.]+ \(best [\d.]+\), after {SINCE}",
        rf"fit_stream: training on all rows, buffer \d+ of at most \d+, validation loss [\d.]+, after {SINCE}",
    ):
        assert re.search(f"^{line}$", log.seen, re.MULTILINE), line


def test_a_terminal_shows_a_stream_as_it_shows_a_fit(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    shrink(monkeypatch)
    monkeypatch.setattr(_progress, "PATIENCE_SECONDS", 0.0)
    folder, drawn, original = write(tmp_path / "d", numbers(4000)), [], Display._bar
    monkeypatch.setattr(Display, "_bar", lambda self, *given: drawn.append(given[0]) or original(self, *given))
    log = listen(monkeypatch, terminal=True)
    MonotonicRegressor(hidden_layer_sizes=(8,), random_state=0, max_iter=2).fit_stream(folder, "y")
    for words in ("reading all rows once", "stage 1, 2 members", "training on all rows"):
        assert words in drawn
    assert "training on all rows" in log.seen


def test_a_fit_needs_nobody_who_reads_its_progress(monkeypatch):
    class Gone:
        def isatty(self):
            return False

        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            raise BrokenPipeError

    x = np.random.default_rng(0).normal(size=(200, 2))
    for stderr in (Gone(), None):
        monkeypatch.setattr("sys.stderr", stderr)
        for verbose in (0, 1):
            MonotonicRegressor(max_iter=3, n_estimators=2, random_state=0, verbose=verbose).fit(x, x[:, 0])


@pytest.mark.parametrize(("terminal", "verbose", "told"), [(False, 1, 1), (True, 0, 1), (False, 0, 0)])
def test_compiling_is_told_once_where_it_takes_long_and_somebody_reads(monkeypatch, terminal, verbose, told):
    log = listen(monkeypatch, terminal)
    with Display(verbose) as display:
        for later in (0.0, 10.0, 20.0):  # the first kernel may be all there is
            monkeypatch.setattr(display, "started", display.started - later)
            numba_compiles()
    assert log.getvalue().count(_progress.COMPILING) == told
    numba_compiles()
    assert log.getvalue().count(_progress.COMPILING) == told  # nobody listens any more


def test_compiling_is_not_told_of_kernels_at_once(monkeypatch):
    log = listen(monkeypatch)
    with Display(1):
        numba_compiles()
    assert not log.getvalue()


def numba_compiles() -> None:
    """A kernel that no cache holds."""
    _dispatcher(lambda x: x + 1, False, False, False)(1)
