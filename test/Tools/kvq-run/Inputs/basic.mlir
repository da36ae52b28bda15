// Functions of each kind of signature, for the tests of kvq-run.

// Multiplies the first %n rows by %s, in place.
func.func @scale_rows(%x: memref<?x4xf32>, %s: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j] : memref<?x4xf32>
      %w = arith.mulf %v, %s : f32
      memref.store %w, %x[%i, %j] : memref<?x4xf32>
    }
  }
  return
}

// A tensor, and scalars of two sizes.
func.func @add(%a: tensor<?xf32>, %b: tensor<?xf32>)
    -> (i1, tensor<?xf32>, f32, i64) {
  %true = arith.constant true
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>)
                  outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %k = arith.index_cast %n : index to i64
  %f = tensor.extract %r[%c0] : tensor<?xf32>
  return %true, %r, %f, %k : i1, tensor<?xf32>, f32, i64
}

// Results that are an argument, twice, and a constant.
func.func @alias(%a: tensor<?xf32>)
    -> (tensor<?xf32>, tensor<?xf32>, tensor<2xi32>) {
  %c = arith.constant dense<[7, 8]> : tensor<2xi32>
  return %a, %a, %c : tensor<?xf32>, tensor<?xf32>, tensor<2xi32>
}

func.func @return_tensor(%a: tensor<2x3xf64>) -> tensor<3x2xf64> {
  %e = tensor.empty() : tensor<3x2xf64>
  %t = linalg.transpose ins(%a : tensor<2x3xf64>) outs(%e : tensor<3x2xf64>)
      permutation = [1, 0]
  return %t : tensor<3x2xf64>
}

func.func @twice_i8(%a: i8) -> i8 {
  %r = arith.addi %a, %a : i8
  return %r : i8
}

func.func @store_f16(%a: f16, %o: memref<f16>) {
  memref.store %a, %o[] : memref<f16>
  return
}

func.func @store_bf16(%a: bf16, %o: memref<2xbf16>) {
  %c1 = arith.constant 1 : index
  memref.store %a, %o[%c1] : memref<2xbf16>
  return
}

func.func @store_f64(%a: f64, %o: memref<f64>) {
  memref.store %a, %o[] : memref<f64>
  return
}

func.func @store_i1(%a: i1, %o: memref<i1>) {
  memref.store %a, %o[] : memref<i1>
  return
}

func.func @store_i64(%a: i64, %o: memref<i64>) {
  memref.store %a, %o[] : memref<i64>
  return
}

// Nothing to do: the argument comes back.
func.func @keep_i8(%x: memref<?xi8>) { return }
func.func @keep_i32(%x: memref<?x?xi32>) { return }
func.func @keep_bf16(%x: memref<?xbf16>) { return }
func.func @keep_index(%x: memref<?xindex>) { return }
func.func @keep_scalar(%x: memref<f32>) { return }

// Swaps two elements through a layout that is not dense.
func.func @strided(%x: memref<2x3xf32, strided<[8, 2], offset: 5>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %v = memref.load %x[%c1, %c2] : memref<2x3xf32, strided<[8, 2], offset: 5>>
  %w = memref.load %x[%c0, %c1] : memref<2x3xf32, strided<[8, 2], offset: 5>>
  memref.store %v, %x[%c0, %c1] : memref<2x3xf32, strided<[8, 2], offset: 5>>
  memref.store %w, %x[%c1, %c2] : memref<2x3xf32, strided<[8, 2], offset: 5>>
  return
}

// The layout leaves the strides to the caller.
func.func @dynamic_layout(
    %x: memref<2x3xf32, strided<[?, ?], offset: ?>>) -> f32 {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %v = memref.load %x[%c1, %c2]
      : memref<2x3xf32, strided<[?, ?], offset: ?>>
  return %v : f32
}

// What the caller chose, and the last element by it.
func.func @layout_of(%x: memref<2x3xf32, strided<[?, 2], offset: ?>>)
    -> (index, index, index, f32) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %x
      : memref<2x3xf32, strided<[?, 2], offset: ?>>
      -> memref<f32>, index, index, index, index, index
  %v = memref.load %x[%c1, %c2]
      : memref<2x3xf32, strided<[?, 2], offset: ?>>
  return %offset, %strides#0, %strides#1, %v : index, index, index, f32
}

// 4-bit elements, two in a byte.
func.func @copy_rows(
    %x: memref<3x4xf4E2M1FN, strided<[?, 1], offset: ?>>,
    %y: memref<3x4xf4E2M1FN>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %v = memref.load %x[%i, %j]
          : memref<3x4xf4E2M1FN, strided<[?, 1], offset: ?>>
      memref.store %v, %y[%i, %j] : memref<3x4xf4E2M1FN>
    }
  }
  return
}

func.func @overlapping(%x: memref<2x3xf32, strided<[2, 1]>>) { return }
func.func @broadcast(%x: memref<2x3xf32, strided<[0, 1]>>) { return }

// Reports errors as lowered kvq operations do.
func.func private @kvq_report(i32, i64, i64, i64)
func.func @report(%x: memref<1xi32>, %kind: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %index = arith.constant 3 : i64
  %value = arith.constant -7 : i64
  %limit = arith.constant 100 : i64
  memref.store %kind, %x[%c0] : memref<1xi32>
  func.call @kvq_report(%kind, %index, %value, %limit)
      : (i32, i64, i64, i64) -> ()
  return %kind : i32
}

// An entry that calls other functions.
func.func private @twice(%x: i8) -> i8 {
  %r = arith.addi %x, %x : i8
  return %r : i8
}
func.func @four_times(%x: i8) -> i8 {
  %once = func.call @twice(%x) : (i8) -> i8
  %r = func.call @twice_i8(%once) : (i8) -> i8
  return %r : i8
}

// Runs on the threads of the async runtime.
func.func @parallel(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %x[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<?xf32>
    scf.reduce
  }
  return
}

// A copy that needs MLIR's runtime.
func.func @copy_columns(%x: memref<4x6xf32>, %y: memref<4x3xf32>) {
  %columns = memref.subview %x[0, 1] [4, 3] [1, 2]
      : memref<4x6xf32> to memref<4x3xf32, strided<[6, 2], offset: 1>>
  memref.copy %columns, %y
      : memref<4x3xf32, strided<[6, 2], offset: 1>> to memref<4x3xf32>
  return
}

func.func private @hidden(%x: f32) { return }
func.func private @external(%x: f32)
