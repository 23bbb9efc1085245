"""The rows about data sets: tables and videos."""

import os
import re
import resource

import bad_input_files as files
from bad_input_case import Case, row
from bad_input_files import TRACES

# CSV

@row("1a", "FileList.csv is missing", 3,
     'DATA/FileList.csv: file must be readable, got ENOENT*, but there is "filelist.csv"')
def _(case):
    os.rename(case.data.path("FileList.csv"), case.data.path("filelist.csv"))
    return case.train()


@row("1b", "FileList.csv is a folder", 3,
     "DATA/FileList.csv: file to read must be a regular file, got a folder")
def _(case):
    os.remove(case.data.path("FileList.csv"))
    os.mkdir(case.data.path("FileList.csv"))
    return case.train()


@row(2, "a table is empty", 3, "*DATA/FileList.csv:1: a table must have a line at least, got none")
def _(case):
    files.write(case.data.path("FileList.csv"), "")
    return case.train()


@row(3, "a table has only its header", 3, "*1 fault: FileList.csv: there must be a video, got 0 rows")
def _(case):
    case.data.write_lines(case.data.lines()[:1])
    return case.train()


@row(4, "a column is missing", 3,
     '*DATA/FileList.csv:1: a column must be called "Split", got "FileName", "EF", *"Set"')
def _(case):
    case.data.replace("Split", "Set", line=1)
    return case.train()


@row(5, "columns in another order, lines end with CR LF, a byte-order mark", 0, "0 faults, * note*", "data check")
def _(case):
    turned = [",".join(reversed(line.split(","))) for line in case.data.lines()]
    files.write(case.data.path("FileList.csv"), b"\xef\xbb\xbf" + "\r\n".join(turned).encode() + b"\r\n")
    return case.check()


@row(6, "a quote isn't closed", 3, "*FileList.csv:3: a quoted field must end with a quote, got the end of the file")
def _(case):
    case.data.replace("^", '"', line=3)
    return case.train()


@row(7, "a line has too few fields", 3,
     "*FileList.csv:4: a record must have as many fields as there are columns, got 8 of 9")
def _(case):
    case.data.replace(",TRAIN", "", line=4)
    return case.train()


@row("8a", "a zero byte in a table", 3, "*FileList.csv:2: text must not hold a zero byte, got one at byte *")
def _(case):
    case.data.replace("^..", "\0", line=2)
    return case.train()


@row("8b", "text that isn't UTF-8", 3, "*FileList.csv:2: Videos/\"\\xff\\xfeX*\" must be there")
def _(case):
    content = files.read(case.data.path("FileList.csv"))
    files.write(case.data.path("FileList.csv"), content.replace(b"\n0X", b"\n\xff\xfeX", 1))
    return case.train()


for letter, value in zip("abc", ("abc", "nan", "1e999")):
    @row("9" + letter, "EF is " + value, 3, '*FileList.csv:3: EF must be a finite number, got "%s"' % value)
    def _(case, value=value):
        case.data.set_field(3, "EF", value)
        return case.train()


for letter, value in zip("def", ("1e308", "-50", "500")):
    @row("9" + letter, "EF is " + value, 3, '*1 fault: FileList.csv:3: EF must be 0 to 100, got "%s"' % value)
    def _(case, value=value):
        case.data.set_field(3, "EF", value)
        return case.train()


@row("9g", "an EF of VAL that is read at the end alone", 3, '*FileList.csv:8: EF must be 0 to 100, got "500"')
def _(case):
    case.data.set_field(8, "EF", "500")
    done = case.train()
    assert not os.path.exists(case.run_folder), "it began"
    return done


@row("9h", "an EF of TEST that is read at the end alone", 3, '*FileList.csv:10: EF must be a finite number, got ""',
     "train --run_test")
def _(case):
    case.data.set_field(10, "EF", "")
    done = case.train("--run_test")
    assert not os.path.exists(case.run_folder), "it began"
    return done


@row("9i", "an EF that is too small for a number", 3,
     '*FileList.csv:3: EF must be 0 or at least 5e-324 in size, got "1e-400"')
def _(case):
    case.data.set_field(3, "EF", "1e-400")
    return case.train()


@row("10a", "a decimal comma", 3, '*FileList.csv:3: EF must be a finite number, got "54,5"')
def _(case):
    case.data.set_field(3, "EF", '"54,5"')
    return case.train()


@row("10b", "a decimal comma without quotes", 3,
     "*FileList.csv:3: a record must have as many fields as there are columns, got 10 of 9")
def _(case):
    case.data.set_field(3, "EF", "54,5")
    return case.train()


@row(11, "a video is listed twice", 3, '*FileList.csv:3: a video must be listed once, got "*.avi" on line 2 too')
def _(case):
    case.data.set_field(3, "FileName", case.data.name(2))
    return case.train()


@row(12, "Split is unknown", 3, '*FileList.csv:2: Split must be TRAIN, VAL or TEST, got "LEARN"')
def _(case):
    case.data.set_field(2, "Split", "LEARN")
    return case.train()


for letter, split in ("a", "TRAIN"), ("b", "VAL"):
    @row("13" + letter, "no video has Split " + split, 3,
         "*the split must have videos, got none of %s in DATA, 0 left out" % split.lower())
    def _(case, split=split):
        case.data.replace(split, "TEST")
        return case.train()


for letter, name in ("a", "../../secret.avi"), ("b", "/etc/secret.avi"):
    @row("14" + letter, "FileName is " + name, 3,
         '*FileList.csv:2: FileName must be a name without a folder, got "%s"' % name)
    def _(case, name=name):
        case.data.set_field(2, "FileName", name)
        return case.train()


@row(15, "a line of 10 MB", 3, "*FileList.csv:2: a record must not be longer than max_record_bytes, got more than *")
def _(case):
    case.data.replace("^", "x" * 10_000_000, line=2)
    return case.train()


@row(16, "tracings of a video that isn't listed", 0,
     "*VolumeTracings.csv:*: FileName must be one of FileList.csv's, got *; `aorta-echo data check` lists what is "
     "amiss")
def _(case):
    case.data.write_lines([line for line in case.data.lines() if case.data.name(2) not in line])
    return case.train("--max_steps", "1")


@row(17, "a video without tracings", 0,
     "*FileList.csv:2: *.avi is left out: it must have two traced frames, got 0; `aorta-echo data check` lists what "
     "is amiss")
def _(case):
    name = case.data.name(2)
    case.data.write_lines([line for line in case.data.lines(TRACES) if name not in line], TRACES)
    return case.train("--max_steps", "1")


@row(18, "a video with one traced frame", 0,
     "*FileList.csv:2: *.avi is left out: it must have two traced frames, got 1", "data check")
def _(case):
    lines, name = case.data.lines(TRACES), case.data.name(2)
    first = next(line for line in lines if name in line).rpartition(",")[2]
    case.data.write_lines([line for line in lines if name not in line or line.endswith("," + first)], TRACES)
    return case.check()


@row("19a", "a traced frame behind the end", 3,
     "*VolumeTracings.csv:2: Frame must be 0 to the video's NumberOfFrames - 1 (FileList.csv:2), got 999 of 56")
def _(case):
    video, _, rest = case.data.lines(TRACES)[1].partition(",")
    frame = rest.rpartition(",")[2]
    case.data.replace("^(%s.*),%s$" % (re.escape(video), frame), r"\1,999", TRACES)
    return case.train()


@row("19b", "a negative frame", 3, "*VolumeTracings.csv:2: Frame must not be negative, got -1*")
def _(case):
    case.data.replace(r",\d+$", ",-1", TRACES, line=2)
    return case.train()


@row("19c", "a frame of 19 digits", 3,
     "*VolumeTracings.csv:2: Frame must be at most 2147483647, got 1000000000000000000*")
def _(case):
    case.data.replace(r",\d+$", ",1000000000000000000", TRACES, line=2)
    return case.train()


@row("20a", "a tracing of two rows", 3, "*VolumeTracings.csv:2: a trace must have 3 rows at least, got 2*")
def _(case):
    lines, name = case.data.lines(TRACES), case.data.name(2)
    frame = lines[1].rpartition(",")[2]
    first = [line for line in lines if name in line and line.endswith("," + frame)]
    case.data.write_lines([line for line in lines if line not in first[2:]], TRACES)
    return case.train()


@row("20b", "a tracing without area", 3, "*VolumeTracings.csv:2: a trace must enclose an area, got a line*")
def _(case):
    name = case.data.name(2)
    case.data.replace("^(%s.*),.*,.*,.*,.*,(.*)$" % name, r"\1,50,50,60,60,\2", TRACES)
    return case.train()


def move_outside(case):
    case.data.replace(r",[\d.]+,([\d.]+,[\d.]+,[\d.]+,\d+)$", r",300,\1", TRACES, line=4)


OUTSIDE = "VolumeTracings.csv:4: a trace must lie inside the frame of 32 x 32, got pixel (300, *) in frame * of *.avi"


@row("21a", "a tracing outside the frame", 3, "DATA: 1 fault", "data check")
def _(case):
    move_outside(case)
    done = case.check()
    assert re.search("FAULT " + re.escape(OUTSIDE).replace(r"\*", ".*") + "\n1 fault, ", done.out), done.out
    return done


@row("21b", "a tracing outside the frame", 3, "*1 fault: " + OUTSIDE)
def _(case):
    move_outside(case)
    return case.train()


@row("21c", "a tracing outside the frame", 3, "*1 fault: " + OUTSIDE, "evaluate --split train")
def _(case):
    move_outside(case)
    return case.echo("evaluate", "--data_dir", case.data_folder, "--weights", os.path.join(Case.shared, "run"),
                     "--split", "train", "--output", case.path("evaluation"))


# Video

@row(22, "videos are missing", 3,
     "*10 faults: FileList.csv:2: Videos/*.avi must be there; *; FileList.csv:11: Videos/*.avi must be there",
     "evaluate --split all")
def _(case):
    for path in case.data.all_videos():
        os.remove(path)
    return case.echo("evaluate", "--data_dir", case.data_folder, "--weights", os.path.join(Case.shared, "run"),
                     "--split", "all", "--output", case.path("evaluation"))


@row(23, "a video of 0 bytes", 3, "*DATA/Videos/*.avi: a video must not be empty, got 0 bytes")
def _(case):
    files.write(case.data.video(), "")
    return case.train()


@row(24, "a video that is a ZIP file", 3, '*DATA/Videos/*.avi: *starts with "PK\\x03\\x04*')
def _(case):
    files.write(case.data.video(), b"PK\x03\x04" + bytes(4000))
    return case.train()


@row(25, "a video that is cut short", 3, "*DATA/Videos/*.avi: *of * bytes at byte *, which ends at byte *")
def _(case):
    case.data.set_video(lambda content: content[:len(content) // 2])
    return case.train()


@row("26a", "a video's header counts other frames", 0, "0 faults, * note*", "data check")
def _(case):
    case.data.set_video(lambda content: files.set_frame_count(content, 5000))
    return case.check()


@row("26b", "FileList.csv counts other frames", 0,
     "note  FileList.csv:2: NumberOfFrames must be the file's, got 60 for 56 frames", "data check")
def _(case):
    case.data.set_field(2, "NumberOfFrames", "60")
    return case.check()


@row("26c", "FileList.csv counts frames with 19 digits", 3,
     "*FileList.csv:2: NumberOfFrames must be at most 2147483647, got 1000000000000000000")
def _(case):
    case.data.set_field(2, "NumberOfFrames", "1000000000000000000")
    return case.train()


@row(27, "a damaged frame", 3, "*DATA/Videos/*.avi*: *JPEG*, frame * at byte *")
def _(case):
    case.begun()
    for line in range(2, 8):
        case.data.set_video(lambda content: [files.damage_frame(content, i) for i in range(56)] and None, line)
    done = case.resume()
    case.expect_earlier_files("best.safetensors", "log.csv")
    return done


@row(28, "a codec that nothing decodes", 3, '*DATA/Videos/*.avi: *(an AVI file of codec "ZZZZ")')
def _(case):
    case.data.set_video(lambda content: files.set_codec(content, b"ZZZZ"))
    return case.train()


@row(29, "frames of 65535 x 65535", 3, "*DATA/Videos/*.avi: frames must have at most 2^27 pixels, got 65535 x 65535")
def _(case):
    case.data.set_video(lambda content: files.set_size(content, 65535, 65535))
    return case.train(limits=[(resource.RLIMIT_AS, 4 << 30)])


@row(30, "videos of two sizes", 3,
     "*DATA/Videos/*.avi: videos must be of one size, got 128 x 128 where the first is 32 x 32")
def _(case):
    case.begun()
    for line in range(3, 8):
        case.data.set_video(lambda content: files.set_size(content, 128, 128), line)
    done = case.resume()
    case.expect_earlier_files("best.safetensors", "log.csv")
    return done


@row(31, "a video of 0 frames a second", 0,
     "note  Videos/*.avi: a video should say its frames a second, got 0", "data check")
def _(case):
    case.data.set_video(files.set_no_rate)
    return case.check()


@row(32, "a video that could be waited for without end: a pipe", 3,
     "*DATA/Videos/*.avi: file to read must be a regular file, got a device, pipe or socket")
def _(case):
    os.remove(case.data.video())
    os.mkfifo(case.data.video())
    return case.train()


@row(33, "a video is replaced while the training runs", 3, "*DATA/Videos/*.avi*: AVI *")
def _(case):
    started = case.begun().resume_for_long()
    for path in case.data.all_videos():
        half = files.read(path)[:200]
        files.write(path + ".new", half + bytes(2000))
        os.replace(path + ".new", path)
    done = case.finish(started)
    return done
