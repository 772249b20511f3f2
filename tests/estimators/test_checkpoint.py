"""A checkpoint changes no bit, believes no damaged file, and takes no training for another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.errors import CheckpointError
from monolip.estimators.checkpoint import Checkpoint, remove_checkpoint

FACTS = {"data": "d", "seed": 0, "settings": {"members": 2, "names": ["a", "b"]}}
rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
Y = X[:, 0] * (X[:, 1] > 0) - X[:, 1] + 0.1 * rng.normal(size=120)


def fit(**more):
    return MonotonicRegressor(monotonic_cst=[1, -1, 0], random_state=0, **more).fit(X, Y)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("done")
    with Checkpoint(folder, FACTS).watching():
        fit()
    return folder


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_whatever_was_kept_the_model_is_the_same(kept, done: Path, tmp_path):
    folder = tmp_path / "c"
    shutil.copytree(done, folder)
    for path in files(folder)[kept:]:
        path.unlink()
    checkpoint = Checkpoint(folder, FACTS)
    with checkpoint.watching():
        model = fit(n_jobs=2)
    assert model.frozen_.digest == fit().frozen_.digest
    assert checkpoint.found == kept
    assert checkpoint.found + checkpoint.kept == len(files(done))
    assert [path.name for path in files(folder)] == [path.name for path in files(done)]


def test_a_classifier_keeps_its_calibration_and_history(tmp_path):
    def once():
        model = MonotonicClassifier(n_estimators=4, random_state=1).fit(X, Y > 0)
        return model.frozen_.digest, model.calibration_, [entry["validation_loss"] for entry in model.history_]

    expected = once()
    for _ in range(2):
        with Checkpoint(tmp_path, FACTS).watching():
            assert once() == expected


def test_other_rows_options_or_seeds_find_nothing(done: Path, tmp_path):
    shutil.copytree(done, tmp_path / "c")
    checkpoint = Checkpoint(tmp_path / "c", FACTS)
    with checkpoint.watching():
        MonotonicRegressor(monotonic_cst=[1, -1, 0], random_state=1).fit(X, Y)
        MonotonicRegressor(monotonic_cst=[1, -1, 0], random_state=0).fit(X, Y + 1e-6 * X[:, 2])
        MonotonicRegressor(monotonic_cst=[1, 0, 0], random_state=0).fit(X, Y)
    assert checkpoint.found == 0
    assert checkpoint.kept > 0


def test_what_time_has_ended_is_not_kept(tmp_path):
    checkpoint = Checkpoint(tmp_path, FACTS)
    with checkpoint.watching():
        fit(max_time=1e-9, hidden_layer_sizes=(256, 256))  # its first training takes longer than the least limit
    assert checkpoint.kept == 0
    fit()  # outside the block nobody watches
    assert not files(tmp_path)


def test_other_facts_are_refused_by_name(done: Path):
    Checkpoint(done, FACTS)
    with pytest.raises(CheckpointError, match="another seed: 0 then, 1 now; repeat"):
        Checkpoint(done, {**FACTS, "seed": 1})
    with pytest.raises(CheckpointError, match=r"another more: null then, 2 now \(and another seed\)"):
        Checkpoint(done, {**FACTS, "seed": 1, "more": 2})


@pytest.mark.parametrize(
    "head", [b"", b"{", b"[]", b'{"format": "monolip.checkpoint", "version": 9, "facts": {}}', b"[" * 9999]
)
def test_a_damaged_head_is_refused(head, tmp_path):
    (tmp_path / "fit.json").write_bytes(head)
    with pytest.raises(CheckpointError, match="start afresh"):
        Checkpoint(tmp_path, FACTS)


def test_a_damaged_or_exchanged_training_is_refused(done: Path, tmp_path):
    folder = tmp_path / "c"
    shutil.copytree(done, folder)
    first, second, *_ = files(folder)
    good, rng, expected = first.read_bytes(), np.random.default_rng(0), fit().frozen_.digest
    length = 8 + int.from_bytes(good[:8], "little")
    places = [*rng.integers(0, length, 20), *rng.integers(length, len(good), 10)]
    cases = [good[:at] + bytes([good[at] ^ (1 << int(rng.integers(8)))]) + good[at + 1 :] for at in places]
    for data in [*cases, b"", good[:40], good[:-1], good + b"\0", second.read_bytes()]:
        first.write_bytes(data)
        checkpoint = Checkpoint(folder, FACTS)
        try:
            with checkpoint.watching():
                model = fit()
        except CheckpointError:
            continue
        assert model.frozen_.digest == expected  # a blank in the header says the same
    first.write_bytes(second.read_bytes())
    with pytest.raises(CheckpointError, match="seal"), Checkpoint(folder, FACTS).watching():
        fit()


def test_only_what_a_checkpoint_wrote_is_removed(done: Path, tmp_path):
    folder = tmp_path / "c"
    shutil.copytree(done, folder)
    (folder / "notes.txt").write_text("mine")
    assert Checkpoint.exists(folder)
    remove_checkpoint(folder)
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert not Checkpoint.exists(folder)
    (folder / "notes.txt").unlink()
    Checkpoint(folder, FACTS).discard()
    assert not folder.exists()
    remove_checkpoint(folder)


def test_the_head_is_readable_json(done: Path):
    assert json.loads((done / "fit.json").read_text())["facts"] == FACTS


def test_models_of_the_user_beside_a_checkpoint_are_left_alone(tmp_path):
    model = tmp_path / "best_model.safetensors"
    model.write_bytes(b"mine")
    checkpoint = Checkpoint(tmp_path, {"seed": 0})
    assert checkpoint.fresh
    assert not Checkpoint.exists(tmp_path)  # nothing was trained yet
    checkpoint.withdraw()
    Checkpoint(tmp_path, {"seed": 1}).discard()
    assert [path.name for path in tmp_path.iterdir()] == ["best_model.safetensors"]
    assert model.read_bytes() == b"mine"


def test_a_checkpoint_that_nothing_was_kept_in_may_be_begun_by_another_fit(tmp_path):
    Checkpoint(tmp_path / "fit", {"seed": 0})
    Checkpoint(tmp_path / "fit", {"seed": 1})
    (tmp_path / "fit" / f"{'0' * 64}.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match="of another seed: 1 then, 2 now"):
        Checkpoint(tmp_path / "fit", {"seed": 2})


def test_a_folder_that_cannot_be_removed_hides_no_error(tmp_path):
    (tmp_path / "place").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "place")
    Checkpoint(tmp_path / "link", {"seed": 0}).discard()
    Checkpoint(tmp_path / "link", {"seed": 0}).withdraw()
    assert list((tmp_path / "place").iterdir()) == []
    made = Checkpoint(tmp_path / "made", {"seed": 0})
    made.withdraw()
    assert not (tmp_path / "made").exists()
