// Formats of single layers: by file, by number, from the end.
// RUN: split-file %s %t
// RUN: kvq-opt %t/layers.mlir --kvq-convert-cache-format='value-format=mxfp8 formats-file=%t/formats.json' | FileCheck %s
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='formats-file=%t/missing.json' 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='formats-file=%t/text.json' 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='formats-file=%t/array.json' 2>&1 | FileCheck %s --check-prefix=ARRAY
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='formats-file=%t/range.json' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='formats-file=%t/side.json' 2>&1 | FileCheck %s --check-prefix=SIDE
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='formats-file=%t/number.json' 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='formats-file=%t/name.json' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='key-format=int4' 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='scale-layout=swizzled' 2>&1 | FileCheck %s --check-prefix=LAYOUT
// RUN: not kvq-opt %t/layers.mlir --kvq-convert-cache-format='global-scale=dynamic' 2>&1 | FileCheck %s --check-prefix=GLOBAL

// CHECK: func @layers
// CHECK-SAME: !kvq.cache<key, 16x2x64, fp8, NHD>
// CHECK-SAME: !kvq.cache<value, 16x2x64, fp8, NHD>
// CHECK-SAME: !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK-SAME: !kvq.cache<value, 16x2x64, mxfp8, NHD, linear>
// CHECK-SAME: !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>
// CHECK-SAME: !kvq.cache<value, 16x2x64, mxfp8, NHD, linear>
// CHECK-SAME: !kvq.cache<key, 16x2x64, f16, NHD> {kvq.cache_format = #kvq.format<f16>, kvq.layer = 3 : i64}
// CHECK-SAME: !kvq.cache<value, 16x2x64, bf16, NHD>

// MISSING: error: 'builtin.module' op cannot use the file of formats {{.*}}missing.json
// TEXT: cannot use the file of formats {{.*}}text.json: {{.*}}JSON
// ARRAY: cannot use the file of formats {{.*}}array.json: expected an object of layers
// RANGE: found the layer '5-2', expected a number (-1 is the last one) or a range such as 2-5
// SIDE: found 'keys' in layer '0', expected key or value with the name of a format
// NUMBER: found layer '0' with neither the name of a format nor an object of key and value
// NAME: asks for the unknown format int8, accepted are nvfp4, mxfp4, mxfp8, fp8, bf16, f16, fp4
// KEY: asks for the unknown format int4, accepted are nvfp4
// LAYOUT: has scale-layout=swizzled, accepted are linear and undecided
// GLOBAL: has global-scale=dynamic, accepted are argument and one

//--- layers.mlir
!k = !kvq.cache<key, 16x2x64, bf16, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
func.func @layers(%k0: !k, %v0: !v, %k1: !k, %v1: !v, %k2: !k, %v2: !v, %k3: !k {kvq.cache_format = #kvq.format<f16>, kvq.layer = 3}, %v3: !v) {
  return
}

//--- formats.json
{"0": "fp8", "2-3": {"key": "mxfp4"}, "-1": {"value": "bf16"}}

//--- text.json
layers

//--- array.json
["fp8"]

//--- range.json
{"5-2": "fp8"}

//--- side.json
{"0": {"keys": "fp8"}}

//--- number.json
{"0": 8}

//--- name.json
{"0": {"key": "int8"}}
