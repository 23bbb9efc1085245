"""What ptxas says that each CUDA kernel takes: kernels.py USAGE... prints the table of docs/kernels.md.

A USAGE has a line a kernel: registers, bytes of stack, of spill stores, of spill loads, of shared memory, and the
mangled name (bazel/nvcc_wrapper.sh).
"""

import collections
import re
import sys

Kernel = collections.namedtuple("Kernel", "registers stack stores loads shared name")

# Kernels that may spill a little, by a pattern of their mangled names, and why that costs little.
MOST_SPILLED = 160  # bytes stored, of a thread
MAY_SPILL = {
    r"softmax_rows_kernelId|class_columns_kernelId|4GeluE+dJd|9LogSumExpEd|NormalBodyIdLb1|GruBodyId|12DrawBinomialE|solve(_triangular)?_kernelId": "f64, of which a GPU computes little",
    r"9PolygammaE|7IgammacE|5LdexpE|13GammaPartBody": "long series and repeated scaling, far slower than a few words of memory",
    r"21reduce_columns_kernelINS_6scalar5NormPEf|18reduce_rows_kernelINS_6scalar5NormPEf": "a power an element",
    r"3AnyEbb|9HeavisideEb": "bools, of which a thread takes 16 and keeps each in a register",
    r"AveragePoolBackwardBodyI\w+Li1E": "channels one by one, where they don't come in vectors",
    r"merge_runs_kernelI\w+8RowOrder": "unique() along a dimension, which compares whole rows",
}


def read(paths):
    """Every kernel of the files."""
    kernels = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                *numbers, name = line.split()
                kernels.append(Kernel(*map(int, numbers), name))
    return kernels


def short_name(mangled):
    """`f` of the mangled name of `aorta::cuda::f<...>`: the last of its nested names."""
    match = re.match(r"_ZN?", mangled)
    end, name = match.end(), mangled
    while length := re.match(r"[0-9]+", mangled[end:]):
        start = end + length.end()
        end = start + int(length.group())
        name = mangled[start:end]
    return name


def spilling(kernels):
    """Those that spill and may not, or too much."""
    return [k for k in kernels if k.stores + k.loads > 0 and
            (k.stores > MOST_SPILLED or not any(re.search(pattern, k.name) for pattern in MAY_SPILL))]


def span(values):
    low, high = min(values), max(values)
    return str(low) if low == high else "%d-%d" % (low, high)


def table(kernels):
    """A row a template, with the least and the most of its instances."""
    templates = collections.defaultdict(list)
    for kernel in kernels:
        templates[short_name(kernel.name)].append(kernel)
    lines = ["| kernel | instances | registers | stack | spilled | shared |", "|---|---|---|---|---|---|"]
    for name, all_of in sorted(templates.items()):
        spans = [span([getattr(k, what) for k in all_of]) for what in ("registers", "stack")]
        spans += [span([k.stores + k.loads for k in all_of]), span([k.shared for k in all_of])]
        lines.append("| %s | %d | %s |" % (name, len(all_of), " | ".join(spans)))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(read(sys.argv[1:])), end="")
