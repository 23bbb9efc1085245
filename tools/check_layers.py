"""Checks every #include against the layers of docs/architecture.md: check_layers.py [ROOT]

Prints `file:line: rule, got what` for each include that breaks one, and exits 1.
"""

import os
import sys

sys.dont_write_bytecode = True
import source_tree

# A room may include itself and the rooms named here. Nothing but cuda/ and its tests includes cuda/, nothing includes mpi/.
ROOMS = {
    "core": [],
    "autograd": ["core"],
    "nn": ["autograd", "core"],
    "optim": ["autograd", "core"],
    "distributions": ["autograd", "core"],
    "data": ["core"],
    "models": ["nn", "optim", "data", "autograd", "core"],
    "report": ["data", "core"],
    "onnx": ["nn", "autograd", "core"],
    "rpc": ["nn", "optim", "autograd", "core"],
    "cuda": ["core"],
    "mpi": ["core"],
}
_LIBRARY = ["report", "onnx", "models", "distributions", "rpc"] + ROOMS["models"]
PROGRAMS = {
    "": _LIBRARY,  # aorta.h
    "examples": _LIBRARY,
    "apps": _LIBRARY,
    "tools": _LIBRARY + ["apps", "tests"],  # the benchmark measures the op catalogue
    "tests": _LIBRARY + ["apps", "tools", "examples"],
}

# The floors of core: a folder may include itself and those named here. core/ itself is the base.
FLOORS = {
    "core": ["core/scalar"],
    "core/io": ["core"],
    "core/process": ["core", "core/io"],
    "core/dispatch": ["core", "core/io", "core/scalar"],
    "core/ops": ["core", "core/dispatch", "core/body", "core/scalar"],
    "core/cpu": ["core", "core/dispatch", "core/ops", "core/body", "core/scalar"],
}

# Single-source code that nvcc compiles too: besides each other it sees these headers of core alone.
SINGLE_SOURCE = ("core/scalar/", "core/body/")
SINGLE_SOURCE_MAY = ("core/host_device.h", "core/integers.h", "core/half.h", "core/dtype.h")

QUOTES = "our headers are included as <aorta/...>, others with <>; in tests alone, a header beside the test with quotes"

DEVICE_LIBRARIES = ("cuda", "cublas", "cudnn", "nccl", "cub/", "thrust/", "cufft", "curand", "cusolver", "nvtx",
                    "nvToolsExt", "driver_types.h", "hip/")
ONEDNN = ("dnnl", "oneapi/")
# The benchmark's peer alone; tests may include it as they may anything.
ONEDNN_MAY = "tools/bench/peer_onednn."
# What no header that aorta/aorta.h reaches may show a user.
PRIVATE = {
    "Eigen": ("Eigen/", "eigen3/", "unsupported/Eigen"),
    "OpenCV": ("opencv",),
    "libjpeg": ("jpeglib.h", "jerror.h", "turbojpeg.h"),
    "CUDA": DEVICE_LIBRARIES,
    "JSON": ("nlohmann/",),
    "fmt": ("fmt/",),
    "CLI11": ("CLI/",),
    "GoogleTest": ("gtest/", "gmock/"),
    "<iostream>": ("iostream",),
    "<regex>": ("regex",),
}


def room_of(path):
    """The first folder of a path: core, nn, ...; '' for a file in the root."""
    return path.split("/")[0] if "/" in path else ""


def floor_of(path):
    """core, core/ops, ...: the first two folders of a path below core."""
    return "/".join(os.path.dirname(path).split("/")[:2])


def check_floors(path, target):
    """The rule of core's floors that including <aorta/target> from path breaks, or None."""
    floor, other = floor_of(path), floor_of(target)
    if path.startswith(SINGLE_SOURCE) or floor == other or other in FLOORS.get(floor, []):
        return None
    return "a floor of core includes those below alone (%s/ may include %s)" % (
        floor, ", ".join(FLOORS.get(floor, [])) or "nothing: it has no row in FLOORS")


def check_ours(path, target):
    """The rule that including <aorta/target> from path breaks, or None."""
    room, other = room_of(path), room_of(target)
    if path.startswith(SINGLE_SOURCE) and not target.startswith(SINGLE_SOURCE + SINGLE_SOURCE_MAY):
        return "core/scalar and core/body include only each other and %s" % ", ".join(SINGLE_SOURCE_MAY)
    if room == other:
        return check_floors(path, target) if room == "core" else None
    if target == "aorta.h":
        return "a room doesn't include the whole library" if room in ROOMS else None
    if other == "cuda":
        allowed = path.startswith("tests/cuda/")
        return None if allowed else "nothing outside cuda/ and tests/cuda/ includes cuda/"
    if other in ROOMS.get(room, PROGRAMS.get(room, [])):
        return None
    may = ", ".join(ROOMS.get(room, PROGRAMS.get(room, []))) or "no other room"
    return "an include points down only (%s/ may include %s)" % (room or "the root", may)


def check_theirs(path, target):
    """The rule that including <target>, a header that isn't ours, from path breaks, or None."""
    if target.startswith(ONEDNN) and room_of(path) != "tests" and not path.startswith(ONEDNN_MAY):
        return "only %s* includes oneDNN" % ONEDNN_MAY
    if target.startswith(DEVICE_LIBRARIES) and room_of(path) in ROOMS and room_of(path) != "cuda":
        return "only cuda/ names a device library"
    if target == "mpi.h" and room_of(path) != "mpi":
        return "only mpi/ includes MPI"
    return None


def reachable(root, start):
    """Headers that start includes, however indirectly: path -> the header that brought it in."""
    came_from = {start: None}
    queue = [start]
    for path in queue:
        for _, _, target in source_tree.includes(os.path.join(root, path)):
            ours = target[len("aorta/"):] if target.startswith("aorta/") else None
            if ours and ours not in came_from and os.path.exists(os.path.join(root, ours)):
                came_from[ours] = path
                queue.append(ours)
    return came_from


def check(root):
    """Every broken rule as a line of text."""
    problems = []
    for path in source_tree.files(root, source_tree.CODE):
        for number, quote, target in source_tree.includes(os.path.join(root, path)):
            if quote == '"':
                beside = os.path.exists(os.path.join(root, os.path.dirname(path), target))
                rule = None if path.startswith("tests/") and beside else QUOTES
            elif target.startswith("aorta/"):
                rule = check_ours(path, target[len("aorta/"):])
            else:
                rule = check_theirs(path, target)
            if rule:
                problems.append("%s:%d: %s, got %s" % (path, number, rule, target))
    public = reachable(root, "aorta.h") if os.path.exists(os.path.join(root, "aorta.h")) else {}
    for path in sorted(public):
        for number, _, target in source_tree.includes(os.path.join(root, path)):
            for name, prefixes in PRIVATE.items():
                if target.startswith(prefixes):
                    chain = [path]
                    while public[chain[-1]]:
                        chain.append(public[chain[-1]])
                    problems.append("%s:%d: a public header exposes no %s, got %s (reached by %s)" % (
                        path, number, name, target, " <- ".join(chain)))
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    problems = check(root)
    print("\n".join(problems) or "every include points down")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
