"""The checker proves every certificate monolip writes, alone: without monolip, numpy or any other package."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from monolip.certify import certify
from monolip.certify.checker import checker_path
from monolip.convex import ConvexForm, on_simplex
from monolip.frozen import FrozenNetwork, Trunk
from monolip.slopes import SlopeBounds

from ..make import convex, paper
from .documents import CHECKER, accepts, checker, documents, networks


@pytest.mark.parametrize("name", networks())
def test_every_kind_of_network_is_accepted(name, tmp_path, capsys):
    assert accepts(tmp_path, documents(name))
    said = capsys.readouterr().out
    assert said.startswith("PROVED: real+ordered claims about network " + networks()[name].digest)


def test_what_was_proved_is_printed_feature_by_feature(tmp_path, capsys):
    assert accepts(tmp_path, documents("raw, free branch"))
    said = capsys.readouterr().out.splitlines()
    assert said[2] == "claims are about P(y = True): f is its log-odds"
    assert [line.split(":")[0].strip() for line in said[3:]] == ['"age"', '"debt"', '"dose"', '"grade"', '"city"']
    assert "increasing [" in said[3]
    assert "missing: state" in said[3]
    assert said[4].endswith("missing: lowest")
    assert said[6].endswith("increasing; missing: lowest")
    assert said[7] == '  "city": free'


@pytest.mark.parametrize("depth", range(1, 9))
@pytest.mark.parametrize("group_size", [1, 2, 3, "full"])
def test_depths_and_group_sizes(depth, group_size, tmp_path):
    rng = np.random.default_rng(depth)
    box = SlopeBounds([0.0, -1.5, -1.0], [2.0, 0.0, 1.0])
    form = convex(rng, [3, *[6] * (depth - 1), 2], group_size, box)
    network = FrozenNetwork(box, ((Trunk(form, (1, 0)),),))
    assert accepts(tmp_path, certify(network).to_json())


@pytest.mark.parametrize("depth", range(1, 5))
def test_paper_form_that_was_not_converted(depth, tmp_path):
    box = SlopeBounds([0.0, -1.5, -1.0], [2.0, 0.0, 1.0])
    form = paper(np.random.default_rng(depth), [3, *[6] * depth, 1], 2, box)
    assert accepts(tmp_path, certify(FrozenNetwork(box, ((Trunk(form, (0,)),),))).to_json())


def test_extreme_but_valid_numbers(tmp_path):
    tiny, huge = 5e-324, 1e200
    first = [[tiny, huge], [0.0, -huge]]
    form = ConvexForm((first, [[0.5, 0.5]]), ([1e100, -tiny], [0.0]), (2,))
    network = FrozenNetwork(SlopeBounds([0.0, -huge], [1.0, huge]), ((Trunk(form, (0,)),),))
    assert accepts(tmp_path, certify(network).to_json())


def test_it_runs_alone_and_imports_the_standard_library_only(tmp_path):
    certify(networks()["raw"]).save(tmp_path / "c.json")
    command = [sys.executable, "-I", "-S", "-W", "error", str(CHECKER), str(tmp_path / "c.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(CHECKER.read_text()))
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else
            [node.module] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    assert imported <= set(sys.stdlib_module_names)


def test_it_is_one_short_file_and_the_package_finds_it():
    assert len(CHECKER.read_text().splitlines()) <= 400
    assert checker_path() == CHECKER


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["no such file"], [str(Path(__file__).parent)]])
def test_wrong_use_is_a_rejection(arguments, capsys):
    assert checker.main(arguments) == 1
    assert capsys.readouterr().out.startswith("REJECTED")


@pytest.mark.parametrize("arguments", [[], ["model.safetensors"], ["a.json", "b.json"]])
def test_wrong_use_says_what_to_give(arguments, capsys):
    assert checker.main(arguments) == 1
    assert "give one CERTIFICATE.json (Certificate.save), no model" in capsys.readouterr().out


def big_network(n_features, width):
    rng = np.random.default_rng(0)
    box = SlopeBounds(np.where(np.arange(n_features) % 2, 0.0, -1.0), np.ones(n_features))
    first = np.clip(rng.normal(size=(width, n_features)), box.lower, box.upper)
    later = [on_simplex(rng.random(shape)) for shape in ((width, width), (width, width), (1, width))]
    biases = [rng.normal(size=len(w)) for w in (first, *later)]
    return FrozenNetwork(box, ((Trunk(ConvexForm((first, *later), tuple(biases), (2, 2, 2)), (0,)),),))


def test_time_grows_no_faster_than_the_weights(tmp_path):
    document = certify(big_network(60, 160)).to_json()  # 61 thousand weights, 1.2 % of five million
    start = time.process_time()
    assert accepts(tmp_path, document)
    assert time.process_time() - start < 1.0


@pytest.mark.slow
def test_five_million_weights_in_ten_seconds(tmp_path):
    network = big_network(700, 1500)
    assert sum(w.size for w in network.members[0][0].form.weights) > 5_000_000
    document = certify(network).to_json()
    start = time.process_time()
    assert accepts(tmp_path, document)
    assert time.process_time() - start < 10.0
