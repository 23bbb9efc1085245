"""docs/adding_an_op.md, followed to the letter: in a copy of the tree its commands are given and its code is written over
the stems' code; what that changes is compiled, without optimisation, and linked with the library and the catalogue that are
built already, whose code it takes the place of; the tests of the three ops run. References come from this file, since
PyTorch isn't there.

    adding_an_op_test.py LIBAORTA_SO ARCHIVE...
"""

import ast
import concurrent.futures
import filecmp
import itertools
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile

import project

FOLDERS = ("autograd", "core", "cuda", "docs", "tests", "tools")
# What is made by iterating a list that grows, beside the files that the tool changes.
TABLES = ("core/cpu/isa/unary_rows.cc", "core/cpu/isa/gradient_rows.cc", "core/cpu/isa/reduction.cc", "core/cpu/pointwise.cc",
          "core/cpu/reduction.cc", "autograd/functions/pointwise.cc")
TESTS = ("tests/catalog_test.cc", "tests/gradients_test.cc", "tests/empty_checks.cc", "tests/gradient_checks.cc", "tests/view_writes.cc")


def instruction_set():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = set(re.search(r"^flags\s*:(.*)$", file.read(), re.M)[1].split())
    if {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= flags:
        return "v4"
    return "v3" if {"avx2", "bmi2", "f16c", "fma"} <= flags else "v2"


def steps(page):
    """Of each block of code, in order: (command, None), or (code, path) with the first path of the item that it stands under."""
    name, item, block = "", "", []
    for line in page.split("\n") + ["end"]:
        if line.startswith("    ") or (block and not line):
            block.append(line)
            continue
        text, block = textwrap.dedent("\n".join(block)).strip(), []
        if text.startswith("tools/new_op.py"):
            name = text.split()[1]
            yield text, None
        elif text and item:
            yield text, re.search(r"`([\w/<>]+\.\w+)`", item)[1].replace("<name>", name)
        if re.match(r"\d+\. ", line):
            item = line
        elif line.startswith("#"):
            item = ""


def end_of(text, start):
    """Where the function or struct that begins at start ends: at the line on which its brackets are closed, or in Python at
    the next line that isn't indented."""
    if text.startswith("def ", start):
        return re.compile(r"\n(?=\S)|\n*\Z").search(text, start).start()
    depth, seen = 0, False
    for place in range(start, len(text)):
        depth += (text[place] in "{([") - (text[place] in "})]")
        seen = seen or text[place] == "{"
        if text[place] == "\n" and seen and depth == 0:
            return place
    return len(text)


def write_over(text, code):
    """The text with the code in the place of what begins with the same line, or names the same op in a list."""
    includes = re.findall(r"^#include .*\n", code, re.M)
    code = re.sub(r"^#include .*\n\n?", "", code, flags=re.M)
    for include in includes:
        text = text.replace("#include", include + "#include", 1)
    first = code.split("\n", 1)[0]
    name = re.match(r"\(?(\"\w+\")[:,]", first)
    if name:
        line = re.search(r"^ *\(?%s[:,] ?.*$" % name[1], text, re.M)
        return text[:line.start()] + re.match(" *", line[0])[0] + code + text[line.end():]
    start = re.search(r"^ *" + re.escape(first) + "$", text, re.M)
    assert start, f"there is no {first} in\n{text}"
    return text[:start.start()] + code + text[end_of(text, start.start()):]


# ---- References.

SHAPE = (2, 3, 4)
VALUES = [((7 * i) % 24 - 11) / 8 for i in range(24)]


def places(keep):
    """For each result of a reduction that keeps these dimensions, the places of its elements."""
    found = {}
    for place, index in enumerate(itertools.product(*map(range, SHAPE))):
        found.setdefault(tuple(index[d] for d in keep), []).append(place)
    return list(found.values())


def lines(dim):
    return places([d for d in range(3) if d != dim])


def decayed(values, dim, order):
    result = [0.0] * 24
    for line in lines(dim):
        total = 0.0
        for place in order(line):
            total = values[place] + total / 2
            result[place] = total
    return result


def weights(count):
    return [(7 * i % 11) * 0.125 + 0.25 for i in range(count)]


def soft_cap():
    out = [2 * math.tanh(x / 2) for x in VALUES]
    gradient = [w * (1 - y * y / 4) for w, y in zip(weights(24), out)]
    return {"default": (SHAPE, out, None, gradient)}


def sum_squares():
    samples = {}
    for call, keep, shape in (("dim", [0, 2], (2, 4)), ("keepdim", [0, 1], (2, 3, 1)), ("dims", [1], (3,)), ("default", [], ())):
        parts = places(keep)
        out = [sum(VALUES[place] ** 2 for place in part) for part in parts]
        gradient = [0.0] * 24
        for part, weight in zip(parts, weights(len(parts))):
            for place in part:
                gradient[place] = 2 * VALUES[place] * weight
        samples[call] = (shape, out, out, gradient)
    return samples


def decayed_sum():
    return {call: (SHAPE, decayed(VALUES, dim, list), decayed([abs(x) for x in VALUES], dim, list),
                   decayed(weights(24), dim, reversed)) for call, dim in (("default", 1), ("last", 2))}


OPS = {"soft_cap": ("pointwise", soft_cap), "sum_squares": ("reduction", sum_squares), "decayed_sum": ("decayed_sum", decayed_sum)}


def npy(values, shape, code="d"):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % ({"d": "<f8", "B": "|u1"}[code], tuple(shape))
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%d%s" % (len(values), code), *values)


def write_fixtures(folder):
    """The project's, but for the families of the new ops, which have samples of these alone."""
    families = {family for family, _ in OPS.values()}
    real = os.path.join(project.ROOT, "tests", "fixtures")
    for room in ("core", "autograd"):
        os.makedirs(os.path.join(folder, room))
        for name in os.listdir(os.path.join(real, room)):
            if name.endswith(".npz") and name[: -len(".npz")] not in families:
                shutil.copy(os.path.join(real, room, name), os.path.join(folder, room, name))
    for op, (family, samples) in OPS.items():
        with zipfile.ZipFile(os.path.join(folder, "core", family + ".npz"), "a") as core, \
                zipfile.ZipFile(os.path.join(folder, "autograd", family + ".npz"), "a") as autograd:
            for call, (shape, out, scale, gradient) in samples().items():
                key = f"{op}/{call}/basic/"
                core.writestr(key + "x0.npy", npy(VALUES, SHAPE))
                core.writestr(key + "out0.npy", npy(out, shape))
                core.writestr(key + "dtypes.npy", npy([0, 1, 2, 3, 255, 255, 255, 255], (1, 8), "B"))
                if scale:
                    core.writestr(key + "scale0.npy", npy(scale, shape))
                autograd.writestr(key + "grad0.npy", npy(gradient, SHAPE))


class AddingAnOp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.tree = os.path.join(folder.name, "aorta")
        for name in FOLDERS:
            shutil.copytree(os.path.join(project.ROOT, name), os.path.join(self.tree, name),
                            ignore=shutil.ignore_patterns("*.npz", "*.png", "*.jpg", "corpus", "__pycache__"))
        shutil.copy(os.path.join(project.ROOT, "aorta.h"), self.tree)

    def run_or_fail(self, command, **options):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, **options)
        self.assertEqual(done.returncode, 0, " ".join(command) + "\n" + done.stdout[-6000:])
        return done.stdout

    def follow(self):
        """Follows the page; returns the names of the ops and the files that it names."""
        with open(os.path.join(self.tree, "docs", "adding_an_op.md"), encoding="utf-8") as file:
            page = file.read()
        named = []
        for code, path in steps(page):
            if path is None:
                said = self.run_or_fail([sys.executable, *code.split()], cwd=self.tree)
                named.append((code.split()[1], re.findall(r"^  (\S+)$", said, re.M)))
                continue
            place = os.path.join(self.tree, path)
            with open(place, encoding="utf-8") as file:
                text = file.read()
            with open(place, "w", encoding="utf-8") as file:
                file.write(write_over(text, code))
            if path.endswith(".py"):
                with open(place, encoding="utf-8") as file:
                    ast.parse(file.read(), path)
        return page, named

    def changed_sources(self):
        for at, _, names in os.walk(self.tree):
            for name in names:
                path = os.path.relpath(os.path.join(at, name), self.tree)
                old, new = os.path.join(project.ROOT, path), os.path.join(self.tree, path)
                if name.endswith(".cc") and not (os.path.exists(old) and filecmp.cmp(old, new, shallow=False)):
                    yield path

    def compile(self, path):
        isa = instruction_set()
        flags = ["-march=x86-64-" + isa, "-DAORTA_ISA=" + isa, "-fno-math-errno", "-ffp-contract=off"] if "/isa/" in path else []
        target = os.path.join(self.folder, path.replace("/", "_") + ".o")
        self.run_or_fail(["g++", "-std=c++20", "-O0", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", *flags,
                          "-I" + self.folder, "-c", os.path.join(self.tree, path), "-o", target])
        return target

    def test_the_page_is_true(self):
        page, named = self.follow()
        self.assertEqual([name for name, _ in named], list(OPS))
        self.assertEqual([len(files) for _, files in named], [3, 3, 6])  # as the page says
        for name, files in named:
            for path in files:
                self.assertIn("`%s`" % path.replace(name, "<name>"), page)
        sources = sorted({*self.changed_sources(), *TABLES, *TESTS})
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(self.compile, sources))
        program = os.path.join(self.folder, "ops_test")
        library, *archives = map(os.path.abspath, sys.argv[1:])
        # The archives' objects are of several sources each, some of them changed: what comes first holds.
        self.run_or_fail(["g++", "-rdynamic", "-Wl,--allow-multiple-definition", "-o", program, *objects, *archives, library,
                          "-lgtest", "-lpthread"])
        own_name = re.search(r"SONAME.*\[(.*)\]", self.run_or_fail(["readelf", "-d", library]))[1]
        os.symlink(library, os.path.join(self.folder, own_name))
        fixtures = os.path.join(self.folder, "fixtures")
        write_fixtures(fixtures)
        said = self.run_or_fail([program, "--gtest_filter=" + ":".join(f"*/{op}" for op in OPS)], cwd=self.tree,
                                env={**os.environ, "AORTA_FIXTURES": fixtures, "LD_LIBRARY_PATH": self.folder})
        for op in OPS:
            for check in ("Catalog.Forward", "CatalogThreads.SameBits", "CatalogKernels.AreThoseThatTheRowNames", "Gradients.First",
                          "Gradients.PyTorch", "Gradients.Second"):
                self.assertIn(f"[       OK ] Rows/{check}/{op} ", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
