"""What each source costs to compile, by itself: compile_cost.py EXEC_ROOT <ACTIONS (Bazel's aquery, jsonproto)

Runs every CppCompile and CudaCompile once more, its object thrown away, and prints CPU seconds by folder and the costliest
sources.
"""

import collections
import json
import os
import resource
import subprocess
import sys
import tempfile

SHOWN = 25


def compiles(query):
    """(source, command without its outputs) of each compile, in the order of the sources."""
    for action in sorted(query.get("actions", []), key=lambda a: source_of(a["arguments"])):
        arguments, command = iter(compiler_of(action["arguments"])), []
        for argument in arguments:
            if argument in ("-o", "-MF"):
                next(arguments)
            elif argument != "-MD":
                command.append(argument)
        yield source_of(action["arguments"]), command


def compiler_of(arguments):
    """The command of the compiler itself: nvcc stands behind our wrapper and four files of its (bazel/cuda.bzl)."""
    return arguments[5:] if arguments[0].endswith("nvcc_wrapper.sh") else arguments


def source_of(arguments):
    cuda = [a for a in arguments if a.endswith(".cu")]
    return cuda[0] if cuda else arguments[arguments.index("-c") + 1]


def shown_name(source):
    """A joined source without the folders that Bazel makes it in."""
    return source.split("/bin/")[-1]


def cpu_seconds(command, folder):
    def spent():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = spent()
    subprocess.run(command, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    return spent() - before


def folder_of(source):
    """The room, or core/cpu/isa by itself; a joined source lies below NAME_unity."""
    parts = shown_name(source).split("/")
    if parts[:3] == ["core", "cpu", "isa"]:
        return "core/cpu/isa"
    return "/".join(parts[:2]) if parts[0] in ("apps", "tools") else parts[0]


def main():
    root = sys.argv[1]
    costs, folders = [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for source, command in compiles(json.load(sys.stdin)):
            seconds = cpu_seconds(command + ["-o", os.path.join(folder, "a.o")], root)
            costs.append((seconds, source))
            folders[folder_of(source)] += seconds
    for folder, seconds in folders.most_common():
        print("%8.1f  %s" % (seconds, folder))
    print("%8.1f  all %d sources" % (sum(folders.values()), len(costs)))
    print()
    for seconds, source in sorted(costs, reverse=True)[:SHOWN]:
        print("%8.1f  %s" % (seconds, shown_name(source)))


if __name__ == "__main__":
    main()
