# SPDX-License-Identifier: MIT
"""The bytes of a named low-precision recipe, from Python: ctypes over libmxgold, no build step.

    import numpy as np, mxgold
    x = np.random.randn(112, 7168).astype(np.float32)
    codes, scales = mxgold.quantize(x, "mxfp4")            # uint8 (112, 3584), uint8 (112, 224)
    y = mxgold.dequantize(codes, scales, "mxfp4", cols=7168)  # float32 (112, 7168)
    mxgold.check(my_codes, my_scales, x, "mxfp4")          # AssertionError that says what is wrong

Arrays are numpy arrays or torch tensors on the CPU (torch is never imported; a call that gets tensors
gives tensors). Values are float32, float16 or bfloat16; numpy has no bfloat16 of its own, so there it
is uint16 with dtype="bf16", or ml_dtypes.bfloat16. Leading dimensions count as rows: x of shape
(..., cols) has prod(...) rows, and what comes back has the same leading dimensions. No numerics
happen in this file: every byte is the library's.

The library is found through $MXGOLD_LIBRARY, then build/ of a source tree, then the system's; the
mxgold tool, which only check() and identify() need, through $MXGOLD_TOOL, build/, then $PATH.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

__all__ = [
    "Error", "Preset", "Layout", "version", "cpu_features", "presets", "canonical", "layout",
    "quantize", "dequantize", "combine", "encode", "decode", "e8m0_from_amax", "e8m0_to_f32",
    "check",
]

Array = Any  # numpy.ndarray or torch.Tensor

_ISAS = {"portable": 1, "avx2": 2, "avx512": 4, "neon": 8}
_DTYPES = {"f32": 1, "f16": 2, "bf16": 3}
_DTYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2}
_ORDERS = {"row_major": 0, "transposed": 1, "aiter_shuffle": 2, "blocked_128x4": 3}
_ELEMENTS = ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e2m1", "e2m3", "e3m2"]
_SCALE_E8M0, _SCALE_F32 = 2, 3


class Error(ValueError):
    """A call that libmxgold refused. `status` is its mxg_status, 0 when Python refused first."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


# ---- the structures of mxgold_format.h and mxgold.h ----


class _Recipe(ctypes.Structure):
    _fields_ = [
        ("element", ctypes.c_uint32), ("scale", ctypes.c_uint32), ("block", ctypes.c_uint32),
        ("rule", ctypes.c_uint32), ("element_max", ctypes.c_float),
        ("amax_floor", ctypes.c_float), ("nan_amax", ctypes.c_uint32),
        ("nan_element", ctypes.c_uint32), ("overflow", ctypes.c_uint32),
        ("edges", ctypes.c_uint32), ("inf_scale", ctypes.c_uint32),
        ("scale_math", ctypes.c_uint32), ("scale_when", ctypes.c_uint32),
        ("apply", ctypes.c_uint32), ("zero_block", ctypes.c_uint32), ("marker", ctypes.c_uint32),
        ("accumulate", ctypes.c_uint32), ("reserved", ctypes.c_uint32 * 3),
    ]


class _Preset(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("recipe", _Recipe), ("provenance", ctypes.c_char_p)]


class _Options(ctypes.Structure):
    _fields_ = [
        ("placement", ctypes.c_uint32), ("order", ctypes.c_uint32), ("pad_byte", ctypes.c_uint32),
        ("slot_weights", ctypes.c_uint32), ("scale_count", ctypes.c_size_t),
        ("payload_stride_bytes", ctypes.c_size_t), ("scale_stride_bytes", ctypes.c_size_t),
        ("slot_stride_bytes", ctypes.c_size_t), ("reserved", ctypes.c_uint32 * 4),
    ]


class _Layout(ctypes.Structure):
    _fields_ = [
        ("rows", ctypes.c_size_t), ("cols", ctypes.c_size_t), ("placement", ctypes.c_uint32),
        ("order", ctypes.c_uint32), ("pad_byte", ctypes.c_uint32),
        ("slot_weights", ctypes.c_uint32), ("scale_bytes", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32), ("scales_used", ctypes.c_size_t),
        ("scale_count", ctypes.c_size_t), ("payload_row_bytes", ctypes.c_size_t),
        ("scale_row_bytes", ctypes.c_size_t), ("slot_bytes", ctypes.c_size_t),
        ("payload_stride_bytes", ctypes.c_size_t), ("scale_stride_bytes", ctypes.c_size_t),
        ("slot_stride_bytes", ctypes.c_size_t), ("scale_offset_bytes", ctypes.c_size_t),
        ("weight_offset_bytes", ctypes.c_size_t), ("codes_bytes", ctypes.c_size_t),
        ("scales_bytes", ctypes.c_size_t),
    ]


class _Matrix(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("dtype", ctypes.c_uint32), ("rows", ctypes.c_size_t),
        ("cols", ctypes.c_size_t), ("stride_elems", ctypes.c_size_t),
    ]


class _Packed(ctypes.Structure):
    _fields_ = [
        ("codes", ctypes.c_void_p), ("codes_capacity", ctypes.c_size_t),
        ("scales", ctypes.c_void_p), ("scales_capacity", ctypes.c_size_t), ("layout", _Layout),
    ]


class _Run(ctypes.Structure):
    _fields_ = [
        ("threads", ctypes.c_uint32), ("isa_mask", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32 * 6),
    ]


# ---- finding and loading ----

_HERE = os.path.dirname(os.path.abspath(__file__))


def _load() -> ctypes.CDLL:
    build = os.path.join(_HERE, "..", "build")
    named = os.environ.get("MXGOLD_LIBRARY")
    places = [named] if named else [
        os.path.join(build, "libmxgold.so"), os.path.join(build, "libmxgold.dylib"),
        ctypes.util.find_library("mxgold") or "",
    ]
    for place in places:
        if place and (os.path.exists(place) or os.sep not in place):
            library = ctypes.CDLL(place)
            break
    else:
        raise ImportError(
            "libmxgold is not found: build it (./dev test), install it, or set MXGOLD_LIBRARY to "
            "the path of libmxgold.so" + (f" (now {named!r})" if named else ""))
    for name in ("mxg_strerror", "mxg_version", "mxg_recipe_why"):
        getattr(library, name).restype = ctypes.c_char_p
    library.mxg_cpu_features.restype = ctypes.c_uint32
    library.mxg_recipe_print.restype = ctypes.c_size_t
    library.mxg_preset_at.restype = ctypes.POINTER(_Preset)
    library.mxg_preset_at.argtypes = [ctypes.c_size_t]
    return library


_lib = _load()


def _tool() -> str:
    named = os.environ.get("MXGOLD_TOOL")
    built = os.path.join(_HERE, "..", "build", "mxgold")
    found = named or (built if os.access(built, os.X_OK) else shutil.which("mxgold"))
    if not found:
        raise Error("the mxgold tool is not found: build it (./dev test), install it, or set "
                    "MXGOLD_TOOL to its path")
    return found


def _text(raw: Optional[bytes]) -> str:
    return (raw or b"").decode("utf-8", "replace")


def _raise(status: int, what: str) -> None:
    if status:
        raise Error(f"{what}: {_text(_lib.mxg_strerror(status))}", status)


# ---- recipes and layouts ----


class Preset(NamedTuple):
    name: str
    provenance: str


def version() -> str:
    """Version of the library that is loaded, "major.minor.patch"."""
    return _text(_lib.mxg_version())


def cpu_features() -> List[str]:
    """Instruction sets that can be asked for with isa=: of portable, avx2, avx512, neon."""
    mask = _lib.mxg_cpu_features()
    return [name for name, bit in _ISAS.items() if mask & bit]


def presets() -> List[Preset]:
    """Every preset with the sentence that says whose convention it is."""
    found: List[Preset] = []
    while True:
        preset = _lib.mxg_preset_at(len(found))
        if not preset:
            return found
        found.append(Preset(_text(preset[0].name), _text(preset[0].provenance)))


def _parse(recipe: str) -> _Recipe:
    parsed, at = _Recipe(), ctypes.c_size_t(0)
    text = recipe.encode()
    status = _lib.mxg_recipe_parse(text, ctypes.byref(parsed), ctypes.byref(at))
    if status:
        why = _text(_lib.mxg_recipe_why(text))
        raise Error(f"recipe {recipe!r}: {_text(_lib.mxg_strerror(status))} at {at.value}"
                    + (f" ({why})" if why else ""), status)
    return parsed


def canonical(recipe: str) -> str:
    """The shortest text of a recipe: preset,key=value,..."""
    parsed = _parse(recipe)
    size = _lib.mxg_recipe_print(ctypes.byref(parsed), None, ctypes.c_size_t(0))
    text = ctypes.create_string_buffer(size + 1)
    _lib.mxg_recipe_print(ctypes.byref(parsed), text, ctypes.c_size_t(size + 1))
    return _text(text.value)


class Layout(NamedTuple):
    """Sizes in bytes of rows x cols elements of a recipe; see docs/LAYOUT.md."""
    payload_row_bytes: int
    scale_count: int   # stored per row
    scale_row_bytes: int
    slot_bytes: int    # of one row, payload, scales and weights
    codes_bytes: int   # of all rows
    scales_bytes: int  # of all rows, pads included


def _layout(recipe: _Recipe, rows: int, cols: int, order: str = "row_major", pad_byte: int = 0,
            scale_count: int = 0, slots: bool = False, slot_weights: int = 0) -> _Layout:
    if order not in _ORDERS:
        raise Error(f"order {order!r}: one of {', '.join(_ORDERS)}")
    for name, value in (("rows", rows), ("cols", cols), ("pad_byte", pad_byte),
                        ("scale_count", scale_count), ("slot_weights", slot_weights)):
        if value < 0 or value >= 1 << (32 if name in ("pad_byte", "slot_weights") else 63):
            raise Error(f"{name}={value} is out of range")
    options = _Options(placement=int(slots), order=_ORDERS[order], pad_byte=pad_byte,
                       slot_weights=slot_weights, scale_count=scale_count)
    made = _Layout()
    _raise(_lib.mxg_layout_for(ctypes.byref(recipe), ctypes.c_size_t(rows), ctypes.c_size_t(cols),
                               ctypes.byref(options), ctypes.byref(made)),
           f"layout of {rows} x {cols}")
    return made


def layout(recipe: str, rows: int, cols: int, *, order: str = "row_major", pad_byte: int = 0,
           scale_count: int = 0, slot_weights: int = 0) -> Layout:
    """Bytes that rows x cols elements need. slot_weights counts f32 weights behind each slot."""
    parsed = _parse(recipe)
    made = _layout(parsed, rows, cols, order, pad_byte, scale_count)
    slot = _layout(parsed, rows, cols, "row_major", 0, scale_count, True, slot_weights)
    return Layout(made.payload_row_bytes, made.scale_count, made.scale_row_bytes, slot.slot_bytes,
                  made.codes_bytes, made.scales_bytes)


# ---- arrays ----


def _is_tensor(array: Array) -> bool:
    return hasattr(array, "data_ptr") and hasattr(array, "element_size")


class _View:
    """The memory of a numpy array or a torch tensor, contiguous, and what keeps it alive."""

    def __init__(self, array: Array, name: str) -> None:
        self.tensor = _is_tensor(array)
        if self.tensor:
            if str(getattr(array, "device", "cpu")).split(":")[0] != "cpu":
                raise Error(f"{name} is on device {array.device}: pass {name}.cpu()")
            self.keep = array.detach().contiguous()
            self.type = str(self.keep.dtype).rpartition(".")[2]
            self.itemsize = int(self.keep.element_size())
            self.pointer = int(self.keep.data_ptr())
        else:
            if not isinstance(array, np.ndarray):
                raise Error(f"{name} is {type(array).__name__}: pass a numpy array or a torch tensor")
            if array.dtype.hasobject:
                raise Error(f"{name} holds Python objects")
            native = array.dtype.newbyteorder("=")
            self.keep = np.ascontiguousarray(array, dtype=native).reshape(array.shape)
            self.type = native.name
            self.itemsize = native.itemsize
            self.pointer = self.keep.ctypes.data
        self.shape: Tuple[int, ...] = tuple(int(n) for n in self.keep.shape)
        self.bytes = self.itemsize
        for n in self.shape:
            self.bytes *= n

    def copy_bytes(self) -> bytes:
        return ctypes.string_at(self.pointer, self.bytes) if self.bytes else b""


_VALUE_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def _values(array: Array, name: str, dtype: Optional[str]) -> Tuple[_View, str]:
    """A view of values and their dtype."""
    view = _View(array, name)
    if dtype is not None and dtype not in _DTYPES:
        raise Error(f"dtype {dtype!r}: one of {', '.join(_DTYPES)}")
    found = _VALUE_TYPES.get(view.type)
    if found is None and dtype in ("bf16", "f16") and view.type in ("uint16", "int16"):
        found = dtype
    if found is None or (dtype is not None and dtype != found):
        hint = '; for bf16 bits in uint16 say dtype="bf16"' if view.type == "uint16" else ""
        raise Error(f"{name} has dtype {view.type}"
                    + (f", not {dtype}" if dtype else ": need float32, float16 or bfloat16") + hint)
    if not view.shape:
        raise Error(f"{name} has no dimension: pass (..., cols)")
    return view, found


def _rows_of(shape: Sequence[int]) -> int:
    rows = 1
    for n in shape[:-1]:
        rows *= n
    return rows


def _torch() -> Any:
    return sys.modules["torch"]


def _empty(tensor: bool, shape: Tuple[int, ...], kind: str) -> Tuple[Array, int]:
    """A new array to be filled: kind is u8, f32, f16 or bf16."""
    if tensor:
        torch = _torch()
        types = {"u8": torch.uint8, "f32": torch.float32, "f16": torch.float16,
                 "bf16": torch.bfloat16}
        made = torch.empty(shape, dtype=types[kind])
        return made, int(made.data_ptr())
    types = {"u8": np.uint8, "f32": np.float32, "f16": np.float16, "bf16": np.uint16}
    array = np.empty(shape, dtype=types[kind])
    return array, array.ctypes.data


def _little_endian_scales(array: Array, tensor: bool) -> Array:
    """f32 scales in packed buffers are little-endian on every host; here they are the host's."""
    if sys.byteorder == "big" and not tensor and array.dtype == np.float32:
        return array.byteswap()
    return array


def _run(threads: int, isa: Optional[str]) -> _Run:
    if isa is None:
        return _Run(threads=threads)
    if isa not in _ISAS:
        raise Error(f"isa {isa!r}: one of {', '.join(_ISAS)}")
    # at most this instruction set, as the tool's --isa
    allowed = {"portable": 1, "avx2": 3, "avx512": 7, "neon": 9}[isa]
    if not _lib.mxg_cpu_features() & _ISAS[isa]:
        raise Error(f"this CPU has no {isa}: it has {', '.join(cpu_features())}")
    return _Run(threads=threads, isa_mask=allowed & _lib.mxg_cpu_features())


def _function(name: str, ref: bool) -> Any:
    return getattr(_lib, ("mxg_ref_" if ref else "mxg_") + name)


def _pointer(view: Optional[_View]) -> Optional[ctypes.c_void_p]:
    return ctypes.c_void_p(view.pointer) if view is not None else None


def _row_weight(row_weight: Optional[Array], rows: int) -> Optional[_View]:
    if row_weight is None:
        return None
    view = _View(row_weight, "row_weight")
    if view.type != "float32" or view.bytes != 4 * rows:
        raise Error(f"row_weight is {view.type} {view.shape}: need float32, one for each of "
                    f"{rows} rows")
    return view


# ---- quantise, dequantise, combine ----


def quantize(x: Array, recipe: str, *, dtype: Optional[str] = None,
             row_weight: Optional[Array] = None, order: str = "row_major", pad_byte: int = 0,
             scale_count: int = 0, threads: int = 0, isa: Optional[str] = None,
             ref: bool = False) -> Tuple[Array, Optional[Array]]:
    """Codes and scales of x by a recipe.

    x           (..., cols), float32, float16 or bfloat16 (numpy: uint16 with dtype="bf16").
    row_weight  float32, one per row: element x becomes x * row_weight[row] first.
    order       of the scales: row_major, transposed, aiter_shuffle, blocked_128x4.
    scale_count scales stored per row when more than are used (MoRI: 56).
    ref         compute with the golden model: slow, the same bytes.
    returns     codes uint8 (..., row bytes): FP8 cols, FP4 ceil(cols/2), FP6 ceil(cols*6/8);
                scales (..., n), uint8 for E8M0 and float32 otherwise; in the orders other than
                row_major one-dimensional, as they lie in memory; None for scale=none.
    """
    parsed = _parse(recipe)
    view, kind = _values(x, "x", dtype)
    rows, cols = _rows_of(view.shape), view.shape[-1]
    weights = _row_weight(row_weight, rows)
    made = _layout(parsed, rows, cols, order, pad_byte, scale_count)
    lead = view.shape[:-1]
    codes, codes_at = _empty(view.tensor, lead + (made.payload_row_bytes,), "u8")
    scale_kind = "f32" if parsed.scale == _SCALE_F32 else "u8"
    flat = order != "row_major"
    shape = (made.scales_bytes // max(made.scale_bytes, 1),) if flat else lead + (made.scale_count,)
    scales, scales_at = _empty(view.tensor, shape, scale_kind)
    packed = _Packed(codes_at, made.codes_bytes, scales_at, made.scales_bytes, made)
    matrix = _Matrix(view.pointer, _DTYPES[kind], rows, cols, 0)
    _raise(_function("quantize", ref)(
        ctypes.byref(parsed), ctypes.byref(matrix), _pointer(weights), ctypes.byref(packed),
        ctypes.byref(_run(threads, isa))), f"quantize by {recipe}")
    if made.scale_bytes == 0:
        return codes, None
    return codes, _little_endian_scales(scales, view.tensor)


def _scale_view(scales: Optional[Array], parsed: _Recipe, made: _Layout) -> Optional[_View]:
    if made.scale_bytes == 0:
        if scales is not None:
            raise Error("the recipe has no scales: pass None for them")
        return None
    if scales is None:
        raise Error("the recipe has scales: pass them")
    view = _View(_little_endian_scales(scales, _is_tensor(scales)), "scales")
    if view.itemsize not in (1, made.scale_bytes):
        raise Error(f"scales have dtype {view.type}: need "
                    + ("uint8" if parsed.scale == _SCALE_E8M0 else "float32 (or their bytes)"))
    if view.bytes != made.scales_bytes:
        raise Error(f"scales {view.shape} have {view.bytes} bytes, the layout needs "
                    f"{made.scales_bytes}")
    return view


def _cols_of(row_bytes: int, parsed: _Recipe, cols: Optional[int]) -> int:
    bits = {5: 4, 6: 6, 7: 6}.get(parsed.element, 8)
    count = row_bytes * 8 // bits if cols is None else int(cols)
    if count < 0 or (count * bits + 7) // 8 != row_bytes:
        raise Error(f"cols={count} needs {(count * bits + 7) // 8} bytes of codes per row, "
                    f"codes have {row_bytes}")
    return count


def dequantize(codes: Array, scales: Optional[Array], recipe: str, *, cols: Optional[int] = None,
               dtype: str = "f32", order: str = "row_major", scale_count: int = 0,
               threads: int = 0, isa: Optional[str] = None, ref: bool = False) -> Array:
    """Values of codes and scales.

    codes    (..., row bytes), any one-byte dtype.
    scales   as quantize() gives them; None for scale=none. More scales per row than are used
             (MoRI) are seen from their shape in row_major, else say scale_count.
    cols     elements per row where the codes leave it open (an odd count of FP4); default all.
    dtype    f32, f16 or bf16 (numpy: uint16).
    returns  (..., cols).
    """
    parsed = _parse(recipe)
    if dtype not in _DTYPES:
        raise Error(f"dtype {dtype!r}: one of {', '.join(_DTYPES)}")
    view = _View(codes, "codes")
    if view.itemsize != 1 or not view.shape:
        raise Error(f"codes have dtype {view.type} and shape {view.shape}: need (..., row bytes) of "
                    "a one-byte dtype")
    rows, count = _rows_of(view.shape), _cols_of(view.shape[-1], parsed, cols)
    if order == "row_major" and scales is not None and not scale_count and parsed.block:
        shape = tuple(scales.shape)
        stored = int(shape[-1]) if shape else 0
        if len(shape) == len(view.shape) and stored > -(-count // parsed.block):
            width = _View(scales, "scales").itemsize
            scale_count = stored if parsed.scale == _SCALE_E8M0 else stored * width // 4
    made = _layout(parsed, rows, count, order, 0, scale_count)
    scale_view = _scale_view(scales, parsed, made)
    y, y_at = _empty(view.tensor, view.shape[:-1] + (count,), dtype)
    packed = _Packed(view.pointer, view.bytes, scale_view.pointer if scale_view else None,
                     scale_view.bytes if scale_view else 0, made)
    matrix = _Matrix(y_at, _DTYPES[dtype], rows, count, 0)
    _raise(_function("dequantize", ref)(ctypes.byref(parsed), ctypes.byref(packed),
                                        ctypes.byref(matrix), ctypes.byref(_run(threads, isa))),
           f"dequantize by {recipe}")
    return y


def combine(slots: Array, recipe: str, cols: int, *, weights: Optional[Array] = None,
            present: Optional[Array] = None, dtype: str = "bf16", scale_count: int = 0,
            slot_weights: int = 0, threads: int = 0, isa: Optional[str] = None,
            ref: bool = False) -> Array:
    """Sum over a token's slots, in ascending k, of weight * decoded slot.

    slots    (rows, top_k, slot bytes), any one-byte dtype: [codes | scales | weights] of `cols`
             elements (layout().slot_bytes; MoRI: scale_count=56).
    weights  float32 (rows, top_k), or None: unweighted. Weights inside slots are never read.
    present  bool (rows, top_k): False = there is no such source. None: all are there.
    returns  (rows, cols), dtype f32, f16 or bf16 (numpy: uint16).
    """
    parsed = _parse(recipe)
    if dtype not in _DTYPES:
        raise Error(f"dtype {dtype!r}: one of {', '.join(_DTYPES)}")
    view = _View(slots, "slots")
    if view.itemsize != 1 or len(view.shape) != 3:
        raise Error(f"slots have dtype {view.type} and shape {view.shape}: need (rows, top_k, slot "
                    "bytes) of a one-byte dtype")
    rows, top_k, slot_bytes = view.shape
    made = _layout(parsed, max(rows, 1), cols, "row_major", 0, scale_count, True, slot_weights)
    if slot_bytes != made.slot_bytes:
        raise Error(f"slots of {slot_bytes} bytes: {cols} elements by {recipe} need "
                    f"{made.slot_bytes}; say scale_count and slot_weights if there are more")
    weight_view = None
    if weights is not None:
        weight_view = _View(weights, "weights")
        if weight_view.type != "float32" or weight_view.shape != (rows, top_k):
            raise Error(f"weights are {weight_view.type} {weight_view.shape}: need float32 "
                        f"({rows}, {top_k})")
    there = None
    if present is not None:
        present_view = _View(present, "present")
        if present_view.itemsize != 1 or present_view.shape != (rows, top_k):
            raise Error(f"present is {present_view.type} {present_view.shape}: need bool "
                        f"({rows}, {top_k})")
        there = present_view.copy_bytes()
    pointers = (ctypes.c_void_p * max(rows * top_k, 1))()
    for i in range(rows * top_k):
        pointers[i] = view.pointer + i * slot_bytes if there is None or there[i] else None
    y, y_at = _empty(view.tensor, (rows, cols), dtype)
    matrix = _Matrix(y_at, _DTYPES[dtype], rows, cols, 0)
    _raise(_function("combine", ref)(
        ctypes.byref(parsed), pointers, ctypes.c_size_t(top_k), _pointer(weight_view),
        ctypes.byref(made), ctypes.c_size_t(0), ctypes.c_size_t(cols), ctypes.byref(matrix),
        ctypes.byref(_run(threads, isa))), f"combine by {recipe}")
    return y


# ---- arrays of elements and scales ----


def encode(x: Array, recipe: str, *, ref: bool = False) -> Array:
    """float32 values to codes, one a byte, by the recipe's element, overflow and nan_element; scales
    are not involved. Same shape, uint8."""
    parsed = _parse(recipe)
    view = _View(x, "x")
    if view.type != "float32":
        raise Error(f"x has dtype {view.type}: need float32")
    codes, at = _empty(view.tensor, view.shape, "u8")
    _raise(_function("encode_f32", ref)(ctypes.byref(parsed), ctypes.c_void_p(view.pointer),
                                        ctypes.c_size_t(view.bytes // 4), ctypes.c_void_p(at)),
           f"encode by {recipe}")
    return codes


def decode(codes: Array, element: str, *, ref: bool = False) -> Array:
    """Codes, one a byte, to float32. element: e4m3fn, e4m3fnuz, e5m2, e5m2fnuz, e2m1, e2m3, e3m2."""
    if element not in _ELEMENTS:
        raise Error(f"element {element!r}: one of {', '.join(_ELEMENTS)}")
    view = _View(codes, "codes")
    if view.itemsize != 1:
        raise Error(f"codes have dtype {view.type}: need one byte each")
    y, at = _empty(view.tensor, view.shape, "f32")
    _raise(_function("decode_f32", ref)(ctypes.c_int(_ELEMENTS.index(element) + 1),
                                        ctypes.c_void_p(view.pointer), ctypes.c_size_t(view.bytes),
                                        ctypes.c_void_p(at)), f"decode {element}")
    return y


def e8m0_from_amax(amax: Array, recipe: str, *, ref: bool = False) -> Array:
    """E8M0 bytes of float32 amax values by the recipe's rule. Same shape, uint8."""
    parsed = _parse(recipe)
    view = _View(amax, "amax")
    if view.type != "float32":
        raise Error(f"amax has dtype {view.type}: need float32")
    scales, at = _empty(view.tensor, view.shape, "u8")
    _raise(_function("e8m0_from_amax", ref)(ctypes.byref(parsed), ctypes.c_void_p(view.pointer),
                                            ctypes.c_size_t(view.bytes // 4), ctypes.c_void_p(at)),
           f"e8m0_from_amax by {recipe}")
    return scales


def e8m0_to_f32(scales: Array, edges: str = "ocp", *, ref: bool = False) -> Array:
    """E8M0 bytes as float32; edges="ocp": 00 is 2^-127, FF is NaN; "float": 0.0 and +Inf."""
    if edges not in ("ocp", "float"):
        raise Error(f"edges {edges!r}: ocp or float")
    view = _View(scales, "scales")
    if view.itemsize != 1:
        raise Error(f"scales have dtype {view.type}: need one byte each")
    y, at = _empty(view.tensor, view.shape, "f32")
    _raise(_function("e8m0_to_f32", ref)(ctypes.c_int(1 if edges == "ocp" else 2),
                                         ctypes.c_void_p(view.pointer),
                                         ctypes.c_size_t(view.bytes), ctypes.c_void_p(at)),
           "e8m0_to_f32")
    return y


# ---- what the tool says ----


def _write(folder: str, name: str, data: bytes) -> str:
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def _ask(arguments: List[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([_tool()] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, check=False)


def check(got_codes: Array, got_scales: Optional[Array], x: Array, recipe: str, *,
          dtype: Optional[str] = None, row_weight: Optional[Array] = None,
          order: str = "row_major", pad_byte: int = 0, scale_count: int = 0, bits: bool = False,
          skip_nan: bool = False, limit: int = 20) -> None:
    """Are these the codes and scales that the recipe gives for x?

    got_codes   one-byte dtype, as many bytes as quantize() gives; got_scales likewise (uint8, or
                float32 for f32 scales), None for scale=none.
    x           (..., cols), as in quantize().
    bits        two NaN with other bits differ, unused bits and pads count.
    skip_nan    leave out FP4 and FP6 codes whose x is NaN (for comparisons with hardware).
    limit       list the first so many differences.
    raises      AssertionError whose text is that of `mxgold compare`: where the first differences
                are, what they decode to, totals, and which known fault explains them.
    """
    parsed = _parse(recipe)
    view, kind = _values(x, "x", dtype)
    rows, cols = _rows_of(view.shape), view.shape[-1]
    weights = _row_weight(row_weight, rows)
    made = _layout(parsed, rows, cols, order, pad_byte, scale_count)
    codes = _View(got_codes, "got_codes")
    scales = None
    if got_scales is not None:
        scales = _View(_little_endian_scales(got_scales, _is_tensor(got_scales)), "got_scales")
    for name, got, need in (("codes", codes, made.codes_bytes),
                            ("scales", scales, made.scales_bytes)):
        size = got.bytes if got is not None else 0
        if size != need:
            shape = got.shape if got is not None else None
            raise AssertionError(f"{name}: got {size} bytes (shape {shape}), {recipe} gives {need} "
                                 f"for x of shape {view.shape}")
    want_codes, want_scales = quantize(x, recipe, dtype=dtype, row_weight=row_weight, order=order,
                                       pad_byte=pad_byte, scale_count=scale_count)
    want_scale_bytes = b""
    if want_scales is not None:
        want_scale_bytes = _View(_little_endian_scales(want_scales, view.tensor), "").copy_bytes()
    if (codes.copy_bytes() == _View(want_codes, "").copy_bytes()
            and (scales.copy_bytes() if scales else b"") == want_scale_bytes):
        return
    with tempfile.TemporaryDirectory(prefix="mxgold-") as folder:
        arguments = ["compare", "--codes", _write(folder, "codes", codes.copy_bytes()),
                     "--input", _write(folder, "x", view.copy_bytes()), "--dtype", kind,
                     "--shape", f"{rows}x{cols}", "--recipe", recipe, "--scale-order", order,
                     "--limit", str(limit)]
        if scales is not None:
            arguments += ["--scales", _write(folder, "scales", scales.copy_bytes())]
        if order in ("aiter_shuffle", "blocked_128x4"):
            arguments += ["--pad", f"{pad_byte:02x}"]
        if scale_count:
            arguments += ["--scale-count", str(scale_count)]
        if weights is not None:
            arguments += ["--row-weights", _write(folder, "weights", weights.copy_bytes())]
        arguments += ["--bits"] * bits + ["--skip-nan"] * skip_nan
        said = _ask(arguments)
        text = (said.stdout + said.stderr).replace(folder + os.sep, "")
    if said.returncode == 1:
        raise AssertionError(text.rstrip("\n"))
    if said.returncode != 0:
        raise Error(f"mxgold compare: {text.strip()}")
