// The plugin in the stock mlir-opt.
//
// DEFINE: %{load} = --load-dialect-plugin=%kvq_lib_dir/KVQPlugin.so --load-pass-plugin=%kvq_lib_dir/KVQPlugin.so
//
// RUN: mlir-opt %{load} %s | mlir-opt %{load} | FileCheck %s --check-prefix=PARSE
// RUN: mlir-opt %{load} %s --pass-pipeline="builtin.module(kvq-verify-handles)" | FileCheck %s --check-prefix=PARSE
// RUN: mlir-opt %{load} %s --pass-pipeline="builtin.module(kvq-insert-runtime-checks)" | FileCheck %s --check-prefix=CHECKS
// RUN: mlir-opt %{load} %s --pass-pipeline="builtin.module(kvq-expand-handles)" | FileCheck %s --check-prefix=EXPAND
// RUN: mlir-opt %{load} %s --pass-pipeline="builtin.module(kvq-to-cpu{reference})" | FileCheck %s --check-prefix=CPU
// RUN: mlir-opt %{load} %s --pass-pipeline="builtin.module(kvq-to-cpu)" | FileCheck %s --check-prefix=CPU
//
// Its C++ is complete: MLIR and LLVM come from mlir-opt, nothing of kvq does.
//
// RUN: llvm-nm --dynamic --undefined-only --demangle %kvq_lib_dir/KVQPlugin.so | not grep " kvq::"
// RUN: llvm-readelf --needed-libs %kvq_lib_dir/KVQPlugin.so | FileCheck %s --check-prefix=NEEDED
//
// NEEDED-NOT: {{libMLIR|libLLVM}}

// PARSE-LABEL: func @append
// PARSE: kvq.quantize_append ins(%{{.*}} : memref<?x8x128xbf16>) into(%{{.*}} : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>) slot_mapping(%{{.*}} : memref<?xi32>)

// CHECKS-DAG: @kvq_report(
// CHECKS-DAG: func.func @append({{.*}}) -> i32

// EXPAND-LABEL: func @append
// EXPAND-SAME: memref<?x16x8x128xf4E2M1FN, strided<[?, ?, ?, 1], offset: ?>>, %{{.*}}: memref<?x16x8x8xf8E4M3FN, strided<[?, ?, ?, 1], offset: ?>>, %{{.*}}: memref<f32>

// CPU-NOT: kvq.quantize_append
// CPU-NOT: unrealized_conversion_cast
// CPU-DAG: llvm.func {{.*}}@kvq_report
// CPU-DAG: llvm.func @append({{.*}}) -> i32
func.func @append(%k: !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>,
                  %x: memref<?x8x128xbf16>, %slots: memref<?xi32>) {
  kvq.quantize_append ins(%x : memref<?x8x128xbf16>)
      into(%k : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>)
      slot_mapping(%slots : memref<?xi32>)
  return
}
