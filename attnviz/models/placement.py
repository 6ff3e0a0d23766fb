"""Placement: on which devices the parts of a model are, where accelerate has spread them.

A model that is larger than one device has hooks on its modules that bring weights to where they
are used and take them away again; in between, what is kept in memory or on disk has no numbers.
"""

import torch
from torch import nn


def input_device(hf: nn.Module) -> torch.device:
    """Where a model takes its inputs."""
    device = getattr(getattr(hf, "_hf_hook", None), "execution_device", None)
    if device is not None:
        return torch.device(device)
    real = (one.device for one in hf.parameters() if one.device.type != "meta")
    return next(real, torch.device("cpu"))


def is_spread(hf: nn.Module) -> bool:
    """Whether hooks stand between the model's modules and their weights."""
    return any(hasattr(module, "_hf_hook") for module in hf.modules())
