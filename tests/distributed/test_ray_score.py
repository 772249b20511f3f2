"""Scoring on Ray gives the bits that the model gives here; the model travels as its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monolip import FrozenNetwork, MonotonicClassifier, MonotonicRegressor, SlopeBounds
from monolip.convex import ConvexForm
from monolip.errors import FrozenFileError, InputError
from monolip.frozen import Trunk

ray_score = pytest.importorskip("monolip.distributed.ray_score", exc_type=ImportError)  # needs the extra `ray`
pandas = pytest.importorskip("pandas")

QUICK = {"n_estimators": 1, "hidden_layer_sizes": (8,), "max_iter": 5, "early_stopping": False, "random_state": 0}


def frame() -> Any:
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(300, 2)), columns=["income", "debt"])
    table["town"] = np.where(rng.random(300) < 0.5, "Ulm", "Bonn")
    return table.assign(row=np.arange(300))


def models() -> dict[str, Any]:
    table, directions = frame(), {"income": 1, "debt": -1}
    x, y = table[["income", "debt", "town"]], table["income"] - table["debt"] + (table["town"] == "Ulm")
    form = ConvexForm(([[1.0, -1.0], [0.5, -0.5]], [[0.25, 0.75]]), ([0.0, 1.0], [0.0]), (2,))
    names = SlopeBounds([0.0, -1.0], [1.0, 0.0], ("income", "debt"))
    return {
        "regressor": MonotonicRegressor(monotonic_cst=directions, **QUICK).fit(x, y),
        "classifier": MonotonicClassifier(monotonic_cst=directions, **QUICK).fit(x, y > 0.5),
        "network": FrozenNetwork(names, ((Trunk(form, (0,)),),)),
    }


def test_a_scorer_gives_the_models_own_bits_and_appends_columns(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table, made = frame(), models()
    arrow, x = pyarrow.Table.from_pandas(table, preserve_index=False), table[["income", "debt", "town"]]
    for name, expected in (
        ("regressor", made["regressor"].predict(x)), ("classifier", made["classifier"].predict(x)),
        ("network", made["network"].evaluate(table[["income", "debt"]].to_numpy())[:, 0]),
    ):  # fmt: skip
        made[name].save(tmp_path / name)
        done = ray_score._Scorer((tmp_path / name).read_bytes(), None, "score", False)(arrow)
        assert done.column_names == [*table.columns, "score"]
        assert np.array_equal(done["score"].to_numpy(zero_copy_only=False), expected)
    chances = ray_score._Scorer((tmp_path / "classifier").read_bytes(), None, "p", True)(arrow)
    assert np.array_equal(chances["p_1"].to_numpy(), made["classifier"].predict_proba(x)[:, 1])


def test_what_cannot_be_scored_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="dict"):
        ray_score.score_on_ray(None, {})
    (tmp_path / "broken").write_bytes(b"no model at all")
    with pytest.raises(FrozenFileError):
        ray_score.score_on_ray(None, tmp_path / "broken")
    form = ConvexForm(([[1.0]],), ([0.0],), ())
    with pytest.raises(InputError, match="features="):
        ray_score.score_on_ray(None, FrozenNetwork(SlopeBounds([0.0], [1.0]), ((Trunk(form, (0,)),),)))


def test_keys_of_folders_that_ray_reads_as_strings_are_refused_before_a_row_is_read() -> None:
    model = models()["regressor"]
    scorer = ray_score._Scorer(ray_score._content(model), None, "score", False)
    types = {"income": "double", "debt": "int64", "town": "string"}
    ray_score._refuse_texts(scorer, types)
    with pytest.raises(InputError, match="'debt' held numbers in training; the dataset holds string; convert it"):
        ray_score._refuse_texts(scorer, types | {"debt": "string"})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray warns of itself
def test_two_workers_of_a_real_ray_score_a_table(cluster: Any, tmp_path: Path) -> None:
    import ray.data

    table, model = frame(), models()["regressor"]
    dataset = ray.data.from_pandas(table).repartition(4)
    scored = ray_score.score_on_ray(dataset, model, workers=2, batch_size=50).to_pandas().sort_values("row")
    assert np.array_equal(scored["prediction"].to_numpy(), model.predict(table[["income", "debt", "town"]]))
    with pytest.raises(InputError, match="town"):
        ray_score.score_on_ray(dataset.drop_columns(["town"]), model)
