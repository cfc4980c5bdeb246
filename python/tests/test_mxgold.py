# SPDX-License-Identifier: MIT
"""The binding: shapes, types, refusals, and that its bytes are the library's and the tool's."""
import os
import subprocess

import numpy as np
import pytest

import mxgold

RECIPES = [preset.name for preset in mxgold.presets()]


def numbers(*shape, seed=1):
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def bf16(x):
    return (x.view(np.uint32) >> 16).astype(np.uint16)


def test_presets_and_versions():
    assert len(RECIPES) == 26 and RECIPES[0] == "mxfp8" and "mori-fp8-direct" in RECIPES
    assert all(preset.provenance for preset in mxgold.presets())
    assert mxgold.version().count(".") == 2
    assert mxgold.cpu_features()[0] == "portable"


def test_known_answers():
    codes, scales = mxgold.quantize(np.array([[1, 2] + [0] * 29 + [6]], np.float32), "mxfp4")
    assert codes[0, 0] == 0x42 and codes[0, 15] == 0x70 and scales.tolist() == [[127]]
    assert mxgold.e8m0_from_amax(np.float32([1.5, 1.75, 6, 448]), "mxfp8-te").tolist() == [119, 119, 121, 127]
    assert mxgold.decode(np.uint8([0x7E, 0x01]), "e4m3fn").tolist() == [448.0, 2.0**-9]
    assert mxgold.encode(np.float32([464, 465]), "mori-fp8-direct").tolist() == [0x7E, 0x7F]
    assert mxgold.e8m0_to_f32(np.uint8([0, 127]), "float").tolist() == [0.0, 1.0]


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_preset_equals_the_golden_model(recipe):
    x = numbers(3, 5, 333)
    x[0, 0] = 0
    codes, scales = mxgold.quantize(x, recipe)
    golden_codes, golden_scales = mxgold.quantize(x, recipe, ref=True)
    assert codes.shape[:2] == (3, 5) and np.array_equal(codes, golden_codes)
    assert (scales is None) == (golden_scales is None)
    if scales is not None:
        assert scales.shape[:2] == (3, 5) and scales.tobytes() == golden_scales.tobytes()
    for dtype in ("f32", "f16", "bf16"):
        y = mxgold.dequantize(codes, scales, recipe, cols=333, dtype=dtype)
        assert y.shape == x.shape
        assert y.tobytes() == mxgold.dequantize(codes, scales, recipe, cols=333, dtype=dtype, ref=True).tobytes()
    y = mxgold.dequantize(codes, scales, recipe, cols=333)
    good = np.isfinite(y)
    assert np.linalg.norm((y - x)[good]) < 0.2 * np.linalg.norm(x)
    mxgold.check(codes, scales, x, recipe)


def test_sources_and_strides():
    x = numbers(8, 128)
    from_bf16 = mxgold.quantize(bf16(x), "mxfp8", dtype="bf16")
    exact = (bf16(x).astype(np.uint32) << 16).view(np.float32)
    assert from_bf16[0].tobytes() == mxgold.quantize(exact, "mxfp8")[0].tobytes()
    halves = x.astype(np.float16)
    assert mxgold.quantize(halves, "mxfp8")[0].tobytes() == mxgold.quantize(halves.astype(np.float32), "mxfp8")[0].tobytes()
    wide = numbers(16, 256)
    view = wide[::2, ::2]
    assert mxgold.quantize(view, "mxfp4")[0].tobytes() == mxgold.quantize(view.copy(), "mxfp4")[0].tobytes()
    swapped = x.astype(">f4")
    assert mxgold.quantize(swapped, "mxfp4")[0].tobytes() == mxgold.quantize(x, "mxfp4")[0].tobytes()


def test_empty_shapes():
    for shape in ((0, 128), (4, 0), (0, 0), (2, 0, 128)):
        codes, scales = mxgold.quantize(np.zeros(shape, np.float32), "aiter-fp8-128")
        assert codes.size == 0 and codes.shape[:-1] == shape[:-1]
        assert mxgold.dequantize(codes, scales, "aiter-fp8-128", cols=shape[-1]).shape == shape


def test_scale_orders_and_counts():
    x = numbers(33, 160)
    codes, scales = mxgold.quantize(x, "mxfp8")
    for order in ("transposed", "aiter_shuffle", "blocked_128x4"):
        same_codes, other = mxgold.quantize(x, "mxfp8", order=order)
        assert np.array_equal(codes, same_codes) and other.ndim == 1
        assert np.array_equal(mxgold.dequantize(codes, other, "mxfp8", order=order), mxgold.dequantize(codes, scales, "mxfp8"))
        mxgold.check(codes, other, x, "mxfp8", order=order)
    assert mxgold.quantize(x, "mxfp8", order="transposed")[1].tolist() == scales.T.ravel().tolist()
    more = numbers(2, 1536)
    codes, scales = mxgold.quantize(more, "mori-fp8,block=28", scale_count=56)
    assert scales.shape == (2, 56) and scales[0, 55] == 1.0
    assert mxgold.dequantize(codes, scales, "mori-fp8,block=28").shape == more.shape
    assert mxgold.layout("mori-fp8", 112, 7168, scale_count=56, slot_weights=8).slot_bytes == 7424


def test_row_weight():
    x, weight = numbers(4, 64), np.float32([1, 2, 0.5, 3])
    assert mxgold.quantize(x, "megamoe-fp8-32", row_weight=weight)[0].tobytes() == mxgold.quantize(x * weight[:, None], "megamoe-fp8-32")[0].tobytes()
    codes, scales = mxgold.quantize(x, "megamoe-fp8-32", row_weight=weight)
    mxgold.check(codes, scales, x, "megamoe-fp8-32", row_weight=weight)


def test_combine():
    x = numbers(6, 3, 256)
    codes, scales = mxgold.quantize(x, "mori-fp4")
    slots = np.concatenate([codes, scales.astype("<f4").view(np.uint8)], axis=-1)
    assert slots.shape[-1] == mxgold.layout("mori-fp4", 1, 256).slot_bytes
    weights = numbers(6, 3, seed=2)
    present = np.ones((6, 3), bool)
    present[2] = False
    y = mxgold.combine(slots, "mori-fp4", 256, weights=weights, present=present, dtype="f32")
    assert y.tobytes() == mxgold.combine(slots, "mori-fp4", 256, weights=weights, present=present, dtype="f32", ref=True).tobytes()
    plain = (mxgold.dequantize(codes, scales, "mori-fp4") * weights[:, :, None] * present[:, :, None]).sum(1)
    assert np.allclose(y, plain, rtol=1e-5, atol=1e-5) and not y[2].any()
    assert mxgold.combine(slots, "mori-fp4", 256).dtype == np.uint16


def test_instruction_sets():
    x = numbers(2, 1000)
    golden = mxgold.quantize(x, "mxfp4", ref=True)
    for isa in mxgold.cpu_features():
        got = mxgold.quantize(x, "mxfp4", isa=isa, threads=2)
        assert all(np.array_equal(a, b) for a, b in zip(got, golden))
    with pytest.raises(mxgold.Error, match="isa 'sse': one of"):
        mxgold.quantize(x, "mxfp4", isa="sse")
    for isa in {"neon", "avx512"} - set(mxgold.cpu_features()):
        with pytest.raises(mxgold.Error, match=f"this CPU has no {isa}"):
            mxgold.quantize(x, "mxfp4", isa=isa)


REFUSED = [
    (lambda x: mxgold.quantize(x, "mxfp5"), "recipe 'mxfp5'"),
    (lambda x: mxgold.quantize(x, "mxfp4,rule=nearest"), "at 11"),
    (lambda x: mxgold.quantize(x, "mxfp4,overflow=nonfinite"), "overflow"),
    (lambda x: mxgold.quantize(x.astype(np.float64), "mxfp4"), "float64: need float32"),
    (lambda x: mxgold.quantize(bf16(x), "mxfp4"), 'say dtype="bf16"'),
    (lambda x: mxgold.quantize(x, "mxfp4", dtype="bf16"), "float32, not bf16"),
    (lambda x: mxgold.quantize(x, "mxfp4", dtype="fp8"), "dtype 'fp8'"),
    (lambda x: mxgold.quantize(x.tolist(), "mxfp4"), "x is list"),
    (lambda x: mxgold.quantize(x.astype(object), "mxfp4"), "Python objects"),
    (lambda x: mxgold.quantize(np.array(1, np.float32), "mxfp4"), "no dimension"),
    (lambda x: mxgold.quantize(x, "mxfp4", order="swizzled"), "order 'swizzled'"),
    (lambda x: mxgold.quantize(x, "mori-fp8", order="aiter_shuffle"), "layout"),
    (lambda x: mxgold.quantize(x, "mxfp4", scale_count=-1), "scale_count=-1"),
    (lambda x: mxgold.quantize(x, "mxfp4", row_weight=np.ones(3, np.float32)), "one for each of 4 rows"),
    (lambda x: mxgold.layout("mxfp4", 2**62, 2**62), "layout of"),
    (lambda x: mxgold.dequantize(x, None, "mxfp4"), "one-byte dtype"),
    (lambda x: mxgold.dequantize(np.zeros((4, 32), np.uint8), None, "mxfp4"), "has scales: pass them"),
    (lambda x: mxgold.dequantize(np.zeros((4, 32), np.uint8), x, "mori-fp8-direct"), "no scales"),
    (lambda x: mxgold.dequantize(np.zeros((4, 32), np.uint8), np.zeros((4, 1), np.uint8), "mxfp4"), "the layout needs 8"),
    (lambda x: mxgold.dequantize(np.zeros((4, 32), np.uint8), np.zeros((4, 2), np.uint8), "mxfp4", cols=65), "cols=65 needs 33"),
    (lambda x: mxgold.combine(np.zeros((4, 2, 33), np.uint8), "mxfp4", 64), "need 34"),
    (lambda x: mxgold.decode(np.zeros(4, np.uint8), "fp8"), "element 'fp8'"),
    (lambda x: mxgold.e8m0_from_amax(np.ones(4, np.float32), "mori-fp8"), "e8m0_from_amax by mori-fp8"),
]


@pytest.mark.parametrize("call,message", REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_what_is_refused_says_why(call, message):
    with pytest.raises(mxgold.Error) as caught:
        call(numbers(4, 64))
    assert message in str(caught.value)


def test_check_reads_like_compare():
    x = numbers(16, 256)
    codes, scales = mxgold.quantize(x, "mxfp4")
    mxgold.check(codes, scales, x, "mxfp4")
    wrong = codes.copy()
    wrong[3, 7] ^= 0x30
    with pytest.raises(AssertionError) as caught:
        mxgold.check(wrong, scales, x, "mxfp4")
    text = str(caught.value)
    assert "codes is not what mxfp4 gives for x" in text and "4096 compared, 1 differ" in text
    assert text.splitlines()[2].split()[:3] == ["code", "3", "15"]
    with pytest.raises(AssertionError, match="codes: got 2040 bytes"):
        mxgold.check(codes.ravel()[:-8], scales, x, "mxfp4")
    with pytest.raises(AssertionError, match="scales: got 0 bytes"):
        mxgold.check(codes, None, x, "mxfp4")


def test_check_takes_any_nan_for_a_nan():
    x = numbers(1, 128)
    x[0, 5] = np.nan
    codes, scales = mxgold.quantize(x, "mxfp8-te")
    assert codes[0, 5] & 0x7F == 0x7F
    codes[0, 5] ^= 0x80
    mxgold.check(codes, scales, x, "mxfp8-te")
    with pytest.raises(AssertionError):
        mxgold.check(codes, scales, x, "mxfp8-te", bits=True)


def test_the_tool_writes_the_same_bytes(tmp_path):
    tool = mxgold._tool()
    x = numbers(7, 300)
    np.save(tmp_path / "x.npy", x)
    subprocess.run([tool, "quantize", str(tmp_path / "x.npy"), "--recipe", "mxfp8", "-o", str(tmp_path / "q.safetensors")], check=True)
    codes, scales = mxgold.quantize(x, "mxfp8")
    data = (tmp_path / "q.safetensors").read_bytes()
    assert codes.tobytes() in data and scales.tobytes() in data


class FakeTensor:
    """What the binding asks of a torch tensor."""

    def __init__(self, array, dtype=None, device="cpu"):
        self.array, self.dtype, self.device = array, "torch." + (dtype or array.dtype.name), device
        self.shape = array.shape

    def detach(self):
        return self

    def contiguous(self):
        return FakeTensor(np.ascontiguousarray(self.array), self.dtype[6:], self.device)

    def element_size(self):
        return self.array.itemsize

    def data_ptr(self):
        return self.array.ctypes.data


class FakeTorch:
    uint8, float32, float16, bfloat16 = "uint8", "float32", "float16", "bfloat16"

    @staticmethod
    def empty(shape, dtype):
        return FakeTensor(np.zeros(shape, "uint16" if dtype == "bfloat16" else dtype), dtype)


def test_tensors_by_pointer(monkeypatch):
    monkeypatch.setitem(mxgold.sys.modules, "torch", FakeTorch)
    x = numbers(4, 128)
    codes, scales = mxgold.quantize(FakeTensor(bf16(x), "bfloat16"), "mori-fp8")
    want_codes, want_scales = mxgold.quantize(bf16(x), "mori-fp8", dtype="bf16")
    assert isinstance(codes, FakeTensor) and np.array_equal(codes.array, want_codes)
    assert np.array_equal(scales.array, want_scales)
    y = mxgold.dequantize(codes, scales, "mori-fp8", dtype="bf16")
    assert np.array_equal(y.array, mxgold.dequantize(want_codes, want_scales, "mori-fp8", dtype="bf16"))
    mxgold.check(FakeTensor(want_codes, "float8_e4m3fn"), scales, FakeTensor(bf16(x), "bfloat16"), "mori-fp8")
    with pytest.raises(mxgold.Error, match=r"pass x.cpu\(\)"):
        mxgold.quantize(FakeTensor(x, device="cuda:0"), "mxfp4")


def test_real_torch():
    torch = pytest.importorskip("torch", reason="no torch")
    x = torch.randn(8, 256, dtype=torch.float32).to(torch.bfloat16)
    codes, scales = mxgold.quantize(x, "aiter-mxfp4")
    assert codes.dtype == torch.uint8 and tuple(codes.shape) == (8, 128)
    y = mxgold.dequantize(codes, scales, "aiter-mxfp4", dtype="bf16")
    assert y.dtype == torch.bfloat16 and torch.linalg.norm((y - x).float()) < 0.2 * torch.linalg.norm(x.float())
    mxgold.check(codes, scales, x, "aiter-mxfp4")
    mxgold.check(codes.t().contiguous().t(), scales, x, "aiter-mxfp4")


def test_a_missing_library_says_what_to_do():
    code = "import mxgold"
    environment = dict(os.environ, MXGOLD_LIBRARY="/nowhere/libmxgold.so", PYTHONPATH=os.path.dirname(mxgold.__file__))
    said = subprocess.run([mxgold.sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, universal_newlines=True)
    assert said.returncode == 1 and "set MXGOLD_LIBRARY" in said.stderr
