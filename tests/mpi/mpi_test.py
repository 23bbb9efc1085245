"""Collectives between processes: the bits of the engine of threads, and an end soon whatever happens."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mpirun

RANKS, PLUGIN, STOPS_AT_THE_START, STOPS_AT_THE_END = (os.path.abspath(path) for path in sys.argv[1:5])
del sys.argv[1:5]


@unittest.skipUnless(mpirun.is_there(), "there is no mpirun")
class Mpi(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)  # where records are written

    def tearDown(self):
        self.assertEqual(mpirun.left(), [], "processes are left")

    def run_scene(self, count, scene, **more):
        started = time.monotonic()
        done = mpirun.run(count, [RANKS, scene], **more)
        self.seconds = time.monotonic() - started
        return done

    def check(self, count, scene):
        done = self.run_scene(count, scene)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")

    def fails(self, count, scene, code, pattern):
        """One line says what happened."""
        done = self.run_scene(count, scene)
        said = mpirun.said_by_us(done.stderr)
        self.assertEqual(len(said), 1, done.stderr)
        self.assertRegex(said[0], "^" + pattern + "$")
        self.assertEqual(done.returncode, code, done.stderr)

    def test_values_of_1(self):
        self.check(1, "values")

    def test_values_of_2(self):
        self.check(2, "values")

    def test_values_of_4(self):
        self.check(4, "values")

    def test_values_of_8(self):
        self.check(8, "values")

    def test_long_tensors_go_in_pieces(self):
        self.check(3, "pieces")

    def test_groups_of_the_same_ranks(self):
        self.check(3, "duplicates")

    def test_groups_of_some_ranks(self):
        self.check(1, "splits")
        self.check(3, "splits")
        self.check(4, "splits")

    def test_a_late_rank_of_a_group_of_some(self):
        self.fails(3, "splits_late", 4, r"barrier 0: every rank must come within 2 s, got none of rank 2 \(pid \d+\): .*")

    def test_distributed_data_parallel_of_2_and_4(self):
        self.check(2, "ddp")
        self.check(4, "ddp")

    def test_fully_sharded_modules_of_2_and_4(self):
        self.check(2, "fsdp")
        self.check(4, "fsdp")

    def test_layers_divided_among_2_and_4(self):
        self.check(2, "tensor_parallel")
        self.check(4, "tensor_parallel")

    def test_ranks_that_disagree(self):
        done = self.run_scene(2, "mismatch")
        want = ("all_reduce: ranks must make the same call, got rank 0: all_reduce 0 of f32 [4,3], sum; "
                "rank 1: all_reduce 0 of f32 [4,2], sum")
        self.assertIn(want, done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_ranks_that_disagree_in_every_way(self):
        for count in 2, 3:
            self.check(count, "mismatches")

    def test_a_duplicate_beside_another_call(self):
        done = self.run_scene(2, "beside")
        want = "ranks must make the same call, got rank 0: barrier 0; rank 1: duplicate world.1"
        self.assertIn(want, done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_ranks_of_other_networks(self):
        done = self.run_scene(2, "networks")
        want = ("1.weight: broadcast: ranks must make the same call, got rank 0: broadcast 2 of f32 [1,3], from rank 0; "
                "rank 1: broadcast 2 of f32 [2,3], from rank 0")
        self.assertIn(want, done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_a_rank_that_is_killed(self):
        self.fails(3, "killed", 137, r"ranks: every process must live, got one that has ended, rank 2 \(pid \d+\): it is "
                   r"waiting for a batch, for [\d.]+ s; its last call: barrier 0 of world, done [\d.]+ s ago")
        self.assertLess(self.seconds, 5)

    def test_a_rank_that_is_killed_while_mpirun_is_busy(self):
        """mpirun must see that one first, and return its code, though the others end as soon as they find it gone."""
        process = mpirun.start(3, [RANKS, "killed_unseen"])
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        time.sleep(0.5)
        process.send_signal(signal.SIGCONT)
        _, said = mpirun.finish(process)
        self.assertIn("ranks: every process must live, got one that has ended, rank 2 (pid ", said)
        self.assertEqual(process.returncode, 137, said)

    def test_a_rank_that_is_stopped(self):
        self.fails(3, "stopped", 4, r"all_reduce 1 of f32 \[4\], sum: every rank must come within 2 s, got none of rank 2 "
                   r"\(pid \d+\): it is waiting for a batch, for [\d.]+ s; its last call: barrier 0 of world, done [\d.]+ s ago")
        self.assertLess(self.seconds, 8)

    def test_a_rank_that_is_late(self):
        self.fails(2, "late", 4, r"all_reduce 1 of f32 \[4\], sum: every rank must come within 2 s, got none of rank 1 .*")

    def test_a_rank_that_leaves(self):
        self.fails(2, "leaves", 4, r"all_reduce 1 of f32 \[4\], sum: every rank must come within 2 s, got none of rank 1 "
                   r"\(pid \d+\): it is at its end, .*")

    def test_a_rank_that_fails(self):
        self.fails(4, "throws", 3, r"rank 3: disk: must have room, got none")
        self.assertLess(self.seconds, 5)

    def test_what_a_rank_has_printed_stays_where_another_fails_at_the_end(self):
        done = self.run_scene(2, "fails_last")
        self.assertEqual(sorted(done.stdout.splitlines()), ["rank 0 has done its work", "rank 1 has done its work"])
        self.assertEqual(mpirun.said_by_us(done.stderr), ["rank 1: disk: must have room, got none"])
        self.assertNotEqual(done.returncode, 0)

    def test_a_rank_that_never_starts(self):
        done = mpirun.run(2, [[RANKS, "late"], ["sleep", "60"]])
        self.assertRegex("\n".join(mpirun.said_by_us(done.stderr)),
                         r"^error: init_process_group: every rank must start within 2 s, got one that waits for others \(pid \d+\)$")
        self.assertEqual(done.returncode, 4)

    def test_a_rank_that_stops_among_mpis_own_calls(self):
        for library, scene, rule in ((STOPS_AT_THE_START, "late", "init_process_group: every rank must start"),
                                     (STOPS_AT_THE_END, "count", "exit: every rank must end")):
            done = mpirun.run(2, [[RANKS, scene], ["env", "LD_PRELOAD=" + library, RANKS, scene]])
            self.assertRegex("\n".join(mpirun.said_by_us(done.stderr)),
                             "^error: %s within 2 s, got one that waits for others \\(pid \\d+\\)$" % rule)
            self.assertEqual(done.returncode, 4)

    def test_a_rank_that_is_stopped_before_all_have_started(self):
        done = mpirun.run(2, [[RANKS, "stopped_first"], ["env", "LD_PRELOAD=" + STOPS_AT_THE_START, RANKS, "stopped_first"]])
        self.assertRegex("\n".join(mpirun.said_by_us(done.stderr)),
                         r"^error: init_process_group: every rank must start, got one that is stopped \(pid \d+\)$")
        self.assertEqual(done.returncode, 4)

    def test_a_rank_that_is_stopped_while_another_is_at_its_end(self):
        self.fails(2, "stopped_last", 4, r"error: exit: every rank must come within 2 s, got none of rank 1 \(pid \d+\): "
                   r"its last call: barrier 0 of world, done [\d.]+ s ago")
        self.assertLess(self.seconds, 8)

    def test_a_rank_may_work_on_for_longer_than_another_waits_in_a_call(self):
        self.check(2, "works_on")

    def test_ranks_may_be_apart_for_as_long_as_a_barrier_grants(self):
        self.check(2, "works_apart")
        self.fails(2, "late_apart", 4, r"barrier 0: every rank must come within 3 s, got none of rank 1 .*")

    def test_a_rank_that_is_stopped_is_waited_for_as_in_any_call(self):
        self.fails(3, "stopped_apart", 4, r"barrier 0: every rank must come within 2 s, got none of rank 1 .*")
        self.assertLess(self.seconds, 8)

    def test_a_rank_that_is_stopped_waits_for_nobody(self):
        """It goes on when the one that it waited for before has come; mpirun wakes those that it ends, too."""
        stopped = '"$0" patient & sleep 0.5; kill -STOP $!; sleep 6; kill -CONT $!; wait $!'
        done = mpirun.run(2, [["sh", "-c", 'sleep 6.5; exec "$0" patient', RANKS], ["sh", "-c", stopped, RANKS]])
        self.assertEqual((done.returncode, mpirun.said_by_us(done.stderr)), (0, []), done.stderr)

    def test_the_records_of_all_are_written(self):
        self.run_scene(3, "stopped")
        for rank in range(3):
            with open("rank_%d.csv" % rank, encoding="utf-8") as file:
                lines = file.read().splitlines()
            self.assertEqual(lines[0], "group,number,call,bytes,module,entered,left")
            self.assertRegex(lines[1], r'^world,0,"barrier 0",0,"",\d+\.\d{6},\d+\.\d{6}$')
            if rank < 2:
                self.assertRegex(lines[2], r'^world,1,"all_reduce 1 of f32 \[4\], sum",16,"net.norm",\d+\.\d{6},$')
            self.assertEqual(len(lines), 3 if rank < 2 else 2)

    def test_a_program_by_itself_asks_for_its_group(self):
        done = subprocess.run([RANKS, "count", "asked"], capture_output=True, text=True, env=mpirun.environment())
        self.assertEqual((done.returncode, done.stdout), (0, "0 of 1\n"), done.stderr)
        done = subprocess.run([RANKS, "count"], capture_output=True, text=True, env=mpirun.environment())
        self.assertEqual(done.returncode, 5)
        self.assertEqual(done.stderr, "distributed::world: there must be a group: start the program by mpirun or srun, or "
                                      "call init_process_group(), got none\n")

    def test_without_the_plugin(self):
        done = self.run_scene(1, "count", AORTA_MPI_PLUGIN="/nowhere/libaorta_mpi.so")
        self.assertEqual(mpirun.said_by_us(done.stderr), [
            "init_process_group: processes that train together need libaorta_mpi.so and MPI, got /nowhere/libaorta_mpi.so: "
            "cannot open shared object file: No such file or directory"])
        self.assertEqual(done.returncode, 5)

    def test_ranks_of_other_machines(self):
        """In pid namespaces of their own they see neither each other's boards nor pids."""
        alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run(alone + ["true"], capture_output=True).returncode != 0:
            self.skipTest("this machine makes no pid namespaces")
        far = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"}
        done = mpirun.run(2, alone + [RANKS, "ddp"], **far)
        self.assertEqual((done.returncode, mpirun.said_by_us(done.stderr)), (0, []), done.stderr)
        for scene, code, pattern in (
                ("throws", 3, r"rank 1: disk: must have room, got none"),
                ("late", 4, r"all_reduce 1 of f32 \[4\], sum: every rank must come within 2 s, got none of rank 1 \(pid \d+\): "
                            r"it runs on another machine")):
            done = mpirun.run(2, alone + [RANKS, scene], **far)
            said = mpirun.said_by_us(done.stderr)
            self.assertTrue(said and re.fullmatch(pattern, said[0]), done.stderr)
            self.assertEqual(done.returncode, code, done.stderr)


if __name__ == "__main__":
    unittest.main()
