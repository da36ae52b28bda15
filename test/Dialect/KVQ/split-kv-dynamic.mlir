// RUN: kvq-opt %s --pass-pipeline="builtin.module(func.func(kvq-split-kv{split-dynamic=false}))" \
// RUN:   --remark-format=emitRemark --remarks-filter=.* --verify-diagnostics \
// RUN:   | FileCheck %s

// CHECK-LABEL: @ragged
// CHECK-NOT: kv_split
func.func @ragged(%q: tensor<?x6x64xf32>, %indptr: tensor<?xi32>,
    %k: !kvq.cache<key, 16x3x64, fp8, NHD>,
    %v: !kvq.cache<value, 16x3x64, fp8, NHD>,
    %bt: tensor<?x?xi32>, %len: tensor<?xi32>, %scale: f32,
    %o: tensor<?x6x64xf32>) -> tensor<?x6x64xf32> {
  // expected-remark @below {{is not split: the number of queries of a sequence is not known}}
  %0 = kvq.dequant_attention ins(%q : tensor<?x6x64xf32>)
      caches(%k, %v : !kvq.cache<key, 16x3x64, fp8, NHD>,
                      !kvq.cache<value, 16x3x64, fp8, NHD>)
      block_table(%bt : tensor<?x?xi32>) seq_lens(%len : tensor<?xi32>)
      qo_indptr(%indptr : tensor<?xi32>)
      scale(%scale) outs(%o : tensor<?x6x64xf32>) -> tensor<?x6x64xf32>
  return %0 : tensor<?x6x64xf32>
}
