// RUN: kvq-opt %s --convert-kvq-to-gpu=chip=sm_100a | FileCheck %s --check-prefix=LOOP
// RUN: kvq-compile %s --target=sm_100a -o - | FileCheck %s --check-prefix=PTX

// Copies a byte at a time, of caches that are not aligned, stay loops: one of
// the rows, and one of the bytes of each. Unrolled, they would take registers
// that copies of whole rows need.
// LOOP: [[KEPT:#.*]] = #llvm.loop_unroll<disable = true>
// LOOP: [[LOOP:#.*]] = #llvm.loop_annotation<unroll = [[KEPT]]>
// LOOP: gpu.func @blackwell_attention_nvfp4_16x1x128_HND_linear_nvfp4_16x1x128_HND_linear(
// LOOP: llvm.load {{.*}} {alignment = 1 : i64} : !llvm.ptr<1> -> i8
// LOOP: llvm.store {{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<3>
// LOOP-NEXT: } {loop_annotation = [[LOOP]]}
// LOOP-NEXT: } {loop_annotation = [[LOOP]]}

// PTX: .entry blackwell_attention_nvfp4_16x1x128_HND_linear_nvfp4_16x1x128_HND_linear(
// PTX: .pragma "nounroll";
// PTX: .pragma "nounroll";
// PTX-NOT: .pragma
// PTX: ld.global.b8
// PTX-NOT: ld.global.b8
// PTX: .pragma "nounroll";
func.func @attention(
    %q: memref<?x1x8x128xf16>,
    %k: !kvq.cache<key, 16x1x128, nvfp4, HND, linear>,
    %v: !kvq.cache<value, 16x1x128, nvfp4, HND, linear>,
    %block_table: memref<?x?xi32>, %seq_lens: memref<?xi32>, %scale: f32,
    %o: memref<?x1x8x128xf16>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x1x128, nvfp4, HND, linear>,
                      !kvq.cache<value, 16x1x128, nvfp4, HND, linear>)
      block_table(%block_table : memref<?x?xi32>)
      seq_lens(%seq_lens : memref<?xi32>)
      scale(%scale) outs(%o : memref<?x1x8x128xf16>)
      {qk = #kvq.mma_kind<block_scaled, terms = 2>}
  return
}
