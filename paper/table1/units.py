"""Units of work with a memory: what was computed once, with the same settings, data and code, is not computed again.

Kept in build/paper/table1_units.jsonl, one line a unit; delete it to start afresh.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import Any

from paper.results_file import ROOT

__all__ = ["Units"]


class Units:
    """`units(key, settings, compute)` is what compute() returned, now or before.

    settings: everything the row depends on, by its repr: arguments, a digest of the data, a fingerprint of the code.
    """

    def __init__(self, name: str) -> None:
        self.path = ROOT / "build" / "paper" / f"{name}_units.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.known: dict[str, dict[str, Any]] = {}
        self.used: set[str] = set()
        if self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                found = json.loads(line)
                self.known[found["key"]] = found

    def __call__(self, key: str, settings: object, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        mark = hashlib.sha256(repr(settings).encode()).hexdigest()[:12]
        full = f"{key}|{mark}"
        if full not in self.known:
            begun, cpu = time.perf_counter(), time.process_time()
            row = compute()
            took = {"wall_s": round(time.perf_counter() - begun, 2), "cpu_s": round(time.process_time() - cpu, 2)}
            self.known[full] = {"key": full, **took, "row": row}
            with self.path.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(self.known[full], allow_nan=False) + "\n")
            print(f"  {key}: {json.dumps(row)[:120]} ({took['wall_s']} s)", flush=True)
        self.used.add(full)
        row = self.known[full]["row"]
        assert isinstance(row, dict)
        return {**row, "cpu_s": self.known[full]["cpu_s"]}

    @property
    def cpu_seconds(self) -> float:
        """Of all units asked for, whenever they were computed."""
        return round(sum(self.known[key]["cpu_s"] for key in self.used), 1)
