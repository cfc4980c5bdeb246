#!/bin/sh
# SPDX-License-Identifier: MIT
# The device code of every chip: each symbol of the table is in the object, the chip's converters are
# used where they are claimed, nothing spills, division is IEEE's, and outside of it a fused
# multiply-add occurs in kernels of accumulate=fma only.
# usage: test_objects.sh SOURCE_DIR BUILD_DIR
set -eu
root=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0
looked_at=0

fail() {
  echo "FAIL: $1"
  status=1
}

# kernels ARCH: names of gpu_kernels.def that the chip has.
kernels() {
  words=ALL
  case $1 in
    gfx950) words='ALL|NATIVE_E4M3FN|NATIVE_E2M1' ;;
    sm_90) words='ALL|NATIVE_E4M3FN' ;;
  esac
  tr -d '\n' <"$root/gpu/gpu_kernels.def" | sed 's/MXG_GPU_/\n&/g' |
    sed -nE "s/^MXG_GPU_[A-Z]+\\( *(mxg_gpu_[a-z0-9_]+), *($words),.*/\\1/p" | sort
}

# count KERNEL PATTERN: instructions of one kernel.
count() {
  grep -oE "$2" "$scratch/$arch/$1" | wc -l
}

check_amd() {
  arch=$1
  mkdir -p "$scratch/$arch"
  "$clang" -x hip "--offload-arch=$arch" --offload-device-only --no-gpu-bundle-output -nogpuinc \
    -nogpulib "-B$(dirname "$(readlink -f "$(command -v "$clang")")")" -O3 -ffp-contract=off \
    -Wall -Wextra -Werror -o "$scratch/$arch.code" "$root/gpu/kernels.c" || {
    fail "$arch does not compile"
    return 0
  }
  "$objdump" -d "$scratch/$arch.code" |
    awk -v folder="$scratch/$arch" '
      /^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); next }
      name != "" { print > (folder "/" name) }'
  # What the kernels ask of the chip, from their descriptors.
  "$readelf" --notes "$scratch/$arch.code" >"$scratch/$arch.notes"
  # Scalar registers may move to lanes of vector registers, which is no memory.
  awk '/\.name: +mxg_/ { name = $2 }
    /\.(vgpr_spill_count|private_segment_fixed_size):/ && $2 != 0 { used[name] = used[name] " " $0 }
    /\.symbol:/ { symbol[name] = $2 }
    END { for (name in used) print symbol[name] used[name] }' \
    "$scratch/$arch.notes" >"$scratch/$arch.scratch"
  [ ! -s "$scratch/$arch.scratch" ] || fail "$arch: scratch memory: $(cat "$scratch/$arch.scratch")"
  grep -q 'private_segment_fixed_size' "$scratch/$arch.notes" || fail "$arch: no descriptors"
  looked=0
  for kernel in $(kernels "$arch"); do
    [ -s "$scratch/$arch/$kernel" ] || {
      fail "$arch lacks $kernel"
      continue
    }
    looked=$((looked + 1))
    rcp=$(count "$kernel" '\bv_(s_)?rcp_f32')
    fixup=$(count "$kernel" '\bv_div_fixup_f32')
    fma=$(count "$kernel" '\b[vs]_(pk_|dual_)?(fma|mad|mac)[a-z0-9_]*_f32')
    scratch_use=$(count "$kernel" 'scratch_(load|store)|buffer_(load|store).*offen')
    # A division of 64-bit integers takes a reciprocal and two fused steps: its constant tells.
    integer=$(count "$kernel" '\b[vs]_(dual_)?mul_f32.*0x5f7ffffc')
    [ "$rcp" -eq $((fixup + integer)) ] ||
      fail "$arch $kernel: $rcp v_rcp_f32, $fixup v_div_fixup_f32, $integer integer divisions"
    [ "$scratch_use" -eq 0 ] || fail "$arch $kernel: $scratch_use scratch instructions"
    # A division has five of them (three v_fma, two v_fmac).
    divisions=$((5 * fixup + 2 * integer))
    case $kernel in
      *combine*_fma__*) [ "$fma" -gt "$divisions" ] || fail "$arch $kernel: no fma" ;;
      *) [ "$fma" -eq "$divisions" ] || fail "$arch $kernel: $fma fma, $divisions of divisions" ;;
    esac
    case $arch/$kernel in
      gfx950/*quantize_*e4m3fn__native)
        case $kernel in
          *dequantize*) pattern=v_cvt_pk_f32_fp8 ;;
          *) pattern=v_cvt_pk_fp8_f32 ;;
        esac
        ;;
      gfx950/*quantize_bf16_e2m1__native) pattern=v_cvt_scalef32_pk_fp4_bf16 ;;
      gfx950/*quantize_f16_e2m1__native) pattern=v_cvt_scalef32_pk_fp4_f16 ;;
      gfx950/*quantize_f32_e2m1__native) pattern=v_cvt_scalef32_pk_fp4_f32 ;;
      gfx950/*e2m1*__native) pattern=v_cvt_scalef32_pk_f32_fp4 ;;
      gfx950/*e4m3fn*__native) pattern=v_cvt_pk_f32_fp8 ;;
      *) pattern= ;;
    esac
    [ -z "$pattern" ] || [ "$(count "$kernel" "$pattern")" -gt 0 ] ||
      fail "$arch $kernel: no $pattern"
    case $kernel in
      *__native) ;;
      *) [ "$(count "$kernel" 'v_cvt_(scalef32|pk_fp8|pk_f32_fp8|pk_bf8)')" -eq 0 ] ||
        fail "$arch $kernel: a converter in a portable kernel" ;;
    esac
  done
  [ "$looked" -gt 20 ] || fail "$arch: only $looked kernels found"
  echo "$arch: $looked kernels"
  looked_at=$((looked_at + 1))
}

check_nvidia() {
  "$nvcc" -x cu -cubin -arch=sm_90 -O3 -fmad=false -prec-div=true -ftz=false --ptxas-options=-v \
    -o "$scratch/sm_90.code" "$root/gpu/kernels.c" >"$scratch/ptxas" 2>&1 || {
    cat "$scratch/ptxas"
    fail 'sm_90 does not compile'
    return 0
  }
  awk '/Function properties for/ { name = $NF }
    /spill stores/ && !/ 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads/ { print name $0 }' \
    "$scratch/ptxas" >"$scratch/spills"
  grep -q 'spill stores' "$scratch/ptxas" || fail 'sm_90: ptxas said nothing of spills'
  [ ! -s "$scratch/spills" ] || fail "sm_90: a stack frame or spills: $(cat "$scratch/spills")"
  looked=0
  for kernel in $(kernels sm_90); do
    grep -q "Compiling entry function '$kernel'" "$scratch/ptxas" || fail "sm_90 lacks $kernel"
    looked=$((looked + 1))
  done
  [ "$looked" -gt 20 ] || fail "sm_90: only $looked kernels found"
  echo "sm_90: $looked kernels"
  looked_at=$((looked_at + 1))
}

clang=clang-22 objdump=llvm-objdump-22 readelf=llvm-readelf-22
missing=
for tool in $clang $objdump $readelf; do
  command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
if [ -n "$missing" ]; then
  echo "skipped: no$missing for the AMD objects (Debian: clang-22 lld-22 llvm-22)"
else
  for chip in gfx942 gfx950 gfx1250; do check_amd "$chip"; done
fi

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ -x "$nvcc" ]; then
  check_nvidia
else
  echo 'skipped: no nvcc for sm_90'
fi
[ "$status" -eq 0 ] || exit "$status"
[ "$looked_at" -gt 0 ] || exit 77
