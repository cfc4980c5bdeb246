# SPDX-License-Identifier: MIT
"""A kernel's own pytest: paste it, and put your kernel in place of my_quantize.

    pytest examples/test_my_kernel.py
"""
import numpy as np
import pytest

mxgold = pytest.importorskip("mxgold")

RECIPE = "mxfp4"


def my_quantize(x):
    """The kernel under test: float32 (rows, cols) to codes uint8 (rows, cols/2) and E8M0 scales
    (rows, cols/32). This one is a plain numpy quantiser of OCP MXFP4."""
    rows, cols = x.shape
    blocks = x.reshape(rows, cols // 32, 32)
    exponent = (np.abs(blocks).max(-1).view(np.uint32) >> 23).astype(np.int32)
    scale = np.maximum(exponent - 2, 0)
    v = np.ldexp(blocks.astype(np.float64), 127 - scale[..., None])
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    middles = (values[1:] + values[:-1]) / 2
    # a tie goes to the even code: up from an odd one, down to an even one
    up = np.abs(v)[..., None] > middles
    tie = (np.abs(v)[..., None] == middles) & (np.arange(7) % 2 == 1)
    code = (up | tie).sum(-1) + 8 * np.signbit(blocks)
    code = code.reshape(rows, cols)
    return (code[:, 0::2] | code[:, 1::2] << 4).astype(np.uint8), scale.astype(np.uint8)


def inputs():
    random = np.random.RandomState(7)
    yield "normal", random.standard_normal((64, 1024)).astype(np.float32)
    yield "wide", (random.standard_normal((64, 1024)) * 2.0 ** random.randint(-40, 40, (64, 1024))).astype(np.float32)
    yield "ties", random.randint(-24, 25, (64, 1024)).astype(np.float32) / 4
    yield "zero rows", np.zeros((2, 64), np.float32)


@pytest.mark.parametrize("name,x", list(inputs()), ids=lambda value: value if isinstance(value, str) else "")
def test_bytes(name, x):
    codes, scales = my_quantize(x)
    mxgold.check(codes, scales, x, RECIPE)
