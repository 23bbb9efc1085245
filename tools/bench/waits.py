"""How much of a step two hosts wait for each other at a given rate: of the steps of `bench parallel`, from their traces.

    bazel build -c opt --config=cpu //tools/bench:rank
    sudo python3 tools/bench/waits.py build/bin/tools/bench/rank GIGABITS "deeplab 8 112" "char_gpt 32 64 128"

The hosts are namespaces of this machine and share its CPUs, the
kernel's work for their network too.
"""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "mpi"))
import mpirun
import two_hosts

STEPS, RUNS = 4, 5


def main():
    program, gigabits, *works = sys.argv[1:]
    two_hosts.leave_the_network()
    hosts = two_hosts.TwoHosts(two_hosts.FastCable(float(gigabits) * 1e9))
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(folder + "/rank_1")
            command = hosts.command(folder + "/agent", ["env", "OMP_NUM_THREADS=1", os.path.abspath(program), folder])
            rank = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=mpirun.environment())

            def ask(*fields):
                rank.stdin.write("\t".join(map(str, fields)) + "\n")
                rank.stdin.flush()
                state, *values = rank.stdout.readline().rstrip("\n").split("\t")
                assert state == "ok", (fields, values)
                return float(values[0]) if values else None

            for work in works:
                ask("define", work, "", work)
                ask("time", work, 2)
                seconds, waits = zip(*[(ask("time", work, STEPS), ask("waits", work, STEPS)) for _ in range(RUNS)])
                print("%s at %s Gbit/s: %.3g ms a step, of which %s %% waits" % (
                    work, gigabits, sorted(seconds)[RUNS // 2] / STEPS * 1e3, ", ".join("%.2g" % one for one in sorted(waits))), flush=True)
                ask("drop", work)
            rank.stdin.close()
            rank.wait()
    finally:
        hosts.close()


if __name__ == "__main__":
    main()
