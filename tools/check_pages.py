"""Checks the pages of the project: check_pages.py [ROOT]

Prints `page:line: rule, got what` for each relative link that leads nowhere, each page of docs/ that no chain of links
from docs/README.md reaches, each file of the tree that a page names and that isn't there, each function that
docs/a_batch.md looks for in a file without it, and a program of README.md that isn't one of the examples; exits 1 if any.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
import source_tree

INDEX = "docs/README.md"
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:h|cc|cu|cuh|py|sh|bzl|md))`")
PROGRAM = re.compile(r"^```cpp\n(.*?)^```", re.DOTALL | re.MULTILINE)
STEP = re.compile(r"\| `([^`]+)` \| `([^`]+)` \|")


def prose(text):
    """The lines of a page, those of code as empty ones."""
    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
            yield ""
        else:
            yield "" if fenced or line.startswith("    ") else line


def anchor(heading):
    """What a #link to it says, as GitHub spells it."""
    return re.sub(r"[^\w\- ]", "", heading.lstrip("#").strip().lower()).replace(" ", "-")


def anchors(text):
    """What #links may name."""
    return {anchor(line) for line in prose(text) if line.startswith("#")}


def program_of(example):
    """A source without the comment that it begins with."""
    return re.sub(r"\A(//[^\n]*\n)+", "", example)


def check(root):
    files = set(source_tree.files(root))
    pages, programs = {}, set()
    for name in files:
        if name.startswith("examples/") and name.endswith(".cc"):
            with open(os.path.join(root, name), encoding="utf-8") as file:
                programs.add(program_of(file.read()))
    for name in sorted(files):
        if name == "README.md" or name.startswith("docs/") and name.endswith(".md"):
            with open(os.path.join(root, name), encoding="utf-8") as file:
                pages[name] = file.read()
    problems, links = [], {name: set() for name in pages}
    rooms = {name.split("/")[0] for name in files if "/" in name}
    for program in PROGRAM.finditer(pages.get("README.md", "")):
        if program[1] not in programs:
            problems.append("README.md:%d: a program must be one of examples/, got another" % (
                pages["README.md"][:program.start()].count("\n") + 1))
    for name, text in pages.items():
        for number, line in enumerate(prose(text), 1):
            where = "%s:%d: " % (name, number)
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if re.match(r"\w+:", target):
                    continue
                path, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
                if path not in files:
                    problems.append(where + "a link must lead to a file of the tree, got " + target)
                elif anchor and anchor not in anchors(pages.get(path, "")):
                    problems.append(where + "a link must lead to a heading of the page, got " + target)
                links[name].add(path)
            for path in FILE.findall(line):
                if path.split("/")[0] in rooms and path not in files:
                    problems.append(where + "a file that a page names must be there, got " + path)
            step = STEP.match(line)
            if step and step.group(1) in files and name == "docs/a_batch.md":
                with open(os.path.join(root, step.group(1)), encoding="utf-8") as file:
                    if not re.search(r"(?<!\w)%s(?!\w)" % re.escape(step.group(2)), file.read()):
                        problems.append(where + "a step's function must stand in its file, got %s in %s" % (
                            step.group(2), step.group(1)))
    return problems + unreached(pages, links)


def unreached(pages, links):
    if INDEX not in pages:
        return ["%s: the index of the pages must be there, got none" % INDEX]
    reached, next_ones = set(), [INDEX]
    while next_ones:
        page = next_ones.pop()
        if page in pages and page not in reached:
            reached.add(page)
            next_ones += links[page]
    problems = ["%s: a page must be reached by links from %s, got none" % (name, INDEX)
                for name in pages if name not in reached and name.startswith("docs/")]
    if INDEX not in links.get("README.md", set()):
        problems.append("README.md: it must link to %s, got no such link" % INDEX)
    return problems


if __name__ == "__main__":
    found = check(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), ".."))
    print("\n".join(found) or "every link leads somewhere")
    sys.exit(1 if found else 0)
