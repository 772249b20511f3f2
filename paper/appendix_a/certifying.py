"""Full certificates of some of the networks, trained again: an exact interval for every pixel and class.

    python -m paper.appendix_a.certifying FOLDER [--fast] [names...]    train, freeze, certify and check
    python -m paper.appendix_a.certifying --merge FILE                  put what was found into the committed results

`python paper/run.py appendix_a` does this for every task as well; here it is alone, for the first seed, and the five
tasks of a hundred classes without names. FOLDER/certificates.json is written again after every certificate that is
done: a hundred classes make 310,000 intervals, which take minutes to write and minutes to check on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from paper.appendix_a.experiment import SMALL, device_name, processes, read_sets, recipe_of, set_of, told, warm_up
from paper.appendix_a.memorising import memorise
from paper.appendix_a.proving import certificate_facts, proved_facts
from paper.appendix_a.recipes import OURS, Recipe
from paper.appendix_a.tasks import TASKS, Task, make_task
from paper.missing_data import MissingDataError
from paper.results_file import read_results, write_results

__all__ = ["certify_tasks", "main", "merge"]

HUNDRED = [name for name in reversed(TASKS) if name.startswith(("cifar100", "cifar101"))]


def certify_tasks(
    tasks: Sequence[Task], ours: Recipe, *, device: str, workers: Executor, networks: Path, file: Path
) -> None:
    """Train each task once, hand its frozen network to a worker, and write what is proved of it to `file`."""
    begun, trained, waiting = time.perf_counter(), [], dict[Future[dict[str, Any]], str]()
    for task in tasks:
        run = memorise(task, recipe_of(task.name, ours), device=device)
        frozen = run.network.freeze()  # type: ignore[operator]
        path = networks / f"{task.name}.safetensors"
        frozen.save(path)
        waiting[workers.submit(certificate_facts, path, goodness=task.goodness is not None)] = task.name
        trained.append((task, run, frozen))
        _say(begun, f"{task.name}: {run.right} of {task.possible.sum()} right in {run.seconds:.1f} s; frozen")
    found: dict[str, dict[str, Any]] = {}
    for task, run, frozen in trained:  # only now, since the workers take longest
        facts = {"attainable": int(task.possible.sum()), "run": told(run)}
        found[task.name] = {**facts, "frozen": proved_facts(run, frozen, task, ours.temperature)}
        _write(found, file, device)
    for done in as_completed(waiting):
        name = waiting[done]
        if error := done.exception():  # the others are still worth waiting for
            _say(begun, f"{name}: no certificate: {type(error).__name__}: {error}")
            continue
        found[name]["certificate"] = certificate = done.result()
        _write(found, file, device)
        _say(begun, f"{name}: {certificate['claims']:,} claims in {certificate['seconds']} s")


def _write(found: dict[str, dict[str, Any]], file: Path, device: str) -> None:
    """The whole of it, or what was there before: a machine may be lent for a short time."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps({"device": device_name(device), "tasks": found}, indent=1), encoding="utf-8")
    os.replace(part, file)


def _say(begun: float, text: str) -> None:
    print(f"[{time.perf_counter() - begun:4.0f} s] {text}", flush=True)


def merge(file: Path) -> list[str]:
    """The certified networks become those of the first seed in the committed results; names of the tasks."""
    found, results = json.loads(file.read_text(encoding="utf-8")), read_results("appendix_a")
    numbers = results["numbers"]
    if found["device"] != numbers["device"]:
        raise ValueError(f"results are of one kind of machine; got {found['device']}; run it on {numbers['device']}")
    for name, own in found["tasks"].items():
        task, certificate = numbers["tasks"][name], own.get("certificate", {})
        if own["run"]["right"] != task["attainable"] or certificate.get("digest") != own["frozen"]["digest"]:
            raise ValueError(
                f"{name} must have all images right, and a certificate of this network; got less; run it again"
            )
        task["runs"][0], task["frozen"], task["certificate"] = own["run"], own["frozen"], certificate
    write_results("appendix_a", results)
    return list(found["tasks"])


def main(folder: Path, names: Sequence[str], *, fast: bool) -> None:
    """Writes certificates.json into the folder; the networks, too large to keep, into a temporary one."""
    sets, missing, _ = read_sets(small=fast)
    if absent := [missing[set_of(name)] for name in names if set_of(name) not in sets]:
        raise MissingDataError(absent[0])
    tasks = [make_task(name, sets[set_of(name)]) for name in names]
    folder.mkdir(parents=True, exist_ok=True)
    count = min(len(tasks), processes())
    with TemporaryDirectory() as own, ProcessPoolExecutor(count, mp_context=get_context("spawn")) as workers:
        ours, device = (OURS.but(**SMALL), "cpu") if fast else (OURS, "cuda")
        warm_up(device)
        file = folder / "certificates.json"
        certify_tasks(tasks, ours, device=device, workers=workers, networks=Path(own), file=file)
    print(f"wrote {file}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Certifies networks of Appendix A.")
    parser.add_argument("path", type=Path, help="the folder to write into; with --merge the file to read")
    parser.add_argument("names", nargs="*", default=HUNDRED, help=f"of {', '.join(TASKS)}")
    parser.add_argument("--fast", action="store_true", help="small images and networks, on a CPU")
    parser.add_argument("--merge", action="store_true", help="put a file into the committed results")
    given = parser.parse_args()
    if given.merge:
        print("merged:", ", ".join(merge(given.path)))
    else:
        main(given.path, given.names, fast=given.fast)
