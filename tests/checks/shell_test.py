"""What run.sh and test.sh are made of: the line of progress, which targets a pattern means, and the packages that are
installed."""

import os
import re
import subprocess
import tempfile
import unittest

import project


def bash(script, cwd=None):
    """(stdout, stderr)"""
    tools = os.path.abspath("tools")
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", "tools=%s\n%s" % (tools, script)], cwd=cwd,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout, result.stderr


class Progress(unittest.TestCase):
    def show(self, said):
        """What is shown of what a command says (shell), and what the log keeps."""
        log, shown = bash('log=$(mktemp); source "$tools/progress.sh"; { %s; } | show_progress building "$log"; '
                          'cat "$log"; rm "$log"' % said)
        return shown.splitlines(), log.splitlines()

    def test_bazel(self):
        shown, log = self.show('echo "[300 / 1,400] Compiling a.cc; 1s"; sleep 1.1; echo "[1,305 / 1,500] 2 actions"; '
                               'echo "ERROR: c.cc failed"; echo "[1,499 / 1,500] Linking"')
        self.assertEqual(len(shown), 2, shown)
        self.assertRegex(shown[0], "^building: 1005 of 1200, [12] s$")
        self.assertRegex(shown[1], "^building: 1199 of 1200, [12] s$")
        self.assertEqual(log, ["ERROR: c.cc failed"])

    def test_bazel_before_it_compiles(self):
        shown, _ = self.show('sleep 1.1; echo "[0 / 1] [Prepa] Writing file a"')
        self.assertRegex(shown[0], "^building: getting ready, [12] s$")

    def test_apt(self):
        shown, _ = self.show('sleep 1.1; echo "dlstatus:3:41.9018:Retrieving file 3 of 7 (10s remaining)"')
        self.assertRegex(shown[0], "^building: 41 % fetched, [12] s$")
        shown, _ = self.show('sleep 1.1; echo "pmstatus:g++:amd64:80.5:Unpacking g++ (amd64)"')
        self.assertRegex(shown[0], "^building: 80 %, [12] s$")

    def test_what_is_quick_shows_nothing(self):
        self.assertEqual(self.show('echo "[1 / 1] a"; echo INFO: done'), ([], ["INFO: done"]))


class Targets(unittest.TestCase):
    FILES = {"tests/core/BUILD": 'aorta_test(\n    name = "core_test",\n)\n',
             "tests/core/softmax_test.cc": "TEST(Softmax, Adds) {}",
             "tests/core/a.py": "# soft max",
             "tests/fixtures/softmax.py": "softmax",
             "tests/onnx/onnx_test.cc": "TEST(Onnx, Cases) {}"}

    def run_in_tree(self, script):
        with tempfile.TemporaryDirectory() as folder:
            project.write_tree(folder, self.FILES)
            return bash('source "$tools/test_targets.sh"; bazel() { echo "${!#}"; }; ' + script, folder)[0].strip()

    def query(self, *patterns):
        return self.run_in_tree("targets_of " + " ".join("'%s'" % pattern for pattern in patterns))

    def test_sources_that_have_the_word(self):
        both = "kind('_test rule', rdeps(//tests/..., set(%s)))"
        self.assertEqual(self.query("*softmax*"), both % "tests/core/softmax_test.cc")
        self.assertEqual(self.query("*oNNx*"), both % "tests/onnx/onnx_test.cc")
        # The longest word of a name that is put together.
        self.assertEqual(self.query("*Rows/SOFTMAX_f16.4*"), both % "tests/core/softmax_test.cc")
        self.assertEqual(sorted(self.query("*softmax*", "*onnx*")[:-3].partition("set(")[2].split()),
                         ["tests/core/softmax_test.cc", "tests/onnx/onnx_test.cc"])

    def test_all_where_it_cannot_be_known(self):
        for patterns in ["*nothing_of_the_kind*"], ["-*softmax*"], ["*softmax*", "*-*gpu*"], ["**"]:
            self.assertEqual(self.query(*patterns), "", patterns)

    def test_label(self):
        self.assertEqual(self.run_in_tree("label_of core_test"), "//tests/core:core_test")
        self.assertEqual(self.run_in_tree("label_of Core_Test"), "//tests/core:core_test")
        self.assertEqual(self.run_in_tree("label_of other_test || true"), "")


class Packages(unittest.TestCase):
    def test_setup_installs_what_errors_name(self):
        with open("bazel/deps.bzl", encoding="utf-8") as file:
            named = set(re.findall(r'": "([^"]+)"', re.search(r"apt = \{(.*?)\}", file.read(), re.DOTALL).group(1)))
        with open("tools/setup.sh", encoding="utf-8") as file:
            installed = re.sub(r"#.*", "", re.search(r"packages=\((.*?)\n\)", file.read(), re.DOTALL).group(1)).split()
        self.assertGreater(len(named), 10)
        self.assertEqual(named - set(installed), set())


if __name__ == "__main__":
    unittest.main()
