"""Every fault that `data check` knows, and that `train` and `evaluate` don't pass over it.

A fault is made on a line of FileList.csv: of TRAIN, VAL and TEST in turn.
"""

import itertools
import os
import re
import tempfile

import bad_input_files as files
from bad_input_case import Case, SharedData
from bad_input_files import TABLE, TRACES

LINES = itertools.cycle((2, 8, 10))  # of TRAIN, VAL and TEST
FAULTS = []


class Fault:
    def __init__(self, rule, make, line, told):
        self.rule, self.make, self.line, self.told = rule, make, line, told or rule


def fault(rule, told=None):
    """A change of the data that breaks the rule; `told` is what `train` says of it in other words."""
    def keep(make):
        FAULTS.append(Fault(rule, make, next(LINES), told))
        return make
    return keep


def field(rule, column, value):
    fault(rule)(lambda data, line: data.set_field(line, column, value))


def first_trace(data, line):
    """The place in VolumeTracings.csv where the first trace of a video begins, from 1."""
    name = data.name(line)
    return next(i for i, row in enumerate(data.lines(TRACES), 1) if row.startswith(name))


def trace_field(rule, column, value, row=2):
    def make(data, line):
        lines = data.lines(TRACES)
        place = first_trace(data, line) - 1 + row
        fields = lines[place].split(",")
        fields[lines[0].split(",").index(column)] = value
        lines[place] = ",".join(fields)
        data.write_lines(lines, TRACES)
    fault(rule)(make)


def frame_of(row):
    return row.rpartition(",")[2]


# The tables as text.

fault("FileList.csv: file must be readable, got ENOENT")(lambda data, line: os.remove(data.path(TABLE)))
fault("VolumeTracings.csv: file must be readable, got ENOENT")(lambda data, line: os.remove(data.path(TRACES)))
fault("a table must have a line at least")(lambda data, line: files.write(data.path(TRACES), ""))
fault("there must be a video, got 0 rows")(lambda data, line: data.write_lines(data.lines()[:1]))
fault('a column must be called "EF"')(lambda data, line: data.replace("EF", "ef", line=1))
fault('a column must be called "Frame"')(lambda data, line: data.replace("Frame", "frame", TRACES, line=1))
fault("columns must have different names")(lambda data, line: data.replace("ESV", "EF", line=1))
fault("a quoted field must end with a quote")(lambda data, line: data.replace("^", '"', line=line))
fault("a quoted field must end with its closing quote")(lambda data, line: data.replace("^", '"a"b', line=line))
fault("a field with a quote in it must be in quotes")(lambda data, line: data.replace("^", 'a"', line=line))
fault("a record must have as many fields as there are columns")(lambda data, line: data.replace("$", ",1", line=line))
fault("text must not hold a zero byte")(lambda data, line: data.replace("^..", "\0", line=line))
fault("a carriage return must be followed by a line feed")(
    lambda data, line: files.write(data.path(TABLE), "\r".join(data.lines()) + "\n"))
fault("a record must not be longer than max_record_bytes")(
    lambda data, line: data.replace("^", "x" * 2_000_000, TRACES, line=5))

# FileList.csv

field("FileName must not be empty", "FileName", "")
field("FileName must be a name without a folder", "FileName", "../a.avi")
field("Split must be TRAIN, VAL or TEST", "Split", "TRIAN")
field("EF must be a finite number", "EF", "54;5")
field("EF must be a finite number", "EF", "inf")
for value in "-50", "500", "1e308":
    field('EF must be 0 to 100, got "%s"' % value, "EF", value)
field("NumberOfFrames must be an integer of 64 bits", "NumberOfFrames", "56.5")
field("NumberOfFrames must not be negative, got -5", "NumberOfFrames", "-5")
field("NumberOfFrames must be at most 2147483647, got 1000000000000000000", "NumberOfFrames", "1000000000000000000")
fault("a video must be listed once")(lambda data, line: data.set_field(line, "FileName", data.name(line - 1)))
fault("must be there")(lambda data, line: os.remove(data.video(line)))
for split in "TRAIN", "VAL":
    fault("no video has Split " + split, told="the split must have videos, got none of " + split.lower())(
        lambda data, line, split=split: data.replace(split, "TEST"))

# VolumeTracings.csv

trace_field("Frame must be an integer of 64 bits", "Frame", "1.5")
trace_field("Frame must not be negative, got -1", "Frame", "-1")
trace_field("Frame must be at most 2147483647, got 1000000000000000000", "Frame", "1000000000000000000")
trace_field("Frame must be 0 to the video's NumberOfFrames - 1", "Frame", "57")
trace_field("X1 must be a finite number", "X1", "nan")
trace_field('coordinates must lie within 32767 of 0, got "-32768"', "Y2", "-32768")
for column, value in ("X1", "34"), ("Y1", "-3"), ("X2", "-2.1"), ("Y2", "32.6"):
    trace_field("a trace must lie inside the frame of 32 x 32", column, value)


@fault("a trace must have 3 rows at least, got 2")
def _(data, line):
    lines, first = data.lines(TRACES), first_trace(data, line) - 1
    frame = frame_of(lines[first])
    rows = [i for i, row in enumerate(lines) if row.startswith(data.name(line)) and frame_of(row) == frame]
    data.write_lines([row for i, row in enumerate(lines) if i not in rows[2:]], TRACES)


@fault("a trace must enclose an area, got a line")
def _(data, line):
    frame = frame_of(data.lines(TRACES)[first_trace(data, line) - 1])
    data.replace("^(%s.*),.*,.*,.*,.*,(%s)$" % (re.escape(data.name(line)), frame), r"\1,50,50,60,60,\2", TRACES)


# Videos

fault("a video must not be empty")(lambda data, line: files.write(data.video(line), ""))
fault("which ends at byte")(lambda data, line: data.set_video(lambda content: content[:len(content) // 2], line))
fault("file to read must be a regular file, got a device, pipe or socket")(
    lambda data, line: (os.remove(data.video(line)), os.mkfifo(data.video(line))))
fault("file to read must be a regular file, got a folder")(
    lambda data, line: (os.remove(data.video(line)), os.mkdir(data.video(line))))
fault('codec "ZZZZ"')(lambda data, line: data.set_video(lambda content: files.set_codec(content, b"ZZZZ"), line))
fault("frames must have at most 2^27 pixels")(
    lambda data, line: data.set_video(lambda content: files.set_size(content, 65535, 65535), line))
fault("JPEG")(lambda data, line: data.set_video(
    lambda content: [files.damage_frame(content, i) for i in range(40)] and None, line))


@fault("videos must be of one size, got 128 x 128 where most are",
       told="videos must be of one size, got 128 x 128 where the first is")
def _(data, line):
    data.set_video(lambda content: files.set_size(content, 128, 128), line + 1)


# The video has fewer frames than its table says, or the table doesn't say how many.
@fault("Frame must be 0 to the number of frames - 1", told="a video must be as long as its traces say")
def _(data, line):
    def shorten(content):
        index = content.index(b"idx1")
        length = int.from_bytes(content[index + 4:index + 8], "little")
        content[index + 4:index + 8] = (16 * 3).to_bytes(4, "little")
        del content[index + 8 + 16 * 3:index + 8 + length]
        content[4:8] = (len(content) - 8).to_bytes(4, "little")
    data.set_video(shorten, line)


def said(text):
    """Without the folders."""
    return re.sub(r"\S*/(?=[^/\s]*(\.csv|\.avi))", "", text)


class Faults(SharedData):
    def run_fault(self, one):
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            case = Case(folder)
            try:
                one.make(case.data, one.line)
                check = case.check()
                self.assertEqual(check.code, 3, check.out)
                faults = [line for line in check.out.splitlines() if line.startswith("FAULT ")]
                self.assertTrue(any(one.rule in line for line in faults), check.out)
                weights = os.path.join(Case.shared, "run")
                for done in (case.train("--num_train_patients", "6", "--run_test"),
                             case.echo("evaluate", "--data_dir", case.data_folder, "--weights", weights, "--split",
                                       "all", "--num_workers", "0", "--output", case.path("evaluation"))):
                    if "no video has Split" in one.rule and "dice overall" in done.out:
                        continue  # `all` has videos
                    self.assertEqual(done.code, 3, done.err + done.out)
                    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
                    self.assertEqual(len(errors), 1, done.err)
                    self.assertIn(one.told, errors[0])
                    # A table's fault with its line.
                    for line in faults:
                        place = re.match(r"FAULT (\w+\.csv:\d+): ", line)
                        if place and one.told == one.rule and one.rule in line:
                            self.assertIn(place[1] + ": ", said(errors[0]))
            finally:
                case.end()


for number, one in enumerate(FAULTS):
    slug = re.sub(r"\W+", "_", one.rule).strip("_")
    setattr(Faults, "test_%02d_%s" % (number, slug), lambda self, one=one: self.run_fault(one))
