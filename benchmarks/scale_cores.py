"""predict_stream by the number of threads, on a machine of many cores, beside pyarrow alone and the disk alone.

    python benchmarks/scale_cores.py [--rows 2e7] [--threads 1,2,4,8,16] [--folder DIRECTORY]
    writes benchmarks/results/scale_cores.json

The tables of scale.py, 2^20 rows a file, which the page cache was told to forget before each run (posix_fadvise). The
model is fitted to two of the files by one pass (max_iter=1): two members, 8 bins. copy_seconds is one thread of pyarrow
that reads the same columns and writes the predictions; disk_seconds reads every byte of the files and writes as many as
the predictions have, with fsync (a virtual disk may have a cache of its own below).
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import scale
from record import record

FITTED = 2  # files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--threads", default="1,2,4,8,16")
    parser.add_argument(
        "--folder", type=Path, help="where files are kept; a temporary one, removed at the end, if none"
    )
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="monolip-cores-"))
    try:
        n_files = max(FITTED, round(given.rows / scale.FILE_ROWS))
        files = scale.write(folder, n_files * scale.FILE_ROWS)
        results = measure(files, folder, [int(text) for text in given.threads.split(",")])
        packages = ("monolip", "numpy", "numba", "pyarrow")
        record("scale_cores", {"rows": n_files * scale.FILE_ROWS, **results}, packages)
    finally:
        if given.folder is None:
            shutil.rmtree(folder)


def measure(files: list[str], folder: Path, threads: list[int]) -> dict[str, Any]:
    from monolip import MonotonicRegressor

    output, runs = folder / "predictions.parquet", []
    model = MonotonicRegressor(monotonic_cst={"x0": 1}, random_state=0, max_iter=1).fit_stream(files[:FITTED], "y")
    for exact in (False, True):
        model.predict_stream(files[:1], output, exact=exact)  # kernels are compiled, or loaded
        for count in threads:
            model.set_params(n_jobs=count)
            scale.forget(files)
            begun, busy = time.perf_counter(), time.process_time()
            rows = model.predict_stream(files, output, exact=exact)
            seconds, cpu = time.perf_counter() - begun, time.process_time() - busy
            run = {"exact": exact, "threads": count, "seconds": round(seconds, 2)}
            runs.append({**run, "rows_per_second": round(rows / seconds), "cpu_us_per_row": round(1e6 * cpu / rows, 3)})
            print(runs[-1], flush=True)
    return {"runs": runs, **alone(files, output, folder)}


def alone(files: list[str], predictions: Path, folder: Path) -> dict[str, float]:
    """pyarrow without a network, and the disk without either."""
    scale.forget([*files, str(predictions)])
    begun = time.perf_counter()
    scale.copy(files, predictions, folder / "copy.parquet")
    copying = time.perf_counter() - begun
    scale.forget(files)
    begun = time.perf_counter()
    read = sum(map(scale.read_bytes, files))
    reading, content = time.perf_counter() - begun, predictions.read_bytes()
    begun = time.perf_counter()
    scale.write_bytes(folder / "copy.parquet", content)
    disk = reading + time.perf_counter() - begun
    found = {"copy_seconds": round(copying, 2), "disk_seconds": round(disk, 2), "megabytes": round(read / 1e6)}
    print(found, flush=True)
    return found


if __name__ == "__main__":
    main()
