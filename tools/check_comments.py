"""Checks that comments begin with what they are about: check_comments.py [ROOT]

Prints `file:line: rule, got what` for each comment of a .h .cc .cu .cuh, at the end of a line of code too, whose first
words need the comment or the name above it to be understood: "Of ...", "Those ...", "The same ..."; exits 1 if any.
"""

import os
import re
import sys

sys.dont_write_bytecode = True
import source_tree

RULE = "a comment must begin with its subject, not with Of, Those or The same"
# What stands before a comment (texts, characters, and whatever else), its slashes, and its words.
COMMENT = re.compile(r"""((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|(?!//).)*)(///?)(?!/) ?(.*)""")
ELLIPTIC = re.compile(r"(Of|Those|The same)\b")


def first_lines(lines):
    """(number, words) of the line that each comment begins on; one goes on in the slashes right below."""
    above = None
    for number, line in enumerate(lines, 1):
        found = COMMENT.match(line)
        place = found and (len(found[1]), found[2])
        if found and not (place == above and not found[1].strip()):
            yield number, found[3]
        above = place


def check(root):
    """Every comment that begins so as a line of text."""
    problems = []
    for path in source_tree.files(root, source_tree.CODE):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            problems += ["%s:%d: %s, got \"%s\"" % (path, number, RULE, words)
                         for number, words in first_lines(file.read().split("\n")) if ELLIPTIC.match(words)]
    return problems


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    problems = check(root)
    print("\n".join(problems) or "every comment begins with its subject")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
