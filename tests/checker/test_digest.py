"""The model file and the certificate belong together: recomputed with the standard library alone."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from monolip.certify import certify
from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import FrozenFileError
from monolip.frozen import FrozenNetwork
from monolip.output_link import OutputLink

from .documents import CHECKER, networks

DIGEST = CHECKER.with_name("monolip_digest.py")


def run(*arguments):
    command = [sys.executable, "-I", "-S", "-W", "error", str(DIGEST), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize("name", ["raw, classes", "L1 to L1", "slope set"])
def test_the_digest_of_a_file_is_that_of_its_network(name, tmp_path):
    network = networks()[name]
    network.save(tmp_path / "model")
    certify(network).save(tmp_path / "c.json")
    assert run(tmp_path / "model", tmp_path / "c.json") == (0, network.digest)


def test_a_certificate_of_another_network_is_rejected(tmp_path):
    networks()["raw"].save(tmp_path / "model")
    certify(networks()["convex"]).save(tmp_path / "c.json")
    status, said = run(tmp_path / "model", tmp_path / "c.json")
    assert (status, said[:8]) == (1, "REJECTED")
    assert networks()["raw"].digest in said
    assert networks()["convex"].digest in said
    assert "Error" not in said  # what is wrong, not how it was raised


def test_a_file_that_names_another_class_or_target_is_rejected(tmp_path):
    network = replace(networks()["raw"], link=OutputLink("logit", ("bad", "good"), 0, "loan"))
    network.save(tmp_path / "model")
    certify(network).save(tmp_path / "c.json")
    assert run(tmp_path / "model", tmp_path / "c.json") == (0, network.digest)
    data = (tmp_path / "model").read_bytes()
    for old, new in (
        (rb"\"positive\": 0", rb"\"positive\": 1"),
        (rb"\"loan\"", rb"\"home\""),
        (rb"\"bad\"", rb"\"sad\""),
    ):
        assert data.count(old) == 1
        (tmp_path / "changed").write_bytes(data.replace(old, new))
        status, said = run(tmp_path / "changed", tmp_path / "c.json")
        assert (status, said[:8]) == (1, "REJECTED")
        with pytest.raises(FrozenFileError, match="does not match its digest"):
            FrozenNetwork.load(tmp_path / "changed")
    for link in (OutputLink("logit", ("bad", "good"), 1, "loan"), OutputLink("logit", ("bad", "good"), 0, "home")):
        replace(network, link=link).save(tmp_path / "other")
        status, said = run(tmp_path / "other", tmp_path / "c.json")
        assert (status, said[:8]) == (1, "REJECTED")


def test_damaged_model_files_are_rejected(tmp_path):
    networks()["raw"].save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert "__metadata__" in header
    changes = [b"", data[:100], data + b"x", data[:-8], data[:-1] + bytes([data[-1] ^ 1]), b"\xff" * 8 + data[8:]]
    changes.append(data.replace(b"age", b"wage"[:3], 1).replace(b"debt", b"dept"))
    for changed in changes:
        (tmp_path / "changed").write_bytes(changed)
        assert run(tmp_path / "changed")[0] == 1
    assert run(tmp_path / "no such file")[0] == 1
    assert run()[0] == 1


@pytest.mark.parametrize("fixed", [False, True])
def test_a_file_whose_types_were_swapped_is_rejected(fixed, tmp_path):
    """The digest covers bytes: integers read as floats are another network of the same digest."""
    network = networks()["convex"]
    network = compile_fixed_point(network, input_ranges=[(-4.0, 4.0)] * network.n_features) if fixed else network
    network.save(tmp_path / "model")
    assert run(tmp_path / "model") == (0, network.digest)
    data = (tmp_path / "model").read_bytes()
    swap = {b"F64": b"I64", b"I64": b"F64"}
    for kind in swap:
        for at in [at for at in range(len(data)) if data[at : at + 3] == kind]:
            (tmp_path / "changed").write_bytes(data[:at] + swap[kind] + data[at + 3 :])
            status, said = run(tmp_path / "changed")
            assert (status, said[:8]) == (1, "REJECTED")
