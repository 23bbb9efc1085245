"""Checks that files stay readable, the repository small, and the one header light: check_sizes.py [ROOT]

Prints `file: rule, got value` for each that doesn't, and the measured values; exits 1 if any.
"""

import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import source_tree

MAX_LINES = 600  # of a source file, in any language
LONG_HEADER = 300  # lines: a remark, no error
MAX_TREE_BYTES = 20000 * 1000  # without the network that comes with aorta-echo
SHIPPED = "apps/echo/weights/left_ventricle.safetensors"
MAX_SHIPPED_BYTES = 4 * 1000 * 1000
MAX_PREPROCESSED_LINES = 121000  # the standard headers alone make 72,000 to 108,000
MAX_PARAMETERS = 6  # of a function
MAX_LOOP_PARAMETERS = 9  # of a kernel's loop: pointers and strides, which stay in registers
LOOPS = ("core/cpu/isa/", ".cu", ".cuh")
MANY_PARAMETERS = {
    # PyTorch's signatures, which have a struct of options besides.
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "avg_pool2d", "avg_pool3d",
    "sync_batch_norm",
    # Gradients, which take what their op does and its result.
    "scatter_reduce_gradient", "line_gradient",
    "allocate",  # OpenCV's
    "multiply_tile", "direct_tile",
}
LANGUAGES = source_tree.CODE + (".py", ".sh", ".bzl")


def line_count(path):
    with open(path, "rb") as file:
        return file.read().count(b"\n")


def check_lines(root):
    """(problems, remarks) about files that grew too long."""
    counts = {name: line_count(os.path.join(root, name)) for name in source_tree.files(root, LANGUAGES)}
    problems = ["%s: a file has at most %d lines, got %d" % (name, MAX_LINES, count)
                for name, count in sorted(counts.items()) if count > MAX_LINES]
    remarks = ["%s: a header had better stay below %d lines, got %d" % (name, LONG_HEADER, count)
               for name, count in sorted(counts.items())
               if name.endswith((".h", ".cuh")) and LONG_HEADER < count <= MAX_LINES]
    return problems, remarks


def check_bytes(root):
    """(problems, remarks) about the size of all files together."""
    sizes = {name: os.path.getsize(os.path.join(root, name)) for name in source_tree.files(root)}
    shipped = sizes.pop(SHIPPED, 0)
    if shipped > MAX_SHIPPED_BYTES:
        return ["%s: it has at most %d MB, got %.1f MB" % (SHIPPED, MAX_SHIPPED_BYTES / 1e6, shipped / 1e6)], []
    total = sum(sizes.values())
    remark = "%d files, %.1f MB" % (len(sizes), total / 1e6)
    if total <= MAX_TREE_BYTES:
        return [], [remark]
    largest = sorted(sizes, key=sizes.get)[-3:]
    return ["%s: the tree's files have at most %d MB, got %s" % (
        ", ".join(largest), MAX_TREE_BYTES / 1e6, remark)], []


def declared_parameters(text):
    """(line, name, number of parameters) of what looks like a function's declaration in C++."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    for found in re.finditer(r"\n *(?:[\w:<>,*&\[\] ]+ )?[*&]*(\w+)\(", text):
        depth, angles, count, at = 1, 0, 1, found.end()
        while depth and at < len(text):
            char = text[at]
            depth += (char in "([{") - (char in ")]}")
            angles += (char == "<") - (char == ">")
            count += char == "," and depth == 1 and angles == 0
            at += 1
        parameters = text[found.end():at - 1]
        # Each has a type and a name, which no argument of a call has.
        if re.match(r"\s*(const )?[\w:]+(<[^()]*>)?(\s*[*&]+\s*|\s+)\w+\s*[,=]", parameters):
            yield text[:found.start(1)].count("\n") + 1, found[1], count


def check_parameters(root):
    """(problems, remarks) about functions that take too much by place."""
    problems = []
    for name in source_tree.files(root, source_tree.CODE):
        if name.startswith(("tests/", "examples/")):
            continue
        most = MAX_LOOP_PARAMETERS if name.startswith(LOOPS[0]) or name.endswith(LOOPS[1:]) else MAX_PARAMETERS
        with open(os.path.join(root, name), encoding="utf-8") as file:
            problems += ["%s:%d: a function has at most %d parameters, got %d of %s" % (name, line, most, count, function)
                         for line, function, count in declared_parameters(file.read())
                         if count > most and function not in MANY_PARAMETERS]
    return sorted(problems), []


def preprocessed_lines(root, header):
    """Lines of the header after the preprocessor, standard headers included."""
    with tempfile.TemporaryDirectory() as include:
        os.symlink(os.path.abspath(root), os.path.join(include, "aorta"))
        command = ["g++", "-std=c++20", "-E", "-I", include, "-x", "c++", "-"]
        program = "#include <aorta/%s>\n" % header
        return subprocess.run(command, input=program.encode(), check=True, stdout=subprocess.PIPE).stdout.count(b"\n")


def check_preprocessed(root, header="aorta.h"):
    """(problems, remarks) about what a user's compiler reads."""
    lines = preprocessed_lines(root, header)
    if lines <= MAX_PREPROCESSED_LINES:
        return [], ["%s: %d lines after the preprocessor" % (header, lines)]
    return ["%s: it has at most %d lines after the preprocessor, got %d" % (
        header, MAX_PREPROCESSED_LINES, lines)], []


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    failed = False
    for check in (check_lines, check_bytes, check_parameters, check_preprocessed):
        problems, remarks = check(root)
        print("\n".join(problems + remarks))
        failed = failed or bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
