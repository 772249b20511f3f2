"""Accuracy, fit time, first fits and the ablation in docs/benchmarks.md, and a figure; called by make_tables.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

Table = Callable[[Iterable[str], Iterable[Iterable[Any]]], str]
OURS = ("monolip", "monolip_8", "monolip_accurate", "by_heart")


def accuracy(data: dict[str, Any], table: Table) -> str:
    results, settings = data["results"], data["settings"]
    who, overall = results["contestants"], results["overall"]
    rows = [
        (
            who[n]["label"],
            "-" if o["mean_rank"] is None else f"{o['mean_rank']:.2f}",
            "-" if n == "monolip" else f"{o['ours_over_it']:.3f} ({o['ours_over_it_without_our_best_set']:.3f})",
            "-" if n == "monolip" else f"{o['ours_better_on']} of {len(results['data_sets'])}",
            "-" if n == "monolip" else f"{o['our_worst_ratio']:.3f}, {o['our_worst_set']}",
            f"{o['median_fit_s']:.2f}",
            f"{o['wrong_steps']:.1%}",
        )
        for n, o in sorted(overall.items(), key=lambda item: item[1]["mean_rank"] or 99)
    ]
    head = ["model", "mean rank", "our error / its", "ours better on", "our worst", "search and fit, s", "wrong steps"]
    kept = f" {kept_words(results, who)}" if results.get("kept") else ""
    left_out = f" Left out, not installed: {', '.join(results['missing'])}." if results["missing"] else ""
    return f"""## Accuracy on the open suite

`{data["command"]}`: {settings["repeats"]} x {settings["folds"]}-fold cross-validation, every contestant on the same
folds, one thread, everything chosen inside the training rows. Boosted trees get the same promised directions, up to
1500 trees, early stopping and a search over eight settings on inner held-out rows (the grids are in
benchmarks/contestants/trees.py), then a refit on all training rows; monolip runs with default settings.{left_out}{kept}
Rank: among the models that keep the promise, by mean error; each monolip row stands alone against the others. Ratios
are geometric means over folds and sets (in brackets: without our best data set), and ours is better on sets where it is
below 1. Wrong steps: random steps along promised features.

The tables are public: from UCI auto_mpg, heart_disease, concrete, airfoil, wine_quality, german_credit, taiwan_credit,
abalone, mammographic and yacht; California's census of 1990 (StatLib), COMPAS (ProPublica), medical_cost (of Lantz's
book), and Ben-David's ordinal ESL and LEV (Weka). They are not part of this repository: benchmarks/suite_data.py reads
a folder with a Parquet file for each, target `y`, and suite.json with task and directions.

{table(head, rows)}

{_verdict(results)}

{_errors_by_set(results, table)}"""


def kept_words(results: dict[str, Any], who: dict[str, Any]) -> str:
    """Who was not run again, and what that means for the seconds."""
    names = "; ".join(who[name]["label"] for name in results["kept"])
    return (
        "Of an earlier run on the same folds with the same package versions, seconds included (a slower machine's): "
        f"{names}. To run them again, leave out `--contestants` and `--update`."
    )


def duplicates(data: dict[str, Any]) -> str:
    """What equal rows are worth, a sentence for each data set."""
    parts = []
    for name, found in data["results"].items():
        ratios = {
            kind: [
                found[kind][ours] / min(found[kind][peer] for peer in ("lightgbm", "xgboost"))
                for ours in OURS
                if ours in found[kind]
            ]
            for kind in ("at_random", "kept_together")
        }
        apart, together = ratios["at_random"], ratios["kept_together"]
        parts.append(
            f"Of {name} {found['equal_to_another']:.0%} of the rows have features that another row has as well. Dealt "
            f"at random to folds, other ones than above, our error is {apart[0]:.3f} of the better of LightGBM and "
            f"XGBoost ({apart[1]:.3f} with 8 members); with equal rows in one fold it is {together[0]:.3f} "
            f"({together[1]:.3f})"
            + (": trees learn rows by heart that come again." if together[0] < apart[0] else ".")
            + (f" {_by_heart(apart[2], together[2])}" if len(apart) > 2 else "")
        )
    return f"`{data['command']}`: " + " ".join(parts)


def _by_heart(apart: float, together: float) -> str:
    """What a network made for rows that come again gains, and what it loses."""
    return (
        f"Four members of 256-64 units with 64 bins (and the trees of that time's default) have {apart:.3f} of their "
        f"error on folds at random and "
        f"{together:.3f} on the others."
    )


def _verdict(results: dict[str, Any]) -> str:
    """The aims, judged by the numbers: against the boosted trees that come closest to us."""
    who, overall, sets = results["contestants"], results["overall"], results["data_sets"]
    trees = [n for n in overall if who[n]["family"] == "trees" and who[n]["monotone"]]
    if not trees or "monolip" not in overall:
        return ""
    peer = max(trees, key=lambda n: overall[n]["ours_over_it"])
    lost = []
    for tree in trees:
        ratios = {n: e["contestants"][tree]["ours_over_it"] for n, e in sets.items()}
        behind = ", ".join(f"{n} {r:.3f}" for n, r in ratios.items() if r > 1.02) or "none"
        lost.append(f"{who[tree]['label']} ({behind})")
    ranks = {n: o["mean_rank"] for n, o in overall.items() if o["mean_rank"] and who[n]["family"] != "ours"}
    place = 1 + sum(rank < overall["monolip"]["mean_rank"] for rank in ranks.values())
    spread = results["seed_spread"]
    seeds = f" Another seed moves our error by {_median(spread.values()):.1%} (median)." if spread else ""
    return (
        f"The default is number {place} by mean rank (our other rows not counted). By geometric-mean error the best "
        f"boosted-tree model is {who[peer]['label']}: our "
        f"error is {overall[peer]['ours_over_it']:.3f} of its error "
        f"({overall[peer]['ours_over_it_without_our_best_set']:.3f} without our best data set). Lost by more than 2 %, "
        f"our error over theirs (geometric mean of the folds): {'; '.join(lost)}.{seeds}"
    )


def _errors_by_set(results: dict[str, Any], table: Table) -> str:
    who = results["contestants"]
    shown = ["monolip", *(n for n in who if who[n]["family"] != "ours")]

    def cell(entry: dict[str, Any], n: str) -> str:
        mean = {m: e["contestants"][m][e["metric"]]["mean"] for e in [entry] for m in shown}
        value = entry["contestants"][n][entry["metric"]]
        text = f"{value['mean']:.4g} ± {value['se']:.2g}"
        return f"**{text}**" if mean[n] == min(v for m, v in mean.items() if who[m]["monotone"]) else text

    def beside(entry: dict[str, Any], n: str) -> str:
        found = entry["contestants"][n]
        return " / ".join(f"{found[m]['mean']:.4g}" for m in ("mae", "auc", "accuracy") if m in found)

    main = [
        (name, e["metric"].replace("_", "-").replace("rmse", "RMSE"), *(cell(e, n) for n in shown))
        for name, e in results["data_sets"].items()
    ]
    more = [
        (name, "MAE" if e["task"] == "regression" else "AUC / accuracy", *(beside(e, n) for n in shown))
        for name, e in results["data_sets"].items()
    ]
    head = ["data set", "metric", *(who[n]["label"] for n in shown)]
    note = "Mean ± standard error over folds; bold: the best that keeps the promise."
    return "\n\n".join([note, table(head, main), table(head, more)])


def random_tables(data: dict[str, Any]) -> str:
    found = data["results"]
    wrong = ", ".join(f"table {row['number']} ({'; '.join(row['wrong'])})" for row in found["wrong"]) or "none"
    numbers = ", ".join(map(str, found["worse_than_constant"]))
    count = len(found["worse_than_constant"])
    many = "s" * (count > 1)
    worse = f"{count} table{many} of {found['tables']} (number{many} {numbers})" if count else "none"
    return f"""## Random tables

`{data["command"]}`: {found["tables"]} tables with scales from 1e-9 to 1e9, heavy tails, missing, constant and copied
columns, promises the data contradict, many categories, few rows. Failed, not finite, too slow or a promise broken
(one-ulp to huge steps): {wrong}. Worse than a constant on new rows by a quarter and beyond chance:
{worse}. Fit: median {found["fit_s_median"]:.2f} s of processor time, longest {found["fit_s_largest"][1]:.1f} s."""


def fit_time(data: dict[str, Any], table: Table) -> str:
    found, cold = data["results"]["data_sets"], data["results"]["cold_start"]
    threads = list(data["results"]["median_time_ratio"])
    rows = [
        (
            name,
            f"{r['rows']:,}",
            *(
                f"{1000 * r['fit_s'][t]:,.0f} and {1000 * r['trees_fit_s'][t]:,.0f}: {r['time_ratio'][t]:.2f}"
                for t in threads
            ),
            f"{r['error_ratio']:.3f}",
        )
        for name, r in found.items()
    ]
    whose = "monolip's and LightGBM's ms: ratio"
    head = ["data set", "rows", *(f"{t} thread{'s' * (t != '1')}, {whose}" for t in threads), "error ratio"]
    intervals = data["results"]["interval"]
    medians = "; ".join(
        f"{t} thread{'s' * (t != '1')} {v:.2f} ({intervals[t][0]:.2f} to {intervals[t][1]:.2f})"
        for t, v in data["results"]["median_time_ratio"].items()
    )
    means = " and ".join(f"{v:.2f}" for v in data["results"]["median_mean_ratio"].values())
    return f"""## Fit time

`{data["command"]}`: a whole default fit against one LightGBM fit at its defaults with the same promise and early
stopping (up to 1500 trees), no search on either side, kernels compiled, interleaved rounds; milliseconds are medians of
{data["settings"]["rounds"]} (of quick tables of five times as many), and so is the ratio within a round (not the
quotient of both medians). Every round is another fold, and a fit of few rows may take ten times as long on one fold as
on another (where more bins or a longer path win); presets are of the first three rounds. Error ratio: our error over
that of this one LightGBM fit, geometric mean over the rounds.
Median ratio over data sets (in brackets: for 95 % of the ways to draw the same rounds anew): {medians}; of mean times,
which count rare long fits, {means}; of processor time, one thread:
{data["results"]["median_cpu_ratio"][threads[0]]:.2f}.

{table(head, rows)}

A first fit in a new process ({cold["data_set"]}; pandas and scikit-learn already imported) takes
{cold["new_process_s"]:.1f} s, LightGBM's {cold["trees_new_process_s"]:.2f} s; the very first on a machine, which
compiles, {cold["first_ever_s"]:.0f} s."""


def _argument(name: str, value: Any) -> str:
    """An argument of an estimator as one writes it in Python."""
    if name != "fit_options":
        return f"{name}={tuple(value) if isinstance(value, list) else repr(value)}"
    inside = "" if isinstance(value, str) else ", ".join(_argument(*field) for field in value.items())
    return f"{name}=FitOptions{'.' + value if isinstance(value, str) else ''}({inside})"


def _preset_rounds(times: dict[str, Any]) -> int:
    """That presets took part in."""
    seconds = next(iter(times["data_sets"].values()))["seconds"]
    return min(len(seconds[name]) for name in times["median_preset_ratio"])


def _default_ratio(times: dict[str, Any], n_rounds: int) -> float:
    """The default's time over LightGBM's in the rounds that presets took part in: median of medians, as theirs."""
    every = (entry["seconds"] for entry in times["data_sets"].values())
    rounds = [zip(of["ours_1"][:n_rounds], of["trees_1"][:n_rounds], strict=True) for of in every]
    return median(median(ours / trees for ours, trees in each) for each in rounds)


def _over_default(times: dict[str, Any], name: str) -> float:
    """A preset's time over the default's, in the same rounds."""
    ratios = []
    for entry in times["data_sets"].values():
        mine = entry["seconds"].get(name, entry["seconds"]["ours_1"])
        ratios += [a / b for a, b in zip(mine, entry["seconds"]["ours_1"], strict=False)]
    return geometric_mean(ratios)


def cold_start(data: dict[str, Any], table: Table) -> str:
    parts = ("process", "processor", "import", "fit", "predict")
    rows = [
        (name, cache, *(f"{seconds[part]:.2f}" for part in parts))
        for name, caches in data["results"].items()
        for cache, seconds in caches.items()
    ]
    return f"""## The first fit of a process

`{data["command"]}`: a new process imports monolip, fits 300 rows of 5 columns with default settings and predicts them;
seconds. An empty cache compiles everything that is used (once a machine), a warm one loads it (fastest of
{data["settings"]["repeats"]} processes). "process" is the clock on the wall, which other work on the machine lengthens;
"processor" is the processor time of the whole process.

{table(["estimator", "cache", *parts], rows)}"""


def ablation(data: dict[str, Any], table: Table) -> str:
    summary = data["results"]["summary"]
    rows = [
        (variant, _with_error(r), f"{r['time']:.2f}", f"{r['worst']:.3f}, {r['worst_set']}")
        for variant, r in summary.items()
        if variant != "default"
    ]
    return f"""## What each field of FitOptions is worth

`{data["command"]}`: the default with one field (or group of fields) of `FitOptions` changed, on
{data["settings"]["folds"]} of five folds of {len(data["results"]["data_sets"])} data sets; all variants on the same
folds in the same run, one thread. Ratios to the default (geometric means): above 1 is worse, or slower; the standard
error is over data sets. "worst set": the largest error ratio, and where. What else was tried:
[the fit procedure](research/training.md).

{table(["variant", "error", "time", "worst set"], rows)}"""


def _with_error(row: dict[str, Any]) -> str:
    spread = row.get("error_se")
    return f"{row['error']:.3f}" + (f" ± {spread:.3f}" if spread is not None else "")


def draw(accuracy: dict[str, Any], times: dict[str, float], path: Path) -> None:
    """One point a data set: our error over the searched LightGBM's, against our fit time over one LightGBM fit's."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    errors = accuracy["results"]["data_sets"]
    points = {
        n: (times[n], errors[n]["contestants"]["lightgbm"]["ours_over_it"])
        for n in errors
        if n in times and "lightgbm" in errors[n]["contestants"]
    }
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    axes.axhline(1, color="#999999", lw=0.8)
    axes.axvline(1, color="#999999", lw=0.8)
    for x, y in points.values():
        axes.plot(x, y, "o", color="#1b7f5c" if y < 1 else "#c0392b", ms=5)
    axes.set_xscale("log", base=2)
    axes.set(xlabel="fit time: monolip / one LightGBM fit", ylabel="error: monolip / searched LightGBM")
    axes.set_title(
        "Each data set: left of 1 faster than one LightGBM fit; below 1 (green) less error than its search", fontsize=9
    )
    axes.margins(0.12)
    axes.set_xlim(left=0.45 * min(x for x, _ in points.values()))
    axes.xaxis.set_major_formatter("{x:g}")
    _name(figure, axes, points)
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)


def _name(figure: Any, axes: Any, points: dict[str, tuple[float, float]]) -> None:
    """A label beside each point; those that stand close together have theirs in a row above all of them, in the same
    order, so that no line crosses another."""
    axes.set_ylim(top=1.28)
    figure.draw_without_rendering()
    marks = dict(zip(points, axes.transData.transform(list(points.values())), strict=True))
    crowd = {
        name
        for name, (x, y) in marks.items()
        if any(abs(x - u) < 60 and abs(y - v) < 14 for other, (u, v) in marks.items() if other != name)
    }
    ordered = sorted(crowd, key=lambda name: (marks[name][0], marks[name][1]))
    for name, x in zip(ordered, _apart([marks[name][0] for name in ordered], 18.0), strict=True):
        at = axes.transData.inverted().transform((x, marks[name][1]))[0], 1.06
        line = {"arrowstyle": "-", "lw": 0.5, "color": "#999999", "relpos": (0.0, 0.0), "shrinkA": 0, "shrinkB": 3}
        axes.annotate(
            name.replace("_", " "), points[name], at, fontsize=6.5, rotation=45, rotation_mode="anchor", ha="left",
            va="bottom", arrowprops=line,
        )  # fmt: skip
    edge = figure.bbox.x0 + 0.85 * figure.bbox.width
    for name in set(points) - crowd:  # on the side that no line comes from
        inside = bool(marks[name][0] < edge)
        axes.annotate(
            name.replace("_", " "), points[name], (6 if inside else -6, 0), textcoords="offset points", fontsize=6.5,
            ha="left" if inside else "right", va="center",
        )  # fmt: skip


def _apart(places: list[float], gap: float) -> list[float]:
    """Places in the same order, no two nearer than a gap; groups that had to move stay around their middle."""
    groups: list[list[float]] = []
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _first(groups[-1], gap) - _first(groups[-2], gap) < gap * len(groups[-2]):
            last = groups.pop()
            groups[-1] += last
    return [_first(group, gap) + gap * k for group in groups for k in range(len(group))]


def _first(group: list[float], gap: float) -> float:
    return sum(group) / len(group) - gap * (len(group) - 1) / 2


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def cuda(data: dict[str, Any], table: Table) -> str:
    """Candidates a second of the exported header inside a kernel."""
    rows = [
        (
            r["variant"].replace("_", " "), r["lanes"], r["threads"], r["registers"],
            f"{r['candidates_per_second'] / 1e9:.1f}e9", r["different"],
        )
        for r in data["results"]
    ]  # fmt: skip
    head = ["arithmetic", "candidates a thread", "threads", "registers", "candidates/s", "bits that differ"]
    return f"""## The exported header on a GPU

`{data["command"]}` on one {data["machine"]["processor"]}: {data["settings"]["network"]}, from
{data["settings"]["inputs"]}; {data["settings"]["compared"]}. Copying inputs and outputs alone runs at
{max(r["copy_per_second"] for r in data["results"]) / 1e9:.0f}e9/s. The last row reads integers instead of floats.

{table(head, rows)}"""
