// RUN: kvq-opt %s -kvq-lower-fp-conversions -split-input-file -verify-diagnostics

func.func @e8m0_to_f16(%x: vector<4xf8E8M0FNU>) -> vector<4xf16> {
  // expected-error @+1 {{'arith.extf' op converts 'f8E8M0FNU' to 'f16', which has not its range; convert to f32 or bf16 instead}}
  %0 = arith.extf %x : vector<4xf8E8M0FNU> to vector<4xf16>
  return %0 : vector<4xf16>
}

// -----

func.func @rounding_mode(%x: f32) -> f4E2M1FN {
  // expected-error @+1 {{'arith.truncf' op has a rounding mode that conversions to 'f4E2M1FN' do not support; only to_nearest_even is}}
  %0 = arith.truncf %x toward_zero : f32 to f4E2M1FN
  return %0 : f4E2M1FN
}

// -----

func.func @dynamic_shape(%x: tensor<?xf32>) -> tensor<?xf8E4M3FN> {
  // expected-error @+1 {{'arith.truncf' op converts low-bit floats in 'tensor<?xf8E4M3FN>'; scalars, vectors and tensors of static shape are accepted}}
  %0 = arith.truncf %x : tensor<?xf32> to tensor<?xf8E4M3FN>
  return %0 : tensor<?xf8E4M3FN>
}

// -----

// f64 is not among the types of the pass: no error, and no change that would
// round twice.
func.func @f64(%x: f64) -> f4E2M1FN {
  %0 = arith.truncf %x : f64 to f4E2M1FN
  return %0 : f4E2M1FN
}
