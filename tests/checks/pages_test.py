"""Every link of the pages leads somewhere, every page is reached from the index; the checker names what isn't so."""

import tempfile
import unittest

import project
import check_pages

GOOD = {
    "README.md": "[pages](docs/README.md)\n",
    "docs/README.md": "[a](a.md)\n",
    "docs/a.md": "# A `word`, and more\n\n[head](#a-word-and-more) [b](a_batch.md) [out](https://example.org)\n",
    "docs/a_batch.md": "| `core/a.cc` | `run` | what |\n\nIt is `core/a.cc`, not `elsewhere/b.cc`.\n\n    [code](is/no/link)\n",
    "core/a.cc": "void run();\n",
}


class Pages(unittest.TestCase):
    def test_project(self):
        self.assertEqual(check_pages.check(project.ROOT), [])

    def problems(self, **changes):
        with tempfile.TemporaryDirectory() as root:
            files = {**GOOD, **{name.replace("__", "/") + ".md": text for name, text in changes.items()}}
            project.write_tree(root, {name: text for name, text in files.items() if text is not None})
            return check_pages.check(root)

    def test_good_tree(self):
        self.assertEqual(self.problems(), [])

    def test_dead_link(self):
        self.assertEqual(self.problems(docs__README="[a](a.md)\n\nSee [c](c.md)."),
                         ["docs/README.md:3: a link must lead to a file of the tree, got c.md"])

    def test_dead_anchor(self):
        self.assertEqual(self.problems(docs__README="[a](a.md#b)\n"),
                         ["docs/README.md:1: a link must lead to a heading of the page, got a.md#b"])

    def test_page_on_its_own(self):
        self.assertEqual(self.problems(docs__c="# C\n"),
                         ["docs/c.md: a page must be reached by links from docs/README.md, got none"])

    def test_no_way_in(self):
        self.assertEqual(self.problems(README="Aorta\n")[-1],
                         "README.md: it must link to docs/README.md, got no such link")
        self.assertEqual(self.problems(docs__README=None)[-1],
                         "docs/README.md: the index of the pages must be there, got none")

    def test_file_that_is_gone(self):
        self.assertEqual(self.problems(docs__README="[a](a.md) and `core/b.h`\n"),
                         ["docs/README.md:1: a file that a page names must be there, got core/b.h"])

    def test_program_that_is_no_example(self):
        page = "[pages](docs/README.md)\n\n```cpp\n#include <aorta/aorta.h>\nint main() {}\n```\n"
        problem = ["README.md:3: a program must be one of examples/, got another"]
        self.assertEqual(self.problems(README=page), problem)
        with tempfile.TemporaryDirectory() as root:
            for text, found in (("// What it does.\n//\n#include <aorta/aorta.h>\nint main() {}\n", []),
                                ("#include <aorta/aorta.h>\nint main() { }\n", problem)):
                project.write_tree(root, {**GOOD, "README.md": page, "examples/a.cc": text})
                self.assertEqual(check_pages.check(root), found)

    def test_function_that_is_gone(self):
        self.assertEqual(self.problems(docs__a_batch="| `core/a.cc` | `walk` | what |\n"),
                         ["docs/a_batch.md:1: a step's function must stand in its file, got walk in core/a.cc"])


if __name__ == "__main__":
    unittest.main()
