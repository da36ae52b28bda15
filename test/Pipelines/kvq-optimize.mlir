// RUN: kvq-opt %s --kvq-optimize --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,DEFAULT,GPU
// RUN: kvq-opt %s --kvq-optimize="chip=sm_90a key-format=nvfp4 value-format=fp8 global-scale=one split-length=256 max-error=0.1 max-stored-error=0.2" --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,FORMATS,GPU
// RUN: kvq-opt %s --kvq-optimize="value-reader=trtllm-gen value-format=nvfp4" --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,READER,GPU
// RUN: kvq-opt %s --kvq-optimize=chip=cpu --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,CPU

// RUN: kvq-opt %s --kvq-optimize="strict=true key-format=nvfp4" --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=STRICT

// STRICT: kvq-convert-cache-format{formats-file= global-scale=argument key-format=nvfp4 scale-layout=undecided strict=true value-format=},
// STRICT-NEXT: kvq-fuse-quantize-append{require=true},
// STRICT-NEXT: kvq-fuse-dequant-attention{require=true},

// The order matters: attention is recognized first, then formats before fusions, fusions before layouts, layouts
// before what reads them, checks last.
// CHECK: builtin.module(
// CHECK-NEXT: canonicalize{
// CHECK-NEXT: cse,
// CHECK-NEXT: func.func(
// CHECK-NEXT: kvq-raise-attention{zero-masked-rows=false}
// CHECK-NEXT: ),
// FORMATS-NEXT: kvq-convert-cache-format{formats-file= global-scale=one key-format=nvfp4 scale-layout=undecided strict=false value-format=fp8},
// READER-NEXT: kvq-convert-cache-format{formats-file= global-scale=argument key-format= scale-layout=undecided strict=false value-format=nvfp4},
// CHECK-NEXT: kvq-fuse-quantize-append{require=false},
// CHECK-NEXT: kvq-fuse-dequant-attention{require=false},
// CHECK-NEXT: canonicalize{
// CHECK-NEXT: cse,
// DEFAULT-NEXT: kvq-assign-block-scales{chip=sm_100a global-scale=argument max-error=1.100000e-02 max-stored-error=1.100000e-01 value-reader=kvq},
// FORMATS-NEXT: kvq-assign-block-scales{chip=sm_90a global-scale=one max-error=1.000000e-01 max-stored-error=2.000000e-01 value-reader=kvq},
// READER-NEXT: kvq-assign-block-scales{chip=sm_100a global-scale=argument max-error=1.100000e-02 max-stored-error=1.100000e-01 value-reader=trtllm-gen},
// CPU-NEXT: kvq-assign-block-scales{chip=cpu global-scale=argument max-error=1.100000e-02 max-stored-error=1.100000e-01 value-reader=kvq},
// GPU-NEXT: func.func(
// DEFAULT-NEXT: kvq-select-mma{chip=sm_100a max-error={{.*}} pv= qk=}
// FORMATS-NEXT: kvq-select-mma{chip=sm_90a max-error={{.*}} pv= qk=}
// READER-NEXT: kvq-select-mma{chip=sm_100a max-error={{.*}} pv= qk=}
// GPU-NEXT: ),
// GPU-NEXT: func.func(
// DEFAULT-NEXT: kvq-split-kv{max-queries=16 split-dynamic=true split-length=512}
// FORMATS-NEXT: kvq-split-kv{max-queries=16 split-dynamic=true split-length=256}
// READER-NEXT: kvq-split-kv{max-queries=16 split-dynamic=true split-length=512}
// GPU-NEXT: ),
// CHECK-NEXT: canonicalize{
// CHECK-NEXT: cse,
// CHECK-NEXT: kvq-verify-handles,
// CHECK-NEXT: func.func(
// DEFAULT-NEXT: kvq-verify-target{chip=sm_100a}
// FORMATS-NEXT: kvq-verify-target{chip=sm_90a}
// READER-NEXT: kvq-verify-target{chip=sm_100a}
// CPU-NEXT: kvq-verify-target{chip=cpu}
func.func private @cache(!kvq.cache<key, 16x8x128, fp8, NHD>)
