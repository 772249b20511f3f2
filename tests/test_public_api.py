"""The public names, pinned: adding or losing one is a decision, not an accident."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import monolip

PUBLIC = {
    "monolip": {
        "Certificate", "ConvexForm", "FitOptions", "FixedPointNetwork", "FrozenNetwork", "MonotonicClassifier",
        "MonotonicRegressor",
        "Norm", "PaperForm", "Rule", "SlopeBounds", "SlopeSet", "__version__", "audit", "certify",
        "engine", "errors", "export", "nn", "report",
    },
    "monolip.engine": {
        "Architecture", "Loss", "NetworkArrays", "Problem", "Snapshot", "TrainingOptions", "TrainingResult", "freeze",
        "train",
    },
    "monolip.certify": {
        "AuditReport", "Certificate", "CertifiedRadii", "Claim", "FeatureRadii", "Flip", "audit", "certified_radius",
        "certify", "checker_path", "compile_fixed_point", "feature_radii", "fixed_point_radius", "require_certifiable",
        "smallest_flip",
    },
    "monolip.report": {
        "Comparison", "Explanation", "compare", "explain",
        "plot_audit", "plot_certificate", "plot_certified_accuracy", "plot_heatmap", "plot_history", "plot_shapes",
        "write_report",
    },
    "monolip.errors": {
        "ArgumentError", "CertificateError", "CheckpointError", "FreezeError", "FrozenFileError", "InputError",
        "MissingExtraError", "MonolipError",
        "NormChainError", "PrecisionError", "PromiseError", "PromiseWarning", "SlopeError", "StructureError",
    },
    "monolip.nn": {
        "ConvexMLP", "Fit", "FitPlan", "GroupSort", "Householder", "Lanes", "LipschitzConv2d", "LipschitzLinear",
        "LipschitzMLP",
        "LipschitzModule", "LipschitzSequential", "MixingLinear", "SlopeBounded", "SlopeLinear",
        "TemperatureCrossEntropy", "Verification", "WithFreeBranch", "fit", "init", "parameter_groups",
        "process_group", "project_", "start_network", "verify",
    },
}  # fmt: skip


@pytest.mark.parametrize("module", sorted(PUBLIC))
def test_public_names_are_exactly_these(module: str) -> None:
    home = importlib.import_module(module)
    assert set(home.__all__) == PUBLIC[module]
    for name in home.__all__:
        assert getattr(home, name) is not None


def test_dir_lists_the_public_names() -> None:
    assert set(monolip.__all__) <= set(dir(monolip))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'ConvexMLPP'"):
        _ = monolip.ConvexMLPP


def test_without_torch_the_error_is_the_line_that_installs_it() -> None:
    code = "import sys; sys.modules['torch'] = None\nimport monolip\nmonolip.SlopeBounds([0.0], [1.0])\nmonolip.nn"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert 'pip install ".[torch]"' in run.stderr.splitlines()[-1]
