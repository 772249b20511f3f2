"""Addresses such as s3://bank/loans/: tables are read from disks this machine sees, and that is said by name."""

from __future__ import annotations

import re

from monolip.errors import InputError

__all__ = ["is_address", "refuse_address"]

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)  # a path object has turned :// into :/


def is_address(text: str) -> bool:
    """Whether a text is an address and no path; C:/loans is a path.

    Example:
        >>> is_address("s3://bank/loans/"), is_address("s3:/bank/loans"), is_address("C:/loans"), is_address("loans")
        (True, True, False, False)
    """
    return _ADDRESS.match(text) is not None


def refuse_address(text: str) -> None:
    found = _ADDRESS.match(text)
    if found is not None:
        raise InputError(
            f"tables are read from local paths; got the address {found[1]}://{text[found.end() :]}; copy or mount it, "
            "or fit and score it on Ray (fit_on_ray, score_on_ray)."
        )
