"""PyTorch's side of the table `sweep`: the functions that made the references of the op catalogue's samples."""

import importlib
import os
import signal
import sys
import types

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests/fixtures"))
import core_cases

PATIENCE = 10  # seconds for a first run: some references are computed with many digits, and aren't PyTorch's

FUNCTIONS = {}  # by OP/CALL/SAMPLE
FAMILIES = set()
LAST = {}


def frozen(function):
    """The function with the values that its variables have now: those of loops go on."""
    if not isinstance(function, types.FunctionType) or not function.__closure__:
        return function
    cells = tuple(types.CellType(frozen(cell.cell_contents)) for cell in function.__closure__)
    return types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)


def collect(maker, op, call, sample, function, *inputs, scale=None, exact=None):
    """Stands for Maker.add: keeps the function and computes nothing."""
    FUNCTIONS["%s/%s/%s" % (op, call, sample)] = frozen(function)
    maker.arrays["%s/%s/%s/dtypes" % (op, call, sample)] = np.zeros((8, 8), np.uint8)


def function_of(family, key):
    if family not in FAMILIES:
        FAMILIES.add(family)
        core_cases.Maker.add = collect
        importlib.import_module("core_cases." + family).make()
    return FUNCTIONS[key]


def load(path, shape, dtype):
    count = int(np.prod(shape))
    return torch.from_file(path, size=count, dtype=dtype).clone().reshape(shape) if count else torch.empty(shape, dtype=dtype)


def load_all(inputs):
    """The tensors of these files; the last ones again where they are asked for again."""
    if inputs not in LAST:
        LAST.clear()
        LAST[inputs] = [load(path, shape, getattr(torch, dtype)) for path, shape, dtype, _ in inputs]
    return LAST[inputs]


def as_list(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def weights_for(output):
    """Weights that tell elements apart, the same ones as Aorta's."""
    row = torch.arange(11) * 7 % 11 * 0.125 + 0.25
    return row.repeat(output.numel() // 11 + 1)[:output.numel()].reshape(output.shape).to(output.dtype)


def check_half(function, tensors):
    """Fails where only a half type makes the results infinite or NaN."""
    def finite(results):
        return all(x.isfinite().all() for x in as_list(results) if x.is_floating_point())

    if any(x.dtype == torch.bfloat16 for x in tensors) and not finite(function(*tensors)):
        if finite(function(*widened(tensors))):
            raise RuntimeError("the results aren't finite in bfloat16")


def give_up(*_):
    raise RuntimeError("a run takes more than %d s" % PATIENCE)


def case(family, key, inputs, backward):
    """The function that make_case() makes, which has run once, and one whose results are to be compared: in f32 where the
    inputs are bf16, as sums that PyTorch keeps in bf16 are far off.

    inputs: for each its file, shape, dtype, and whether it varies."""
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        function = function_of(family, key)
        tensors = load_all(inputs)
        check_half(function, tensors)
        run = make_case(function, tensors, inputs, backward)
        run()
    finally:
        signal.alarm(0)
    if not any(x.dtype == torch.bfloat16 for x in tensors):
        return run, run
    return run, lambda: make_case(function, widened(tensors), inputs, backward)()


def widened(tensors):
    return [x.float() if x.dtype == torch.bfloat16 else x for x in tensors]


def make_case(function, tensors, inputs, backward):
    """A function of no arguments that returns results, or the gradients of all floating inputs that vary."""
    if not backward:
        return lambda: function(*tensors)
    leaves = [x.clone().requires_grad_() if varied and x.is_floating_point() else x
              for x, (_, _, _, varied) in zip(tensors, inputs)]
    wanted = [x for x in leaves if x.requires_grad]
    with torch.enable_grad():
        outputs = [x for x in as_list(function(*leaves)) if x.requires_grad]
    weights = [weights_for(x) for x in outputs]

    def run():
        return torch.autograd.grad(outputs, wanted, weights, retain_graph=True, allow_unused=True, materialize_grads=True)

    return run
