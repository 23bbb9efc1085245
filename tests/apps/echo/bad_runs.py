"""The rows about tensors, files of tensors, numbers, machines, data that changed and paths."""

import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import time

import bad_input_files as files
from bad_input_case import BAD_MACHINE, ECHO, LIMIT, Case, Done, left_out, row

SHAPES = (resource.RLIMIT_AS, 4 << 30)


# Tensors: what a command line can't reach runs in a program of its own.

for number, what, name, message in (
        ("34a", "shapes that don't go together", "add", "add: shapes must broadcast, got [2,3] and [2,4]"),
        ("34b", "matrices that don't go together", "matmul", "matmul: the inner sizes must match, got [2,3] and [4,5]"),
        ("35", "dtypes that don't go together", "dtype", "matmul: the operands must have one dtype, got f32 and f64"),
        ("36", "tensors on two devices", "device", "matmul: the operands must be on one device, got cpu and cpu:1"),
        ("37", "a maximum of nothing", "nothing", "max: a reduced dimension must have elements, got [0,3] reduced over [0,1]"),
        ("38a", "more elements than a number counts", "elements", "zeros: the number of bytes must fit in 63 bits, got [4294967296,4294967296]"),
        ("38b", "more bytes than a number counts", "bytes", "zeros: the number of bytes must fit in 63 bits, got [2305843009213693952]"),
        ("39", "an index out of range", "index", "index_select: index out of range, got 4 in dimension 1 of size 4"),
        ("40", "a saved tensor is changed before backward", "edit", "exp: a tensor saved for the gradient must not be changed in place, "
         "got output 0 of shape [3] at version 1, saved at 0"),
        ("41", "backward twice", "twice", "*a graph can be run a second time only if the first kept it "
         "(retain_graph = true), got the saved tensors of * have been freed")):
    @row(number, what, 3, message, "tensors")
    def _(case, name=name):
        return case.tensor(name)


# Files of tensors

F32_PAIR = struct.pack("<2f", 1, 2)
EMPTY = {"a": files.entry([2], 0, 8)}
for number, what, content, message in (
        ("42a", "a header longer than its file", files.safetensors(EMPTY, F32_PAIR, length=4000),
         "*weights.safetensors: header must lie inside the file, got 4000*"),
        ("42b", "a header above 100 MB", files.safetensors(EMPTY, F32_PAIR, length=1 << 40),
         "*weights.safetensors: header must be at most 100,000,000 bytes, got 1099511627776"),
        ("43a", "tensors that overlap",
         files.safetensors({"a": files.entry([2], 0, 8), "b": files.entry([2], 4, 12)}, bytes(12)),
         '*weights.safetensors: tensors must not overlap, got "b" *'),
        ("43b", "a hole between tensors",
         files.safetensors({"a": files.entry([2], 0, 8), "b": files.entry([2], 12, 20)}, bytes(20)),
         '*weights.safetensors: there must be no hole before a tensor, got "b" *'),
        ("44a", "a name twice", files.safetensors(
            b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}',
            bytes(16)), '*weights.safetensors: header must have each name once, got "a" twice'),
        ("44b", "a header that isn't UTF-8", files.safetensors(b'{"\xff":{"dtype":"F32"}}'),
         "*weights.safetensors: header must be UTF-8*"),
        ("44c", "a header of 100000 brackets", files.safetensors(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
         "*weights.safetensors: header must hold tensors and __metadata__ alone, got an array in *"),
        ("45", "shape and dtype aren't the bytes", files.safetensors({"a": files.entry([3], 0, 8)}, F32_PAIR),
         '*weights.safetensors: shape x dtype must be the tensor\'s bytes, got "a" *')):
    @row(number, what, 3, message, "train --weights")
    def _(case, content=content):
        files.write(case.path("weights.safetensors"), content)
        return case.train("--weights", case.path("weights.safetensors"))


@row(46, "an npz of Python objects", 3,
     '*weights.npz*: object dtype (a Python pickle) is refused, got "|O"', "train --weights")
def _(case):
    files.npz(case.path("weights.npz"), a=files.npy("|O", b"\x80\x04]."))
    return case.train("--weights", case.path("weights.npz"))


@row("47a", "an npz in Fortran's order", 0, "a: 10", "tensors")
def _(case):
    files.npz(case.path("a.npz"), a=files.npy("<f4", struct.pack("<4f", 1, 2, 3, 4), fortran=True, shape="(2, 2)"))
    return case.tensor("load", case.path("a.npz"))


@row("47b", "a big-endian npz", 0, "a: 3", "tensors")
def _(case):
    files.npz(case.path("a.npz"), a=files.npy(">f4", struct.pack(">2f", 1, 2)))
    return case.tensor("load", case.path("a.npz"))


@row(48, "an npz that says to be 3 GB in 0.3 KB", 3,
     "*weights.npz:*: deflated member must be at most 1032 times its compressed size, got 3000000000 from 98 bytes",
     "train --weights")
def _(case):
    files.npz_bomb(case.path("weights.npz"), 3_000_000_000)
    return case.train("--weights", case.path("weights.npz"), limits=[SHAPES])


for number, what, content, message in (
        ("49a", "an IDX file of another kind", b"\x12\x34\x56\x78" + bytes(100), "*digits.idx: IDX file must start with two bytes of 0, got *"),
        ("49b", "an IDX file that is cut short", b"\0\0\x08\x01\0\0\x10\0" + bytes(100), "*digits.idx: data must be as long as the shape says, got 100 bytes for shape [4096] *")):
    @row(number, what, 3, message, "tensors")
    def _(case, content=content):
        files.write(case.path("digits.idx"), content)
        return case.tensor("idx", case.path("digits.idx"))


@row("50a", "weights of another network", 3,
     "*best.safetensors: weights must be of the network that is trained, unet, got unet_small", "train --weights")
def _(case):
    return case.train("--model_name", "unet", "--weights", os.path.join(Case.shared, "run", "best.safetensors"))


@row("50b", "weights that lack names", 3, "load_state_dict: *missing*unexpected*", "train --weights")
def _(case):
    files.write(case.path("weights.safetensors"), files.safetensors(EMPTY, F32_PAIR))
    return case.train("--weights", case.path("weights.safetensors"))


def flip_last_bit(path):
    content = bytearray(files.read(path))
    content[-1] ^= 1
    files.write(path, bytes(content))


@row("50c", "weights of PyTorch", 3,
     "*best.pt: weights must be in a .safetensors or .npz file, got PyTorch's; make one by: python3 -c *",
     "train --weights")
def _(case):
    return case.train("--weights", case.path("best.pt"))


@row("50d", "weights that don't say their network", 3,
     "*weights.safetensors: weights that don't say their network need --model_name *, got tensors alone", "evaluate")
def _(case):
    files.write(case.path("weights.safetensors"), files.safetensors(EMPTY, F32_PAIR))
    return case.evaluate(case.path("weights.safetensors"))


@row("50e", "torchvision's weights of a network that it doesn't have", 2,
     "--pretrained: torchvision must have weights of the network, as of deeplabv3_resnet50, deeplabv3_resnet101, "
     "fcn_resnet50 and fcn_resnet101, got \"unet_small\"", "train --pretrained")
def _(case):
    return case.train("--pretrained")


@row("50f", "torchvision's weights aren't there", 4,
     "--pretrained: torchvision's weights must be in */aorta/fcn_resnet50.safetensors, got no such file; * make it by: "
     "mkdir -p */aorta && python3 -c * */aorta/fcn_resnet50.safetensors", "train --pretrained")
def _(case):
    return case.train("--pretrained", "--model_name", "fcn_resnet50")


@row("51a", "a bit of the weights is flipped", 3,
     '*best.safetensors: tensor must match its CRC-32C, got "*" with *: the file is damaged', "evaluate")
def _(case):
    path = case.begun().run_folder + "/best.safetensors"
    flip_last_bit(path)
    return case.evaluate(path)


@row("51b", "a bit of the checkpoint is flipped", 0,
     "*tensor must match its CRC-32C, got *; going on from the checkpoint before it", "train --resume")
def _(case):
    flip_last_bit(case.begun().run_folder + "/checkpoint.safetensors")
    return case.resume("--num_epochs", "2")


@row("51c", "both checkpoints are damaged", 3,
     '*checkpoint.safetensors: tensor must match its CRC-32C, got *: the file is damaged', "train --resume")
def _(case):
    for name in "checkpoint.safetensors", "checkpoint.safetensors.1":
        flip_last_bit(os.path.join(case.begun().run_folder if name[-1] == "s" else case.run_folder, name))
    done = case.resume()
    case.expect_earlier_files("best.safetensors", "log.csv")
    return done


@row("51d", "the checkpoint of a run is gone", 6,
     "RUN: --resume needs checkpoint.safetensors, got a run without it; --overwrite replaces the run", "train --resume")
def _(case):
    case.begun()
    for name in "checkpoint.safetensors", "checkpoint.safetensors.1":
        os.remove(case.run_folder + "/" + name)
    done = case.resume()
    case.expect_earlier_files("best.safetensors", "log.csv")
    return done


@row("51e", "the arguments of a run are gone", 4,
     "RUN/args.yaml: --resume needs it, or the flags that the run began with, got no such file and no --data_dir",
     "train --resume")
def _(case):
    os.remove(case.begun().run_folder + "/args.yaml")
    done = case.echo("train", "--resume", "--output", case.run_folder)
    case.expect_earlier_files()
    return done


@row(52, "a checkpoint of a newer version", 3,
     "*new.safetensors: state format must be at most version 1, got version 7*", "evaluate")
def _(case):
    content = files.read(os.path.join(Case.shared, "run", "best.safetensors"))
    length = struct.unpack_from("<Q", content)[0]
    header = content[:8 + length].replace(b'"aorta.state":"1"', b'"aorta.state":"7"')
    place = header.index(b'"aorta.crc32c":"') + 16
    header = header[:place] + b"00000000" + header[place + 8:]
    header = header[:place] + b"%08x" % files.crc32c(header) + header[place + 8:]
    files.write(case.path("new.safetensors"), header + content[8 + length:])
    return case.evaluate(case.path("new.safetensors"))


# Numbers

NOT_FINITE = "the loss must be finite, got * at step * of *.avi; *; RUN/replay.safetensors holds the batch and the weights"


@row("53a", "the loss becomes NaN", 5, NOT_FINITE)
def _(case):
    done = case.train("--lr", "1e30", "--num_epochs", "2")
    assert os.path.exists(case.run_folder + "/replay.safetensors")
    return done


@row("53b", "the loss of a validation becomes NaN", 5,
     "the validation loss must be finite, got * after step 1 (epoch 1); what was saved before is as it was")
def _(case):
    done = case.train("--lr", "1e30", "--batch_size", "2", "--num_epochs", "2")
    names = os.listdir(case.run_folder)
    assert not {"best.safetensors", "checkpoint.safetensors"} & set(names), names
    return done


@row(54, "the loss becomes NaN in bf16", 5, NOT_FINITE, "train --amp")
def _(case):
    return case.train("--lr", "1e30", "--num_epochs", "2", "--amp")


for letter, value, rule in (("a", "0", "be positive, got 0"), ("b", "-1e-30", "be positive, got -1e-30"),
                            ("c", "nan", "be a finite number, got nan; *"),
                            ("d", "1e400", "be a finite number, got 1e400; *"),
                            ("e", "1e-400", "be 0 or at least 5e-324 in size, got 1e-400; *")):
    @row("55" + letter, "a learning rate of " + value, 2, "--lr: must " + rule, "train --lr " + value)
    def _(case, value=value):
        return case.train("--lr=" + value)


# Machines

@row("56a", "the output can't be written", 4,
     "/proc/run: the output folder must be writable, got No such file or directory")
def _(case):
    return case.train("--output", "/proc/run")


@row("56b", "the output is below a file", 4,
     "DATA/FileList.csv/run: the output folder must be writable, got Not a directory")
def _(case):
    return case.train("--output", case.data.path("FileList.csv") + "/run")


for letter, name, made, kind, got in (("c", "samples", "a file", "a folder", "a file"), ("d", "best.safetensors", "a folder", "a regular file", "a folder"),
                                      ("e", "log.csv", "a pipe", "a regular file", "a device, pipe or socket")):
    @row("56" + letter, "%s where a run writes %s" % (made, name), 4, "RUN/%s: must be %s, got %s" % (name, kind, got))
    def _(case, name=name, made=made):
        place = os.path.join(case.begun().run_folder, name)
        case.remove(place)
        {"a file": lambda: files.write(place, ""), "a folder": lambda: os.mkdir(place), "a pipe": lambda: os.mkfifo(place)}[made]()
        done = case.resume()
        case.expect_earlier_files("checkpoint.safetensors")
        return done


@row("57a", "the output is a file", 4, "DATA/FileList.csv: --output must be a folder, got a file")
def _(case):
    return case.train("--output", case.data.path("FileList.csv"))


@row("57b", "the output folder holds a run", 6,
     "RUN: the folder holds a run; --resume goes on with it, --overwrite replaces it")
def _(case):
    done = case.begun().train()
    case.expect_earlier_files()
    return done


@row(58, "the disk is full at a checkpoint", 6, "RUN/*.safetensors: *")
def _(case):
    done = case.begun().resume(limits=[(resource.RLIMIT_FSIZE, 1 << 20)])
    case.expect_earlier_files("best.safetensors", "checkpoint.safetensors", "log.csv")
    case.expect_resumes()
    return done


@row("59a", "the disk is full at the log", 0,
     "warning: RUN/train.log: lines are missing, got No space left on device; the training goes on")
def _(case):
    os.remove(case.begun().run_folder + "/train.log")
    os.symlink("/dev/full", case.run_folder + "/train.log")
    return case.resume()


@row("59b", "the log is a pipe that nobody reads", 0,
     "warning: RUN/train.log: lines are missing, got No such device or address; the training goes on")
def _(case):
    os.remove(case.begun().run_folder + "/train.log")
    os.mkfifo(case.run_folder + "/train.log")
    return case.resume()


@row(60, "too little space for a run", 4,
     "RUN: the checkpoints and the other files of a run need * MB, got 1.0 MB free")
def _(case):
    return case.train(environment={"LD_PRELOAD": BAD_MACHINE, "FREE_BYTES": "1000000"})


@row(61, "too little shared memory for workers", 4, "*shared memory must be there (ulimit -n and -f limit it), got * bytes wanted, *")
def _(case):
    return case.begun().resume("--num_workers", "2", limits=[(resource.RLIMIT_FSIZE, 1 << 12)])


@row(62, "a worker is killed", 0, "*worker * (pid *) was killed by signal 9 (SIGKILL)*; it is started again")
def _(case):
    started = case.begun().start(ECHO, *case.resume_arguments("--num_workers", "2", "--num_epochs", "10"))
    for _ in range(6):  # one that has read all that an epoch wants is not missed
        case.kill(case.workers(started)[0], signal.SIGKILL)
        case.wait_for(started, "epoch ")
    return case.finish(started)


left_out(63, "a sample that ends its worker each time",
         "no file does that; tests/data/worker_faults_test.cc has a dataset that does")


@row(64, "a worker hangs", 4,
     "data_loader: a batch must be there within the timeout of 2 s, got worker 0 (pid *) *", "train --timeout 2")
def _(case):
    started = case.begun().start(ECHO, *case.resume_arguments("--num_workers", "1", "--num_epochs", "100000", "--timeout", "2"))
    while started.poll() is None:  # one that has read all that an epoch wants is not waited for
        for worker in case.worker_list(started):
            case.kill(worker, signal.SIGSTOP)
        time.sleep(0.05)
    done = case.finish(started)
    case.expect_resumes()
    return done


@row(65, "the program is killed while workers read", 137, "")
def _(case):
    started = case.begun().resume_for_long("--num_workers", "2")
    workers = case.workers(started)
    started.kill()
    done = case.finish(started)
    deadline = time.monotonic() + LIMIT
    while any(os.path.exists("/proc/%d" % pid) for pid in workers):
        assert time.monotonic() < deadline, "workers are left"
        time.sleep(0.02)
    case.expect_resumes()
    return done


@row("66a", "too few file descriptors", 4, "*EMFILE (Too many open files)*")
def _(case):
    return case.begun().resume("--num_workers", "4", limits=[(resource.RLIMIT_NOFILE, 12)])


@row("66b", "hardly any file descriptors", 4,
     "channel: a socket must be there (ulimit -n shows how many files may be open), got EMFILE (Too many open files)")
def _(case):
    return case.train(limits=[(resource.RLIMIT_NOFILE, 4)])


for number, letters, what, first, code in ((67, "abc", "Ctrl-C", signal.SIGINT, 130), (68, "abf", "SIGTERM", signal.SIGTERM, 143),
                                           (68, "cdg", "SIGHUP", signal.SIGHUP, 129)):
    @row("%d%s" % (number, letters[0]), what, code, "go on with: aorta-echo train --resume --output RUN")
    def _(case, first=first):
        started = case.begun().resume_for_long()
        started.send_signal(first)
        done = case.finish(started)
        case.expect_resumes()
        return done

    @row("%d%s" % (number, letters[1]), what + " twice", code, "")
    def _(case, first=first):
        started = case.start(ECHO, "train", "--data_dir", case.data_folder, "--output", case.run_folder, "--model_name",
                             "deeplabv3_resnet101", "--num_workers", "0", "--batch_size", "6")
        case.wait_for(started, "output ")  # which a long step follows
        started.send_signal(first)
        while case.has_pending_signals(started.pid):
            time.sleep(0.005)
        time.sleep(0.05)  # while it is taken
        started.send_signal(signal.SIGSTOP)  # so that the step doesn't end before the second one comes
        time.sleep(0.7)  # one that comes sooner is the first one, sent twice
        started.send_signal(first)
        started.send_signal(signal.SIGCONT)
        done = case.finish(started)
        assert "is saved" not in done.out, done.out  # as the first one's answer is
        return done

    @row("%d%s" % (number, letters[2]), what + " again and again", code, "")
    def _(case, first=first):
        started = case.begun().resume_for_long()
        while started.poll() is None:
            started.send_signal(first)
        done = case.finish(started)
        case.expect_resumes()
        return done


@row("68e", "SIGHUP under nohup", 0, "")
def _(case):
    started = case.begun().start("nohup", ECHO, *case.resume_arguments("--num_epochs", "5"))
    case.wait_for(started, "resume epoch")
    started.send_signal(signal.SIGHUP)
    done = case.finish(started)
    return Done(done.code, done.out, done.err.replace("nohup: ignoring input\n", ""))


@row("69a", "the reader of standard output goes away", 0, "")
def _(case):
    end, out = os.pipe()
    started = case.begun().start(ECHO, *case.resume_arguments(), stdout=out)
    os.close(out)
    os.close(end)
    done = case.finish(started)
    with open(case.run_folder + "/log.csv", encoding="utf-8") as log:
        assert len(log.readlines()) == 1 + 2 * 3
    return done


@row("69b", "standard input, output and error are closed, as a daemon's", 0, "")
def _(case):
    script = 'exec "$0" "$@" <&- >&- 2>&-'
    done = case.finish(case.begun().start("sh", "-c", script, ECHO, *case.resume_arguments("--num_workers", "2")))
    assert files.read(case.run_folder + "/.lock") == b""
    with open(case.run_folder + "/log.csv", encoding="utf-8") as log:
        assert len(log.readlines()) == 1 + 2 * 3
    return done


@row("70a", "too little memory", 4, "*: the machine has no more memory, got * bytes wanted, * in use")
def _(case):
    return case.begun().resume(limits=[(resource.RLIMIT_AS, 84 << 20)])


for letters, count in (("b", "100000"), ("ba", "abc"), ("bb", "-5"), ("bc", "0"), ("bd", "3x"), ("be", "99999999999999999999")):
    @row("70" + letters, "OMP_NUM_THREADS is " + count, 4, 'OMP_NUM_THREADS: must be 1 to 4096, got "%s"' % count)
    def _(case, count=count):
        return case.train(environment={"OMP_NUM_THREADS": count})


for letters, count in (("bf", ""), ("bg", None)):
    @row("70" + letters, "OMP_NUM_THREADS is " + ("empty" if count == "" else "not set"), 0, "dice overall *")
    def _(case, count=count):
        return case.train("--num_workers", "2", environment={"OMP_NUM_THREADS": count})


@row("70c", "too small a stack", 4, "init: the stack must have 512 KiB at least (ulimit -s), got 256 KiB")
def _(case):
    return case.train(limits=[(resource.RLIMIT_STACK, 256 << 10)])


@row("70d", "stacks of threads that the machine hasn't", 4,
     "*threads: as many must be startable as OMP_NUM_THREADS says, or as there are CPUs (ulimit -u and -v, and "
     "OMP_STACKSIZE, limit them), got * of 3: *")
def _(case):
    return case.train(environment={"OMP_NUM_THREADS": "3", "OMP_STACKSIZE": "100000G"})


left_out(71, "too little memory of a GPU", "needs a GPU")


@row("72a", "--device cuda without a GPU", 4,
     "--device cuda: *; `aorta-echo doctor` says more, --device cpu trains without", "train --device cuda")
def _(case):
    return case.train("--device", "cuda", environment={"CUDA_VISIBLE_DEVICES": ""})


@row("72b", "--device auto without a GPU", 0,
     "aorta-echo · unet_small (* M parameters) · cpu · f32 · seed 0", "train --device auto")
def _(case):
    return case.begun().resume("--num_epochs", "2", "--device", "auto", environment={"CUDA_VISIBLE_DEVICES": ""})


for letter, what, name, said in (("c", "that there isn't", "tpu", '"tpu"'),
                                 ("d", "whose number has 300 digits", "cuda:" + "7" * 300, '"cuda:777*"')):
    @row("72" + letter, "a --device " + what, 2,
         "--device: must be auto, cpu, cuda or the number of a GPU as in cuda:0, got " + said, "train --device")
    def _(case, name=name):
        return case.train("--device", name)


@row("72e", "a file to write whose path leads in a circle", 4,
     "*/a.npz: the path must be readable, got Too many levels of symbolic links", "export --output")
def _(case):
    os.symlink(case.path("a.npz"), case.path("a.npz"))
    return case.echo("export", "--weights", case.begun().run_folder, "--output", case.path("a.npz"))


for letter, what, command, flags, said in (
        ("f", "--devices without numbers", "train --devices", ("--devices", "cpu,cpu"),
         '--devices: must be devices by their numbers, as cuda:0,cuda:1 or cpu:0,cpu:1, got "cpu,cpu"'),
        ("g", "--devices beside --device", "train --devices", ("--devices", "cpu:0,cpu:1", "--device", "cpu"),
         '--devices: goes without --device, got --device "cpu"'),
        ("h", "a batch that doesn't divide among the devices", "train --devices",
         ("--devices", "cpu:0,cpu:1,cpu:2", "--batch_size", "4"),
         "--batch_size: must be a multiple of the number of --devices, got 4 for 3")):
    @row("72" + letter, what, 2, said, command)
    def _(case, flags=flags):
        return case.train(*flags)


left_out(73, "a driver or cuDNN that is too old", "needs a GPU and another driver")
left_out(74, "a CUDA error that stays", "needs a GPU")


@row(80, "the clock jumps back", 0, "")
def _(case):
    return case.begun().resume(environment={"LD_PRELOAD": BAD_MACHINE, "CLOCK_STEP_BACK": "3600"})


@row(81, "two runs in one folder", 4,
     "RUN: the folder must not be in use, got another run of aorta-echo that writes to it")
def _(case):
    first = case.begun().resume_for_long()
    second = case.resume()
    first.send_signal(signal.SIGINT)
    assert case.finish(first).code == 130
    return second


# The data of a run that is resumed

CHANGED = ("--resume: the data must be those that the run began with, got others: %s; --allow_changed_data takes them "
           "all the same")


def swap_rows(data):
    lines = data.lines()
    lines[1], lines[2] = lines[2], lines[1]
    data.write_lines(lines)


def drop_row(data):
    data.write_lines([line for i, line in enumerate(data.lines()) if i != 2])


def trace_otherwise(data):
    data.replace(r",\d+\.\d+,", ",16.0,", files.TRACES, line=4)


def write_otherwise(data):
    data.set_video(lambda content: content + b"JUNK\0\0\0\0")


CHANGES = (("a", "rows of TRAIN have changed places", swap_rows, 'train has "*.avi" where "*.avi" was'),
           ("b", "a row of TRAIN is gone", drop_row, 'train lacks "*.avi"'),
           ("c", "a video of VAL is one of TRAIN", lambda data: data.set_field(8, "Split", "TRAIN"),
            'train has "*.avi" besides; val lacks "*.avi"'),
           ("d", "a tracing has changed", trace_otherwise, 'train has other tracings of "*.avi"'),
           ("e", "a video has been written anew", write_otherwise, 'train has files of other sizes for "*.avi"'))

for letter, what, change, difference in CHANGES:
    @row("82" + letter, what, 3, CHANGED % difference, "train --resume")
    def _(case, change=change):
        change(case.begun().data)
        done = case.resume()
        case.expect_earlier_files()
        return done

    @row("83" + letter, what, 0,
         "warning: the data must be those that the run began with, got others: %s; going on with them" % difference,
         "train --resume --allow_changed_data")
    def _(case, change=change):
        change(case.begun().data)
        return case.resume("--allow_changed_data")


@row("82f", "only what isn't trained on has changed: EF, a row of TEST", 0, "resume epoch 3, step 0 of 2, 4 steps done",
     "train --resume")
def _(case):
    case.begun().data.set_field(2, "EF", "11")
    case.data.write_lines(case.data.lines()[:-1])
    done = case.resume()
    assert "got others" not in done.err, done.err
    return done


@row("83f", "--allow_changed_data of a run that begins", 2, "--allow_changed_data: goes with --resume, got none")
def _(case):
    return case.train("--allow_changed_data")
