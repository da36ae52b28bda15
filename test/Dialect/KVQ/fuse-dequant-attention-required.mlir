// Near misses are errors where a fusion is required.
// RUN: kvq-opt %s --kvq-fuse-dequant-attention=require=true --split-input-file --verify-diagnostics

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// The cache is written after it was read.
func.func @append_between(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %new: tensor<3x2x64xf16>, %slots: tensor<3xi64>) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{kvq.append is in the way here}}
  kvq.append ins(%new : tensor<3x2x64xf16>) into(%k : !k) slot_mapping(%slots : tensor<3xi64>)
  // expected-error@+1 {{is not fused: the cache of its keys, or a table that it is gathered with, may be written after the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// A handle that may be the same.
func.func @may_alias(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %new: tensor<3x2x64xf16>, %slots: tensor<3xi64>, %other: !k {kvq.may_alias}) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{kvq.append is in the way here}}
  kvq.append ins(%new : tensor<3x2x64xf16>) into(%other : !k) slot_mapping(%slots : tensor<3xi64>)
  // expected-error@+1 {{is not fused: the cache of its keys, or a table that it is gathered with, may be written after the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>
func.func private @anything()

// A call may write anything.
func.func @call_between(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{func.call is in the way here}}
  func.call @anything() : () -> ()
  // expected-error@+1 {{is not fused: the cache of its keys, or a table that it is gathered with, may be written after the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Values are written in the loop that reads what was gathered before it.
func.func @loop_writes(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %new: tensor<3x2x64xf16>, %slots: tensor<3xi64>) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %l = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %o) -> !q {
  // expected-error@+1 {{is not fused: the cache of its values, or a table that it is gathered with, may be written after the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%acc : !q) -> !q
  // expected-note@+1 {{kvq.append is in the way here}}
  kvq.append ins(%new : tensor<3x2x64xf16>) into(%v : !v) slot_mapping(%slots : tensor<3xi64>)
  scf.yield %r : !q
  }
  return %l : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// A branch before it writes.
func.func @branch_writes(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %new: tensor<3x2x64xf16>, %slots: tensor<3xi64>, %c: i1) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  scf.if %c {
  // expected-note@+1 {{kvq.append is in the way here}}
  kvq.append ins(%new : tensor<3x2x64xf16>) into(%k : !k) slot_mapping(%slots : tensor<3xi64>)
  }
  // expected-error@+1 {{is not fused: the cache of its keys, or a table that it is gathered with, may be written after the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Between blocks of a function.
func.func @blocks_write(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %new: tensor<3x2x64xf16>, %slots: tensor<3xi64>, %c: i1) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
  // expected-note@+1 {{kvq.append is in the way here}}
  kvq.append ins(%new : tensor<3x2x64xf16>) into(%k : !k) slot_mapping(%slots : tensor<3xi64>)
  cf.br ^bb2
  ^bb2:
  // expected-error@+1 {{is not fused: the cache of its keys, or a table that it is gathered with, may be written after the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// The table is a memref that is written.
func.func @table_written(%k: !k, %v: !v, %bt: memref<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %page: i32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : memref<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : memref<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %c0 = arith.constant 0 : index
  // expected-note@+1 {{memref.store is in the way here}}
  memref.store %page, %bt[%c0, %c0] : memref<3x3xi32>
  // expected-error@+1 {{is not fused: the cache of its keys, or a table that it is gathered with, may be written after the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!k8 = tensor<3x48x2x64xf8E4M3FN>
!q = tensor<3x1x8x64xf32>

// The global scale of the handle is written.
func.func @global_scale_written(%kd: memref<?x16x2x64xf8E4M3FN>, %gm: memref<f32>, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %k8: !k8, %new: f32) -> !q {
  %k = kvq.make_cache data(%kd : memref<?x16x2x64xf8E4M3FN>) global_scale(%gm : memref<f32>) : !k
  %d = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%k8 : !k8) -> !k8
  %g = memref.load %gm[] : memref<f32>
  %0 = kvq.dequantize ins(%d : !k8) global_scale(%g) outs(%kv : !kv) {format = #kvq.format<fp8>} -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{memref.store is in the way here}}
  memref.store %new, %gm[] : memref<f32>
  // expected-error@+1 {{is not fused: the cache of its keys, or a table that it is gathered with, may be written after the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Rows of zeros past the lengths would be attended to.
func.func @no_lengths(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  // expected-note@+1 {{kvq.gather is in the way here}}
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: it is not known to mask the rows past the seq_lens of the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Other lengths.
func.func @other_lengths(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %len2: tensor<3xi32>) -> !q {
  // expected-note@+1 {{kvq.gather is in the way here}}
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: it is not known to mask the rows past the seq_lens of the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len2 : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Constant lengths that do not cover all rows.
func.func @short_lengths(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %len = arith.constant dense<[48, 48, 47]> : tensor<3xi32>
  // expected-note@+1 {{kvq.gather is in the way here}}
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: it is not known to mask the rows past the seq_lens of the kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Other pages for the values.
func.func @other_tables(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %bt2: tensor<3x3xi32>) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{kvq.gather is in the way here}}
  %1 = kvq.gather cache(%v : !v) block_table(%bt2 : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: its keys and values are gathered with different block_table, seq_lens or slices of the batch}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Other lengths for the values.
func.func @other_value_lengths(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %len2: tensor<3xi32>) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{kvq.gather is in the way here}}
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len2 : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: its keys and values are gathered with different block_table, seq_lens or slices of the batch}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// The keys of some sequences and the values of others.
func.func @other_batches(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: tensor<2x1x8x64xf32>, %o: tensor<2x1x8x64xf32>, %kv: !kv, %scale: f32) -> tensor<2x1x8x64xf32> {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{kvq.gather is in the way here}}
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %2 = tensor.extract_slice %0[0, 0, 0, 0] [2, 48, 2, 64] [1, 1, 1, 1] : !kv to tensor<2x48x2x64xf16>
  %3 = tensor.extract_slice %1[1, 0, 0, 0] [2, 48, 2, 64] [1, 1, 1, 1] : !kv to tensor<2x48x2x64xf16>
  %4 = tensor.extract_slice %len[0] [2] [1] : tensor<3xi32> to tensor<2xi32>
  // expected-error@+1 {{is not fused: its keys and values are gathered with different block_table, seq_lens or slices of the batch}}
  %r = kvq.attention ins(%q, %2, %3 : tensor<2x1x8x64xf32>, tensor<2x48x2x64xf16>, tensor<2x48x2x64xf16>) seq_lens(%4 : tensor<2xi32>) scale(%scale) outs(%o : tensor<2x1x8x64xf32>) -> tensor<2x1x8x64xf32>
  return %r : tensor<2x1x8x64xf32>
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// A mask is not part of the fused operation.
func.func @mask(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %m: tensor<1x1x1x48xi1>) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: it has a mask, which kvq.dequant_attention does not take}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) mask(%m : tensor<1x1x1x48xi1>) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// A part of a larger attention.
func.func @tile(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %n: index) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: it is a part of a larger attention, as its kv_offset or query_shift says}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) kv_offset(%n) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Keys that were changed.
func.func @changed(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{arith.addf is in the way here}}
  %2 = arith.addf %0, %kv : !kv
  // expected-error@+1 {{is not fused: its keys do not come from a kvq.gather through transposes, reshapes, casts, slices, repetitions of heads and multiplications by one number alone}}
  %r = kvq.attention ins(%q, %2, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Values that are no rows of a cache.
func.func @no_cache(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: its values do not come from a kvq.gather through transposes, reshapes, casts, slices, repetitions of heads and multiplications by one number alone}}
  %r = kvq.attention ins(%q, %0, %kv : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Each channel has a factor of its own.
func.func @channel_factors(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %channels: tensor<64xf16>) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{linalg.generic is in the way here}}
  %2 = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%0, %channels : !kv, tensor<64xf16>) outs(%kv : !kv) {
  ^bb0(%x: f16, %c: f16, %out: f16):
    %y = arith.mulf %x, %c : f16
    linalg.yield %y : f16
  } -> !kv
  // expected-error@+1 {{is not fused: its keys do not come from a kvq.gather through transposes, reshapes, casts, slices, repetitions of heads and multiplications by one number alone}}
  %r = kvq.attention ins(%q, %2, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// A number divided by the keys.
func.func @reciprocal(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %c = arith.constant dense<2.0> : !kv
  // expected-note@+1 {{arith.divf is in the way here}}
  %2 = arith.divf %c, %0 : !kv
  // expected-error@+1 {{is not fused: its keys do not come from a kvq.gather through transposes, reshapes, casts, slices, repetitions of heads and multiplications by one number alone}}
  %r = kvq.attention ins(%q, %2, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Keys of the iteration before.
func.func @loop_carried(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-note@+1 {{scf.for is in the way here}}
  %l:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %o, %keys = %kv) -> (!q, !kv) {
  // expected-error@+1 {{is not fused: its keys do not come from a kvq.gather through transposes, reshapes, casts, slices, repetitions of heads and multiplications by one number alone}}
  %r = kvq.attention ins(%q, %keys, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%acc : !q) -> !q
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  scf.yield %r, %0 : !q, !kv
  }
  return %l#0 : !q
}

// -----

!k = !kvq.cache<key, 16x48x64, f16, NHD>
!v = !kvq.cache<value, 16x48x64, f16, NHD>
!kv = tensor<3x48x48x64xf16>
!q = tensor<3x1x48x64xf32>

// Heads and tokens are exchanged, though the sizes fit.
func.func @exchanged(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{linalg.transpose is in the way here}}
  %2 = linalg.transpose ins(%0 : !kv) outs(%kv : !kv) permutation = [0, 2, 1, 3]
  // expected-error@+1 {{is not fused: its keys are not [B, L, heads, head_dim] of the cache with heads possibly repeated in place}}
  %r = kvq.attention ins(%q, %2, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Reshaped across heads and tokens.
func.func @reshaped(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %2 = tensor.collapse_shape %1 [[0], [1, 2], [3]] : !kv into tensor<3x96x64xf16>
  %3 = tensor.expand_shape %2 [[0], [1, 2], [3]] output_shape [3, 2, 48, 64] : tensor<3x96x64xf16> into tensor<3x2x48x64xf16>
  // expected-note@+1 {{linalg.transpose is in the way here}}
  %4 = linalg.transpose ins(%3 : tensor<3x2x48x64xf16>) outs(%kv : !kv) permutation = [0, 2, 1, 3]
  // expected-error@+1 {{is not fused: its values are not [B, L, heads, head_dim] of the cache with heads possibly repeated in place}}
  %r = kvq.attention ins(%q, %0, %4 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Heads repeated as a whole: query head h would read KV head h mod 2.
func.func @tiled_heads(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %e = tensor.empty() : tensor<3x48x4x2x64xf16>
  %2 = linalg.broadcast ins(%0 : !kv) outs(%e : tensor<3x48x4x2x64xf16>) dimensions = [2]
  // expected-note@+1 {{tensor.collapse_shape is in the way here}}
  %3 = tensor.collapse_shape %2 [[0], [1], [2, 3], [4]] : tensor<3x48x4x2x64xf16> into tensor<3x48x8x64xf16>
  %4 = linalg.broadcast ins(%1 : !kv) outs(%e : tensor<3x48x4x2x64xf16>) dimensions = [2]
  %5 = tensor.collapse_shape %4 [[0], [1], [2, 3], [4]] : tensor<3x48x4x2x64xf16> into tensor<3x48x8x64xf16>
  // expected-error@+1 {{is not fused: its keys are not [B, L, heads, head_dim] of the cache with heads possibly repeated in place}}
  %r = kvq.attention ins(%q, %3, %5 : !q, tensor<3x48x8x64xf16>, tensor<3x48x8x64xf16>) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Not the first rows.
func.func @later_rows(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  // expected-note@+1 {{kvq.gather is in the way here}}
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %2 = tensor.extract_slice %0[0, 16, 0, 0] [3, 32, 2, 64] [1, 1, 1, 1] : !kv to tensor<3x32x2x64xf16>
  %3 = tensor.extract_slice %1[0, 16, 0, 0] [3, 32, 2, 64] [1, 1, 1, 1] : !kv to tensor<3x32x2x64xf16>
  // expected-error@+1 {{is not fused: its keys are a part of what the kvq.gather reads}}
  %r = kvq.attention ins(%q, %2, %3 : !q, tensor<3x32x2x64xf16>, tensor<3x32x2x64xf16>) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// One of the heads.
func.func @one_head(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  // expected-note@+1 {{kvq.gather is in the way here}}
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %2 = tensor.extract_slice %0[0, 0, 1, 0] [3, 48, 1, 64] [1, 1, 1, 1] : !kv to tensor<3x48x1x64xf16>
  %3 = tensor.extract_slice %1[0, 0, 1, 0] [3, 48, 1, 64] [1, 1, 1, 1] : !kv to tensor<3x48x1x64xf16>
  // expected-error@+1 {{is not fused: its keys are a part of what the kvq.gather reads}}
  %r = kvq.attention ins(%q, %2, %3 : !q, tensor<3x48x1x64xf16>, tensor<3x48x1x64xf16>) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Every other row.
func.func @strided_rows(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{tensor.extract_slice is in the way here}}
  %2 = tensor.extract_slice %0[0, 0, 0, 0] [3, 24, 2, 64] [1, 2, 1, 1] : !kv to tensor<3x24x2x64xf16>
  %3 = tensor.extract_slice %1[0, 0, 0, 0] [3, 24, 2, 64] [1, 2, 1, 1] : !kv to tensor<3x24x2x64xf16>
  // expected-error@+1 {{is not fused: its keys do not come from a kvq.gather through transposes, reshapes, casts, slices, repetitions of heads and multiplications by one number alone}}
  %r = kvq.attention ins(%q, %2, %3 : !q, tensor<3x24x2x64xf16>, tensor<3x24x2x64xf16>) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Keys from a value cache.
func.func @other_side(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  // expected-note@+1 {{kvq.gather is in the way here}}
  %0 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: its keys come from a value cache and its values from a value cache}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 32x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// Pages of two sizes cannot share a table.
func.func @other_pages(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-note@+1 {{kvq.gather is in the way here}}
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: the key cache has pages of 16 tokens with 2 heads, the value cache pages of 32 tokens with 2 heads}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!k8 = tensor<3x48x2x64xf8E4M3FN>
!q = tensor<3x1x8x64xf32>

// Elements of one type, decoded as another format.
func.func @other_format(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %k8: !k8) -> !q {
  %d = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%k8 : !k8) -> !k8
  // expected-note@+1 {{kvq.dequantize is in the way here}}
  %0 = kvq.dequantize ins(%d : !k8) outs(%kv : !kv) {format = #kvq.format<f8E4M3FN>} -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: its keys are decoded as #kvq.format<f8E4M3FN>, the handle has #kvq.format<fp8>}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, mxfp4, NHD, linear>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!kd = tensor<3x48x2x64xf4E2M1FN>
!ks = tensor<3x48x2x2xf8E8M0FNU>
!q = tensor<3x1x8x64xf32>

// Scales of other rows.
func.func @other_scales(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %kd: !kd, %ks: !ks) -> !q {
  %d:2 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kd, %ks : !kd, !ks) -> !kd, !ks
  // expected-note@+1 {{kvq.dequantize is in the way here}}
  %0 = kvq.dequantize ins(%d#0, %ks : !kd, !ks) outs(%kv : !kv) {format = #kvq.format<mxfp4>} -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: data and scales of its keys do not come the same way from one kvq.gather}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!k8 = tensor<3x48x2x64xf8E4M3FN>
!q = tensor<3x1x8x64xf32>

// Gathered into memrefs.
func.func @memrefs(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %m: memref<3x48x2x64xf8E4M3FN>) -> !q {
  kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%m : memref<3x48x2x64xf8E4M3FN>)
  // expected-note@+1 {{kvq.dequantize is in the way here}}
  %0 = kvq.dequantize ins(%m : memref<3x48x2x64xf8E4M3FN>) global_scale(%scale) outs(%kv : !kv) {format = #kvq.format<fp8>} -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  // expected-error@+1 {{is not fused: its keys pass through memrefs}}
  %r = kvq.attention ins(%q, %0, %1 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%o : !q) -> !q
  return %r : !q
}

// -----

!k = !kvq.cache<key, 16x2x64, f16, NHD>
!v = !kvq.cache<value, 16x2x64, f16, NHD>
!kv = tensor<3x48x2x64xf16>
!q = tensor<3x1x8x64xf32>

// The factor of the values has no tensor to go to.
func.func @memref_output(%k: !k, %v: !v, %bt: tensor<3x3xi32>, %len: tensor<3xi32>, %q: !q, %o: !q, %kv: !kv, %scale: f32, %m: memref<3x1x8x64xf32>) -> !q {
  %0 = kvq.gather cache(%k : !k) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %1 = kvq.gather cache(%v : !v) block_table(%bt : tensor<3x3xi32>) seq_lens(%len : tensor<3xi32>) outs(%kv : !kv) -> !kv
  %c = arith.constant dense<2.0> : !kv
  %2 = arith.mulf %1, %c : !kv
  // expected-error@+1 {{is not fused: its outputs pass through memrefs}}
  kvq.attention ins(%q, %0, %2 : !q, !kv, !kv) seq_lens(%len : tensor<3xi32>) scale(%scale) outs(%m : memref<3x1x8x64xf32>)
  return %q : !q
}
