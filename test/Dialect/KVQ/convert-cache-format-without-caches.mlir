// RUN: kvq-opt %s --kvq-convert-cache-format="key-format=nvfp4 value-format=fp8" \
// RUN:   | FileCheck %s

// A module without anything of kvq is left alone.
// CHECK: func.func @f(%{{.*}}: f32) -> f32
func.func @f(%x: f32) -> f32 {
  return %x : f32
}
