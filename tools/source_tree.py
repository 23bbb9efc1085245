"""Which files belong to a source tree: what git tracks or would, or every visible file where git isn't."""

import os
import re
import subprocess

CODE = (".h", ".cc", ".cu", ".cuh")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def files(root, suffixes=()):
    """The paths of the tree's files, relative to root, sorted; those that end in one of suffixes if any."""
    command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    if os.path.exists(os.path.join(root, ".git")):
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.decode()
        names = [name for name in output.split("\0") if os.path.isfile(os.path.join(root, name))]
    else:
        names = []
        for folder, folders, here in os.walk(root):
            folders[:] = [name for name in folders if not name.startswith(".") and not (
                folder == root and (name == "build" or name.startswith("bazel-")))]
            names += [os.path.relpath(os.path.join(folder, name), root) for name in here]
    return sorted({name for name in names if not suffixes or name.endswith(tuple(suffixes))})


def includes(path):
    """Yields (line number, '<' or '"', included path) of each include directive of a file."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = INCLUDE.match(line)
            if found:
                yield number, found.group(1), found.group(2)
