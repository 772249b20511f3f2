"""The engine's public names, and freezing what they trained: proved or refused, the same function."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from monolip import SlopeBounds, engine
from monolip.certify import certify
from monolip.engine import Architecture, NetworkArrays, Problem, TrainingOptions, freeze, train
from monolip.errors import FreezeError

SLOPES = SlopeBounds([0.0, -1.0], [2.0, 0.0])


def trained(paper_form: bool = False, outputs: int = 1) -> tuple[NetworkArrays, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(200, 2))
    y = np.stack([np.tanh((k + 1) * x[:, 0]) - x[:, 1] for k in range(outputs)], axis=1)
    shape = Architecture(hidden=(4, 4), fan_in=None, paper_form=paper_form)
    lower, upper = (np.tile(bound, (outputs, 1)) for bound in (SLOPES.lower, SLOPES.upper))
    problem = Problem(x, y, lower, upper, architecture=shape, double=True)
    return train(problem, TrainingOptions(n_steps=60)).network, x


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_frozen_network_is_the_trained_one_and_its_promise_is_proved(outputs: int) -> None:
    network, x = trained(outputs=outputs)
    frozen = freeze(network, SLOPES)
    z = x
    for layer, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        z = z @ weight.T + bias
        if layer < len(network.group_sizes):
            z = np.sort(z.reshape(len(z), -1, network.group_sizes[layer]), axis=2).reshape(len(z), -1)
    assert np.allclose(frozen.evaluate(x), z, atol=1e-9)
    assert certify(frozen).check().startswith("PROVED")


def test_what_breaks_the_promise_or_has_a_residual_is_refused() -> None:
    network, _ = trained()
    steep = network._replace(weights=(network.weights[0] + 5.0, *network.weights[1:]))
    with pytest.raises(FreezeError):
        freeze(steep, SLOPES)
    with pytest.raises(FreezeError, match=r"frozen in convex form; got one of paper form, with a residual; train with"):
        freeze(trained(paper_form=True)[0], SLOPES)


def test_public_names_are_there_and_importing_the_engine_loads_nothing_heavy() -> None:
    assert all(getattr(engine, name) is not None for name in engine.__all__)
    assert set(engine.__all__) <= set(dir(engine))
    with pytest.raises(AttributeError, match="no attribute 'unknown'"):
        engine.unknown  # noqa: B018
    program = "import monolip.engine, sys; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "torch", "sklearn"} & set(loaded)
