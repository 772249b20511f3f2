"""Proofs about frozen networks: certificates, integers, robustness radii; and an audit of any model.

>>> from monolip.certify import certify
>>> certify.__name__
'certify'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monolip.lazy_names import lazy_name

if TYPE_CHECKING:  # what type checkers and editors read; at run time a name is loaded on first use
    from monolip.certify.audit_report import AuditReport
    from monolip.certify.auditing import audit
    from monolip.certify.certificate import Certificate, Claim, certify, require_certifiable
    from monolip.certify.checker import checker_path
    from monolip.certify.fixed_point import compile_fixed_point
    from monolip.certify.milp import Flip, smallest_flip
    from monolip.certify.robustness import CertifiedRadii, certified_radius
    from monolip.certify.robustness_feature import FeatureRadii, feature_radii
    from monolip.certify.robustness_fixed_point import fixed_point_radius

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

__all__ = [
    "AuditReport",
    "Certificate",
    "CertifiedRadii",
    "Claim",
    "FeatureRadii",
    "Flip",
    "audit",
    "certified_radius",
    "certify",
    "checker_path",
    "compile_fixed_point",
    "feature_radii",
    "fixed_point_radius",
    "require_certifiable",
    "smallest_flip",
]


if not TYPE_CHECKING:  # else every misspelt name would be there, as Any

    def __getattr__(name: str) -> Any:
        return lazy_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
