"""Where the checks look: the tree that this test was built from, and small bad trees made for them."""

import os
import sys

# Bazel's copy of WORKSPACE is a link to the real one; the checks read the whole tree that it stands in.
ROOT = os.path.dirname(os.path.realpath("WORKSPACE"))
sys.path.insert(0, os.path.abspath("tools"))


def write_tree(folder, files):
    """Writes {path: text} below folder."""
    for path, text in files.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
