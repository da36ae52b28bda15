// RUN: kvq-opt %s -kvq-legalize-storage -split-input-file -verify-diagnostics

// expected-error @+1 {{'func.func' op 'memref<4x7xf4E2M1FN>' has no packed storage: its innermost size is 7; packed storage needs an even one}}
func.func @odd_size(%m: memref<4x7xf4E2M1FN>) {
  return
}

// -----

// expected-error @+1 {{'func.func' op 'memref<4x8xf4E2M1FN, strided<[9, 1]>>' has no packed storage: the stride of its dimension 0 is 9; packed storage needs an even one}}
func.func @odd_stride(%m: memref<4x8xf4E2M1FN, strided<[9, 1]>>) {
  return
}

// -----

// expected-error @+1 {{has no packed storage: its offset is 3 elements; packed storage needs an even one}}
func.func private @odd_offset(memref<8xf4E2M1FN, strided<[1], offset: 3>>)

// -----

// expected-error @+1 {{has no packed storage: its innermost stride is 2; packed storage needs 1}}
func.func @innermost_stride(%m: memref<8xf4E2M1FN, strided<[2]>>) {
  return
}

// -----

// expected-error @+1 {{has no packed storage: its innermost stride is dynamic; packed storage needs a static 1}}
func.func @dynamic_stride(%m: memref<?x?xf4E2M1FN, strided<[?, ?], offset: ?>>) {
  return
}

// -----

// expected-error @+1 {{has no packed storage: its layout is not strided; packed storage needs a strided layout with innermost stride 1}}
func.func @not_strided(%m: memref<8x8xf4E2M1FN, affine_map<(i, j) -> (i floordiv 2, j)>>) {
  return
}

// -----

func.func @unranked(%m: memref<8xf4E2M1FN>) {
  // expected-error @+1 {{'memref.cast' op 'memref<*xf4E2M1FN>' has no packed storage: its innermost size is unknown; a ranked memref is accepted}}
  %0 = memref.cast %m : memref<8xf4E2M1FN> to memref<*xf4E2M1FN>
  return
}

// -----

func.func @nested() {
  // expected-error @+1 {{'memref.alloc' op 'memref<2xmemref<8xf8E4M3FN>>' has a low-bit memref inside; only memrefs and function types over them are accepted}}
  %0 = memref.alloc() : memref<2xmemref<8xf8E4M3FN>>
  return
}

// -----

func.func @subview_offset(%m: memref<4x8xf4E2M1FN>) {
  // expected-error @+1 {{'memref.subview' op 'memref<4x4xf4E2M1FN, strided<[8, 1], offset: 1>>' has no packed storage: its offset is 1 elements}}
  %0 = memref.subview %m[0, 1] [4, 4] [1, 1]
    : memref<4x8xf4E2M1FN> to memref<4x4xf4E2M1FN, strided<[8, 1], offset: 1>>
  return
}

// -----

func.func @subview_offset_behind_dynamic(%m: memref<4x8xf4E2M1FN>, %i: index) {
  // expected-error @+1 {{'memref.subview' op starts at an odd innermost offset on 4-bit elements; only even ones are accepted}}
  %0 = memref.subview %m[%i, 1] [1, 4] [1, 1]
    : memref<4x8xf4E2M1FN> to memref<1x4xf4E2M1FN, strided<[8, 1], offset: ?>>
  return
}

// -----

func.func @subview_drops_innermost(%m: memref<4x8xf4E2M1FN, strided<[?, 1], offset: ?>>, %i: index) {
  // expected-error @+1 {{'memref.subview' op 'memref<4xf4E2M1FN, strided<[?], offset: ?>>' has no packed storage: its innermost stride is dynamic}}
  %0 = memref.subview %m[0, %i] [4, 1] [1, 1]
    : memref<4x8xf4E2M1FN, strided<[?, 1], offset: ?>> to memref<4xf4E2M1FN, strided<[?], offset: ?>>
  return
}

// -----

func.func @expand_to_odd(%m: memref<6xf4E2M1FN>) {
  // expected-error @+1 {{'memref.expand_shape' op 'memref<2x3xf4E2M1FN>' has no packed storage: its innermost size is 3}}
  %0 = memref.expand_shape %m [[0, 1]] output_shape [2, 3]
    : memref<6xf4E2M1FN> into memref<2x3xf4E2M1FN>
  return
}

// -----

// expected-error @+1 {{'memref.global' op 'memref<3xf4E2M1FN>' has no packed storage: its innermost size is 3}}
memref.global @odd : memref<3xf4E2M1FN> = dense<1.0>

// -----

func.func @masked(%m: memref<8xf4E2M1FN>, %i: index, %mask: vector<4xi1>, %x: vector<4xf4E2M1FN>) {
  // expected-error @+1 {{'vector.maskedstore' op cannot take 'memref<8xf4E2M1FN>' in byte storage; accepted are}}
  vector.maskedstore %m[%i], %mask, %x : memref<8xf4E2M1FN>, vector<4xi1>, vector<4xf4E2M1FN>
  return
}

// -----

func.func @transfer_at_unknown_index(%m: memref<8xf4E2M1FN>, %i: index, %pad: f4E2M1FN) {
  // expected-error @+1 {{'vector.transfer_read' op transfers 'vector<4xf4E2M1FN>' at an index that is not known to be even, or with an odd innermost size; both must be even}}
  %0 = vector.transfer_read %m[%i], %pad : memref<8xf4E2M1FN>, vector<4xf4E2M1FN>
  return
}

// -----

func.func @transposing_transfer(%m: memref<8x8xf4E2M1FN>, %pad: f4E2M1FN) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'vector.transfer_read' op permutes or broadcasts 4-bit elements; only a minor identity map is accepted}}
  %0 = vector.transfer_read %m[%c0, %c0], %pad {permutation_map = affine_map<(i, j) -> (j, i)>}
    : memref<8x8xf4E2M1FN>, vector<4x4xf4E2M1FN>
  return
}

// -----

func.func @higher_level(%m: memref<8xf8E4M3FN>, %x: f8E4M3FN) {
  // expected-error @+1 {{'linalg.fill' op cannot take 'memref<8xf8E4M3FN>' in byte storage; accepted are functions, calls}}
  linalg.fill ins(%x : f8E4M3FN) outs(%m : memref<8xf8E4M3FN>)
  return
}

// -----

// All errors of a module are reported.
func.func @two(%m: memref<8xf4E2M1FN, strided<[1], offset: ?>>, %i: index) {
  // expected-error @+1 {{starts at an odd innermost offset}}
  %0 = memref.subview %m[1] [%i] [1]
    : memref<8xf4E2M1FN, strided<[1], offset: ?>> to memref<?xf4E2M1FN, strided<[1], offset: ?>>
  // expected-error @+1 {{its innermost stride is dynamic}}
  %1 = memref.subview %m[0] [%i] [%i]
    : memref<8xf4E2M1FN, strided<[1], offset: ?>> to memref<?xf4E2M1FN, strided<[?], offset: ?>>
  return
}
