r"""ParityReport: the artefact itself, run and compared with Python, and scanned for broken directions.

    max difference    max |artefact(x) - reference(x)|      0 where both promise the same bits
    drops             pairs x < x' in one feature with a certified direction whose outputs are in the wrong order

Inputs are random, at boundaries (knots and their neighbours), and extreme (infinities, denormals, the largest floats).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.certify.certificate import Certificate
from monolip.export.parity_inputs import Network, directions_of, parity_inputs, steps_along
from monolip.sealed_file import named_path, writing_to

__all__ = ["ParityReport", "ParityRow", "measure_parity"]

Array = NDArray[Any]
Evaluate = Callable[[NDArray[np.float64]], Array]

_KINDS = ("random", "boundary", "extreme")


@dataclass(frozen=True)
class ParityRow:
    """One kind of inputs: rows compared, how far apart, in how many outputs; pairs scanned, and drops among them.

    beyond: differences and drops that rounding does not explain (see `parity_room`); all, where bits are promised.
    """

    inputs: str
    rows: int
    max_difference: float
    different: int
    pairs: int
    drops: int
    largest_drop: float
    beyond: int = 0


@dataclass(frozen=True)
class ParityReport:
    """What was measured of one artefact; `measured` is False where this machine cannot run it (`how` says why).

    The table compares with the certified network of that arithmetic (`digest`). Where that is not the trained one but
    made from it (float32, fixed point), `from_trained` says how far f moved, on inputs where training data lie.

    Examples:
        >>> row = ParityRow("random", 100, 0.0, 0, 400, 0, 0.0)
        >>> print(ParityReport("c", "float64", "model.h", "ab" * 32, "cd" * 32, True, (row,), "gcc -O3"))
        c, float64, network abababababab: the same bits, no drop (gcc -O3)
        inputs  rows  max difference  different  pairs  drops  largest drop
        random  100   0               0          400    0      0
    """

    exporter: str
    arithmetic: str
    path: str
    digest: str
    certificate: str
    exact: bool
    rows: tuple[ParityRow, ...]
    how: str
    from_trained: float | None = None

    @property
    def measured(self) -> bool:
        return bool(self.rows)

    @property
    def max_difference(self) -> float:
        return max((row.max_difference for row in self.rows), default=float("nan"))

    @property
    def drops(self) -> int:
        return sum(row.drops for row in self.rows)

    @property
    def passed(self) -> bool | None:
        """Where the same bits are promised: the same bits, no direction broken; else both up to rounding.

        None where nothing was measured: `how` says why.
        """
        if not self.measured:
            return None
        if self.exact:
            return not self.drops and not any(row.different for row in self.rows)
        return not any(row.beyond for row in self.rows)

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"measured": self.measured, "passed": self.passed}, indent=1)

    def save(self, path: str | PathLike[str]) -> None:
        target = named_path(path)
        with writing_to(target):
            target.write_text(self.to_json() + "\n", encoding="utf-8")

    def __str__(self) -> str:
        head = f"{self.exporter}, {self.arithmetic}, network {self.digest[:12]}: "
        if not self.measured:
            return f"{head}written, not run ({self.how})"
        same = "the same bits" if not any(row.different for row in self.rows) else f"within {self.max_difference:.3g}"
        head += f"{same}, {self.drops or 'no'} drop{'s' if self.drops > 1 else ''} ({self.how})"
        cells = [["inputs", "rows", "max difference", "different", "pairs", "drops", "largest drop"]]
        for row in self.rows:
            numbers = (row.rows, row.max_difference, row.different, row.pairs, row.drops, row.largest_drop)
            cells.append([row.inputs, *(f"{v:.3g}" if isinstance(v, float) else str(v) for v in numbers)])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ("  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells)
        moved = [] if self.from_trained is None else [f"from the trained model: at most {self.from_trained:.3g} in f"]
        return "\n".join([head, *lines, *moved])

    __repr__ = __str__


def measure_parity(
    artefact: Evaluate,
    reference: Evaluate,
    network: Network,
    certificate: Certificate,
    *,
    rows: int = 2000,
    seed: int = 0,
    room: Evaluate | None = None,
) -> tuple[ParityRow, ...]:
    """Run the artefact: raw rows (n, raw columns), categories as codes -> outputs (n, n_outputs).

    room: how far apart rounding may put artefact and reference, (n, n_outputs); default: not at all.
    """
    room = room or _no_room
    rng = np.random.default_rng(seed)
    directions, found = directions_of(network, certificate), []
    for kind in _KINDS:
        x = parity_inputs(network, kind, rows, rng)
        a, b = np.asarray(artefact(x)), np.asarray(reference(x))
        pairs, drops, largest, beyond = _scan(artefact, network, directions, kind, rows, rng, room)
        with np.errstate(invalid="ignore"):
            gap = np.abs(a.astype(np.float64) - b.astype(np.float64))
        same = (a == b) | ((a != a) & (b != b))
        gap = np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))
        beyond += int((~same & ((gap > room(x)) | (a != a) | (b != b))).sum())
        found.append(ParityRow(kind, len(x), float(gap.max()), int((~same).sum()), pairs, drops, largest, beyond))
    return tuple(found)


def _no_room(x: NDArray[np.float64]) -> Array:
    return np.zeros((len(x), 1))


def _scan(
    artefact: Evaluate,
    network: Network,
    directions: Any,
    kind: str,
    rows: int,
    rng: np.random.Generator,
    room: Evaluate,
) -> tuple[int, int, float, int]:
    """Pairs, drops, the largest drop, and drops that rounding does not explain."""
    pairs = drops = beyond = 0
    largest = 0.0
    features = sorted({i for i, _, _ in directions})
    for i in features:
        low, high = steps_along(network, i, kind, max(50, rows // len(features)), rng)
        below, above = np.asarray(artefact(low)), np.asarray(artefact(high))
        most = np.broadcast_to(room(low) + room(high), below.shape)
        for _, k, sign in (d for d in directions if d[0] == i):
            f, g = below[:, k], above[:, k]
            wrong = g < f if sign > 0 else g > f if sign < 0 else g != f
            wrong = wrong | ((f != f) != (g != g))  # half a pair is no pair
            pairs, drops = pairs + len(f), drops + int(wrong.sum())
            if wrong.any():
                gap = np.nan_to_num(np.abs(f[wrong].astype(np.float64) - g[wrong].astype(np.float64)), nan=np.inf)
                largest, beyond = max(largest, float(gap.max())), beyond + int((gap > most[wrong, k]).sum())
    return pairs, drops, largest, beyond
