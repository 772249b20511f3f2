"""Training until every image is right that can be right, with a curve of the way there."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from monolip.nn import TemperatureCrossEntropy, init
from paper.appendix_a.forms import constrained_layers, new_trunk, on_pixels
from paper.appendix_a.recipes import Recipe
from paper.appendix_a.stepping import Stepper
from paper.appendix_a.tasks import Task
from paper.appendix_a.whitening import Whitening

__all__ = ["Memorised", "memorise"]


@dataclass
class Memorised:
    """network: on pixels (and goodness), float64; curve: seconds, epochs, images right out of those that can be."""

    network: nn.Module
    right: int
    smallest_margins: list[tuple[int, float]]  # (image, margin) of the images that came closest to wrong
    curve: list[tuple[float, float, int]]
    steps: int
    seconds: float
    phases: dict[str, float] = field(default_factory=dict)


def memorise(task: Task, recipe: Recipe, *, device: str = "cpu", seed: int = 0) -> Memorised:
    """Train on the images that can be right; the clock runs from bytes in host memory to the last exact check."""
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")  # TF32 in training costs no promise: what is kept is checked in float64
    try:
        return _memorise(task, recipe, device, seed)
    finally:
        torch.set_float32_matmul_precision(precision)


def _memorise(task: Task, recipe: Recipe, device: str, seed: int) -> Memorised:
    begun = _now(device)
    torch.manual_seed(seed)
    run = _Run(task, recipe, device)
    phases = {"prepared": _now(device) - begun}
    right = run.train(begun)
    phases["trained"] = _now(device) - begun
    network, exact, margins = run.exact()
    while exact < run.count and right == run.count and not run.ended(_now(device) - begun):  # right by rounding alone
        right = run.train(begun, at_least=1)
        network, exact, margins = run.exact()
    run.stepper.close()
    return Memorised(network, exact, margins, run.curve, run.steps, _now(device) - begun, phases)


class _Run:
    """The state of one training: inputs in whitened coordinates on the device, the trunk, the curve."""

    def __init__(self, task: Task, recipe: Recipe, device: str) -> None:
        self.task, self.recipe, self.device = task, recipe, device
        kept = torch.as_tensor(task.possible).nonzero().ravel()
        self.images, self.count = kept, len(kept)
        pixels = torch.tensor(task.pixels)[kept].to(device).float().div_(255.0)
        make = Whitening.none if recipe.strength is None else lambda x: Whitening.of(x, recipe.strength or 0.0)
        self.whitening = make(pixels)
        self.labels = torch.as_tensor(task.labels)[kept].to(device)
        self.inputs = self.whitening.apply(pixels)
        self.residual: tuple[Tensor, Tensor] | None = None
        if task.goodness is not None:
            goodness = torch.as_tensor(task.goodness)[kept].float().to(device)[:, None]
            self.inputs = torch.cat([self.inputs, task.radius * goodness], 1)
            self.residual = goodness, torch.as_tensor(task.center).float().to(device)
        self.trunk = new_trunk(recipe.form, task.n_inputs, task.n_classes, recipe.width).to(device)
        some = torch.randperm(self.count, device=device)[:4096]
        init.hinge_(constrained_layers(self.trunk)[0], self.inputs[some], 2)
        self.criterion = TemperatureCrossEntropy(recipe.temperature)
        self.stepper = Stepper(self.trunk, recipe, self.loss)
        self.curve: list[tuple[float, float, int]] = []
        self.steps = 0

    def outputs(self, rows: Tensor | slice) -> Tensor:
        f = self.trunk(self.inputs[rows])
        return f if self.residual is None else f + self.residual[0][rows] * self.residual[1]

    def loss(self, rows: Tensor) -> Tensor:
        loss: Tensor = self.criterion(self.outputs(rows), self.labels[rows])
        return loss

    @torch.no_grad()
    def look(self) -> tuple[int, Tensor]:
        """Images right, and 1 - P(label) of each, in training precision."""
        right, unsure = 0, []
        for start in range(0, self.count, 10_000):
            rows = slice(start, start + 10_000)
            f, y = self.outputs(rows), self.labels[rows]
            chance = torch.softmax(self.recipe.temperature * f, -1).gather(1, y[:, None])[:, 0]
            unsure.append(1.0 - chance)
            right += (f.argmax(-1) == y).sum()
        return int(right), torch.cat(unsure)

    def train(self, begun: float, at_least: int = 0) -> int:
        """Rounds of steps until all are right (after `at_least` rounds) or a limit is reached."""
        recipe, rounds = self.recipe, 0
        batch = self.count if recipe.batch is None else min(recipe.batch, self.count)
        while True:
            right, unsure = self.look()
            seconds = _now(self.device) - begun
            self.curve.append((seconds, self.steps * batch / self.count, right))
            done = right == self.count and rounds >= at_least
            if done or self.ended(seconds):
                return right
            self.stepper.rate(self._share(1.0 - right / self.count))
            self.stepper.run(self._draw(unsure, batch))
            self.steps += recipe.round_steps
            rounds += 1

    def ended(self, seconds: float) -> bool:
        """Whether a limit of the recipe is reached."""
        return seconds > self.recipe.seconds or self.steps >= self.recipe.steps

    def _share(self, error: float) -> float:
        warm = min(1.0, (self.steps + 1) / self.recipe.warm_up) if self.recipe.warm_up else 1.0
        return warm * min(1.0, max(self.recipe.slowest, math.sqrt(error / 0.02)))

    def _draw(self, unsure: Tensor, batch: int) -> Tensor:
        steps, focus = self.recipe.round_steps, self.recipe.focus
        if batch == self.count:
            return torch.arange(self.count, device=self.device).expand(steps, -1)
        weight = (1.0 - focus) / self.count + focus * unsure / unsure.sum().clamp(min=1e-9)
        return torch.multinomial(weight, steps * batch, replacement=True).view(steps, batch)

    @torch.no_grad()
    def exact(self) -> tuple[nn.Module, int, list[tuple[int, float]]]:
        """The network on pixels in float64, how many images it gets right, and the smallest margins."""
        network = on_pixels(self.trunk, self.whitening, self.task)
        margins = []
        for start in range(0, self.count, 5_000):
            rows = self.images[start : start + 5_000].numpy()
            x = torch.as_tensor(self.task.pixels[rows]).to(self.device).double() / 255.0
            if self.task.goodness is not None:
                x = torch.cat([x, torch.as_tensor(self.task.goodness[rows]).to(self.device)[:, None]], 1)
            f, y = network(x), self.labels[start : start + 5_000, None]
            own = f.gather(1, y)
            margins.append((own - f.scatter(1, y, -math.inf).amax(1, keepdim=True))[:, 0])
        margin = torch.cat(margins).cpu()
        least = margin.argsort()[:1000]
        smallest = list(zip(self.images[least].tolist(), margin[least].tolist(), strict=True))
        return network, int((margin > 0).sum()), smallest


def _now(device: str) -> float:
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter()
