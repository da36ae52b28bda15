// RUN: kvq-opt %s --convert-kvq-to-gpu=chip=sm_80 --split-input-file | FileCheck %s

// How the portable kernel copies stored rows to shared memory: ahead of the loop
// over tiles and in it, keys, then values, and as a last way units of a byte.

// Rows of 64 bytes in pieces of 16, their 8 scales in one piece. Two tiles are in
// shared memory: the next one's keys and values are copied while this one is
// computed with.
// CHECK-LABEL: gpu.func @dequant_attention_nvfp4_
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg, %
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8, cache =  ca, %
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 8
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvgpu.mma.sync
// CHECK: nvvm.cp.async.wait.group 2
// CHECK: nvgpu.mma.sync
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: gpu.barrier
func.func @nvfp4(
    %q: memref<?x1x8x128xf16>,
    %k: !kvq.cache<key, 16x2x128, nvfp4, HND, linear>,
    %v: !kvq.cache<value, 16x2x128, nvfp4, HND, linear>,
    %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
    %out: memref<?x1x8x128xf32>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x128xf16>)
      caches(%k, %v : !kvq.cache<key, 16x2x128, nvfp4, HND, linear>,
        !kvq.cache<value, 16x2x128, nvfp4, HND, linear>)
      block_table(%table : memref<?x?xi32>) seq_lens(%lens : memref<?xi32>)
      scale(%scale) outs(%out : memref<?x1x8x128xf32>)
  return
}

// -----

// Two buffers would leave shared memory for one block, so there is one: the next
// keys are copied when this tile's were decoded.
// CHECK-LABEL: gpu.func @dequant_attention_bf16_
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.mma.sync
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.mma.sync
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: gpu.barrier
func.func @bf16(
    %q: memref<?x1x8x128xbf16>,
    %k: !kvq.cache<key, 16x2x128, bf16, HND>,
    %v: !kvq.cache<value, 16x2x128, bf16, HND>,
    %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
    %out: memref<?x1x8x128xf32>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x128xbf16>)
      caches(%k, %v : !kvq.cache<key, 16x2x128, bf16, HND>,
        !kvq.cache<value, 16x2x128, bf16, HND>)
      block_table(%table : memref<?x?xi32>) seq_lens(%lens : memref<?xi32>)
      scale(%scale) outs(%out : memref<?x1x8x128xf32>)
  return
}

// -----

// Rows of 9 bytes have no asynchronous copies.
// CHECK-LABEL: gpu.func @dequant_attention_fp8_
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<1> -> i8
// CHECK-NOT: nvvm.cp.async.shared.global
func.func @odd(
    %q: memref<?x1x8x9xf16>,
    %k: !kvq.cache<key, 16x2x9, fp8, HND>,
    %v: !kvq.cache<value, 16x2x9, fp8, HND>,
    %table: memref<?x?xi32>, %lens: memref<?xi32>, %scale: f32,
    %out: memref<?x1x8x9xf32>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x9xf16>)
      caches(%k, %v : !kvq.cache<key, 16x2x9, fp8, HND>,
        !kvq.cache<value, 16x2x9, fp8, HND>)
      block_table(%table : memref<?x?xi32>) seq_lens(%lens : memref<?xi32>)
      scale(%scale) outs(%out : memref<?x1x8x9xf32>)
  return
}
