#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An MXFP8 (E4M3) quantiser of its own, and the few lines that put it under test:

    mxgold gen --recipe mxfp8 | python3 examples/pipe_quantize.py | mxgold verify --recipe mxfp8

Reads the text stream and the binary one (gen --format binary). Put your kernel in place of
quantize_row(). Nothing but the standard library is needed, and nothing of mxgold.
"""
import math
import struct
import sys

BLOCK = 32

# ---- the program under test: OCP MXFP8, E4M3 in blocks of 32 under an E8M0 scale ----


def encode(value, sign):
    """One real number as an E4M3 code: nearest, ties to even, saturating at 448."""
    if math.isnan(value):
        return sign | 0x7F
    magnitude = min(abs(value), 448.0)
    if magnitude == 0:
        return sign
    exponent = max(math.frexp(magnitude)[1] - 1, -6)  # 2^-6 is the least normal number
    step = math.ldexp(1.0, exponent - 3)
    units = round(magnitude / step)  # Python rounds ties to even, and magnitude / step is exact
    # 8 units begin an exponent; the code of the next one follows by itself
    return sign | (exponent + 6) * 8 + units


def quantize_row(row):
    """A list of floats to (codes, scales)."""
    codes, scales = bytearray(), bytearray()
    for first in range(0, len(row), BLOCK):
        block = row[first : first + BLOCK]
        amax = math.nan if any(map(math.isnan, block)) else max(map(abs, block))
        if math.isfinite(amax):
            # floor(log2(amax)) - emax, from the exponent itself and not from a logarithm
            byte = 0 if amax == 0 else max(math.frexp(amax)[1] - 1 - 8 + 127, 0)
        else:
            byte = 255
        scales.append(byte)
        for value in block:
            sign = 0x80 if math.copysign(1.0, value) < 0 else 0
            scaled = math.nan if byte == 255 else math.ldexp(value, 127 - byte)
            codes.append(encode(scaled, sign))
    return codes, scales


def answer(src, rows, cols, data):
    """The raw bytes of rows x cols values to (codes, scales) of the whole case."""
    if src == "bf16":  # the upper half of a binary32
        data = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
    form = "<%de" if src == "f16" else "<%df"
    values = struct.unpack(form % (rows * cols), data)
    codes, scales = bytearray(), bytearray()
    for row in range(rows):
        row_codes, row_scales = quantize_row(values[row * cols : (row + 1) * cols])
        codes += row_codes
        scales += row_scales
    return codes, scales


# ---- the stream ----


def text_stream(source, sink):
    """ID SRC ROWS COLS X in, ID CODES SCALES out; "-" is no bytes."""
    for line in source:
        case, src, rows, cols, x = line.decode().split()
        codes, scales = answer(src, int(rows), int(cols), bytes.fromhex(x.replace("-", "")))
        text = "%s %s %s\n" % (case, codes.hex() or "-", scales.hex() or "-")
        sink.write(text.encode())


def binary_stream(source, sink):
    """Ten words and the values in, four words, the codes and the scales out."""
    names = {1: "f32", 2: "f16", 3: "bf16"}
    while True:
        head = source.read(40)
        if not head:
            return
        _, case, dtype, rows, cols, _, x_bytes, _, _, _ = struct.unpack("<10I", head)
        codes, scales = answer(names[dtype], rows, cols, source.read(x_bytes))
        sink.write(struct.pack("<4s3I", b"MXGA", case, len(codes), len(scales)) + codes + scales)


def main():
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    header = source.readline()
    sink.write(header)  # it says what the cases are: verify wants it back
    if b"format=binary" in header:
        binary_stream(source, sink)
    else:
        text_stream(source, sink)


if __name__ == "__main__":
    main()
