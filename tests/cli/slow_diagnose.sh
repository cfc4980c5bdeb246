#!/bin/sh
# SPDX-License-Identifier: MIT
# Every fault alone in every recipe that it shows in, and pairs of them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/plant.sh"

# ---- quantise, one fault ----
each() { # RECIPES FAULTS
  for recipe in $1; do
    for fault in $2; do quantized "$recipe" "$fault"; done
  done
}
mx="mxfp8 mxfp4 aiter-mxfp4 aiter-mxfp8-fnuz mxfp8-te mxfp6-e2m3"
f32="aiter-fp8-128 sglang-fp8-128 deepseek-fp8-128 mori-fp8 mori-fp4 mori-fp8-epv2"
input bf16 64 512
each "$mx $f32" "ties-away ties-to-zero truncate ftz:code"
each "mxfp8 mxfp8-te mxfp8-e5m2 aiter-fp8-128 mori-fp8 mori-fp8-direct" fnuz-bias:other
each "mxfp8 aiter-fp8-128 mori-fp8" fnuz-bias:double
each "$f32" "double-round-bf16 double-round-f16 reciprocal-approx:up scale-off-by-one:up"
each "mxfp8 mxfp4 mxfp8-te mxfp6-e2m3 mxfp8-e5m2 megamoe-act-fp4" "ftz:input double-round-f16:input"
each "mxfp4 aiter-mxfp4 mori-fp4 megamoe-act-fp4 aiter-mxfp4-triton mori-fp4-256" nibble-swap
each "$mx" "scale-off-by-one:up scale-off-by-one:down scale-off-by-one:stored scale-shuffled:aiter"
each "$mx $f32" "scale-transposed"
each "mori-fp8 mori-fp4 mori-fp8-epv2 mori-fp8-fnuz mori-fp4-256" marker-ignored
input bf16 128 512
each "$mx" scale-shuffled:blocked
input f32 64 512
each "mxfp8 mxfp4 mxfp8-te mxfp6-e3m2 $f32" "truncate double-round-bf16:input"
each "mxfp8 mxfp4 mxfp8-te" "double-round-f16"
each "mxfp8 mxfp6-e2m3 mxfp8-te" "double-round-bf16"

# ---- recipe fields and presets ----
input bf16 64 512
each mxfp8 "rule=even rule=even21 rule=half rule=ceil rule=rceil rule=rceil_bump overflow=nonfinite
  amax_floor=1e-10 element=e4m3fnuz element_max=240 block=16 block=64 block=128 block=256"
each aiter-mxfp4 "rule=floor rule=even rule=ceil amax_floor=0 block=64"
each aiter-fp8-128 "scale_math=div scale_when=above_max apply=mul_max block=64 block=256
  marker=if_scaled element_max=240"
each mori-fp8 "scale_math=div scale_when=always apply=div marker=always block=64"
each mxfp8 "preset=aiter-fp8-128 preset=mori-fp8 preset=mxfp4 preset=mori-fp8-direct"
each mxfp4 "preset=mori-fp4 preset=aiter-mxfp4"
quantized mxfp4 preset=mxfp8 element=e4m3fn # a field comes before a preset

# ---- pairs ----
each mxfp8 "ties-away+rule=even ftz:code+block=64 truncate+scale-transposed
  truncate+scale-off-by-one:stored ties-to-zero+amax_floor=1e-10"
each mxfp4 "truncate+nibble-swap ties-away+scale-transposed rule=even+amax_floor=1e-10
  nibble-swap+rule=ceil truncate+scale-shuffled:aiter"
each aiter-fp8-128 "truncate+scale_math=div scale-transposed+apply=mul_max
  ties-away+scale-off-by-one:stored"
each mori-fp8 "ties-away+marker-ignored reciprocal-approx:up+marker-ignored
  double-round-bf16+marker-ignored"
each mori-fp4 "nibble-swap+marker-ignored truncate+block=64 ties-away+nibble-swap"
each mxfp8-te "ties-away+ftz:input"

# ---- decoding ----
for to in f32 bf16; do
  for recipe in mxfp8 mxfp4 mori-fp8 mori-fp4 mxfp6-e3m2; do
    decoded "$recipe" scale-off-by-one:up $to
    decoded "$recipe" scale-transposed $to
    decoded "$recipe" ftz:code $to
    decoded "$recipe" block=256 $to
  done
  for recipe in mxfp8 mxfp8-e5m2 mori-fp8; do decoded "$recipe" fnuz-bias:other $to; done
  for recipe in mxfp4 mori-fp4; do decoded "$recipe" nibble-swap $to; done
  for recipe in mori-fp8 mori-fp4; do decoded "$recipe" marker-ignored $to; done
  for recipe in mxfp8 mxfp4 mxfp6-e3m2; do
    decoded "$recipe" edges=float $to
    decoded "$recipe" ftz:result $to
    decoded "$recipe" double-round-f16 $to
  done
done
for fault in truncate ties-away ties-to-zero; do decoded mori-fp8 $fault bf16; done

# ---- sums ----
for recipe in mori-fp8 mori-fp4 mxfp4 mxfp8; do
  for fault in sum-order:descending sum-order:two accumulate=mul_add double-round-bf16:sum \
    scale-off-by-one:up; do
    summed "$recipe" $fault f32
  done
  for fault in truncate double-round-f16 double-round-bf16:sum scale-off-by-one:up; do
    summed "$recipe" $fault bf16
  done
done
summed megamoe-fp8-32 accumulate=fma f32
finish
