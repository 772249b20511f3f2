"""fit_stream and predict_stream from 1e5 to 1e8 rows x 20 columns: seconds, seconds per row and peak memory.

    python benchmarks/scale.py [--rows 1e5,1e6,1e7] [--folder DIRECTORY]
    python benchmarks/scale.py --rows 1e8 --folder DIRECTORY       the largest: about 8.5 GB of files, written once
    writes benchmarks/results/scale.json (rows measured before stay in it)

Generated data: 20 features in single precision (rounded normal and uniform numbers, two of them with 2 % missing) and a
target with interactions and noise of one third of its spread, in Parquet files of 2^20 rows, eight row groups each.
More rows help, and the results say by how much: R2 is that of 200,000 further rows, beside the best that is possible
(the noise-free function itself); excess_error is the mean square between the two, in variances of the target. Small
streams are visited several times by a default fit; the fields one_pass_* are of a fit that visits every row once
(max_iter=1), whatever the size: that is where time a row can be compared. Each size runs in a
process of its own; memory is its highest resident size (VmHWM), libraries included. Fits have one thread, a second
reads ahead; predictions one a core. CPU time is that of all, and the better measure on a machine that is shared.
disk_seconds is what remains of predict_stream without the network: pyarrow reads the same columns and writes the same
predictions, a batch at a time; all from and to the page cache. The fields uncached_* are of files that the cache was
told to forget (posix_fadvise): uncached_disk_seconds is the disk alone, which reads every byte of the files and writes
as many as the predictions have, with fsync; uncached_copy_seconds is pyarrow on it, and uncached_predict is
predict_stream. Fields with exact in their names are predict_stream(exact=True), the network in integers. Megabytes are
10^6 bytes. (A virtual disk may have a cache of its own below; nobody sees that here.)
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from record import record

COLUMNS, FILE_ROWS, GROUP_ROWS, JUDGED = 20, 2**20, 2**17, 200_000
HERE = Path(__file__).parent


def make(n: int, seed: int) -> dict[str, Any]:
    """Columns x0 .. x19, target y and its noise-free part f."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = rng.standard_normal((COLUMNS, n), np.float32)
    x[10:] = rng.random((10, n), np.float32)
    f = np.tanh(x[0]) + 0.8 * np.tanh(x[1] * x[2]) + np.sin(2 * x[3] + x[4]) * x[10] + x[11] * x[12] * x[5]
    f += 0.5 * np.abs(x[6] - x[7]) + 0.6 * np.cos(6 * x[13] + 4 * x[14] * x[8]) + 0.3 * x[9] * (x[15] > x[16])
    y = f + np.float32(0.4) * rng.standard_normal(n, np.float32)
    x[8:10, :] = np.where(rng.random((2, n), np.float32) < 0.02, np.float32("nan"), x[8:10])
    return {**{f"x{j}": x[j] for j in range(COLUMNS)}, "y": y, "f": f}


def write(folder: Path, n: int) -> list[str]:
    """Files of the first n rows; those that are there are used again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for number in range(-(-n // FILE_ROWS)):
        rows = min(FILE_ROWS, n - number * FILE_ROWS)
        path = folder / f"{number:05d}-{rows}.parquet"
        if not path.exists():
            columns = make(rows, 1000 + number)
            del columns["f"]
            part = path.with_suffix(".part")
            pq.write_table(pa.table(columns), part, row_group_size=GROUP_ROWS, compression="none", use_dictionary=False)
            os.replace(part, path)
            print(f"\rwriting: {number + 1} files of {-(-n // FILE_ROWS)}", end="", file=sys.stderr, flush=True)
        found.append(str(path))
    print(file=sys.stderr)
    return found


def measure(n: int, folder: Path, verbose: int) -> dict[str, Any]:
    """In this process: fit and predict one size."""
    import numpy as np
    import pandas as pd

    from monolip import MonotonicRegressor

    files = json.loads((folder / f"files-{n}.json").read_text())
    warm_up(folder)
    model = MonotonicRegressor(monotonic_cst={"x0": 1}, random_state=0, verbose=verbose)
    begun, busy = time.perf_counter(), time.process_time()
    model.fit_stream(files, "y")
    fit, fit_busy = time.perf_counter() - begun, time.process_time() - busy
    highest = _highest()
    once = of_one_pass(files, n)
    begun, busy = time.perf_counter(), time.process_time()
    model.predict_stream(files, folder / f"predictions-{n}.parquet")
    predict, predict_busy = time.perf_counter() - begun, time.process_time() - busy
    begun, busy = time.perf_counter(), time.process_time()
    model.predict_stream(files, folder / "exact.parquet", exact=True)
    exact, exact_busy = time.perf_counter() - begun, time.process_time() - busy
    (folder / "exact.parquet").unlink()
    predict_highest = _highest()
    begun, busy = time.perf_counter(), time.process_time()
    copy(files, folder / f"predictions-{n}.parquet", folder / "copy.parquet")
    disk, disk_busy = time.perf_counter() - begun, time.process_time() - busy
    uncached = of_uncached_files(model, files, n, folder)
    (folder / f"predictions-{n}.parquet").unlink()
    judged = make(JUDGED, 7)
    table = np.stack([judged[f"x{j}"] for j in range(COLUMNS)], axis=1)
    found = model.predict(pd.DataFrame(table, columns=[f"x{j}" for j in range(COLUMNS)]))
    spread = float(np.var(judged["y"]))
    curve = [(e["stream_rows"], e["validation_loss"]) for e in model.history_ if "stream_rows" in e]
    return {
        "rows": n,
        "fit_seconds": round(fit, 2),
        "fit_us_per_row": round(1e6 * fit / n, 3),
        "fit_cpu_us_per_row": round(1e6 * fit_busy / n, 3),
        "fit_peak_mib": highest,
        **(once or {"one_pass_seconds": round(fit, 2), "one_pass_cpu_us_per_row": round(1e6 * fit_busy / n, 3)}),
        "predict_seconds": round(predict, 2),
        "predict_rows_per_second": round(n / predict),
        "predict_cpu_us_per_row": round(1e6 * predict_busy / n, 3),
        "exact_seconds": round(exact, 2),
        "exact_rows_per_second": round(n / exact),
        "exact_cpu_us_per_row": round(1e6 * exact_busy / n, 3),
        "predict_peak_mib": predict_highest,
        "predict_threads": os.cpu_count(),
        "disk_seconds": round(disk, 2),
        "disk_cpu_us_per_row": round(1e6 * disk_busy / n, 3),
        "predict_to_disk": round(predict / disk, 2),
        **uncached,
        "r2": round(1 - float(np.mean((judged["y"] - found) ** 2)) / spread, 5),
        "r2_best": round(1 - float(np.mean((judged["y"] - judged["f"]) ** 2)) / spread, 5),
        "excess_error": round(float(np.mean((judged["f"] - found) ** 2)) / spread, 5),
        "stream_curve": curve,
    }


def warm_up(folder: Path) -> None:
    """Load, and where it is the first time compile, everything that is measured: a stream of three columns."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from monolip import MonotonicRegressor

    x = np.random.default_rng(0).standard_normal((3, 300_000), np.float32)
    pq.write_table(pa.table({"a": x[0], "b": x[1], "y": x[0] + x[2]}), folder / "warm.parquet")
    warmed = MonotonicRegressor(n_estimators=1, max_iter=1, random_state=0).fit_stream(folder / "warm.parquet", "y")
    for exact in (False, True):
        warmed.predict_stream(folder / "warm.parquet", folder / "warmed.parquet", exact=exact)
    for name in ("warm", "warmed"):
        (folder / f"{name}.parquet").unlink()


def of_one_pass(files: list[str], n: int) -> dict[str, Any] | None:
    """A fit that visits every row once; None where that is the default's fit."""
    from monolip import MonotonicRegressor
    from monolip.estimators.stream._plan import VISITS

    if n >= VISITS:
        return None
    model = MonotonicRegressor(monotonic_cst={"x0": 1}, random_state=0, max_iter=1)
    begun, busy = time.perf_counter(), time.process_time()
    model.fit_stream(files, "y")
    seconds, cpu = time.perf_counter() - begun, time.process_time() - busy
    return {"one_pass_seconds": round(seconds, 2), "one_pass_cpu_us_per_row": round(1e6 * cpu / n, 3)}


def of_uncached_files(model: Any, files: list[str], n: int, folder: Path) -> dict[str, Any]:
    """What the disk does, and what predict_stream makes of it, when no byte of the files is in memory."""
    predictions, output = folder / f"predictions-{n}.parquet", folder / "again.parquet"
    forget(files)
    begun = time.perf_counter()
    read = sum(map(read_bytes, files))
    reading = time.perf_counter() - begun
    content = predictions.read_bytes()
    begun = time.perf_counter()
    write_bytes(output, content)
    writing = time.perf_counter() - begun
    forget([*files, str(predictions)])
    begun = time.perf_counter()
    copy(files, predictions, output)
    copying = time.perf_counter() - begun
    forget(files)
    begun, busy = time.perf_counter(), time.process_time()
    model.predict_stream(files, output)
    predict, predict_busy = time.perf_counter() - begun, time.process_time() - busy
    assert output.read_bytes() == content
    forget(files)
    begun, busy = time.perf_counter(), time.process_time()
    model.predict_stream(files, output, exact=True)
    exact, exact_busy = time.perf_counter() - begun, time.process_time() - busy
    output.unlink()
    return {
        "uncached_read_mb_per_second": round(read / reading / 1e6),
        "uncached_write_mb_per_second": round(len(content) / writing / 1e6),
        "uncached_disk_seconds": round(reading + writing, 3),
        "uncached_copy_seconds": round(copying, 3),
        "uncached_predict_seconds": round(predict, 3),
        "uncached_predict_cpu_us_per_row": round(1e6 * predict_busy / n, 3),
        "uncached_predict_rows_per_second": round(n / predict),
        "uncached_predict_to_disk": round(predict / (reading + writing), 2),
        "uncached_exact_seconds": round(exact, 3),
        "uncached_exact_cpu_us_per_row": round(1e6 * exact_busy / n, 3),
        "uncached_exact_rows_per_second": round(n / exact),
        "uncached_exact_to_disk": round(exact / (reading + writing), 2),
    }


def forget(files: list[str]) -> None:
    """Take files out of the page cache; what was not yet written has to be first."""
    for path in files:
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def read_bytes(path: str, block: int = 8 << 20) -> int:
    """Every byte of a file, and nothing done with them; how many."""
    total, space = 0, memoryview(bytearray(block))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(space):
            total += count
    return total


def write_bytes(path: Path, content: bytes) -> None:
    with path.open("wb", buffering=0) as file:
        file.write(content)
        os.fsync(file.fileno())


def copy(files: list[str], predictions: Path, output: Path) -> None:
    """Read the features, and write the predictions again: what predict_stream asks of the disk and of pyarrow."""
    import pyarrow.parquet as pq

    answers = pq.ParquetFile(predictions).iter_batches(2**16, use_threads=False)
    with pq.ParquetWriter(output, pq.read_schema(predictions), compression="zstd", use_dictionary=False) as writer:
        for path in files:
            names = [f"x{j}" for j in range(COLUMNS)]
            for _ in pq.ParquetFile(path).iter_batches(2**16, columns=names, use_threads=False):
                part = next(answers, None)
                if part is not None:
                    writer.write_batch(part, row_group_size=2**20)
        for part in answers:
            writer.write_batch(part, row_group_size=2**20)
    output.unlink()


def _highest() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) // 1024 if found else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1e5,1e6,1e7")
    parser.add_argument(
        "--folder", type=Path, help="where files are kept; a temporary one, removed at the end, if none"
    )
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, given.folder, 1)))
        return
    folder = given.folder or Path(tempfile.mkdtemp(prefix="monolip-scale-"))
    sizes = [int(float(text)) for text in given.rows.split(",")]
    needed, free = 88 * max(sizes), shutil.disk_usage(folder if folder.exists() else folder.parent).free
    if needed > free:
        sys.exit(f"the files need {needed / 1e9:.1f} GB; {folder} has {free / 1e9:.1f} GB free; name another --folder")
    folder.mkdir(parents=True, exist_ok=True)
    path = HERE / "results" / "scale.json"
    known = {row["rows"]: row for row in json.loads(path.read_text())["results"]} if path.exists() else {}
    try:
        for n in sizes:
            (folder / f"files-{n}.json").write_text(json.dumps(write(folder, n)))
            command = [sys.executable, __file__, "--one", str(n), "--folder", str(folder)]
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
            known[n] = json.loads(done.stdout.splitlines()[-1])
            print(json.dumps({k: v for k, v in known[n].items() if k != "stream_curve"}))
            sys.argv[1:] = ["--rows", ",".join(f"{size:.0e}".replace("e+0", "e") for size in sorted(known))]
            record("scale", [known[s] for s in sorted(known)], ("monolip", "numpy", "numba", "pyarrow"), threads=1)
    finally:
        if given.folder is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
