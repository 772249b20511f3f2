"""ResNet18 without its last layer (He et al. 2016), in plain torch: 3 x 224 x 224 -> 512 features.

Names are torchvision's, so that its weights load; nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from paper.missing_data import data_file

__all__ = ["Block", "ResNet18", "load_resnet18", "read_backbone"]

BACKBONE = "resnet18/resnet18_imagenet_backbone.safetensors"
SHA256 = "0ef69ecff2568e0056dcea8e0f43033d1d2c11445c6f4831e8650a0603df2232"
HOW = (
    "this file, half precision with statistics of BatchNorm estimated again, is not public and cannot be rebuilt bit "
    "for bit, so for results that are close save the weights of download.pytorch.org/models/resnet18-f37072fd.pth "
    "without fc as safetensors under that name and set SHA256 in paper/end_to_end/resnet18.py to its checksum"
)


class Block(nn.Module):
    """Two 3 x 3 convolutions and a shortcut."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.downsample: nn.Module | None = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x: Tensor) -> Tensor:
        short = x if self.downsample is None else self.downsample(x)
        x = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(x)) + short)


class ResNet18(nn.Module):
    """widths: channels of the four stages; smaller ones for tests. Shape: (n, 3, h, w) -> (n, widths[-1])."""

    def __init__(self, widths: tuple[int, int, int, int] = (64, 128, 256, 512)) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, widths[0], 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(widths[0])
        inside = widths[0]
        for number, width in enumerate(widths, start=1):
            blocks = nn.Sequential(Block(inside, width, 1 if number == 1 else 2), Block(width, width, 1))
            self.add_module(f"layer{number}", blocks)
            inside = width
        self.n_features = inside

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.max_pool2d(x, 3, 2, 1)
        for number in range(1, 5):
            x = self.get_submodule(f"layer{number}")(x)
        return x.mean((2, 3))


def read_backbone() -> ResNet18:
    """The ImageNet-trained backbone of $MONOLIP_DATA, a fresh copy of it."""
    return load_resnet18(data_file(BACKBONE, HOW, SHA256))


def load_resnet18(path: Path) -> ResNet18:
    """With ImageNet weights from a safetensors file of torchvision's names (half precision is widened)."""
    from safetensors.torch import load_file

    network = ResNet18()
    weights = {
        name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in load_file(path).items()
    }
    found = network.load_state_dict(weights, strict=False)
    missing = [name for name in found.missing_keys if not name.endswith("num_batches_tracked")]
    if missing or found.unexpected_keys:
        raise ValueError(
            f"{path.name} must hold a ResNet18 without fc; missing {missing[:3]}, more {found.unexpected_keys[:3]}; "
            "use torchvision's names."
        )
    return network
