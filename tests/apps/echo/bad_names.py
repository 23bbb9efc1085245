"""The rows about names: a path is any bytes."""

import os
import shutil

import bad_input_files as files
from bad_input_case import MODEL, Case, errors_of, row

NAMES = ("aren't UTF-8", b"a\xff\xfe"), ("hold line breaks", b"a\nx: y")


def rename_video(data, line, name):
    """In both tables."""
    old, video = data.name(line).encode(), data.video(line)
    os.rename(video, data.path("Videos", name + ".avi"))
    for table, end in (files.TABLE, b""), (files.TRACES, b".avi"):
        content = files.read(data.path(table))
        assert b"\n" + old + end + b"," in content
        files.write(data.path(table), content.replace(b"\n" + old + end + b",", b'\n"' + os.fsencode(name) + end + b'",'))


for letter, (what, name) in zip("ab", NAMES):
    @row("84" + letter, "folders and files whose names " + what, 0, "")
    def _(case, name=os.fsdecode(name)):
        place = case.move_to(name)
        shutil.copy(Case.shared + "/run/best.safetensors", place + "/w.safetensors")
        files.write(place + "/config", "max_steps: 1\n")
        rename_video(case.data, 10, name)  # of TEST
        done = case.echo("train", "--config", place + "/config", "--data_dir", case.data_folder, "--weights",
                         place + "/w.safetensors", "--output", case.run_folder, "--batch_size", "1", "--run_test", *MODEL)
        assert done.code == 0, done.err
        assert os.fsencode(name) + b".avi" in files.read(case.run_folder + "/test_ef.csv")
        return case.echo("train", "--resume", "--output", case.run_folder)

for letter, (what, name) in zip("kl", NAMES):
    @row("84" + letter, "folders and files whose names " + what, 0, "", "evaluate, segment, import, export, data")
    def _(case, name=os.fsdecode(name)):
        place = case.move_to(name)
        video = os.path.join(place, name + ".avi")
        shutil.copy(case.data.video(), video)
        rename_video(case.data, 10, name)  # of TEST
        weights = place + "/w.safetensors"
        shutil.copy(Case.shared + "/run/best.safetensors", weights)
        for command, made in ((["evaluate", "--data_dir", case.data_folder, "--weights", weights, "--num_workers", "0", "--output",
                                place + "/e", "--predictions", place + "/e/" + name + ".csv"], "e/" + name + ".csv"),
                              (["segment", "--weights", weights, "--skip_video", "--output", place + "/s", video],
                               "s/size/" + name + ".csv"),
                              (["import", video, "--output", place + "/i", "--key", place + "/" + name + ".csv"], name + ".csv"),
                              (["export", "--weights", weights, "--output", place + "/" + name + ".npz"], name + ".npz"),
                              (["data", "info", "--data_dir", case.data_folder], "data"),
                              (["data", "check", "--data_dir", case.data_folder], "data")):
            done = case.echo(*command)
            assert done.code == 0 and not errors_of(done), done.err
            assert os.path.exists(os.path.join(place, made)), os.listdir(place)
        return done


@row(87, "videos that are shorter than a clip, which the mean colour fills up, in folders whose names aren't text", 0,
     "val EF MAE *", "video --period 30")
def _(case):
    place = case.move_to("a\udcff\nx: y")
    done = case.video("--period", "30")
    # Where the data are comes back from the file that repeats the run.
    again = case.echo("video", "--config", case.run_folder + "/args.yaml", "--output", place + "/again", "--task", "LVEF")
    assert again.code == 3 and "/a\\xff\\x0ax: y/data/FileList.csv:1: a column must be called \"LVEF\"" in again.err, again.err
    return done


for letter, what, name, shown in (("c", "isn't UTF-8", b"da\xffta", "da\\xffta"), ("d", "has a tab", b"da\tta", "da\\x09ta"),
                                  ("e", "has a line break", b"da\nta", "da\\x0ata")):
    @row("84" + letter, "faulty data in a folder whose name " + what, 3, "*/" + shown + ": 1 fault")
    def _(case, name=name):
        folder = os.path.join(os.fsencode(case.folder), name)
        os.rename(case.data_folder, folder)
        os.remove(os.path.join(folder, b"VolumeTracings.csv"))
        return case.echo("data", "check", "--data_dir", os.fsdecode(folder))

    @row("84" + chr(ord(letter) + 3), "no data in a folder whose name " + what, 3, "*/" + shown + "*")
    def _(case, name=name):
        folder = os.fsdecode(os.path.join(os.fsencode(case.folder), name))
        for command in ["train", "--data_dir", folder, "--output", case.path("r")], ["segment", folder, "--output", case.path("s")]:
            done = case.echo(*command)
            assert len(done.err.splitlines()) == 1 and done.code == 3, done.err
        return case.echo("data", "check", "--data_dir", folder)
