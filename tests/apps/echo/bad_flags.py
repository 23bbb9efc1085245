"""The rows about flags and the lines of --config."""

import os

import bad_input_files as files
from bad_data import move_outside
from bad_input_case import Case, row


@row("77a", "an unknown flag", 2,
     "unknown flag --batch_sise, did you mean --batch_size?; `aorta-echo train --help` lists what there is", "train "
     "--batch-sise 4")
def _(case):
    return case.train("--batch-sise", "4")


@row("77b", "an unknown command", 2,
     "unexpected argument trian, did you mean train?; `aorta-echo --help` lists what there is", "trian")
def _(case):
    return case.echo("trian")


@row("77c", "an unknown line of --config", 2,
     "*args.yaml:2: unknown flag --batch_sise, did you mean --batch_size?; *", "train --config")
def _(case):
    files.write(case.path("args.yaml"), "# mine\nbatch_sise: 4\n")
    return case.train("--config", case.path("args.yaml"))


for letter, value, message in (("a", "0", "--batch_size: must be positive, got 0"), ("b", "1e9", "--batch_size: must be a whole number, got 1e9; *"),
                               ("c", "8x", "--batch_size: must be a whole number, got 8x; *")):
    @row("78" + letter, "a batch of " + value, 2, message, "train --batch_size " + value)
    def _(case, value=value):
        return case.train("--batch_size", value)


@row("78d", "a seed of -1", 2, "--seed: must not be negative, got -1; *", "train --seed -1")
def _(case):
    return case.train("--seed", "-1")


@row("78f", "a seed of 2^64", 2, "--seed: must be at most 18446744073709551615, got 18446744073709551616; *",
     "train --seed 18446744073709551616")
def _(case):
    return case.train("--seed", "18446744073709551616")


@row("78g", "a flag that has no value", 2, "--lr: must have a value, got none; *", "train --lr")
def _(case):
    return case.train("--lr")


@row("78h", "a flag that is neither on nor off", 2, "--amp: must be true or false, got 2; *", "train --amp=2")
def _(case):
    return case.train("--amp=2")


@row("78i", "a flag that must be given", 2, "--weights: must be given, got none; *", "export")
def _(case):
    return case.echo("export", "--output", case.path("weights.npz"))


for letter, command, flag in (("j", "evaluate", "--weights"), ("k", "train", "--output"), ("l", "segment", "videos")):
    @row("78" + letter, "an empty value, as of a variable that isn't set", 2, flag + ': must have a value, got ""; *',
         command)
    def _(case, command=command, flag=flag):
        return case.echo(command, *([flag, ""] if flag[0] == "-" else ["--weights", "run", ""]))


@row("78m", "a flag behind --", 2, "unexpected argument --lr; *", "train -- --lr")
def _(case):
    return case.train("--", "--lr")


@row("78e", "-1 workers", 2, "--workers: must not be negative, got -1", "compare --workers -1")
def _(case):
    return case.echo("compare", "--data_dir", case.data_folder, "--workers", "-1")


@row(79, "a batch that is larger than the data set", 2,
     "--batch_size: must be at most the number of training videos *, got 7 of 6", "train --batch_size 7")
def _(case):
    return case.train("--num_train_patients", "6", "--batch_size", "7")


@row("77g", "a value of --config that is no number", 2,
     "*args.yaml:2: --lr: must be a number, got fast; `aorta-echo train --help` lists what there is", "train --config")
def _(case):
    files.write(case.path("args.yaml"), "batch_size: 2 # a comment\nlr: fast\n")
    return case.train("--config", case.path("args.yaml"))


@row("77h", "--resume and --overwrite", 2, "--resume: goes on with the run that --overwrite replaces, got both")
def _(case):
    done = case.begun().train("--resume", "--overwrite")
    case.expect_earlier_files()
    return done


for letter, command in zip("def", (("train",), ("evaluate", "--weights", "none"), ("data", "check"))):
    @row("77" + letter, "no data folder", 2,
         "--data_dir: must name a folder in EchoNet-Dynamic's layout, or AORTA_ECHO must, got none; "
         "`aorta-echo synth --output synthetic` makes one", " ".join(command[:1 + (command[0] == "data")]))
    def _(case, command=command):
        return case.echo(*command)


# The network that looks at clips.

for letter, what, flags, message in (
        ("a", "clips of no frames", ["--frames", "0"], "--frames: must be 1 to 250, got 0"),
        ("b", "clips longer than EchoNet's longest", ["--frames", "251"], "--frames: must be 1 to 250, got 251"),
        ("c", "a period of 0", ["--period", "0"], "--period: must be positive, got 0"),
        ("d", "a network that takes no clips", ["--model_name", "unet"],
         "--model_name: must be r2plus1d_18, mc3_18 or r3d_18, got \"unet\""),
        ("e", "a task that is no number", ["--task", "LargeFrame"],
         '--task: must be a column of numbers of FileList.csv, got "LargeFrame"')):
    @row("85" + letter, what, 2, message, "video " + " ".join(flags))
    def _(case, flags=flags):
        return case.video(*flags)


# The segmenter that does.
for letter, what, flags, message in (
        ("h", "clips of no frames", ["--frames", "0"], "--frames: must be 1 to 64, got 0"),
        ("i", "a period of 0", ["--period", "0"], "--period: must be positive, got 0"),
        ("j", "fewer epochs of pre-training than none", ["--pretrain_epochs", "-1"],
         "--pretrain_epochs: must not be negative, got -1"),
        ("k", "clips for a network that takes none", ["--frames", "8", "--model_name", "unet_small"],
         '--frames: goes with --model_name unet_3d, got 8 for "unet_small"'),
        ("l", "pre-training of a network that takes no clips", ["--pretrain_epochs", "1", "--model_name", "unet_small"],
         '--pretrain_epochs: goes with --model_name unet_3d, got 1 for "unet_small"')):
    @row("85" + letter, what, 2, message, "train --model_name unet_3d " + " ".join(flags[:2]) if len(flags) == 2 else
         "train " + " ".join(flags))
    def _(case, flags=flags):
        return case.train("--model_name", "unet_3d", *flags)


@row("85m", "clips that are longer than the videos", 0, "dice overall *", "train --model_name unet_3d --frames 64")
def _(case):
    return case.train("--model_name", "unet_3d", "--frames", "64", "--max_steps", "1")


@row("85f", "torchvision's weights of clips aren't there", 4,
     "--pretrained: torchvision's weights must be in */aorta/mc3_18.safetensors, got no such file; * make it by: mkdir -p "
     "*/aorta && python3 -c * */aorta/mc3_18.safetensors; --random begins without", "video --pretrained")
def _(case):
    return case.video("--pretrained")


@row("85g", "weights of a segmenter", 3,
     "*best.safetensors: must be weights that `aorta-echo video` wrote, got those of a segmenter", "video --weights")
def _(case):
    return case.video("--weights", os.path.join(Case.shared, "run"))


@row("86a", "a video has no EF", 3, '*FileList.csv:3: EF must be a finite number, got ""', "video")
def _(case):
    case.data.set_field(3, "EF", "")
    return case.video()


@row("86c", "an EF that is read at the end alone", 3, '*1 fault: FileList.csv:10: EF must be 0 to 100, got "1e308"',
     "video --run_test")
def _(case):
    case.data.set_field(10, "EF", "1e308")
    return case.video("--run_test")


@row("86d", "a tracing outside the frame, though none is learnt from", 3,
     "*1 fault: VolumeTracings.csv:4: a trace must lie inside the frame of 32 x 32, got pixel (300, *) in frame * of *.avi",
     "video")
def _(case):
    move_outside(case)
    done = case.video()
    assert not os.path.exists(case.run_folder), "it began"
    return done


@row("86b", "a task that isn't a column", 3, '*FileList.csv:1: a column must be called "LVEF", got *', "video --task LVEF")
def _(case):
    return case.video("--task", "LVEF")
