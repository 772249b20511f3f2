"""Runs the experiments of the paper and draws their figures.

    python paper/run.py [--fast] [--figures] [names...]      all of them without a name; --list says which there are

--fast takes minutes on two cores and writes below build/paper/; without it the committed files of paper/ are made
again. --figures draws from results that are there already. A data set, or a GPU, that is not on this machine is skipped
with a message that says what to do; an experiment that could do without it says how many parts it left out. An
experiment that fails, or finds a damaged file, is reported, the others still run, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # run as a script, from any folder

from paper.missing_data import MissingDataError
from paper.results_file import read_results, results_path

EXPERIMENTS = ("toy", "lhc", "table1", "end_to_end", "what_was_wrong", "appendix_a", "section_3_2")


def run(name: str, *, fast: bool, figures_only: bool) -> str:
    """One experiment and its figures: "done", "done in part", "skipped" where all data are missing, or "failed"."""
    begun = time.perf_counter()
    try:
        if not figures_only:
            print(f"[{name}] running{' (fast)' if fast else ''}", flush=True)
            import_module(f"paper.{name}.experiment").main(fast=fast)
        import_module(f"paper.{name}.figures").main(fast=fast)
    except MissingDataError as missing:
        print(f"[{name}] skipped: {missing}", flush=True)
        return "skipped"
    except Exception as error:  # whatever it is, the experiments after it are still worth running
        traceback.print_exc()
        print(f"[{name}] failed: {type(error).__name__}: {error}", flush=True)
        return "failed"
    end, told = how_it_ended(name, fast=fast)
    print(f"[{name}] {told} in {time.perf_counter() - begun:.0f} s: {results_path(name, fast=fast)}", flush=True)
    return end


def how_it_ended(name: str, *, fast: bool) -> tuple[str, str]:
    """The word for the end of an experiment that wrote its results, and the same with what it left out."""
    numbers = read_results(name, fast=fast)["numbers"] if results_path(name, fast=fast).is_file() else {}
    missing, damaged = numbers.get("missing", {}), numbers.get("damaged", [])
    if damaged:
        return "failed", f"failed: damaged files of {', '.join(damaged)}; the rest was done"
    if missing:
        return "done in part", f"done in part, without {len(missing)} ({', '.join(missing)})"
    return "done", "done"


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the paper's experiments.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(EXPERIMENTS)}; all without")
    parser.add_argument("--fast", action="store_true", help="small versions, written below build/paper/")
    parser.add_argument("--figures", action="store_true", help="draw only, from results that are there")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(EXPERIMENTS))
        return 0
    unknown = [name for name in arguments.names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"names must be experiments; got {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}")
    names = arguments.names or EXPERIMENTS
    ends = {name: run(name, fast=arguments.fast, figures_only=arguments.figures) for name in names}
    for end in ("done", "done in part", "skipped", "failed"):
        found = [name for name in ends if ends[name] == end]
        print(f"{end}: {len(found)} of {len(ends)}{': ' if found else ''}{', '.join(found)}")
    return 1 if "failed" in ends.values() else 0


if __name__ == "__main__":
    raise SystemExit(main())
