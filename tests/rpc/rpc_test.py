"""Calls of functions in other processes, under mpirun."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mpi"))
import mpirun

SCENES, GRAPHS, PARAMETER_SERVER = (os.path.abspath(path) for path in sys.argv[1:4])
del sys.argv[1:4]


@unittest.skipUnless(mpirun.is_there(), "there is no mpirun")
class Rpc(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(mpirun.left(), [], "processes are left")

    def check(self, count, scene, program=SCENES):
        done = mpirun.run(count, [program, scene])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")

    def fails(self, count, scene, code, pattern):
        done = mpirun.run(count, [SCENES, scene])
        said = "\n".join(mpirun.said_by_us(done.stderr))
        self.assertRegex(said, pattern)
        self.assertEqual(done.returncode, code, done.stderr)

    def test_values_go_and_come_back(self):
        self.check(1, "values")
        self.check(2, "values")

    def test_workers_and_their_names(self):
        self.check(2, "workers")

    def test_errors_come_back(self):
        self.check(2, "errors")

    def test_timeouts(self):
        self.check(2, "timeouts")

    def test_references(self):
        self.check(3, "references")

    def test_references_that_go_round(self):
        for count in 1, 2, 3, 4:
            self.check(count, "round")

    def test_calls_of_calls(self):
        for count in 1, 2, 4:
            self.check(count, "many")

    def test_answers_that_come_later(self):
        self.check(1, "later")
        self.check(4, "later")

    def test_callbacks_may_wait(self):
        self.check(2, "callbacks")

    def test_what_a_callback_holds(self):
        self.check(2, "dropped")

    def test_gradients_through_callbacks(self):
        self.graph("callbacks", 1, 2)

    def test_a_value_whose_maker_is_killed(self):
        self.fails(2, "killed_maker", 137, r"^ranks: every process must live, got one that has ended, rank 1 ")

    def test_a_process_serves_until_all_are_done(self):
        self.check(3, "serves_at_its_end")

    def test_behind_the_end(self):
        self.check(2, "behind_the_end")

    def test_names_that_two_have(self):
        self.fails(2, "names", 3, "init_rpc: each process must have a name of its own, got one of rank 0 and of rank 1")

    def test_a_process_that_is_killed(self):
        self.fails(2, "killed", 137, r"^ranks: every process must live, got one that has ended, rank 1 \(pid \d+\): ")

    def test_a_process_that_fails(self):
        self.fails(3, "fails", 3, "^rank 1: disk: must have room, got none$")

    def test_a_process_that_leaves(self):
        self.fails(3, "leaves", 3, "rpc: a worker must serve until all have called shutdown\\(\\), got the end of worker1")

    def graph(self, scene, *counts):
        for count in counts:
            self.check(count, scene, GRAPHS)

    def test_gradients_of_a_chain(self):
        self.graph("chain", 1, 2, 3)

    def test_gradients_of_paths_that_meet(self):
        self.graph("diamonds", 1, 2, 3)

    def test_gradients_without_what_the_loss_has_no_use_for(self):
        self.graph("unused", 1, 3)
        self.graph("half_used", 1, 2, 3)

    def test_gradients_of_several_passes(self):
        self.graph("passes", 2, 3)

    def test_gradients_of_contexts_at_once(self):
        self.graph("contexts", 1, 2, 4)

    def test_gradients_that_cant_be(self):
        self.graph("faults", 2)

    def test_contexts_end_everywhere(self):
        self.graph("ends", 3)

    def test_remote_modules_and_optimizers(self):
        self.graph("trains", 3)

    def test_the_parameter_server_learns(self):
        for count, trainers in (1, ["server"]), (3, ["trainer1", "trainer2"]):
            done = mpirun.run(count, [PARAMETER_SERVER, "200"])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for name in trainers:
                losses = [float(loss) for loss in re.findall(name + r", step \d+: loss (\S+)", done.stdout)]
                self.assertEqual(len(losses), 2)
                self.assertLess(losses[-1], 0.3)  # at first log 2
                right, = re.findall(name + r": (\S+) % right", done.stdout)
                self.assertGreater(float(right), 90)
