"""Sentences of the text that its own table, its own limitations or its data contradict."""

from __future__ import annotations

from paper.datasets.auto_mpg import load_auto_mpg
from paper.table1.published import PAPER, printed
from paper.what_was_wrong.finding import Finding

__all__ = ["approximates_all", "cars_without_horsepower", "mini_generalises_better"]

PRINTED_CARS = 398


def approximates_all(fast: bool) -> Finding:
    """Section 3 claims a proof for the construction; the Limitations say there is none for Eq. 8."""
    return Finding(
        "text, end of Section 3, against its Limitations",
        '"we have constructed a neural network architecture [...] that can provably approximate all monotonic '
        'Lipschitz bounded functions"',
        'the Limitations: "there is not yet a proof for universal approximation" for Eq. 8, which Eq. 9 and the '
        "recommended Eq. 10 enforce; the proof cited is of Eq. 11 (read, not run: two sentences of one text)",
        "the sentence holds for Eq. 11, with which the scripts train; Eq. 10 is compared with it in the section on "
        "Section 3.2 below",
    )


def mini_generalises_better(fast: bool) -> Finding:
    """Said of both mini networks; true of one."""
    gains = {name: PAPER[f"{name} mini"].value - PAPER[name].value for name in ("BlogFeedback", "LoanDefaulter")}
    assert gains["BlogFeedback"] < 0  # an error: lower is better
    assert gains["LoanDefaulter"] < 0  # an accuracy: lower is worse
    gap = -gains["LoanDefaulter"] / (PAPER["LoanDefaulter"].error ** 2 + PAPER["LoanDefaulter mini"].error ** 2) ** 0.5
    return Finding(
        "text, Section 4.3",
        'mini networks are said to have "better generalization performance"',
        f"Table 1: LoanDefaulter mini {printed('LoanDefaulter mini')} % against {printed('LoanDefaulter')} %, lower by "
        f"{-gains['LoanDefaulter']:.2f} points or {gap:.1f} of the printed deviations; BlogFeedback mini "
        f"{printed('BlogFeedback mini')} against {printed('BlogFeedback')}, which is better",
        "better on one of two data sets; under selection on test neither is a statement about generalisation",
        {"gains": gains, "gap": gap},
    )


def cars_without_horsepower(fast: bool) -> Finding:
    """AutoMPG is said to have 398 examples; the script can use 392."""
    used = len(load_auto_mpg().y)
    assert used == 392
    return Finding(
        "text, AutoMPG",
        f'"{PRINTED_CARS} examples of cars, described by 7 numerical features"',
        f"{PRINTED_CARS - used} of them have no horsepower, one of the three monotone features: {used} can be used",
        f"{used} rows, as here; the others would have to be imputed, of which the text says nothing",
        {"printed": PRINTED_CARS, "used": used},
    )
