"""Makes the damaged files of bad_input_test.py: AVI, safetensors, npz and CSV that lie."""

import json
import os
import re
import shutil
import struct
import zipfile

TABLE = "FileList.csv"
TRACES = "VolumeTracings.csv"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    # A new file: the old name may be a link to the data set that all rows share.
    if os.path.lexists(path):
        os.remove(path)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode(errors="surrogateescape"))


class Data:
    """A row's own data set: tables are copies, videos are links to those of the set that all share."""

    def __init__(self, source, folder):
        self.folder = folder
        os.makedirs(os.path.join(folder, "Videos"))
        for name in TABLE, TRACES:
            shutil.copy(os.path.join(source, name), self.path(name))
        for name in os.listdir(os.path.join(source, "Videos")):
            os.symlink(os.path.join(source, "Videos", name), self.path("Videos", name))

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def lines(self, name=TABLE):
        return read(self.path(name)).decode(errors="surrogateescape").splitlines()

    def write_lines(self, lines, name=TABLE):
        write(self.path(name), "\n".join(lines) + "\n")

    def replace(self, old, new, name=TABLE, line=None, count=1):
        """Replaces a regular expression in one line (counted from 1) or in the whole table."""
        lines = self.lines(name)
        chosen = range(len(lines)) if line is None else [line - 1]
        for i in chosen:
            lines[i] = re.sub(old, new, lines[i], count=count)
        self.write_lines(lines, name)

    def name(self, line=2):
        """The video on a line of the table."""
        return self.lines()[line - 1].split(",")[0]

    def video(self, line=2):
        return self.path("Videos", self.name(line) + ".avi")

    def all_videos(self):
        return [self.video(line) for line in range(2, len(self.lines()) + 1)]

    def set_field(self, line, column, value):
        lines = self.lines()
        fields = lines[line - 1].split(",")
        fields[lines[0].split(",").index(column)] = value
        lines[line - 1] = ",".join(fields)
        self.write_lines(lines)

    def set_video(self, change, line=2):
        """Replaces a video's bytes by those that `change` makes of a copy of them."""
        path = self.video(line)
        content = bytearray(read(path))
        write(path, bytes(change(content) or content))


# Places in the files that `aorta-echo synth` writes: RIFF, hdrl, avih, strl, strh, strf.
def put_u32(content, after, offset, value):
    struct.pack_into("<I", content, content.index(after) + offset, value)


def set_size(content, width, height):
    put_u32(content, b"strf", 12, width)
    put_u32(content, b"strf", 16, height)


def set_codec(content, fourcc):
    for place in content.index(b"strh") + 12, content.index(b"strf") + 24:
        content[place:place + 4] = fourcc


def set_no_rate(content):
    put_u32(content, b"avih", 8, 0)
    put_u32(content, b"strh", 8 + 24, 0)


def set_frame_count(content, count):
    put_u32(content, b"avih", 8 + 16, count)
    put_u32(content, b"strh", 8 + 32, count)


def damage_frame(content, index):
    """Overwrites the entropy-coded middle of a frame by markers that no scan may hold."""
    place = content.index(b"movi") + 4
    for _ in range(index):
        size = struct.unpack_from("<I", content, place + 4)[0]
        place += 8 + size + (size & 1)
    size = struct.unpack_from("<I", content, place + 4)[0]
    scan = content.index(b"\xff\xda", place)
    for i in range(scan + 20, place + 8 + size - 2):
        content[i] = 0xff if i % 2 else 0xc4


def safetensors(header, data=b"", length=None):
    """A file of that header: a dictionary, or the text itself."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(shape, begin, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def npy(description, data, fortran=False, shape="(2,)"):
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (description, fortran, shape)
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def npz(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name + ".npy", content)


def npz_bomb(path, claimed):
    """An array of zeros that says to be `claimed` bytes long, in a few hundred bytes."""
    npz(path, weight=npy("<f4", b"\0" * 4096, shape="(1024,)"))
    content = bytearray(read(path))
    place = content.index(b"PK\x01\x02")
    struct.pack_into("<I", content, place + 24, claimed)  # the uncompressed size of the directory's entry
    struct.pack_into("<I", content, content.index(b"PK\x03\x04") + 22, claimed)
    write(path, bytes(content))


def _crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
        table.append(value)
    return table


def crc32c(content, table=_crc32c_table()):
    value = 0xffffffff
    for byte in content:
        value = value >> 8 ^ table[(value ^ byte) & 0xff]
    return value ^ 0xffffffff
