"""device="auto": the faster device for a network and a batch, by measured numbers (`benchmarks/gpu_training.py`)."""

from __future__ import annotations

import os

import torch
from torch import nn

from ..errors import InputError
from .fit_plan import FitPlan

__all__ = ["choose_device", "pays_to_compile", "work_of_a_step"]

# Seconds, from benchmarks/results/gpu_training.json: what a step takes, and each multiply-add of it, on a CPU (the best
# of 1 and 16 threads) and recorded on an H200; and how long the first steps on a GPU take, recording included.
_CPU_STEP, _CPU_WORK = 0.9e-3, 6e-12
_GPU_STEP, _GPU_WORK = 0.19e-3, 6e-14
_GPU_START = 1.0
# Compiling takes 6 to 16 s; it saves 4e-11 s per row and unit of each step (50,000 rows, 2148 units).
_COMPILING_SECONDS, _SAVED_SECONDS = 16.0, 4e-11


def work_of_a_step(model: nn.Module, batch: int) -> float:
    """Multiply-adds of forward and backward pass: about three for every weight and row.

    Example:
        >>> work_of_a_step(nn.Linear(10, 10, bias=False), batch=100)
        30000.0
    """
    return 3.0 * batch * sum(parameter.numel() for parameter in model.parameters() if parameter.dim() > 1)


def choose_device(plan: FitPlan, model: nn.Module, batch: int, steps: int) -> torch.device:
    """The plan's device; "auto" is a GPU where there is one and the fit is long enough to make up for its start.

    Args:
        batch: rows of a step in this process.
        steps: of the whole fit.
    """
    if plan.device == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        if plan.device == "cuda":
            raise InputError(
                "device='cuda' needs a GPU that torch can use; torch sees none here; install a CUDA build of torch, or "
                "use device='auto'."
            )
        return torch.device("cpu")
    work = work_of_a_step(model, batch)
    on_cpu, on_gpu = steps * (_CPU_STEP + _CPU_WORK * work), _GPU_START + steps * (_GPU_STEP + _GPU_WORK * work)
    if plan.device == "auto" and on_cpu < on_gpu:
        return torch.device("cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def pays_to_compile(plan: FitPlan, model: nn.Module, batch: int, steps: int, device: torch.device) -> bool:
    """Whether the plan asks for torch.compile, or leaves it open and the steps on a GPU are many and large enough."""
    if plan.compiled is not None:
        return plan.compiled
    units = sum(parameter.shape[0] for parameter in model.parameters() if parameter.dim() > 1)
    return device.type == "cuda" and steps * batch * units * _SAVED_SECONDS > _COMPILING_SECONDS
