// Errors come out of the plugin as they come out of kvq-opt.
//
// DEFINE: %{load} = --load-dialect-plugin=%kvq_lib_dir/KVQPlugin.so --load-pass-plugin=%kvq_lib_dir/KVQPlugin.so
//
// RUN: mlir-opt %{load} %s --split-input-file --verify-diagnostics --pass-pipeline="builtin.module(kvq-verify-handles)"
//
// Without the dialect plugin the types are unknown, without the pass plugin
// the passes are.
//
// RUN: not mlir-opt %s --split-input-file 2>&1 | FileCheck %s --check-prefix=NO-DIALECT
// RUN: not mlir-opt %S/load.mlir --load-dialect-plugin=%kvq_lib_dir/KVQPlugin.so --pass-pipeline="builtin.module(kvq-verify-handles)" 2>&1 | FileCheck %s --check-prefix=NO-PASS
//
// NO-DIALECT: Dialect `kvq' not found
// NO-PASS: 'kvq-verify-handles' does not refer to a registered pass

// expected-error@+1 {{scale layout interleaved_4 is of the value side, found side key}}
func.func private @interleaved(!kvq.cache<key, 16x8x128, nvfp4, NHD, interleaved_4>)

// -----

func.func @no_global_scale(%d: memref<?x16x8x128xf8E4M3FN>) {
  // expected-error@+1 {{needs global_scale}}
  %k = kvq.make_cache data(%d : memref<?x16x8x128xf8E4M3FN>) : !kvq.cache<key, 16x8x128, fp8, NHD>
  return
}

// -----

// expected-error@+1 {{argument #0 of a public function has an undecided scale layout}}
func.func @undecided(%k: !kvq.cache<key, 16x8x128, nvfp4, NHD, ?>) {
  return
}
