// RUN: kvq-opt %s --convert-kernels-to-ptx --verify-diagnostics

// expected-error @+1 {{op has no target, expected an #nvvm.target}}
gpu.module @kernels {
}
