"""The benchmark runs every row of every table, and says MISMATCH where two sides computed different things."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path[:0] = [os.path.abspath("tools/bench"), os.path.abspath("tests/mpi")]
import mpirun
import report

BENCH, PLUGIN, DRIVER = (os.path.abspath(path) for path in sys.argv[1:4])  # those of the emulated device
PEER = os.environ.get("AORTA_PEER_PYTHON")


def run(*arguments, peer=None):
    """(exit status, printed lines, JSON) of the benchmark; without a peer unless one is named."""
    environment = {name: value for name, value in os.environ.items() if name != "AORTA_PEER_PYTHON"}
    environment.setdefault("HOME", tempfile.gettempdir())
    if peer:
        environment["AORTA_PEER_PYTHON"] = peer
    environment.update(mpirun.folders())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.json")
        done = subprocess.run([BENCH, *arguments, "--json", path, "--tiny", "--seconds", "0.002"], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        rows = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                rows = json.load(file)
    return done.returncode, done.stdout.splitlines() + done.stderr.splitlines(), rows


class Selftest(unittest.TestCase):
    VERDICTS = {"reached": "ok", "missed": "MISS", "differs": "MISMATCH", "last element differs": "MISMATCH",
                "shape differs": "MISMATCH", "ours fails": "MISMATCH"}

    def test_verdicts(self):
        status, lines, table = run("selftest")
        self.assertEqual(status, 1, lines)
        verdicts = {row["name"]: row["verdict"] for row in table["rows"]}
        for name, verdict in self.VERDICTS.items():
            self.assertEqual(verdicts[name], verdict, name)
        for name, verdict in verdicts.items():
            line = next(line for line in lines if line.startswith(name))
            self.assertEqual("MISMATCH" in line, verdict == "MISMATCH", line)

    def test_without_a_peer_its_cells_are_empty(self):
        status, lines, table = run("selftest", "--filter", "PyTorch")
        self.assertEqual(status, 0, lines)
        for row in table["rows"]:
            self.assertNotIn("median", row["peer"])
            self.assertEqual(row["peer"]["missing"], "PyTorch: AORTA_PEER_PYTHON names no interpreter")
        self.assertIn("Empty cells: PyTorch: AORTA_PEER_PYTHON names no interpreter.", lines)

    def test_a_peer_that_is_none(self):
        for peer in "/nonexistent/python", "/bin/true":
            status, lines, table = run("selftest", "--filter", "PyTorch agrees", peer=peer)
            self.assertEqual(status, 0, lines)
            self.assertIn(peer, table["rows"][0]["peer"]["missing"])

    def test_with_a_peer(self):
        if not PEER:
            self.skipTest("AORTA_PEER_PYTHON names no interpreter")
        status, lines, table = run("selftest", "--filter", "PyTorch", peer=PEER)
        self.assertEqual(status, 1, lines)
        rows = {row["name"]: row for row in table["rows"]}
        self.assertGreater(rows["PyTorch agrees"]["peer"]["median"], 0)
        self.assertEqual(rows["PyTorch differs"]["verdict"], "MISMATCH")
        self.assertIn("no_such_name", rows["PyTorch fails"]["peer"]["missing"])


class Tables(unittest.TestCase):
    def assert_runs(self, name, *arguments, peer=None):
        status, lines, table = run(name, *arguments, peer=peer)
        self.assertEqual(status, 0, lines)
        self.assertFalse([line for line in lines if "MISMATCH" in line and "0 MISMATCH" not in line])
        self.assertEqual(table["table"], name)
        for row in table["rows"]:
            self.assertGreater(row["ours"]["median"], 0, row["name"])
            self.assertTrue([line for line in lines if line.startswith(row["name"])], row["name"])
            if peer:
                for side in "reference", "peer":
                    self.assertNotIn("missing", row.get(side, {}), row["name"])
        return table

    def test_core(self):
        table = self.assert_runs("core", "--threads", "1,2")
        with open("/proc/cpuinfo") as file:
            onednn_has_bf16 = "avx512bw" in file.read()
        for row in table["rows"]:
            if row["name"].startswith("matmul bf16") and not onednn_has_bf16:
                self.assertIn("missing", row["reference"], row["name"])
            elif row["reference"]["name"] != "LibTorch":
                self.assertGreater(row["reference"]["median"], 0, row["name"])

    def test_others(self):
        for name in "transcendental", "reduce", "index", "random":
            with self.subTest(name):
                self.assert_runs(name, "--threads", "1")

    def test_against_the_peer(self):
        if not PEER:
            self.skipTest("AORTA_PEER_PYTHON names no interpreter")
        for name in "core", "transcendental", "reduce", "index", "random":
            with self.subTest(name):
                self.assert_runs(name, "--threads", "1", peer=PEER)

    def test_sweep(self):
        for peer in [None, PEER] if PEER else [None]:
            status, lines, table = run("sweep", "--threads", "1", "--filter", "1e3", peer=peer)
            self.assertEqual(status, 0, lines)
            for row in table["rows"]:
                self.assertGreater(row["ours"]["median"], 0, row["name"])
                self.assertIn(row["name"].split(",")[0], " ".join(lines))
        lines = run("sweep", "--filter", "softmax", "--threads", "1,2")[1]
        self.assertTrue([line for line in lines if line.startswith("softmax forward")], lines)

    def test_parallel(self):
        if not shutil.which("mpirun"):
            self.skipTest("there is no mpirun")
        for some in "784-30-10", "all_reduce", "DataParallel":  # of each kind, the small ones
            self.assertTrue(self.assert_runs("parallel", "--filter", some)["rows"])
        if PEER:
            self.assert_runs("parallel", "--filter", "a thread each, ", peer=PEER)

    def test_tables_of_a_gpu(self):
        listed = subprocess.run([BENCH, "--list"], stdout=subprocess.PIPE, text=True).stdout.split("\n")
        names = [line.split()[0] for line in listed if line.startswith("cuda")]
        self.assertGreaterEqual(len(names), 8)
        names.remove("cuda-training")  # takes minutes on the emulated device
        for name in names:
            with self.subTest(name):
                with unittest.mock.patch.dict(os.environ, AORTA_CUDA_PLUGIN="/nonexistent"):
                    status, lines, table = run(name)
                self.assertEqual(status, 0, lines)
                for row in table["rows"]:
                    self.assertRegex(row["ours"]["missing"], "^no GPU: .", row["name"])
                with unittest.mock.patch.dict(os.environ, AORTA_CUDA_PLUGIN=PLUGIN, LD_LIBRARY_PATH=os.path.dirname(DRIVER)):
                    self.assert_runs(name)

    def test_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            command = [BENCH, "disk", folder, "--size", "1", "--seconds", "0.01", "--blocks", "4,1024", "--depths", "1,2",
                       "--svg", folder]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if "O_DIRECT" in done.stderr:
                self.skipTest(done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)
            for pattern in "random", "sequential":
                self.assertRegex(done.stdout, r"\n%s +depth 1 +depth 2\n +4 KB +[\d.]+k? +[\d.]+ MB/s" % pattern)
            self.assertEqual(sorted(os.listdir(folder)), ["disk_%s_%s.svg" % (pattern, what) for pattern in
                                                          ("random", "sequential") for what in ("iops", "mbs")])
        for arguments, text in [(["--what"], "disk: one folder and known options (see --help), got '--what'"),
                                (["--blocks", "3"], "disk: --blocks is a number from 4 to 1048576, got '3'"),
                                (["/nowhere"], "disk: a file must be made in the folder, got /nowhere: ENOENT")]:
            done = subprocess.run([BENCH, "disk", *arguments], stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)

    def test_compile_counts_lines(self):
        lines, = self.assert_runs("compile", "--filter", "preprocessed")["rows"]
        self.assertEqual(lines["unit"], "lines")
        self.assertGreater(lines["ours"]["median"], 10000)
        self.assert_runs("compile", "--filter", "g++ -O0")

    def test_list_and_wrong_arguments(self):
        names = subprocess.run([BENCH, "--list"], stdout=subprocess.PIPE, text=True).stdout.split("\n")
        self.assertTrue(names[0].startswith("core "), names)
        for arguments, text in [(["nothing"], "bench: a table that --list names, got 'nothing'"),
                                (["core", "--threads", "1,x"], "--threads is a number from 1 to 1024, got 'x'"),
                                (["core", "--filter", "nothing"], "a filter that leaves rows, got 'nothing'"),
                                (["core", "--what"], "known options (see --help), got '--what'")]:
            done = subprocess.run([BENCH, *arguments], stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)


class Report(unittest.TestCase):
    def test_table_in_a_page(self):
        _, _, table = run("selftest", "--filter", "reached")
        page = report.update("before\n<!-- table selftest -->\nold\n<!-- end -->\nafter\n", [table])
        self.assertTrue(page.startswith("before\n"))
        self.assertTrue(page.endswith("<!-- end -->\nafter\n"))
        self.assertNotIn("old", page)
        row = next(line for line in page.splitlines() if line.startswith("| reached | 1 |"))
        self.assertIn("| ok |", row)
        self.assertEqual(report.update(page, [table]), page)
        with self.assertRaises(SystemExit):
            report.update("no marks\n", [table])


if __name__ == "__main__":
    unittest.main()
