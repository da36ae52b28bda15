// RUN: kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-split-kv{split-length=100}))" \
// RUN:   --split-input-file \
// RUN:   --remark-format=emitRemark --remarks-filter=.* --verify-diagnostics \
// RUN:   | FileCheck %s
// RUN: kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-split-kv{split-length=100},kvq-split-kv{split-length=100}))" \
// RUN:   --split-input-file \
// RUN:   | FileCheck %s
// RUN: not kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-split-kv{split-length=0}))" \
// RUN:   --split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LENGTH

// LENGTH: error: 'func.func' op has option split-length = 0, expected at least 1

// 100 tokens are rounded up to 5 pages of 24; 11 pages then have 3 chunks. What
// the operation has beside is kept.
// CHECK-LABEL: @static
// CHECK-DAG: %[[PO:.*]] = tensor.empty() : tensor<3x2x1x6x64xf32>
// CHECK-DAG: %[[PL:.*]] = tensor.empty() : tensor<3x2x1x6xf32>
// CHECK: %[[P:.*]]:2 = kvq.dequant_attention
// CHECK-SAME: sinks(
// CHECK-SAME: outs(%[[PO]], %[[PL]] :
// CHECK-SAME: kv_split = 120 : i64
// CHECK-SAME: mine
// CHECK-SAME: options = #kvq.attention<causal>
// CHECK-SAME: qk = #kvq.mma_kind<f16>
// CHECK: %[[M:.*]]:2 = kvq.merge_states ins(%[[P]]#0, %[[P]]#1 :
// CHECK-SAME: -> tensor<2x1x6x64xf16>, tensor<2x1x6xf32>
// CHECK: return %[[M]]#0, %[[M]]#1
func.func @static(%q: tensor<2x1x6x64xf16>,
    %k: !kvq.cache<key, 24x3x64, nvfp4, NHD, linear>,
    %v: !kvq.cache<value, 24x3x64, nvfp4, NHD, linear>,
    %bt: tensor<2x11xi32>, %len: tensor<2xi32>, %scale: f32, %sinks: tensor<6xf32>,
    %o: tensor<2x1x6x64xf16>, %lse: tensor<2x1x6xf32>)
    -> (tensor<2x1x6x64xf16>, tensor<2x1x6xf32>) {
  // expected-remark @below {{is split into chunks of 120 tokens: 3}}
  %0:2 = kvq.dequant_attention ins(%q : tensor<2x1x6x64xf16>)
      caches(%k, %v : !kvq.cache<key, 24x3x64, nvfp4, NHD, linear>,
                      !kvq.cache<value, 24x3x64, nvfp4, NHD, linear>)
      block_table(%bt : tensor<2x11xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) sinks(%sinks : tensor<6xf32>)
      outs(%o, %lse : tensor<2x1x6x64xf16>, tensor<2x1x6xf32>)
      {options = #kvq.attention<causal>, qk = #kvq.mma_kind<f16>, mine}
      -> tensor<2x1x6x64xf16>, tensor<2x1x6xf32>
  return %0#0, %0#1 : tensor<2x1x6x64xf16>, tensor<2x1x6xf32>
}

// -----

// Without an lse there is one for the parts; sizes that only the program knows
// are computed. A page that is longer than a chunk is cut.
// CHECK-LABEL: @dynamic
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x6x64xf32>
// CHECK-SAME: %[[BT:[a-z0-9]+]]: tensor<?x?xi32>
// CHECK: %[[C1:.*]] = arith.constant 1 : index
// CHECK: %[[PAGES:.*]] = tensor.dim %[[BT]], %[[C1]]
// CHECK: %[[C256:.*]] = arith.constant 256 : index
// CHECK: %[[TOKENS:.*]] = arith.muli %[[PAGES]], %[[C256]]
// CHECK: %[[C100:.*]] = arith.constant 100 : index
// CHECK: %[[CHUNKS:.*]] = arith.ceildivui %[[TOKENS]], %[[C100]]
// CHECK: tensor.empty(%[[CHUNKS]], %{{.*}}) : tensor<?x?x6x64xf32>
// CHECK: tensor.empty(%[[CHUNKS]], %{{.*}}) : tensor<?x?x6xf32>
// CHECK: kv_split = 100 : i64
// CHECK: kvq.merge_states
// CHECK-SAME: -> tensor<?x6x64xf32>
func.func @dynamic(%q: tensor<?x6x64xf32>, %indptr: tensor<?xi32>,
    %k: !kvq.cache<key, 256x3x64, fp8, NHD>,
    %v: !kvq.cache<value, 256x3x64, fp8, NHD>,
    %bt: tensor<?x?xi32>, %len: tensor<?xi32>, %scale: f32,
    %o: tensor<?x6x64xf32>) -> tensor<?x6x64xf32> {
  // expected-remark @below {{is split into chunks of 100 tokens: as many as the block table has room for}}
  %0 = kvq.dequant_attention ins(%q : tensor<?x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 256x3x64, fp8, NHD>,
                      !kvq.cache<value, 256x3x64, fp8, NHD>)
      block_table(%bt : tensor<?x?xi32>) seq_lens(%len : tensor<?xi32>)
      qo_indptr(%indptr : tensor<?xi32>)
      scale(%scale) outs(%o : tensor<?x6x64xf32>) -> tensor<?x6x64xf32>
  return %0 : tensor<?x6x64xf32>
}

// -----

// CHECK-LABEL: @whole
// CHECK-NOT: kv_split
func.func @whole(%q: tensor<2x17x6x64xf32>,
    %k: !kvq.cache<key, 16x3x64, fp8, NHD>,
    %v: !kvq.cache<value, 16x3x64, fp8, NHD>,
    %bt: tensor<2x40xi32>, %short: tensor<2x7xi32>, %len: tensor<2xi32>,
    %scale: f32, %o: tensor<2x17x6x64xf32>, %q1: tensor<2x1x6x64xf32>,
    %mq: memref<2x1x6x64xf32>, %mbt: memref<2x40xi32>, %mlen: memref<2xi32>,
    %mo: memref<2x1x6x64xf32>)
    -> (tensor<2x17x6x64xf32>, tensor<2x1x6x64xf32>) {
  // expected-remark @below {{is not split: each sequence has 17 queries, more than 16}}
  %0 = kvq.dequant_attention ins(%q : tensor<2x17x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 16x3x64, fp8, NHD>,
                      !kvq.cache<value, 16x3x64, fp8, NHD>)
      block_table(%bt : tensor<2x40xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%o : tensor<2x17x6x64xf32>) -> tensor<2x17x6x64xf32>
  // expected-remark @below {{is not split: the block table has room for 112 tokens, and a chunk has 112}}
  %1 = kvq.dequant_attention ins(%q1 : tensor<2x1x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 16x3x64, fp8, NHD>,
                      !kvq.cache<value, 16x3x64, fp8, NHD>)
      block_table(%short : tensor<2x7xi32>) seq_lens(%len : tensor<2xi32>)
      scale(%scale) outs(%q1 : tensor<2x1x6x64xf32>) -> tensor<2x1x6x64xf32>
  // expected-remark @below {{is not split: it works on memrefs}}
  kvq.dequant_attention ins(%mq : memref<2x1x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 16x3x64, fp8, NHD>,
                      !kvq.cache<value, 16x3x64, fp8, NHD>)
      block_table(%mbt : memref<2x40xi32>) seq_lens(%mlen : memref<2xi32>)
      scale(%scale) outs(%mo : memref<2x1x6x64xf32>)
  return %0, %1 : tensor<2x17x6x64xf32>, tensor<2x1x6x64xf32>
}
