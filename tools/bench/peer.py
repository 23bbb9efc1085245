"""PyTorch's side of the benchmark rows, driven line by line over standard input and output; peer.h has the protocol.

With a number behind its name it is the first of so many ranks of a process group of gloo: it starts the others, which do
what it is asked beside it.

A row brings two lines of Python: a setup, which runs once, and the expression that is measured. They see torch,
F (torch.nn.functional), and make(), make_normal() and fill(), whose numbers are those of the harness.
"""

import os
import subprocess
import sys
import tempfile
import time

# What a library prints must not look like an answer.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

try:
    import torch
    from inputs import fill, make, make_normal
except ImportError as error:
    torch, WHY = None, str(error)

LOOP = """
def measured(repetitions):
    start = perf_counter()
    for _ in repeat(None, repetitions):
        %s
    return perf_counter() - start
"""


def sample(result):
    """The number of elements, their mean, and 16 of them, evenly spaced in row-major order."""
    flat = result.detach().reshape(-1)
    count = flat.numel()
    if not count:
        return [0.0]
    at = [k * (count - 1) // 15 for k in range(16)]
    return [float(count), flat.double().mean().item()] + flat[at].double().tolist()


def moments(result):
    """The number of elements, their mean and standard deviation."""
    flat = result.double()
    return [float(flat.numel()), flat.mean().item(), flat.std(correction=0).item()]


def of_each(describe):
    """A check of several results: the number of elements of all, and what else `describe` says of each; of whole numbers
    where there is nothing else."""
    def check(results):
        results = [results] if isinstance(results, torch.Tensor) else results
        parts = [describe(x) for x in [x for x in results if x.is_floating_point()] or results]
        return [sum(part[0] for part in parts)] + [value for part in parts for value in part[1:]]
    return check


CHECKS = {"sample": sample, "moments": moments, "samples": of_each(sample), "all_moments": of_each(moments)}


class Work:
    """A row's expression, with its inputs."""

    def __init__(self, setup, expression):
        import itertools
        self.names = {"torch": torch, "F": torch.nn.functional, "make": make, "make_normal": make_normal,
                      "fill": fill,
                      "perf_counter": time.perf_counter, "repeat": itertools.repeat}
        exec(setup, self.names)
        exec(LOOP % expression, self.names)
        self.expression = expression

    def time(self, repetitions):
        return self.names["measured"](repetitions)

    def values(self, check):
        """Of what the setup calls exact(), where it has one, instead of what is measured."""
        return CHECKS[check](self.names["exact"]() if "exact" in self.names else eval(self.expression, self.names))


def answer(works, command, fields):
    """The values that answer one request."""
    if torch is None:
        raise RuntimeError(WHY)
    if command == "hello":
        torch.set_grad_enabled(False)
        return [torch.__version__, os.path.dirname(torch.__file__)]
    if command == "threads":
        torch.set_num_threads(int(fields[0]))
        return []
    if command == "define":
        works[fields[0]] = Work(fields[1], fields[2])
        return []
    if command == "values":
        return works[fields[0]].values(fields[1])
    if command == "time":
        return [works[fields[0]].time(int(fields[1]))]
    if command == "drop":
        works.pop(fields[0], None)
        return []
    raise RuntimeError("unknown request " + command)


def start_ranks(count):
    """Joins a group of `count` ranks as the one that RANK says; the first one starts the others."""
    rank = int(os.environ.setdefault("RANK", "0"))
    others = []
    if rank == 0:
        place = tempfile.mkdtemp()
        os.environ.update(MEETING="file://%s/ranks" % place, WORLD_SIZE=str(count))
        others = [subprocess.Popen([sys.executable, *sys.argv], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   env={**os.environ, "RANK": str(other)}, text=True) for other in range(1, count)]
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", os.environ["MEETING"], rank=rank, world_size=count)
    return others


def main():
    works = {}
    others = start_ranks(int(sys.argv[1])) if torch and len(sys.argv) > 1 else []
    for line in sys.stdin:
        for other in others:
            other.stdin.write(line)
            other.stdin.flush()
        command, *fields = line.rstrip("\n").split("\t")
        try:
            words = ["ok"] + [repr(value) if isinstance(value, float) else str(value)
                              for value in answer(works, command, fields)]
        except Exception as error:
            words = ["error", "%s: %s" % (type(error).__name__, " ".join(str(error).split()))]
        ANSWERS.write("\t".join(words) + "\n")
        ANSWERS.flush()


if __name__ == "__main__":
    main()
