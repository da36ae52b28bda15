// Near misses say why and change nothing.
// RUN: kvq-opt %s --pass-pipeline='builtin.module(func.func(kvq-raise-attention))' --split-input-file --verify-diagnostics --remarks-filter='kvq.*' -o %t.after
// RUN: kvq-opt %s --split-input-file | diff - %t.after

// Softmax over the queries.
func.func @named_other_axis(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(0) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum of the same weights along the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The sum runs over the queries.
func.func @sum_other_axis(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ek = tensor.empty() : tensor<16xf32>
  %fk = linalg.fill ins(%zero : f32) outs(%ek : tensor<16xf32>) -> tensor<16xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%fk : tensor<16xf32>) dimensions = [0]
  %tb = linalg.broadcast ins(%t : tensor<16xf32>) outs(%es : tensor<4x16xf32>) dimensions = [0]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum of the same weights along the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The maximum over the queries differs from key to key, so that it does not
// cancel.
func.func @maximum_other_axis(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %ek = tensor.empty() : tensor<16xf32>
  %fk = linalg.fill ins(%ninf : f32) outs(%ek : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fk : tensor<16xf32>) dimensions = [0]
  %mb = linalg.broadcast ins(%m : tensor<16xf32>) outs(%es : tensor<4x16xf32>) dimensions = [0]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not raised: the scores or weights have another use}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The sum is of another tensor.
func.func @sum_of_other(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %other: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%other : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum of the same weights along the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The sum starts at 1.
func.func @sum_plus_one(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %one = arith.constant 1.0 : f32
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%one : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum of the same weights along the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The scores are summed, not their exponentials.
func.func @sum_of_scores(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%s : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum of the same weights along the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The maximum is of another tensor.
func.func @maximum_of_other(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %other: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%other : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: what is subtracted from the scores is not their maximum along the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The maximum is at least 0.
func.func @maximum_from_zero(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: what is subtracted from the scores is not their maximum along the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The minimum is subtracted.
func.func @minimum(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.minimumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: what is subtracted from the scores is not their maximum along the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The sum is of exponentials without the maximum.
func.func @sum_without_maximum(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %e1 = math.exp %s : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e1 : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum of the same weights along the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Nothing is divided.
func.func @not_normalized(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by their sum}}
  %o = linalg.matmul ins(%e, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A mask after softmax.
func.func @masked_weights(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %keep: tensor<4x16xi1>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %zs = arith.constant dense<0.0> : tensor<4x16xf32>
  %w = arith.select %keep, %p, %zs : tensor<4x16xi1>, tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are changed between softmax and the product with the values}}
  %o = linalg.matmul ins(%w, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Dropout, or any other factor.
func.func @scaled_weights(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %f: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %w = arith.mulf %p, %f : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are changed between softmax and the product with the values}}
  %o = linalg.matmul ins(%w, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A constant factor.
func.func @halved_weights(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %h = arith.constant dense<0.5> : tensor<4x16xf32>
  %w = arith.mulf %p, %h : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are changed between softmax and the product with the values}}
  %o = linalg.matmul ins(%w, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Weights are multiplied with themselves.
func.func @squared_weights(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  %w = arith.mulf %p, %e : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are changed between softmax and the product with the values}}
  %o = linalg.matmul ins(%w, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Weights are divided twice.
func.func @divided_twice(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  %w = arith.divf %p, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are changed between softmax and the product with the values}}
  %o = linalg.matmul ins(%w, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A scale that differs from key to key.
func.func @scale_by_key(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %f: tensor<16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fb = linalg.broadcast ins(%f : tensor<16xf32>) outs(%es : tensor<4x16xf32>) dimensions = [0]
  %s1 = arith.mulf %s, %fb : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s1 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the scores are multiplied by a number that differs from key to key}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// And by division.
func.func @divided_by_key(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %f: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %s1 = arith.divf %s, %f : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s1 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the scores are multiplied by a number that differs from key to key}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A bias under the soft-cap.
func.func @mask_before_softcap(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %bias: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %c = arith.constant dense<30.0> : tensor<4x16xf32>
  %s1 = arith.addf %s, %bias : tensor<4x16xf32>
  %s2 = arith.divf %s1, %c : tensor<4x16xf32>
  %s3 = math.tanh %s2 : tensor<4x16xf32>
  %s4 = arith.mulf %s3, %c : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s4 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: scores are masked before the soft-cap}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A soft-cap below 0.
func.func @negative_softcap(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %c = arith.constant dense<30.0> : tensor<4x16xf32>
  %s1 = math.tanh %s : tensor<4x16xf32>
  %s2 = arith.mulf %s1, %c : tensor<4x16xf32>
  %s3 = arith.negf %s2 : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s3 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: a tanh of the scores is not multiplied by a positive constant, or there are two}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A soft-cap that is not a constant.
func.func @variable_softcap(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %cap: f32) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %c = tensor.splat %cap : tensor<4x16xf32>
  %s1 = math.tanh %s : tensor<4x16xf32>
  %s2 = arith.mulf %s1, %c : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s2 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: a tanh of the scores is not multiplied by a positive constant, or there are two}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Two soft-caps.
func.func @two_softcaps(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %s1 = math.tanh %s : tensor<4x16xf32>
  %s2 = math.tanh %s1 : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s2 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: a tanh of the scores is not multiplied by a positive constant, or there are two}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A bias under a scale that is not known.
func.func @mask_before_scale(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %scale: f32, %bias: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %c = tensor.splat %scale : tensor<4x16xf32>
  %s1 = arith.addf %s, %bias : tensor<4x16xf32>
  %s2 = arith.mulf %s1, %c : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s2 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: scores are masked before they are multiplied by a number that is not a constant}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A masked score of 0 counts.
func.func @fill_zero(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %keep: tensor<4x16xi1>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fill = arith.constant dense<0.0> : tensor<4x16xf32>
  %s1 = arith.select %keep, %s, %fill : tensor<4x16xi1>, tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s1 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: where scores are masked there is 0.000000, expected -inf or a number below -9000}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A masked score of -100 is not low enough.
func.func @fill_high(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %keep: tensor<4x16xi1>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fill = arith.constant dense<-100.0> : tensor<4x16xf32>
  %s1 = arith.select %keep, %s, %fill : tensor<4x16xi1>, tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s1 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: where scores are masked there is -100.000000, expected -inf or a number below -9000}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// What is there for a masked score is not a constant.
func.func @fill_unknown(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %keep: tensor<4x16xi1>, %fill: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %s1 = arith.select %keep, %s, %fill : tensor<4x16xi1>, tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s1 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: where scores are masked there is no constant, expected -inf or a number below -9000}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A row of which no key is kept gives the mean of the values.
func.func @masked_rows(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %keep: tensor<4x16xi1>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fill = arith.constant dense<-1.0e9> : tensor<4x16xf32>
  %s1 = arith.select %keep, %s, %fill : tensor<4x16xi1>, tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s1 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not raised: masked scores are -1000000000.000000, so that a row without keys gives the mean of the values}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Scores are added to a tensor.
func.func @scores_accumulate(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %init: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the product of queries and keys is added to a tensor that is not 0}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A residual in the outs of the last product.
func.func @result_accumulates(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %init: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the product of weights and values is added to a tensor that is not 0}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The scores are a result.
func.func @scores_returned(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not raised: the scores or weights have another use}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %s : tensor<4x8xf32>, tensor<4x16xf32>
}

// -----

// The weights are a result.
func.func @weights_returned(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not raised: the scores or weights have another use}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %p : tensor<4x8xf32>, tensor<4x16xf32>
}

// -----

// The sum of the weights is a result.
func.func @sum_returned(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fm = linalg.fill ins(%ninf : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce {arith.maximumf} ins(%s : tensor<4x16xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %x = arith.subf %s, %mb : tensor<4x16xf32>
  %e = math.exp %x : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  // expected-remark@+1 {{is not raised: the scores or weights have another use}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %t : tensor<4x8xf32>, tensor<4xf32>
}

// -----

// Another operation on the scores.
func.func @absolute_scores(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %s1 = math.absf %s : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s1 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: math.absf between the product of queries and keys and softmax is neither scale, soft-cap nor mask}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A clamp.
func.func @clamped_scores(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %low = arith.constant dense<-3.40282347E+38> : tensor<4x16xf32>
  %s1 = arith.maximumf %s, %low : tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s1 : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: arith.maximumf between the product of queries and keys and softmax is neither scale, soft-cap nor mask}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Weights are summed over the queries.
func.func @transposed_weights(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %eo16 = tensor.empty() : tensor<16x8xf32>
  %fo16 = linalg.fill ins(%zero : f32) outs(%eo16 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: the weights are not divided by the sum of the same weights along the keys}}
  %o = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %q : tensor<4x16xf32>, tensor<4x8xf32>) outs(%fo16 : tensor<16x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %out, %x : f32
    linalg.yield %y : f32
  } -> tensor<16x8xf32>
  return %o : tensor<16x8xf32>
}

// -----

// The values do not differ from key to key.
func.func @values_without_keys(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: its operands are not queries, keys and values}}
  %o = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%p, %q : tensor<4x16xf32>, tensor<4x8xf32>) outs(%fo : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %out, %x : f32
    linalg.yield %y : f32
  } -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The keys do not differ along head_dim.
func.func @keys_without_head_dim(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %k1: tensor<16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%q, %k1 : tensor<4x8xf32>, tensor<16xf32>) outs(%fs : tensor<4x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %x = arith.mulf %a, %b : f32
    %y = arith.addf %out, %x : f32
    linalg.yield %y : f32
  } -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark@+1 {{is not attention: its operands are not queries, keys and values}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// No exponential: nothing is near to attention, and nothing is said.
func.func @relu(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %zs = arith.constant dense<0.0> : tensor<4x16xf32>
  %e = arith.maximumf %s, %zs : tensor<4x16xf32>
  %ft = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %t = linalg.reduce {arith.addf} ins(%e : tensor<4x16xf32>) outs(%ft : tensor<4xf32>) dimensions = [1]
  %tb = linalg.broadcast ins(%t : tensor<4xf32>) outs(%es : tensor<4x16xf32>) dimensions = [1]
  %p = arith.divf %e, %tb : tensor<4x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A softmax of what is no product.
func.func @one_product(%q: tensor<4x8xf32>, %k: tensor<8x16xf32>, %v: tensor<16x8xf32>, %other: tensor<4x16xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<4x16xf32>
  %eo = tensor.empty() : tensor<4x8xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x16xf32>) outs(%fs : tensor<4x16xf32>) -> tensor<4x16xf32>
  %p = linalg.softmax dimension(1) ins(%other : tensor<4x16xf32>) outs(%es : tensor<4x16xf32>) -> tensor<4x16xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%fo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Double precision.
func.func @double(%q: tensor<4x8xf64>, %k: tensor<8x16xf64>, %v: tensor<16x8xf64>) -> tensor<4x8xf64> {
  %zero = arith.constant 0.0 : f64
  %es = tensor.empty() : tensor<4x16xf64>
  %eo = tensor.empty() : tensor<4x8xf64>
  %fs = linalg.fill ins(%zero : f64) outs(%es : tensor<4x16xf64>) -> tensor<4x16xf64>
  %fo = linalg.fill ins(%zero : f64) outs(%eo : tensor<4x8xf64>) -> tensor<4x8xf64>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf64>, tensor<8x16xf64>) outs(%fs : tensor<4x16xf64>) -> tensor<4x16xf64>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x16xf64>) outs(%es : tensor<4x16xf64>) -> tensor<4x16xf64>
  // expected-remark@+1 {{is not raised: its elements are f64, accepted are f32, f16 and bf16}}
  %o = linalg.matmul ins(%p, %v : tensor<4x16xf64>, tensor<16x8xf64>) outs(%fo : tensor<4x8xf64>) -> tensor<4x8xf64>
  return %o : tensor<4x8xf64>
}

// -----

// A classifier with constant weights.
func.func @constant_keys(%q: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %zero = arith.constant 0.0 : f32
  %k = arith.constant dense<[[0.5, 1.0, 1.5], [2.0, 2.5, 3.0]]> : tensor<2x3xf32>
  %v = arith.constant dense<[[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]]> : tensor<3x2xf32>
  %es = tensor.empty() : tensor<4x3xf32>
  %eo = tensor.empty() : tensor<4x2xf32>
  %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<4x3xf32>) -> tensor<4x3xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x2xf32>) -> tensor<4x2xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x2xf32>, tensor<2x3xf32>) outs(%fs : tensor<4x3xf32>) -> tensor<4x3xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x3xf32>) outs(%es : tensor<4x3xf32>) -> tensor<4x3xf32>
  // expected-remark@+1 {{is not raised: keys and values are constants}}
  %o = linalg.matmul ins(%p, %v : tensor<4x3xf32>, tensor<3x2xf32>) outs(%fo : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %o : tensor<4x2xf32>
}
