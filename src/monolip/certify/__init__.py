"""Proofs about frozen networks: certificates, integers, robustness radii; and an audit of any model.

>>> from monolip.certify import certify
>>> certify.__name__
'certify'
"""

from __future__ import annotations

from typing import Any

from monolip.lazy_names import lazy_name

# Where each public name lives. Loaded on first use, so that a fit does not pay for what only an audit needs.
_HOMES = {
    "AuditReport": "audit_report",
    "Certificate": "certificate",
    "CertifiedRadii": "robustness",
    "Claim": "certificate",
    "FeatureRadii": "robustness_feature",
    "Flip": "milp",
    "audit": "auditing",
    "certified_radius": "robustness",
    "certify": "certificate",
    "checker_path": "checker",
    "compile_fixed_point": "fixed_point",
    "feature_radii": "robustness_feature",
    "fixed_point_radius": "robustness_fixed_point",
    "require_certifiable": "certificate",
    "smallest_flip": "milp",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    return lazy_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
