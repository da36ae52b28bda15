// RUN: kvq-opt %s --kvq-insert-runtime-checks --split-input-file --verify-diagnostics

func.func @tensors(%p: tensor<4x3x8x64xf32>, %l: tensor<4x3x8xf32>, %o: tensor<3x8x64xf32>) -> tensor<3x8x64xf32> {
  // expected-error @+1 {{has tensor operands; run-time checks are inserted after bufferization}}
  %r = kvq.merge_states ins(%p, %l : tensor<4x3x8x64xf32>, tensor<4x3x8xf32>) outs(%o : tensor<3x8x64xf32>) -> tensor<3x8x64xf32>
  return %r : tensor<3x8x64xf32>
}

// -----

func.func private @checked(%p: memref<4x3x8x64xf32>, %l: memref<4x3x8xf32>, %o: memref<3x8x64xf32>) {
  kvq.merge_states ins(%p, %l : memref<4x3x8x64xf32>, memref<4x3x8xf32>) outs(%o : memref<3x8x64xf32>)
  return
}

func.func @refers() -> ((memref<4x3x8x64xf32>, memref<4x3x8xf32>, memref<3x8x64xf32>) -> ()) {
  // expected-error @+1 {{refers to @checked, which returns a status of its run-time checks; accepted are direct calls}}
  %f = constant @checked : (memref<4x3x8x64xf32>, memref<4x3x8xf32>, memref<3x8x64xf32>) -> ()
  return %f : (memref<4x3x8x64xf32>, memref<4x3x8xf32>, memref<3x8x64xf32>) -> ()
}

// -----

// The names of the checks are taken.
func.func private @kvq_check_slots_i32()

func.func @append(%x: memref<?x2x32xf32>, %k: !kvq.cache<key, 16x2x32, bf16, NHD>, %slots: memref<?xi32>) {
  // expected-error @+1 {{needs the run-time check @kvq_check_slots_i32, but the module has another symbol of this name or of one that it calls}}
  kvq.quantize_append ins(%x : memref<?x2x32xf32>) into(%k : !kvq.cache<key, 16x2x32, bf16, NHD>) slot_mapping(%slots : memref<?xi32>)
  return
}
