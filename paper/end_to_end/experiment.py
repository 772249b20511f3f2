"""ChestXRay end to end under both protocols, with an unconstrained head as the peer; the heads are certified.

`honest`: the epoch is chosen on validation patients at threshold one half; then the network is trained again on
training and validation patients, and its test score after that epoch is the result. `paper`: of that second training,
the best epoch and threshold on test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from monolip import FrozenNetwork
from monolip.certify import certify
from paper.datasets.chest_images import Chest, patient_split, read_chest
from paper.end_to_end import OURS, THEIRS
from paper.end_to_end.resnet18 import read_backbone
from paper.end_to_end.training import train
from paper.missing_data import MissingDataError
from paper.results_file import recording
from paper.table1.scores import accuracy, best_accuracy

__all__ = ["main", "one_seed"]

EPOCHS, SEEDS, BATCH = 8, 5, 64
SMALL = {"rows": 96, "every": 4, "epochs": 2, "seeds": 1}
P = np.linspace(1e-9, 1 - 1e-9, 50)
THRESHOLDS = np.log(P) - np.log1p(-P)
NO_GPU = (
    "the end-to-end networks are trained on a CUDA GPU; torch finds none on this machine; run `python paper/run.py "
    "end_to_end` where there is one (about five minutes on one NVIDIA H200, with the files of $MONOLIP_DATA/chestxray "
    "and /resnet18) and copy paper/results/end_to_end.json and paper/figures/end_to_end.png here, or use --fast for a "
    "small version on a CPU; the report shows the committed results and their machine."
)


def main(fast: bool) -> None:
    """Writes end_to_end.json."""
    cuda = torch.cuda.is_available()
    if not fast and not cuda:
        raise MissingDataError(NO_GPU)
    chest = read_chest(SMALL["rows"] if fast else None)
    if fast:
        chest = chest._replace(images=np.ascontiguousarray(chest.images[:, :: SMALL["every"], :: SMALL["every"]]))
    epochs, seeds = (SMALL["epochs"], SMALL["seeds"]) if fast else (EPOCHS, SEEDS)
    device = "cuda" if cuda else "cpu"
    with recording("end_to_end", fast=fast, packages=("monolip", "numpy", "torch")) as numbers:
        numbers |= {
            "device": torch.cuda.get_device_name() if cuda else "CPU",
            "substitute": chest.substitute,
            "rows": len(chest.y),
            "patients": len(np.unique(chest.patients)),
            "epochs": epochs,
            "batch": BATCH,
            "seeds": seeds,
        }
        for kind in (OURS, THEIRS):
            numbers[kind] = [one_seed(kind, chest, seed, epochs, device) for seed in range(seeds)]


def one_seed(kind: str, chest: Chest, seed: int, epochs: int, device: str) -> dict[str, Any]:
    """Accuracies in percent, the epoch chosen, curves over epochs, seconds; what is proved of our head."""
    fit, valid, test = patient_split(chest.patients, seed)
    first = train(kind, chest, read_backbone(), fit, valid, seed, epochs, BATCH, device)
    judged = [100 * accuracy(f, chest.y[valid]) for f in first.scores]
    chosen = int(np.argmax(judged))
    again = train(
        kind, chest, read_backbone(), np.sort(np.r_[fit, valid]), test, seed, epochs, BATCH, device, keep=chosen
    )
    y = chest.y[test]
    row: dict[str, Any] = {
        "honest": 100 * accuracy(again.scores[chosen], y),
        "paper": 100 * max(best_accuracy(f, y, THRESHOLDS) for f in again.scores),
        "epoch": chosen + 1,
        "seconds": round(first.seconds + again.seconds, 1),
        "validation": judged,
        "test": [100 * accuracy(f, y) for f in again.scores],
    }
    if again.head is not None:
        row["certificate"] = proved(again.head)
    print(
        f"  {kind}, seed {seed}: {row['honest']:.2f} % ({row['paper']:.2f} % looked at), {row['seconds']} s", flush=True
    )
    return row


def proved(head: FrozenNetwork) -> dict[str, Any]:
    """What the independent checker says of a head, its parameters, and the slopes promised in follow-up and age."""
    form = head.members[0][0].form
    low, high = head.slopes.lower, head.slopes.upper
    return {
        "answer": certify(head).check().splitlines()[0],
        "parameters": int(sum(w.size for w in form.weights) + sum(b.size for b in form.biases)),
        "lower": low[:2].tolist(),
        "upper": high[:2].tolist(),
    }
