// RUN: kvq-opt %s --kvq-to-cpu | FileCheck %s --implicit-check-not=kvq.quantize --implicit-check-not=kvq.dequant --implicit-check-not=!kvq --implicit-check-not=unrealized
// RUN: kvq-opt %s --kvq-to-cpu=threads=none | FileCheck %s --implicit-check-not=kvq.quantize --implicit-check-not=kvq.dequant --implicit-check-not=!kvq --implicit-check-not=unrealized
// RUN: kvq-opt %s --kvq-to-cpu=threads=openmp | FileCheck %s --implicit-check-not=kvq.quantize --implicit-check-not=kvq.dequant --implicit-check-not=!kvq --implicit-check-not=unrealized
// RUN: kvq-opt %s --kvq-to-cpu=reference | FileCheck %s --implicit-check-not=kvq.quantize --implicit-check-not=kvq.dequant --implicit-check-not=!kvq --implicit-check-not=unrealized
// RUN: kvq-opt %s --kvq-to-cpu | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// A step on tensors, with a handle per side, down to the LLVM dialect: nothing
// of the kvq dialect is left and the function returns a status.

!k = !kvq.cache<key, 16x2x64, nvfp4, HND, linear>
!v = !kvq.cache<value, 16x2x32, mxfp8, NHD, linear>

// CHECK: llvm.func @step(
// CHECK: llvm.func weak @kvq_report
// LLVM: define {{.*}}, i32 } @step(
// LLVM: call i32 @kvq_check_slots_i64
// LLVM: define weak void @kvq_report
func.func @step(%q: tensor<?x6x64xbf16>, %new_k: tensor<?x2x64xbf16>, %new_v: tensor<?x2x32xbf16>,
                %k: !k, %v: !v, %slots: tensor<?xi64>, %bt: tensor<?x?xi32>, %len: tensor<?xi32>,
                %qo: tensor<?xi32>, %scale: f32, %init: tensor<?x6x32xbf16>) -> tensor<?x6x32xbf16> {
  kvq.quantize_append ins(%new_k : tensor<?x2x64xbf16>) into(%k : !k) slot_mapping(%slots : tensor<?xi64>)
  kvq.quantize_append ins(%new_v : tensor<?x2x32xbf16>) into(%v : !v) slot_mapping(%slots : tensor<?xi64>)
  %o = kvq.dequant_attention ins(%q : tensor<?x6x64xbf16>) caches(%k, %v : !k, !v)
      block_table(%bt : tensor<?x?xi32>) seq_lens(%len : tensor<?xi32>) qo_indptr(%qo : tensor<?xi32>)
      scale(%scale) outs(%init : tensor<?x6x32xbf16>)
      {options = #kvq.attention<causal>} -> tensor<?x6x32xbf16>
  return %o : tensor<?x6x32xbf16>
}
