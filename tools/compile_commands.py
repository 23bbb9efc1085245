"""Turns Bazel's actions into compile_commands.json: compile_commands.py ROOT OUTPUT_BASE <actions >json

Reads `bazel aquery --output=jsonproto`. A file that is compiled several times (for each instruction set, say) is
listed once. Bazel's header folders become ROOT/build/include, where aorta is a link to ROOT, so that nothing has to
be built first; nvcc's commands become clang's.
"""

import json
import os
import sys

# What matters to an editor, and of that what clang doesn't know or what would make a warning stop it.
KEPT = ("-std=", "-D", "-m", "-f", "-W")
DROPPED = ("-D__", "-frandom-seed", "-fno-canonical-system-headers", "-Werror")
TAKES_PATH = ("-I", "-isystem", "-iquote")


def source_of(arguments):
    """The file that is compiled, or None where none is."""
    for argument in arguments:
        if argument.endswith((".cc", ".cu")) and not argument.startswith("-"):
            return argument
    return None


def include_flags(arguments, root, output_base):
    """The include paths of a command, as absolute flags, each once."""
    flags = ["-I" + os.path.join(root, "build/include")]
    pairs = []
    for position, argument in enumerate(arguments):
        for flag in TAKES_PATH:
            if argument == flag:
                pairs.append((flag, arguments[position + 1]))
            elif argument.startswith(flag) and argument != flag:
                pairs.append((flag, argument[len(flag):]))
    for flag, path in pairs:
        if path.startswith("bazel-out/") or path == "." or path.startswith("external/bazel_tools"):
            continue
        if path.startswith("external/"):
            path = os.path.join(output_base, path)
        if flag + path not in flags:
            flags.append(flag + path)
    return flags


def command(arguments, root, output_base):
    """The compile command of one action, as an editor wants it."""
    source = source_of(arguments)
    kept = [argument for argument in arguments if argument.startswith(KEPT) and not argument.startswith(DROPPED)]
    kept.append("-Wno-unknown-warning-option")
    includes = include_flags(arguments, root, output_base)
    if not source.endswith(".cu"):
        return ["g++", *kept, *includes, "-c", source]
    nvcc = next(argument for argument in arguments if os.path.basename(argument) == "nvcc")
    kept = [argument for argument in kept if argument.startswith(("-std=", "-D"))]
    # The newest device that Debian 12's clang knows; only editors use it.
    cuda = ["-x", "cuda", "--cuda-path=" + os.path.dirname(os.path.dirname(nvcc)), "--cuda-gpu-arch=sm_80",
            "-Wno-unknown-cuda-version"]
    return ["clang++", *cuda, *kept, *includes, "-c", source]


def compile_commands(actions, root, output_base):
    """The entries of compile_commands.json, one a file of this project, in the order of their names."""
    entries = {}
    for action in actions.get("actions", []):
        arguments = action.get("arguments", [])
        source = source_of(arguments)
        if source and not source.startswith(("external/", "bazel-out/", "/")) and source not in entries:
            entries[source] = {"directory": root, "file": source,
                               "arguments": command(arguments, root, output_base)}
    return [entries[source] for source in sorted(entries)]


def main():
    root, output_base = sys.argv[1:]
    entries = compile_commands(json.load(sys.stdin), root, output_base)
    json.dump(entries, sys.stdout, indent=1)
    print()
    print("compile_commands.json: %d files" % len(entries), file=sys.stderr)
    return 0 if entries else 1


if __name__ == "__main__":
    sys.exit(main())
