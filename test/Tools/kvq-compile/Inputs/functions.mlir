// Functions that a C program calls.

func.func @dot(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = memref.load %b[%i] : memref<?xf32>
    %p = arith.mulf %x, %y : f32
    %t = arith.addf %s, %p : f32
    scf.yield %t : f32
  }
  return %sum : f32
}

func.func @fill(%x: memref<?x3xi32>, %value: i32, %flag: i1) {
  scf.if %flag {
    linalg.fill ins(%value : i32) outs(%x : memref<?x3xi32>)
  }
  return
}

func.func @range(%n: index) -> (memref<?xi64>, i8, f64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = memref.alloc(%n) : memref<?xi64>
  scf.for %i = %c0 to %n step %c1 {
    %v = arith.index_cast %i : index to i64
    memref.store %v, %x[%i] : memref<?xi64>
  }
  %byte = arith.constant -2 : i8
  %half = arith.constant 0.5 : f64
  return %x, %byte, %half : memref<?xi64>, i8, f64
}

func.func @nothing() { return }
