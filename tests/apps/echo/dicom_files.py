"""Scanners' pictures and DICOM files, byte by byte: uncompressed and RLE (PS3.5, PS3.10)."""

import math
import random
import struct

LONG = (b"OB", b"OW", b"SQ", b"UN")
EXPLICIT, RLE = "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.5"


def element(group, number, vr, value):
    if isinstance(value, str):
        value = value.encode()
    if len(value) % 2:
        value += b"\0" if vr in (b"UI", b"OB") else b" "
    head = struct.pack("<HH", group, number) + vr
    return head + (b"\0\0" + struct.pack("<I", len(value)) if vr in LONG else struct.pack("<H", len(value))) + value


def u16(group, number, value):
    return element(group, number, b"US", struct.pack("<H", value))


def item(content):
    return struct.pack("<HHI", 0xfffe, 0xe000, len(content)) + content


def packed(row):
    """PackBits, as RLE of DICOM has it: runs of three and more, and what lies between them."""
    out, literal, i = bytearray(), bytearray(), 0

    def flush():
        for at in range(0, len(literal), 128):
            part = literal[at:at + 128]
            out.append(len(part) - 1)
            out.extend(part)
        literal.clear()

    while i < len(row):
        run = 1
        while i + run < len(row) and run < 128 and row[i + run] == row[i]:
            run += 1
        if run >= 3:
            flush()
            out.extend((257 - run, row[i]))
        else:
            literal.extend(row[i:i + run])
        i += run
    flush()
    return bytes(out)


def rle_frame(rows, channels):
    """A segment a channel, of rows that are packed one by one."""
    segments = []
    for c in range(channels):
        segment = b"".join(packed(row[c::channels]) for row in rows)
        segments.append(segment + b"\0" * (len(segment) % 2))
    offsets = [64 + sum(map(len, segments[:k])) for k in range(len(segments))]
    return struct.pack("<16I", len(segments), *offsets, *[0] * (15 - len(segments))) + b"".join(segments)


def region(box, spatial_format=1, data_type=1, centimetres=(0.05, 0.05)):
    left, top, right, bottom = box
    return item(u16(0x18, 0x6012, spatial_format) + u16(0x18, 0x6014, data_type)
                + b"".join(element(0x18, 0x6018 + 2 * k, b"UL", struct.pack("<I", edge))
                           for k, edge in enumerate((left, top, right, bottom)))
                + u16(0x18, 0x6024, 3) + u16(0x18, 0x6026, 3)
                + element(0x18, 0x602c, b"FD", struct.pack("<d", centimetres[0]))
                + element(0x18, 0x602e, b"FD", struct.pack("<d", centimetres[1])))


def dicom(frames, patient="A-17", frame_time="20", modality="US", regions=(), rle=False, syntax=None, grey=False):
    """The bytes of a file of frames, rows of red, green and blue each."""
    if grey:
        frames = [[row[1::3] for row in frame] for frame in frames]
    channels, height = 1 if grey else 3, len(frames[0])
    width = len(frames[0][0]) // channels
    syntax = syntax or (RLE if rle else EXPLICIT)
    meta = (element(2, 1, b"OB", b"\0\1") + element(2, 2, b"UI", "1.2.840.10008.5.1.4.1.1.3.1")
            + element(2, 3, b"UI", "1.2.826.0.1.3680043.2.1143.7") + element(2, 0x10, b"UI", syntax))
    if rle:
        fragments = b"".join(item(rle_frame(frame, channels)) for frame in frames)
        pixels = (struct.pack("<HH", 0x7fe0, 0x10) + b"OB\0\0" + b"\xff" * 4 + item(b"") + fragments
                  + struct.pack("<HHI", 0xfffe, 0xe0dd, 0))
    else:
        pixels = element(0x7fe0, 0x10, b"OB", b"".join(bytes(row) for frame in frames for row in frame))
    data = (element(8, 0x16, b"UI", "1.2.840.10008.5.1.4.1.1.3.1") + element(8, 0x60, b"CS", modality)
            + element(8, 0x80, b"LO", "General Hospital") + element(0x10, 0x10, b"PN", "Doe^Jane")
            + element(0x10, 0x20, b"LO", patient) + (element(0x18, 0x1063, b"DS", frame_time) if frame_time else b"")
            + (element(0x18, 0x6011, b"SQ", b"".join(regions)) if regions else b"")
            + element(0x20, 0xd, b"UI", "1.2.826.0.1.3680043.2.1143.8") + u16(0x28, 2, channels)
            + element(0x28, 4, b"CS", "MONOCHROME2" if channels == 1 else "RGB")
            + (u16(0x28, 6, 0) if channels == 3 else b"") + element(0x28, 8, b"IS", str(len(frames)))
            + u16(0x28, 0x10, height) + u16(0x28, 0x11, width) + u16(0x28, 0x100, 8)
            + u16(0x28, 0x101, 8) + u16(0x28, 0x102, 7) + u16(0x28, 0x103, 0) + pixels)
    return b"\0" * 128 + b"DICM" + element(2, 0, b"UL", struct.pack("<I", len(meta))) + meta + data


class Picture:
    """A scanner's picture: a fan of speckle, and outside of it text and an ECG in colour."""

    def __init__(self, height=150, width=200, apex=(100, 12), radius=120, half_angle=0.7):
        self.height, self.width, self.apex, self.radius, self.half_angle = height, width, apex, radius, half_angle
        # Speckle by chance: a Rayleigh distribution's quantiles, and those of blood.
        self.tissue = bytes(min(255, int(38 * math.sqrt(-2 * math.log(1 - (i + 0.5) / 256)))) for i in range(256))
        self.blood = bytes(value * 15 // 100 for value in self.tissue)

    def inside(self, y):
        """The columns of the fan in a row."""
        down = y - self.apex[1]
        if not 0 <= down <= self.radius:
            return 0, 0
        across = min(down * math.tan(self.half_angle), math.sqrt(self.radius ** 2 - down ** 2))
        return math.ceil(self.apex[0] - across), math.floor(self.apex[0] + across) + 1

    def ventricle(self, y, size):
        down = (y - self.apex[1] - 0.45 * self.radius) / (0.27 * self.radius * size)
        across = 0.15 * self.radius * size * math.sqrt(1 - down ** 2) if abs(down) < 1 else -1
        return (math.ceil(self.apex[0] - across), math.floor(self.apex[0] + across) + 1) if across >= 0 else (0, 0)

    def frame(self, index, seed=0):
        """Rows of red, green and blue; a heart beat takes 20 frames."""
        chance = random.Random(1000 * seed + index)
        size = 1 + 0.15 * math.cos(2 * math.pi * index / 20)
        rows = []
        for y in range(self.height):
            row = bytearray(self.width)
            left, right = self.inside(y)
            row[left:right] = chance.randbytes(right - left).translate(self.tissue)
            begin, end = self.ventricle(y, size)
            row[begin:end] = chance.randbytes(end - begin).translate(self.blood)
            rows.append(bytearray(value for grey in row for value in (grey, grey, grey)))
        for top, left in (2, 3), (2, 150), (self.height - 12, 5), (10, 5):  # a name, a date: what looks like text
            text = random.Random(top * left)
            for y in range(top, top + 5):
                for x in range(left, min(left + 40, self.width)):
                    if text.random() < 0.5:
                        rows[y][3 * x:3 * x + 3] = (235, 235, 235)
        for x in range(self.width):  # a line that moves, green
            y = int(self.height - 8 - 5 * math.exp(-((x - 2 * index) % 40 - 10) ** 2 / 4))
            rows[y][3 * x:3 * x + 3] = (20, 220, 40)
        return rows

    def frames(self, count, seed=0):
        return [self.frame(i, seed) for i in range(count)]
