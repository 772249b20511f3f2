"""Hyper-parameter search with Ray Tune, on this machine or on a cluster.

    python examples/search_ray_tune.py --trials 16 --chunk 25       pip install ".[ray]" in a checkout

A fit takes milliseconds and a trial of Ray Tune a good part of a second. So a trial is given a chunk of settings, drawn
by its own generator, and reports the best of them: Tune spreads chunks over machines and keeps what came out. The
winner is fitted on all rows, and leaves as a model file and its certificate.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

DIRECTIONS = [1, 1, -1, 0, 0]


def table(rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, len(DIRECTIONS)))
    return x, np.maximum(x[:, 0], x[:, 1]) - x[:, 2] + np.sin(2 * x[:, 3]) + 0.2 * rng.normal(size=rows)


def draw(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "hidden_layer_sizes": [int(rng.choice([8, 16, 32]))] * int(rng.integers(1, 3)),
        "n_bins": int(rng.choice([0, 4, 8])),
        "max_slope": float(np.exp(rng.uniform(0.0, np.log(30.0)))),
        "max_iter": int(rng.integers(5, 41)),
    }


def trial(config: dict[str, Any]) -> dict[str, Any]:
    """The best of `chunk` settings on rows the fits have not seen."""
    from monolip import MonotonicRegressor

    (x, y), cut = table(), 300
    best: dict[str, Any] = {"error": float("inf")}
    rng = np.random.default_rng(config["seed"])
    for _ in range(config["chunk"]):
        setting = draw(rng)
        model = MonotonicRegressor(
            monotonic_cst=DIRECTIONS, n_estimators=1, early_stopping=False, n_jobs=1, random_state=0, **setting
        )
        model.fit(x[:cut], y[:cut])
        error = float(np.sqrt(np.mean((model.predict(x[cut:]) - y[cut:]) ** 2)))
        if error < best["error"]:
            best = {"error": error, "setting": json.dumps(setting)}
    return best


def search(trials: int, chunk: int, storage: Path) -> Any:
    from ray import tune

    tuner = tune.Tuner(
        tune.with_resources(trial, {"cpu": 1}),
        param_space={"seed": tune.grid_search(list(range(trials))), "chunk": chunk},
        tune_config=tune.TuneConfig(metric="error", mode="min", reuse_actors=True),
        run_config=tune.RunConfig(storage_path=str(storage.resolve()), name="monolip", verbose=0),
    )
    return tuner.fit()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--chunk", type=int, default=25)
    parser.add_argument("--storage", type=Path, default=Path("ray_results"))
    parser.add_argument("--out", type=Path, default=Path("best.safetensors"))
    parser.add_argument("--cpus", type=int, help="start a Ray of so many here (default: join one, or all of them)")
    options = parser.parse_args()
    if options.out.exists():
        parser.error(f"the winner goes to a new file; {options.out} exists; name another by --out")
    import ray

    from monolip import MonotonicRegressor

    ray.init(num_cpus=options.cpus, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    begun = time.perf_counter()
    found = search(options.trials, options.chunk, options.storage)
    seconds = time.perf_counter() - begun
    best = found.get_best_result()
    fits = options.trials * options.chunk
    print(f"{fits} fits, {60 * fits / seconds:,.0f} a minute; error {best.metrics['error']:.4f}")
    ray.shutdown()
    model = MonotonicRegressor(monotonic_cst=DIRECTIONS, random_state=0, **json.loads(best.metrics["setting"]))
    model.fit(*table()).save(options.out)
    options.out.with_suffix(".certificate.json").write_text(model.certificate_.to_json())
    print(f"{best.metrics['setting']}; wrote {options.out}")


if __name__ == "__main__":
    main()
