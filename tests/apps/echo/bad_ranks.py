"""The rows about several processes, which mpirun starts."""

import os
import signal

from bad_input_case import row


def lose_a_rank(case, number, *flags):
    """Of a training that has had an epoch, whose checkpoint one process goes on from."""
    run = case.start_ranks(case.train_arguments("--num_epochs", "100000", "--batch_size", "2", *flags))
    os.kill(case.ranks(run)[1], number)
    done = case.finish_ranks(run)
    resumed = case.echo("train", "--resume", "--output", case.run_folder, "--num_epochs", "1")
    assert resumed.code == 0, resumed.err
    return done


@row("75a", "a rank is killed", 137,
     "ranks: every process must live, got one that has ended, rank 1 (pid *): *its last call: *", "mpirun -n 2 aorta-echo train")
def _(case):
    return lose_a_rank(case, signal.SIGKILL)


@row("75b", "a rank hangs", 4,
     "*: every rank must come within 5 s, got none of rank 1 (pid *): *its last call: *",
     "mpirun -n 2 aorta-echo train --rank_timeout 5")
def _(case):
    return lose_a_rank(case, signal.SIGSTOP, "--rank_timeout", "5")


@row(76, "ranks of other models", 2,
     "rank 1: the ranks' settings must be the same, got model_name: unet_small on rank 0 and model_name: unet on rank 1",
     "mpirun -n 1 aorta-echo train : -n 1 aorta-echo train --model_name unet")
def _(case):
    arguments = case.train_arguments("--batch_size", "2")
    return case.finish_ranks(case.start_ranks(arguments, arguments + ["--model_name", "unet"]))


@row(90, "the records of ranks where there are none", 4,
     "RUN/ranks: there must be records of ranks, as a run of several processes leaves when it fails, got none", "ranks")
def _(case):
    return case.echo("ranks", case.begun().run_folder)
