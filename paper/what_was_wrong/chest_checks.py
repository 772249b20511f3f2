"""ChestXRay: thresholds on logits, raw features, an aliased checkpoint, patients on both sides, BatchNorm, ages."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from paper.datasets.chest_images import FIRST, SAMPLE, read_chest
from paper.datasets.chestxray import load_chest_substitute
from paper.datasets.data_set import DataSet
from paper.datasets.files import find
from paper.end_to_end.resnet18 import read_backbone
from paper.end_to_end.training import Branch
from paper.table1.scores import best_accuracy
from paper.table1.small_network import Inputs, Small, outputs, train_small
from paper.table1.tasks import CALMER, ZERO_ONE
from paper.what_was_wrong.finding import Finding
from paper.what_was_wrong.runs import mean_sd

__all__ = ["age_units", "aliased_checkpoint", "never_in_eval_mode", "patients_on_both_sides", "thresholds_on_logits"]

LOGITS = np.linspace(0, 1, 50)  # what chest_classify.py compares logits with


@cache
def _data(mode: str = "eval_mode") -> DataSet:
    return load_chest_substitute(mode)


def _split(data: DataSet, seed: int, by_patient: bool) -> tuple[np.ndarray, np.ndarray]:
    if by_patient:
        return next(GroupShuffleSplit(1, test_size=0.2, random_state=seed).split(data.X, data.y, data.groups))
    return next(ShuffleSplit(1, test_size=0.2, random_state=seed).split(data.X))


@cache
def _scores(mode: str, by_patient: bool, scaled: bool, seed: int, epochs: int) -> Any:
    """(f of test rows, y of test rows) of the paper-sized network on the substitute."""
    data = _data(mode)
    train, test = _split(data, seed, by_patient)
    raw = data.X.to_numpy()
    Z = Inputs.of(raw[train], False)(raw) if scaled else raw
    result = train_small(Small((2, 2), 1.0, epochs, options=CALMER), Z, data.y, data.signs, train, True, seed)
    return outputs(result.network, Z[test]), data.y[test]


def _accuracy(found: Any) -> float:
    f, y = found
    return 100 * float(np.mean((f > 0) == y))


def thresholds_on_logits(fast: bool) -> Finding:
    seeds, epochs = range(2 if fast else 5), 5 if fast else 20
    runs = {name: [_scores("eval_mode", True, scaled, s, epochs) for s in seeds] for name, scaled in
            (("scaled", True), ("raw", False))}  # fmt: skip
    logits = [100 * best_accuracy(f, y, LOGITS) for f, y in runs["scaled"]]
    chances = [100 * best_accuracy(f, y, ZERO_ONE) for f, y in runs["scaled"]]
    plain = {name: [_accuracy(found) for found in runs[name]] for name in runs}
    lowest, highest = 1 / (1 + np.exp(-LOGITS[0])), 1 / (1 + np.exp(-LOGITS[-1]))
    assert (round(lowest, 2), round(highest, 2)) == (0.5, 0.73)
    return Finding(
        "chest_classify.py",
        "thresholds between 0 and 1 are compared with *logits*; age and follow-up number enter unscaled",
        f"those thresholds are probabilities of {lowest:.2f} to {highest:.2f}; best on test over them "
        f"{mean_sd(logits)} %, "
        f"over probabilities 0 to 1 {mean_sd(chances)} % (substitute images, patients apart)",
        f"at threshold 1/2, {mean_sd(plain['raw'])} % with raw columns, {mean_sd(plain['scaled'])} % with standardised "
        "ones",
        {"logits": logits, "chances": chances, **plain},
    )


def aliased_checkpoint(fast: bool) -> Finding:
    """state_dict() returns the live tensors."""
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1)
    kept, copied = net.state_dict(), {name: value.clone() for name, value in net.state_dict().items()}
    optimiser = torch.optim.Adam(net.parameters(), lr=0.1)
    net(torch.randn(8, 3)).square().mean().backward()
    optimiser.step()
    same = all(torch.equal(kept[name], value) for name, value in net.state_dict().items())
    moved = any(not torch.equal(copied[name], value) for name, value in net.state_dict().items())
    assert same
    assert moved
    return Finding(
        "chest_classify.py",
        "`statedict = model.state_dict()` at the best epoch keeps references, not values",
        "after one more step of the optimiser the kept dictionary equals the *new* weights",
        "the saved best checkpoint, which the end-to-end run starts from, is the last epoch's; clone the tensors",
    )


def patients_on_both_sides(fast: bool) -> Finding:
    data, epochs = _data(), 5 if fast else 20
    assert data.groups is not None
    train, test = _split(data, 0, False)
    known = float(np.isin(data.groups[test], data.groups[train]).mean())
    assert known > 0.5
    seeds = range(2 if fast else 5)
    leaky, clean = ([_accuracy(_scores("eval_mode", by, True, s, epochs)) for s in seeds] for by in (False, True))
    return Finding(
        "chest_classify*.py",
        "images are split at random, though a patient has several",
        f"in the substitute {100 * known:.0f} % of the test images show a patient of the training set",
        f"accuracy {mean_sd(leaky)} % on random splits, {mean_sd(clean)} % when patients are kept apart",
        {"known": known, "leaky": leaky, "clean": clean},
    )


@torch.no_grad()
def _batch_effect() -> tuple[float, float]:
    """Largest and root mean square change of the features of 8 X-rays, alone and in a batch of 16, in deviations."""
    images = torch.tensor(read_chest(16, (FIRST,)).images)[:, None] / 255
    torch.set_num_threads(1)
    net = Branch(read_backbone()).train()
    whole, half = net(images)[:8], net(images[:8])
    change = (whole - half) / whole.std()
    net.eval()
    assert torch.allclose(net(images)[:8], net(images[:8]), atol=1e-4)
    return float(change.abs().max()), float(change.square().mean().sqrt())


def never_in_eval_mode(fast: bool) -> Finding:
    """BatchNorm in training mode: a prediction depends on the other rows of its batch."""
    change, typical = _batch_effect()
    assert change > 0.05
    seeds, epochs = range(2 if fast else 5), 5 if fast else 20
    modes = {mode: [_accuracy(_scores(mode, True, True, s, epochs)) for s in seeds]
             for mode in ("train_mode_bs128", "eval_mode")}  # fmt: skip
    return Finding(
        "chest_apply_resnet.py, chest_classify_finetuning.py",
        "the ResNet is never switched to eval mode: BatchNorm uses the statistics of the test batch",
        f"features of the same 8 X-rays (substitute images, ImageNet-trained ResNet18) change by up to {change:.2f} "
        f"standard deviations of the features when 8 more are in the batch, {typical:.2f} in root mean square",
        f"accuracy on features of training mode {mean_sd(modes['train_mode_bs128'])} %, of eval mode "
        f"{mean_sd(modes['eval_mode'])} %; only the second is a function of the image",
        {"change": change, "typical": typical, **modes},
    )


def age_units(fast: bool) -> Finding:
    import pandas as pd

    ages = pd.read_csv(find(SAMPLE.labels, SAMPLE.how_labels), usecols=["Patient Age"])["Patient Age"]
    other = ages[~ages.str.endswith("Y")].tolist()
    assert len(other) == 2
    return Finding(
        "chest_preprocessing.py",
        "the unit of an age (Y, M, D) is dropped",
        f"{len(other)} of {len(ages):,} ages are in other units: {', '.join(other)}",
        "months and days become years; two rows change",
        {"rows": len(ages), "other": other},
    )
