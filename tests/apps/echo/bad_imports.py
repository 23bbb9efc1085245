"""The rows about files that are imported."""

import os

import bad_input_files as files
import dicom_files as dicom
from bad_input_case import row

PICTURE = dicom.Picture(height=60, width=80, apex=(40, 4), radius=50)


def frames(count=3):
    return PICTURE.frames(count)


def taken(case, content, *arguments, name="a.dcm"):
    path = case.path(name)
    files.write(path, content)
    done = case.echo("import", path, "--output", case.path("imported"), *arguments)
    assert done.code == 0 or not os.path.exists(case.path("imported")), "a folder must not be left"
    assert done.err.startswith("warning: ")  # the file's line, which the last line repeats
    done.err = done.err.split("\n", 1)[1]
    return done


@row("88a", "a DICOM file that is cut off", 3,
     "*a.dcm: DICOM file must be readable, got the file: I/O suspension or premature end of stream", "import")
def _(case):
    return taken(case, dicom.dicom(frames())[:5000])


@row("88b", "a DICOM file with fewer frames than it counts", 3,
     "*a.dcm: DICOM file must be readable, got pixels must be * bytes, got 43200", "import")
def _(case):
    return taken(case, dicom.dicom(frames()).replace(dicom.element(0x28, 8, b"IS", "3"), dicom.element(0x28, 8, b"IS", "9")))


@row("88c", "a DICOM file without pixels", 3,
     "*a.dcm: DICOM file must be readable, got there must be pixels, got a file without", "import")
def _(case):
    whole = dicom.dicom(frames())
    return taken(case, whole[:whole.index(b"\xe0\x7f\x10\x00OB")])


@row("88d", "a DICOM file that isn't ultrasound", 3, "*a.dcm: a DICOM file must be of ultrasound, modality US, got \"CT\"",
     "import")
def _(case):
    return taken(case, dicom.dicom(frames(), modality="CT"))


@row("88e", "a DICOM file of JPEG 2000", 3,
     "*a.dcm: DICOM file must be readable, got transfer syntax must be uncompressed, RLE, JPEG or JPEG-LS, got JPEG 2000*",
     "import")
def _(case):
    return taken(case, dicom.dicom(frames(), syntax="1.2.840.10008.1.2.4.90"))


@row("88f", "a DICOM file of one picture", 3, "*a.dcm: a video must have two frames at least, got 1", "import")
def _(case):
    return taken(case, dicom.dicom(frames(1)))


@row("88g", "a DICOM file whose frames are damaged", 3,
     "*a.dcm: frame must be readable, got RLE must have 3 whole segments, got a fragment of * bytes that has not, frame 0", "import")
def _(case):
    content = bytearray(dicom.dicom(frames(), rle=True))
    at = content.index(b"\xfe\xff\x00\xe0", content.index(b"\xe0\x7f\x10\x00OB") + 20) + 8
    content[at:at + 4] = b"\x09\x00\x00\x00"  # segments of a pixel
    return taken(case, bytes(content))


@row("88h", "a DICOM file that nests 100,000 sequences", 3,
     "*a.dcm: DICOM file must be readable, got a file must have at most 20000 items, got 100000", "import")
def _(case):
    level = b"\x18\x00\x11\x60SQ\0\0\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff"
    whole = dicom.dicom(frames())
    return taken(case, whole[:whole.index(b"\xe0\x7f\x10\x00OB")] + 100000 * level)


@row("88i", "a DICOM file of 65535 x 65535 pixels", 3,
     "*a.dcm: DICOM file must be readable, got pixels must be * bytes, got 43200", "import")
def _(case):
    whole = dicom.dicom(frames())
    return taken(case, whole.replace(dicom.u16(0x28, 0x10, 60), dicom.u16(0x28, 0x10, 65535))
                 .replace(dicom.u16(0x28, 0x11, 80), dicom.u16(0x28, 0x11, 65535)))


@row("88j", "a picture in which nothing is lit", 3,
     "*a.dcm: there must be a sector, where pixels change or are lit, got none", "import")
def _(case):
    return taken(case, dicom.dicom([[bytes(3 * 80)] * 60] * 3))


@row("88k", "a file that is no video", 3, "*a.mp4: video must be readable, got OpenCV can't open it (a file that starts with *)",
     "import")
def _(case):
    return taken(case, b"nothing that moves", name="a.mp4")


@row("88l", "a file that isn't there", 3, "*none.dcm: a file or folder must be there, got none", "import")
def _(case):
    return case.echo("import", case.path("none.dcm"), "--output", case.path("imported"))


@row("88m", "a folder without a video", 3, "import: there must be a video, got none in \"*", "import")
def _(case):
    os.mkdir(case.path("empty"))
    return case.echo("import", case.path("empty"), "--output", case.path("imported"))


@row("89a", "an output folder that isn't empty", 6, "DATA: output must be new or empty (--overwrite replaces a data set), got a "
     "folder with *", "import")
def _(case):
    return case.echo("import", case.data.video(), "--output", case.data_folder)


@row("89b", "--overwrite of a folder with tracings", 6, "DATA: --overwrite replaces data sets only, got a folder with "
     "\"VolumeTracings.csv\"", "import --overwrite")
def _(case):
    return case.echo("import", case.data.video(), "--output", case.data_folder, "--overwrite")


@row("89c", "a split that isn't one", 2, "--split: must be hash, train, val or test, got \"thirds\"", "import --split thirds")
def _(case):
    return case.echo("import", case.data.video(), "--output", case.path("imported"), "--split", "thirds")


@row("89d", "an EF of a table that is no percentage", 3, "read_csv: *told.csv:2: EF must be 0 to 100, got \"500\"",
     "import --table")
def _(case):
    files.write(case.path("told.csv"), "FileName,EF\na,500\n")
    return case.echo("import", case.data.video(), "--output", case.path("imported"), "--table", case.path("told.csv"))


@row("89e", "a DICOM file where its plugin isn't", 3, "*a.dcm: a DICOM file needs libaorta_dicom.so, got AORTA_DICOM_PLUGIN=none "
     "switches it off", "import")
def _(case):
    files.write(case.path("a.dcm"), dicom.dicom(frames()))
    done = case.echo("import", case.path("a.dcm"), "--output", case.path("imported"), environment={"AORTA_DICOM_PLUGIN": "none"})
    done.err = done.err.split("\n", 1)[1]
    return done
