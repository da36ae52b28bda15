// Values that trtllm-gen reads are interleaved; where they cannot be, attention
// reads a copy of the scales.
// RUN: kvq-opt %s --kvq-assign-block-scales='value-reader=trtllm-gen' --split-input-file --verify-diagnostics --remarks-filter='kvq.*' | FileCheck %s
// RUN: kvq-opt %s --kvq-assign-block-scales='value-reader=trtllm-gen' --split-input-file -o %t.once
// RUN: kvq-opt %t.once --kvq-assign-block-scales='value-reader=trtllm-gen' --kvq-verify-handles --split-input-file | diff %t.once -

!k = !kvq.cache<key, 16x2x64, nvfp4, NHD, ?>
!v = !kvq.cache<value, 16x2x64, nvfp4, NHD, ?>
!q = tensor<2x1x4x64xf32>
!d = memref<?x16x2x64xf4E2M1FN>
!s = memref<?x16x2x4xf8E4M3FN>

// CHECK-LABEL: func @undecided
// CHECK: kvq.make_cache {{.*}} : !kvq.cache<key, 16x2x64, nvfp4, NHD, linear>
// CHECK: kvq.make_cache {{.*}} : !kvq.cache<value, 16x2x64, nvfp4, NHD, interleaved_4>
// CHECK-NOT: convert_scale_layout
func.func @undecided(%d: !d, %s: !s, %e: !d, %t: !s, %g: memref<f32>, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32) -> !q {
  // expected-remark@+1 {{gives a cache the scale layout linear (f8E4M3FN for each 16 of head_dim, times argument #4 with the softmax scale) for 0 writers and 1 reader: no reader asks for another}}
  %k = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !k
  // expected-remark@+1 {{gives a cache the scale layout interleaved_4 (f8E4M3FN for each 16 of head_dim, times argument #4 on the output) for 0 writers and 1 reader: trtllm-gen reads values so}}
  %v = kvq.make_cache data(%e : !d) scales(%t : !s) global_scale(%g : memref<f32>) : !v
  %0 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
  return %0 : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x64, nvfp4, HND, linear>
!q = tensor<2x1x4x64xf32>
!x = tensor<2x2x64xbf16>

// One copy, before both loops, serves readers up to the write.
// CHECK-LABEL: func @hoisted
// CHECK-SAME: (%{{.*}}: {{.*}}, %[[V:.*]]: !kvq.cache<value, 16x2x64, nvfp4, HND, linear>,
// CHECK: %[[D:.*]] = kvq.cache_data %[[V]]
// CHECK-NEXT: %[[S:.*]] = kvq.cache_scales %[[V]]
// CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[N:.*]] = memref.dim %[[S]], %[[C0]]
// CHECK-NEXT: %[[T:.*]] = memref.alloc(%[[N]]) : memref<?x2x16x4xf8E4M3FN>
// CHECK-NEXT: kvq.convert_scale_layout ins(%[[S]] : {{.*}}) outs(%[[T]] : {{.*}}) from linear to interleaved_4 HND
// CHECK-NEXT: %[[G:.*]] = kvq.cache_global_scale %[[V]]
// CHECK-NEXT: %[[C:.*]] = kvq.make_cache data(%[[D]] : {{.*}}) scales(%[[T]] : {{.*}}) global_scale(%[[G]] : memref<f32>) : !kvq.cache<value, 16x2x64, nvfp4, HND, interleaved_4>
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.if
// CHECK-NEXT: kvq.dequant_attention {{.*}} caches(%{{.*}}, %[[C]] :
// CHECK: kvq.dequant_attention {{.*}} caches(%{{.*}}, %[[C]] :
// CHECK: kvq.quantize_append {{.*}} into(%[[V]] :
// CHECK: kvq.convert_scale_layout
// CHECK: %[[C2:.*]] = kvq.make_cache
// CHECK: kvq.dequant_attention {{.*}} caches(%{{.*}}, %[[C2]] :
// CHECK-NOT: convert_scale_layout
func.func @hoisted(%k: !k, %v: !v, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32, %n: index, %c: i1, %x: !x, %slots: tensor<2xi32>) -> (!q, !q, !q) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %q) -> !q {
    %1 = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> !q {
      %2 = scf.if %c -> !q {
        // expected-remark@+1 {{reads a copy of the scales of its values in interleaved_4: the cache has linear, which trtllm-gen does not read}}
        %3 = kvq.dequant_attention ins(%b : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
        scf.yield %3 : !q
      } else {
        scf.yield %b : !q
      }
      scf.yield %2 : !q
    }
    scf.yield %1 : !q
  }
  // expected-remark@+1 {{reads a copy}}
  %4 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
  kvq.quantize_append ins(%x : !x) into(%v : !v) slot_mapping(%slots : tensor<2xi32>)
  // expected-remark@+1 {{reads a copy}}
  %5 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
  return %0, %4, %5 : !q, !q, !q
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x64, nvfp4, NHD, linear>
!q = tensor<2x1x4x64xf32>
!x = tensor<2x2x64xbf16>

// The loop writes the cache: the copy is made anew in each iteration, after the
// write.
// CHECK-LABEL: func @written
// CHECK: scf.for
// CHECK-NEXT: kvq.quantize_append
// CHECK: kvq.convert_scale_layout
// CHECK: kvq.dequant_attention
func.func @written(%k: !k, %v: !v, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32, %n: index, %x: !x, %slots: tensor<2xi32>) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %q) -> !q {
    kvq.quantize_append ins(%x : !x) into(%v : !v) slot_mapping(%slots : tensor<2xi32>)
    // expected-remark@+1 {{reads a copy}}
    %3 = kvq.dequant_attention ins(%a : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
    scf.yield %3 : !q
  }
  return %0 : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x64, nvfp4, NHD, ?>
!q = tensor<2x1x4x64xf32>
!d = memref<?x16x2x64xf4E2M1FN>
!s = memref<?x16x2x4xf8E4M3FN>

// Scales that are read as a memref stay in order.
// CHECK-LABEL: func @raw
// CHECK: kvq.make_cache {{.*}} linear>
// CHECK: kvq.convert_scale_layout
func.func @raw(%d: !d, %s: !s, %g: memref<f32>, %k: !k, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32, %i: index) -> (f8E4M3FN, !q) {
  // expected-remark@+1 {{gives a cache the scale layout linear (f8E4M3FN for each 16 of head_dim, times argument #2 on the output) for 0 writers and 1 reader: scales are used as a memref (memref.load at}}
  %v = kvq.make_cache data(%d : !d) scales(%s : !s) global_scale(%g : memref<f32>) : !v
  %0 = kvq.cache_scales %v : !v -> memref<?x16x2x4xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  %n = memref.dim %0, %i : memref<?x16x2x4xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  %1 = memref.load %0[%n, %i, %i, %i] : memref<?x16x2x4xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>
  // expected-remark@+1 {{reads a copy}}
  %2 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
  return %1, %2 : f8E4M3FN, !q
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x64, bf16, NHD>
!q = tensor<2x1x4x64xf32>

// CHECK-LABEL: func @unscaled
// CHECK-NOT: convert_scale_layout
func.func @unscaled(%k: !k, %v: !v, %q: !q, %bt: tensor<2x4xi32>, %len: tensor<2xi32>, %scale: f32) -> !q {
  %0 = kvq.dequant_attention ins(%q : !q) caches(%k, %v : !k, !v) block_table(%bt : tensor<2x4xi32>) seq_lens(%len : tensor<2xi32>) scale(%scale) outs(%q : !q) -> !q
  return %0 : !q
}
