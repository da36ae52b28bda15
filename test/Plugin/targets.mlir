// Modules of kernels for targets that kvq-opt does not have.
//
// DEFINE: %{load} = --load-dialect-plugin=%kvq_lib_dir/KVQPlugin.so --load-pass-plugin=%kvq_lib_dir/KVQPlugin.so
//
// RUN: mlir-opt %{load} %s --verify-diagnostics --pass-pipeline="builtin.module(convert-kernels-to-ptx)"

// expected-error @+1 {{op has the target #rocdl.target, expected an #nvvm.target}}
gpu.module @kernels [#rocdl.target] {
}
