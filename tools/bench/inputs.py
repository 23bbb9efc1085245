"""The numbers that PyTorch's sides start from: those of the harness (sides.h, steps.h)."""

import math

import torch


def make(shape, low, high, seed=0, dtype=None):
    """Element i is low + (high - low) * u(i + 1000003 seed), u a hash in [0, 1)."""
    count = 1
    for size in shape:
        count *= size
    h = (torch.arange(count, dtype=torch.int64) + 1000003 * seed) & 0xFFFFFFFF
    h = (h * 2654435761) & 0xFFFFFFFF
    h ^= h >> 15
    h = (h * 2246822519) & 0xFFFFFFFF
    h ^= h >> 13
    unit = (h >> 8).to(torch.float64) * 2.0**-24
    return (low + (high - low) * unit).to(torch.float32).reshape(shape).to(dtype or torch.float32)


def make_normal(shape, mean, deviation, seed=0, dtype=None):
    """Normally distributed: element i is mean + deviation sqrt(-2 log(1 - u)) cos(2 pi v), of make()'s u and v."""
    u, v = make(shape, 0, 1, seed).double(), make(shape, 0, 1, seed + 64).double()
    normal = torch.sqrt(-2 * torch.log1p(-u)) * torch.cos(2 * math.pi * v)
    return (mean + deviation * normal).to(torch.float32).to(dtype or torch.float32)


def fill(module):
    """Parameter i is make(.., seed i), in +-1 / sqrt(fan_in); vectors are left as they start, but for biases, which are 0."""
    for i, (name, p) in enumerate(module.named_parameters()):
        if p.dim() > 1:
            bound = (p.numel() // p.shape[0]) ** -0.5
            p.data.copy_(make(p.shape, -bound, bound, i))
        elif name.endswith("bias"):
            p.data.zero_()
    return module
