"""After the end-to-end run: the independent checker proves its heads; writes chest_end_to_end.json beside it.

python paper/table1/chest_certify.py FOLDER      the folder given as --out to chest_end_to_end.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from monolip import FrozenNetwork
from monolip.certify import certify
from paper.results_file import PAPER

COMMAND = "python paper/table1/chest_end_to_end.py --data FOLDER --out FOLDER --epochs {epochs} --seeds {seeds}"


def main(folder: Path, goal: Path | None = None) -> dict[str, Any]:
    found = json.loads((folder / "chest_end_to_end.json").read_text(encoding="utf-8"))
    heads = sorted(folder.glob("chest_head_*.safetensors"))
    proved = []
    for path in heads:
        network = FrozenNetwork.load(path)
        answer = certify(network).check().splitlines()[0]
        form = network.members[0][0].form
        parameters = sum(w.size for w in form.weights) + sum(b.size for b in form.biases)
        low, high = network.slopes.lower, network.slopes.upper
        proved.append(
            {"answer": answer, "parameters": int(parameters), "lower": low[:2].tolist(), "upper": high[:2].tolist()}
        )
    content = {
        "command": COMMAND.format(epochs=found["epochs"], seeds=len(found["monolip"])),
        "versions": {"torch": found.pop("torch")},
        "machine": {"accelerator": found.pop("device")},
        "seconds": round(sum(row["seconds"] for kind in ("monolip", "unconstrained head") for row in found[kind]), 1),
        "numbers": {**found, "certificates": proved},
    }
    goal = PAPER / "table1" / "chest_end_to_end.json" if goal is None else goal
    goal.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return content


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))["numbers"]["certificates"][0]))
