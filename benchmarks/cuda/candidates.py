"""Candidates per second of the LHCb network 4-20-20-1 on a GPU, by the header that `to_c` writes.

    python benchmarks/cuda/candidates.py write    headers into benchmarks/cuda/headers (monolip and numpy)
    python benchmarks/cuda/candidates.py run      build every variant with nvcc, run it, print a table (Python alone)

`run` writes candidates.json into the folder --out (default: the headers' folder).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
HEADERS = HERE / "headers"
SIZES = (4, 20, 20, 1)
ARCH = os.environ.get("CUDA_ARCH", "native")
# header, C macros: lanes are candidates a thread has under way, blocks a request of registers
VARIANTS = [
    ("float32_fused", {"MODEL_LANES": lanes, "THREADS": threads, "BLOCKS_PER_SM": blocks})
    for lanes, threads, blocks in (
        (1, 256, 4),
        (1, 128, 8),
        (1, 512, 2),
        (1, 256, 3),
        (2, 256, 2),
        (2, 128, 5),
        (4, 128, 3),
    )
]
VARIANTS += [("float32", {"MODEL_LANES": lanes, "THREADS": 256, "BLOCKS_PER_SM": 4}) for lanes in (1, 2)]
VARIANTS += [("fixed_point", {"MODEL_LANES": 1, "THREADS": 256, "BLOCKS_PER_SM": blocks}) for blocks in (4, 2)]
VARIANTS += [("fixed_point", {"MODEL_LANES": 1, "THREADS": 256, "BLOCKS_PER_SM": 4, "INTEGER_INPUTS": 1})]


def write() -> None:
    """Random convex-form weights: speed does not depend on them."""
    sys.path.insert(0, str(HERE.parents[1] / "src"))
    from itertools import pairwise

    import numpy as np

    from monolip.convex import ConvexForm, on_simplex
    from monolip.export.c import to_c
    from monolip.frozen import FrozenNetwork, Trunk
    from monolip.slopes import SlopeBounds

    rng = np.random.default_rng(0)
    names = ("log FD chi2", "sum pT", "vertex chi2", "log min IP chi2")
    box = SlopeBounds.from_monotonic_cst([1, 1, 0, 1], 2.0, feature_names=names)
    first = rng.uniform(box.lower, box.upper, (SIZES[1], SIZES[0]))
    later = [on_simplex(rng.random((out, fan))) for fan, out in pairwise(SIZES[1:])]
    biases = tuple(rng.normal(size=out) for out in SIZES[1:])
    form = ConvexForm((first, *later), biases, (2, 2))
    network = FrozenNetwork(box, ((Trunk(form, (0,)),),))
    HEADERS.mkdir(exist_ok=True)
    ranges = [(-8.0, 8.0)] * 4
    for name, options in (
        ("float32", {"arithmetic": "float32"}),
        ("float32_fused", {"arithmetic": "float32", "fused": True}),
        ("fixed_point", {"arithmetic": "fixed-point", "preset": "narrow", "input_ranges": ranges}),
    ):
        report = to_c(network, HEADERS / f"{name}.h", name="model", **options)
        print(name, "-", str(report).splitlines()[0])


def build(header: str, macros: dict[str, int], out: Path) -> Path:
    """One program. The host needs -mfma only to compute fused operations fast, for the comparison."""
    target = out / "_".join([header, *(str(v) for v in macros.values())])
    flags = ["-O3", "-std=c++17", f"-arch={ARCH}", "-Xcompiler", "-mfma"]
    defines = [f'-DHEADER="{HEADERS / header}.h"', f'-DVARIANT="{header}"', "-DINPUT_LIMIT=16000"]
    defines += [f"-D{name}={value}" for name, value in macros.items()]
    subprocess.run(["nvcc", *flags, *defines, str(HERE / "candidates.cu"), "-o", str(target)], check=True)
    return target


def run(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    programs = Path(tempfile.mkdtemp())
    for header, macros in VARIANTS:
        done = subprocess.run([str(build(header, macros, programs))], capture_output=True, text=True, check=False)
        found = json.loads(done.stdout) if done.stdout.startswith("{") else {"variant": header, "error": done.stderr}
        results.append({**found, "macros": macros})
        speed = found.get("candidates_per_second", 0.0) / 1e9
        inputs = "integers" if macros.get("INTEGER_INPUTS") else "floats"
        facts = (f"{speed:7.2f}e9/s", inputs, f"lanes {macros['MODEL_LANES']}", f"threads {macros['THREADS']}")
        print(
            f"{header:14}",
            *facts,
            f"registers {found.get('registers')}",
            f"different {found.get('different')}",
            flush=True,
        )
    (out / "candidates.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("write", "run"))
    parser.add_argument("--out", type=Path, default=HEADERS)
    given = parser.parse_args()
    write() if given.step == "write" else run(given.out)
