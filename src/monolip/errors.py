"""Every error monolip raises on purpose.

    MonolipError
    ├── SlopeError        (ValueError)   a slope interval that cannot be promised
    ├── NormChainError    (ValueError)   layers whose norms do not compose
    ├── StructureError    (ValueError)   shapes, group sizes or weights that are not the form they claim to be
    ├── PromiseError      (TypeError)    something that states no Lipschitz bound was asked to keep a promise
    ├── ArgumentError     (TypeError)    an argument that does not exist here, with what to write
    ├── PrecisionError    (TypeError)    half precision, where the promise would silently not hold
    ├── CheckpointError   (ValueError)   a checkpoint that was trained under another promise
    ├── FreezeError       (ValueError)   a model that cannot become a FrozenNetwork
    ├── FrozenFileError   (ValueError)   a file that is damaged, edited, oversized or of another format
    ├── CertificateError  (ValueError)   a network, or a document, of which the claims cannot be proved
    ├── InputError        (ValueError)   data a network cannot evaluate or learn from
    └── MissingExtraError (ImportError)  an optional dependency that is not installed

and the one warning of its own, PromiseWarning (UserWarning): the data contradict a constraint, which is kept.

Each message has three parts: the rule; what was got; what to do.
"""

from __future__ import annotations

from monolip.installing import install_advice

__all__ = [
    "ArgumentError",
    "CertificateError",
    "CheckpointError",
    "FreezeError",
    "FrozenFileError",
    "InputError",
    "MissingExtraError",
    "MonolipError",
    "NormChainError",
    "PrecisionError",
    "PromiseError",
    "PromiseWarning",
    "SlopeError",
    "StructureError",
]


class MonolipError(Exception):
    """The root: `except MonolipError` catches all of monolip's own errors."""


class SlopeError(MonolipError, ValueError):
    """A slope interval, direction or slope cap that cannot be promised."""


class NormChainError(MonolipError, ValueError):
    """A layer feeds another whose norm needs a bound that the first does not give."""


class StructureError(MonolipError, ValueError):
    """Shapes, group sizes or weights that are not the form they claim to be."""


class PromiseError(MonolipError, TypeError):
    """Something that states no Lipschitz bound was asked to keep a promise."""


class ArgumentError(MonolipError, TypeError):
    """An argument of another library, or a misspelt one; the message says what to write here."""


class PrecisionError(MonolipError, TypeError):
    """A number format in which the promise would silently not hold."""


class CheckpointError(MonolipError, ValueError):
    """A checkpoint that was trained under another promise than the model it is loaded into."""


class FreezeError(MonolipError, ValueError):
    """A model that cannot become a FrozenNetwork, with the reason."""


class FrozenFileError(MonolipError, ValueError):
    """A model file that is damaged, edited, oversized or of another format."""


class CertificateError(MonolipError, ValueError):
    """A network of which the claims cannot be proved, or a document that is not a certificate."""


class InputError(MonolipError, ValueError):
    """Data that a network cannot evaluate or learn from: NaN, wrong width, wrong type."""


class MissingExtraError(MonolipError, ImportError):
    """An optional dependency that is not installed; the message says how to install it.

    extra: the extra of monolip that has it. install: the line to run instead, for a package that is not in an extra.
    """

    def __init__(self, package: str, extra: str, install: str | None = None) -> None:
        run = install or install_advice(extra)
        super().__init__(f"this needs {package}, which is not installed; run: {run}")


class PromiseWarning(UserWarning):
    """The data contradict a constraint: mostly its sign is wrong, or the class that it is about.

    `fit` warns once, lists every such feature, and goes on: the model keeps the constraints all the same. To stop such
    a fit before it trains: warnings.simplefilter("error", PromiseWarning). To silence the warning: "ignore".
    """
