"""How to install an extra: the one place that says so.

The package is on no index yet, so an extra is installed from a checkout of its sources. (Packages of others, such as
LightGBM, are on the index: a plain `pip install lightgbm` works.)
"""

from __future__ import annotations

__all__ = ["install_advice"]

_WITH_TORCH = ("torch", "hls4ml", "ray", "spark")  # extras that need torch
_CPU_BUILD = "without a GPU install a CPU build of torch first: a plain request pulls gigabytes of GPU libraries"


def install_advice(extra: str) -> str:
    """Return what to run to install an extra of monolip.

    >>> install_advice("cli")
    'pip install ".[cli]" in a checkout of monolip'
    >>> install_advice("torch").partition(" (")[2]
    'without a GPU install a CPU build of torch first: a plain request pulls gigabytes of GPU libraries)'
    """
    line = f'pip install ".[{extra}]" in a checkout of monolip'
    return f"{line} ({_CPU_BUILD})" if extra in _WITH_TORCH else line
