// RUN: kvq-opt %s -kvq-lower-fp-conversions -split-input-file | FileCheck %s

// The values are tested in exact.py; here is what is touched and how.

// CHECK-LABEL: func.func @decode_e2m1(
// CHECK-SAME:    %[[X:.*]]: vector<16xf4E2M1FN>)
// CHECK-NOT:     arith.extf
// CHECK:         %[[B:.*]] = arith.bitcast %[[X]] : vector<16xf4E2M1FN> to vector<16xi4>
// CHECK:         arith.extui %[[B]] : vector<16xi4> to vector<16xi32>
// CHECK:         %[[R:.*]] = arith.bitcast %{{.*}} : vector<16xi32> to vector<16xf32>
// CHECK:         return %[[R]]
func.func @decode_e2m1(%x: vector<16xf4E2M1FN>) -> vector<16xf32> {
  %0 = arith.extf %x : vector<16xf4E2M1FN> to vector<16xf32>
  return %0 : vector<16xf32>
}

// -----

// CHECK-LABEL: func.func @encode_e4m3(
// CHECK-SAME:    %[[X:.*]]: f32)
// CHECK-NOT:     arith.truncf
// CHECK:         %[[B:.*]] = arith.bitcast %[[X]] : f32 to i32
// CHECK-DAG:     %[[MAX:.*]] = arith.constant 1138753536 : i32
// CHECK:         arith.minsi %{{.*}}, %[[MAX]] : i32
// CHECK:         %[[T:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK:         arith.bitcast %[[T]] : i8 to f8E4M3FN
func.func @encode_e4m3(%x: f32) -> f8E4M3FN {
  %0 = arith.truncf %x : f32 to f8E4M3FN
  return %0 : f8E4M3FN
}

// -----

// No arithmetic on floats but the exact conversion of small integers.
// CHECK-LABEL: func.func @no_float_arithmetic(
// CHECK-NOT:     arith.{{addf|subf|mulf|divf|cmpf|minimumf|maximumf|extf|truncf}}
// CHECK:         return
func.func @no_float_arithmetic(%a: vector<2x4xf8E4M3FN>, %b: vector<2x4xf8E8M0FNU>, %c: vector<2x4xf16>)
    -> (vector<2x4xf16>, vector<2x4xbf16>, vector<2x4xf8E8M0FNU>) {
  %0 = arith.extf %a : vector<2x4xf8E4M3FN> to vector<2x4xf16>
  %1 = arith.extf %b : vector<2x4xf8E8M0FNU> to vector<2x4xbf16>
  %2 = arith.truncf %c : vector<2x4xf16> to vector<2x4xf8E8M0FNU>
  return %0, %1, %2 : vector<2x4xf16>, vector<2x4xbf16>, vector<2x4xf8E8M0FNU>
}

// -----

// CHECK-LABEL: func.func @tensors(
// CHECK-NOT:     arith.truncf
// CHECK:         arith.bitcast %{{.*}} : tensor<8xi4> to tensor<8xf4E2M1FN>
func.func @tensors(%x: tensor<8xf32>) -> tensor<8xf4E2M1FN> {
  %0 = arith.truncf %x : tensor<8xf32> to tensor<8xf4E2M1FN>
  return %0 : tensor<8xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @bf16(
// CHECK-NOT:     arith.{{extf|truncf}}
// CHECK:         return
func.func @bf16(%x: vector<4xbf16>, %y: f32) -> (vector<4xf32>, bf16) {
  %0 = arith.extf %x : vector<4xbf16> to vector<4xf32>
  %1 = arith.truncf %y : f32 to bf16
  return %0, %1 : vector<4xf32>, bf16
}

// -----

// CHECK-LABEL: func.func @others_are_left_alone(
// CHECK:         arith.extf %{{.*}} : f16 to f32
// CHECK:         arith.truncf %{{.*}} : f32 to f16
// CHECK:         arith.extf %{{.*}} : f32 to f64
// CHECK:         arith.truncf %{{.*}} : f32 to f8E5M2
// CHECK:         arith.truncf %{{.*}} to_nearest_even : f64 to f32
// CHECK:         arith.truncf %{{.*}} toward_zero : f32 to bf16
func.func @others_are_left_alone(%h: f16, %f: f32, %d: f64)
    -> (f32, f16, f64, f8E5M2, f32, bf16) {
  %0 = arith.extf %h : f16 to f32
  %1 = arith.truncf %f : f32 to f16
  %2 = arith.extf %f : f32 to f64
  %3 = arith.truncf %f : f32 to f8E5M2
  %4 = arith.truncf %d to_nearest_even : f64 to f32
  %5 = arith.truncf %f toward_zero : f32 to bf16
  return %0, %1, %2, %3, %4, %5 : f32, f16, f64, f8E5M2, f32, bf16
}
