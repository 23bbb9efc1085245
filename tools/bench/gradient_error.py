"""PyTorch's row of gradient_error.cc's table: python3 gradient_error.py NETWORK FOLDER, after that program."""
import pathlib
import statistics
import sys

import torch
import torchvision
from safetensors.torch import load_file


def step_of(net, x, target):
    positive = []
    for module in net.modules():
        if isinstance(module, torch.nn.ReLU):
            module.register_forward_hook(lambda module, inputs, output: positive.append(output.detach() > 0))
    torch.nn.functional.cross_entropy(net(x), target).backward()
    return {name: p.grad.double() for name, p in net.named_parameters()}, positive


def main(network, folder):
    errors, flips, layers = [], [], {}
    for path in sorted(pathlib.Path(folder).glob("*.safetensors")):
        state = load_file(path)
        x, target = state.pop("input"), state.pop("target")
        steps = []
        for dtype in (torch.float32, torch.float64):
            net = getattr(torchvision.models, network)(num_classes=10)
            net.load_state_dict(state, strict=False)  # but for num_batches_tracked
            steps.append(step_of(net.to(dtype), x.to(dtype), target))
        (got, positive), (wanted, exact) = steps
        off = {name: ((got[name] - exact) ** 2).sum() for name, exact in wanted.items()}
        size = {name: (exact ** 2).sum() for name, exact in wanted.items()}
        errors.append((sum(off.values()) / sum(size.values())).sqrt().item())
        for name in wanted:
            layers.setdefault(name, []).append((off[name] / size[name]).sqrt().item())
        flips.append(sum((a != b).sum().item() for a, b in zip(positive, exact)))
    parts = {}  # the largest of the medians of each part's layers
    for name, values in sorted(layers.items()):
        part = name.split(".")[0]
        parts[part] = max(parts.get(part, 0), statistics.median(values))
    print(f"| PyTorch {torch.__version__} | {statistics.median(errors):.1e} | {max(errors):.1e} | "
          f"{flips.count(0)} of {len(flips)} |", *(f"{part} {error:.1e}" for part, error in parts.items()))


main(*sys.argv[1:])
