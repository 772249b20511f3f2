"""Numbers of docs/streaming.md, fixed_point.md and howto/gpu.md, search.md, distributed.md, from benchmarks/results.

python docs/scale_tables.py        rewrites what stands between <!-- name --> and <!-- /name -->
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Any

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "benchmarks" / "results"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    lines = [list(head), *[[str(cell) for cell in row] for row in rows]]
    lines.insert(1, ["---", *["---:"] * (len(lines[0]) - 1)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def gpu_step(data: dict[str, Any]) -> str:
    found = data["gpu"]["results"]["step"]
    rows = [
        (name, f"{ms:.2f}", f"{found['times_faster'][name]:.1f}x", found.get(f"{name}: seconds to start", "-"))
        for name, ms in found["ms_per_step"].items()
    ]
    return table([data["gpu"]["results"]["gpu"], "ms a step", "against the reference", "seconds to start"], rows)


def gpu_widths(data: dict[str, Any]) -> str:
    found = [row for part in ("gpu", "cpu") for row in data.get(part, {"results": {"widths": []}})["results"]["widths"]]
    names = list(dict.fromkeys(row["by"] for row in found))
    sizes = list(dict.fromkeys((row["width"], row["batch"]) for row in found))
    rates = {(row["by"], row["width"], row["batch"]): row["rows_per_second"] for row in found}
    rows = [
        (f"{width}, batch {batch}", *(_thousands(rates.get((name, width, batch))) for name in names))
        for width, batch in sizes
    ]
    return table(["width, thousand rows/s", *names], rows)


def search_rate(data: dict[str, Any]) -> str:
    rows = [
        (r["search"], r["workers"], f"{r['fits_per_minute']:,}", r["ms_cpu_per_fit"])
        for r in data["results"]
    ]  # fmt: skip
    load = data["settings"]["load"][0]
    made = table(["search", "processes", "fits a minute", "ms of processor time a fit"], rows)
    return f"{made}\n\nMeasured on {data['machine']['cores']} cores, others' load before the start: {load}."


def ray_scaling(data: dict[str, Any]) -> str:
    names = {
        "ray": "`fit_on_ray`", "torchrun": "the same under torchrun, no Ray running",
        "independent": "two fits that know nothing of each other",
    }  # fmt: skip
    rows = []
    for found in data["results"]:
        for kind, scaling in found["weak_scaling"].items():
            name, rates = names[kind], found["rows_per_second"][kind]
            medians = (f"{rates[count]['median']:,}" for count in ("one", "two"))
            rows.append(
                (name, f"{found['batch']:,}", *medians, f"{scaling['median']:.0%}", f"{scaling['fastest']:.0%}")
            )
    head = ["rows a second, median epoch", "rows a step of each", "one worker", "two workers", "efficiency"]
    made, load = table([*head, "of the fastest epochs"], rows), data["settings"]["load"][0]
    step = data["results"][0]["batch"] / data["results"][0]["rows_per_second"]["torchrun"]["one"]["median"]
    itself = median(found["ray_itself"]["two"] for found in data["results"])
    return (
        f"{made}\n\nMeasured on {data['machine']['cores']} cores, others' load before the start: {load}. The shorter "
        f"step takes {1e3 * step:.0f} ms; Ray's own processes took {itself:.0%} of a core beside the two workers."
    )


def scale(data: dict[str, Any]) -> str:
    disk = [r for r in data["results"] if "uncached_disk_seconds" in r]
    rows = [
        (
            f"{r['rows']:,}", f"{r['fit_peak_mib']} MiB", _one_digit(r.get("one_pass_cpu_us_per_row")),
            f"{r['fit_cpu_us_per_row']:.1f}",
            f"{r['predict_cpu_us_per_row']:.2f}", _two_digits(r.get("exact_cpu_us_per_row")),
            f"{r['excess_error']:.4f}",
        )
        for r in data["results"]
    ]  # fmt: skip
    head = [
        "memory of the fit",
        "CPU of a fit of one pass, µs a row",
        "of the default's fit",
        "of predictions",
        "with `exact=True`",
        "error beyond the noise",
    ]
    made = table(["rows", *head], rows)
    return made if not disk else f"{made}\n\n{_disk(disk[-1])}"


def _disk(r: dict[str, Any]) -> str:
    """Whether predictions wait for the disk, in words."""
    alone = r["rows"] / r["uncached_disk_seconds"] / 1e6
    said = (
        f"Files the page cache had forgotten ({r['rows']:,} rows): this disk alone reads "
        f"{r['uncached_read_mb_per_second']:,} MB/s and writes {r['uncached_write_mb_per_second']:,} MB/s, which is "
        f"{alone:.1f} million rows a second; one thread of pyarrow reads and writes them in "
        f"{r['uncached_copy_seconds']:.1f} s, and "
        f"`predict_stream` takes {r['uncached_predict_seconds']:.1f} s with {r['predict_threads']} threads, "
        f"{r['uncached_predict_rows_per_second'] / 1e6:.1f} million rows a second."
    )
    times = r["uncached_predict_to_disk"]
    if "uncached_exact_seconds" in r:
        rate, times = r["uncached_exact_rows_per_second"], r["uncached_exact_to_disk"]
        said += (
            f" With `exact=True` it takes {r['uncached_exact_seconds']:.1f} s, {rate / 1e6:.1f} million rows a second."
        )
    bound = "the processors, not the disk," if times > 1.2 else "the disk and the processors together"
    return f"{said} That is {times:.1f} times as long as the disk needs: {bound} set the pace."


def scale_cores(data: dict[str, Any]) -> str:
    """Seconds by threads, and what pyarrow and the disk alone take."""
    found = data["results"]
    by = {(run["threads"], run["exact"]): run for run in found["runs"]}
    threads = sorted({count for count, _ in by})
    rows = [
        (count, *(f"{by[count, exact]['seconds']:.1f} s, {_rate(found, by[count, exact])}" for exact in (False, True)))
        for count in threads
    ]
    made = table(["threads", "floats", "`exact=True`"], rows)
    best = min(run["seconds"] for run in found["runs"])
    return (
        f"{made}\n\n`{data['command']}` on {data['machine']['cores']} cores ({data['machine']['processor']}), "
        f"{found['rows']:,} rows the page cache had forgotten: one thread of pyarrow alone takes "
        f"{found['copy_seconds']:.1f} s, the disk alone {found['disk_seconds']:.1f} s "
        f"({found['megabytes'] / found['disk_seconds']:,.0f} MB/s). At its fastest `predict_stream` takes "
        f"{best / found['copy_seconds']:.2f} times as long as the former and "
        f"{best / found['disk_seconds']:.1f} times as long as the latter."
    )


def _rate(found: dict[str, Any], run: dict[str, Any]) -> str:
    return f"{found['megabytes'] / run['seconds']:,.0f} MB/s"


def fixed_point(data: dict[str, Any]) -> str:
    """What integers cost, in words: the smallest and the largest change of a test error."""
    found = data["results"]
    runs = [r[preset] for r in found.values() for preset in ("wide", "narrow")]
    steps, wrong = sum(run["steps"] for run in runs), sum(run["wrong"] for run in runs)
    same = "all carriers gave the same bits" if all(run["same_bits"] for run in runs) else "carriers differed"
    narrow = sorted((100 * r["narrow"]["loss"], name) for name, r in found.items())
    (low, least), (high, most) = narrow[0], narrow[-1]
    return fill(
        f"What it costs, on the {len(found)} sets of the suite with default estimators "
        "([benchmarks](benchmarks.md#what-integers-cost)): `wide` changes the test error by at most "
        f"{100 * max(abs(r['wide']['loss']) for r in found.values()):.5f} %, `narrow` by {low:+.2f} % ({least}) to "
        f"{high:+.2f} % ({most}), {median(abs(loss) for loss, _ in narrow):.3f} % in the median either way; of "
        f"{steps / 1e6:.0f} million steps of promised features, by one ulp and more, {wrong or 'none'} went the wrong "
        f"way, and {same}.",
        120,
        break_on_hyphens=False,
    )


def _one_digit(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _two_digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _thousands(value: float | None) -> str:
    return "-" if value is None else f"{value / 1000:,.0f}"


BLOCKS: dict[str, tuple[str, str, Callable[[dict[str, Any]], str]]] = {
    "gpu_step": ("howto/gpu.md", "gpu_training", gpu_step),
    "gpu_widths": ("howto/gpu.md", "gpu_training", gpu_widths),
    "search_rate": ("howto/search.md", "search_rate", search_rate),
    "scale": ("streaming.md", "scale", scale),
    "scale_cores": ("streaming.md", "scale_cores", scale_cores),
    "fixed_point": ("fixed_point.md", "fixed_point", fixed_point),
    "ray_scaling": ("howto/distributed.md", "ray_scaling", ray_scaling),
}


def updated() -> dict[str, str]:
    """Every page with its tables made anew, by its path under docs."""
    pages: dict[str, str] = {}
    for name, (page, result, make) in BLOCKS.items():
        source = RESULTS / f"{result}.json"
        if not source.exists():
            continue
        text = pages.get(page) or (DOCS / page).read_text()
        block = f"<!-- {name} -->\n{make(json.loads(source.read_text()))}\n<!-- /{name} -->"
        before, _, after = re.split(rf"(<!-- {name} -->\n.*?<!-- /{name} -->)", text, flags=re.S)
        pages[page] = before + block + after
    return pages


def main() -> None:
    for page, text in updated().items():
        (DOCS / page).write_text(text)
        print(page)


if __name__ == "__main__":
    main()
