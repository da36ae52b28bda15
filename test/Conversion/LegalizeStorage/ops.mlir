// RUN: kvq-opt %s -kvq-legalize-storage -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @signature(
// CHECK-SAME:    %[[A:.*]]: memref<4x8xi8>, %[[B:.*]]: memref<?x?x?xi8, strided<[?, ?, 1], offset: ?>>
// CHECK-SAME:    %[[C:.*]]: memref<?x16xi8, strided<[32, 1], offset: 3>>, %[[D:.*]]: memref<2xi8>, %[[E:.*]]: f4E2M1FN)
// CHECK-SAME:    -> (memref<4x8xi8>, f4E2M1FN)
// CHECK:         return %[[A]], %[[E]] : memref<4x8xi8>, f4E2M1FN
func.func @signature(%a: memref<4x16xf4E2M1FN>,
                     %b: memref<?x?x?xf4E2M1FN, strided<[?, ?, 1], offset: ?>>,
                     %c: memref<?x32xf4E2M1FN, strided<[64, 1], offset: 6>>,
                     %d: memref<2xf8E8M0FNU>, %e: f4E2M1FN)
    -> (memref<4x16xf4E2M1FN>, f4E2M1FN) {
  return %a, %e : memref<4x16xf4E2M1FN>, f4E2M1FN
}

// -----

// CHECK:       func.func private @callee(memref<?x?xi8>, memref<8xi8>) -> memref<?x?xi8>
// CHECK-LABEL: func.func @calls(
// CHECK:         %[[R:.*]] = call @callee(%{{.*}}, %{{.*}}) : (memref<?x?xi8>, memref<8xi8>) -> memref<?x?xi8>
// CHECK:         %[[F:.*]] = constant @callee : (memref<?x?xi8>, memref<8xi8>) -> memref<?x?xi8>
// CHECK:         call_indirect %[[F]](%[[R]], %{{.*}}) : (memref<?x?xi8>, memref<8xi8>) -> memref<?x?xi8>
func.func private @callee(memref<?x?xf4E2M1FN>, memref<8xf8E4M3FN>) -> memref<?x?xf4E2M1FN>
func.func @calls(%a: memref<?x?xf4E2M1FN>, %b: memref<8xf8E4M3FN>) -> memref<?x?xf4E2M1FN> {
  %0 = call @callee(%a, %b) : (memref<?x?xf4E2M1FN>, memref<8xf8E4M3FN>) -> memref<?x?xf4E2M1FN>
  %f = constant @callee : (memref<?x?xf4E2M1FN>, memref<8xf8E4M3FN>) -> memref<?x?xf4E2M1FN>
  %1 = call_indirect %f(%0, %b) : (memref<?x?xf4E2M1FN>, memref<8xf8E4M3FN>) -> memref<?x?xf4E2M1FN>
  return %1 : memref<?x?xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @control_flow(
// CHECK:         scf.for {{.*}} -> (memref<8xi8>)
// CHECK:           scf.yield %{{.*}} : memref<8xi8>
// CHECK:         scf.if %{{.*}} -> (memref<8xi8>)
// CHECK:         scf.while {{.*}} : (memref<8xi8>) -> memref<8xi8>
// CHECK:           scf.condition(%{{.*}}) %{{.*}} : memref<8xi8>
// CHECK:         ^bb0(%{{.*}}: memref<8xi8>):
// CHECK:         scf.execute_region -> memref<8xi8>
// CHECK:         scf.index_switch %{{.*}} -> memref<8xi8>
// CHECK:         arith.select %{{.*}}, %{{.*}}, %{{.*}} : memref<8xi8>
// CHECK:         cf.cond_br %{{.*}}, ^bb1(%{{.*}} : memref<8xi8>), ^bb2(%{{.*}} : memref<8xi8>)
// CHECK:       ^bb1(%{{.*}}: memref<8xi8>):
// CHECK:         cf.br ^bb2(%{{.*}} : memref<8xi8>)
func.func @control_flow(%a: memref<16xf4E2M1FN>, %b: memref<16xf4E2M1FN>, %n: index, %c: i1)
    -> memref<16xf4E2M1FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (memref<16xf4E2M1FN>) {
    scf.yield %b : memref<16xf4E2M1FN>
  }
  %1 = scf.if %c -> (memref<16xf4E2M1FN>) {
    scf.yield %0 : memref<16xf4E2M1FN>
  } else {
    scf.yield %a : memref<16xf4E2M1FN>
  }
  %2 = scf.while (%x = %1) : (memref<16xf4E2M1FN>) -> memref<16xf4E2M1FN> {
    scf.condition(%c) %x : memref<16xf4E2M1FN>
  } do {
  ^bb0(%y: memref<16xf4E2M1FN>):
    scf.yield %y : memref<16xf4E2M1FN>
  }
  %3 = scf.execute_region -> memref<16xf4E2M1FN> {
    scf.yield %2 : memref<16xf4E2M1FN>
  }
  %4 = scf.index_switch %n -> memref<16xf4E2M1FN>
  case 2 {
    scf.yield %3 : memref<16xf4E2M1FN>
  }
  default {
    scf.yield %2 : memref<16xf4E2M1FN>
  }
  %5 = arith.select %c, %3, %4 : memref<16xf4E2M1FN>
  cf.cond_br %c, ^bb1(%5 : memref<16xf4E2M1FN>), ^bb2(%a : memref<16xf4E2M1FN>)
^bb1(%x: memref<16xf4E2M1FN>):
  cf.br ^bb2(%x : memref<16xf4E2M1FN>)
^bb2(%y: memref<16xf4E2M1FN>):
  return %y : memref<16xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @buffers(
// CHECK-SAME:    %[[N:.*]]: index
// CHECK:         %[[UP:.*]] = arith.addi %[[N]], %{{.*}} : index
// CHECK:         %[[HALF:.*]] = arith.shrui %[[UP]], %{{.*}} : index
// CHECK:         memref.alloc(%[[N]], %[[HALF]]) {alignment = 64 : i64} : memref<?x?xi8>
// CHECK:         memref.alloca() : memref<4x8xi8>
// CHECK:         memref.alloc(%[[N]]) : memref<?xi8>
// CHECK:         memref.cast %{{.*}} : memref<4x8xi8> to memref<?x8xi8>
// CHECK:         memref.copy %{{.*}}, %{{.*}} : memref<?x?xi8> to memref<{{4|\?}}x8xi8>
// CHECK:         memref.view %{{.*}}[%[[N]]][] : memref<?xi8> to memref<2x8xi8>
// CHECK:         memref.dealloc %{{.*}} : memref<?x?xi8>
func.func @buffers(%n: index, %raw: memref<?xi8>) -> memref<?xf8E4M3FN> {
  %a = memref.alloc(%n, %n) {alignment = 64 : i64} : memref<?x?xf4E2M1FN>
  %b = memref.alloca() : memref<4x16xf4E2M1FN>
  %c = memref.alloc(%n) : memref<?xf8E4M3FN>
  %d = memref.cast %b : memref<4x16xf4E2M1FN> to memref<?x16xf4E2M1FN>
  memref.copy %a, %d : memref<?x?xf4E2M1FN> to memref<?x16xf4E2M1FN>
  %e = memref.view %raw[%n][] : memref<?xi8> to memref<2x16xf4E2M1FN>
  memref.dealloc %a : memref<?x?xf4E2M1FN>
  return %c : memref<?xf8E4M3FN>
}

// -----

// CHECK-LABEL: func.func @subview(
// CHECK-SAME:    %[[M:.*]]: memref<8x32xi8>, %[[I:.*]]: index)
// CHECK:         memref.subview %[[M]][1, 4] [4, 8] [2, 1] : memref<8x32xi8> to memref<4x8xi8, strided<[64, 1], offset: 36>>
// CHECK:         %[[O:.*]] = arith.shrsi %[[I]], %{{.*}} : index
// CHECK:         %[[S:.*]] = arith.shrsi %[[I]], %{{.*}} : index
// CHECK:         memref.subview %[[M]][%[[I]], %[[O]]] [1, %[[S]]] [1, 1] : memref<8x32xi8> to memref<?xi8, strided<[1], offset: ?>>
func.func @subview(%m: memref<8x64xf4E2M1FN>, %i: index) {
  %0 = memref.subview %m[1, 8] [4, 16] [2, 1]
    : memref<8x64xf4E2M1FN> to memref<4x16xf4E2M1FN, strided<[128, 1], offset: 72>>
  %1 = memref.subview %m[%i, %i] [1, %i] [1, 1]
    : memref<8x64xf4E2M1FN> to memref<?xf4E2M1FN, strided<[1], offset: ?>>
  return
}

// -----

// CHECK-LABEL: func.func @shapes(
// CHECK-SAME:    %[[M:.*]]: memref<?x?xi8, strided<[?, 1], offset: ?>>, %[[F:.*]]: memref<4x16xi8>, %[[K:.*]]: index)
// CHECK:         %[[D0:.*]] = memref.dim %[[M]], %c0
// CHECK:         %[[B:.*]] = memref.dim %[[M]], %c1
// CHECK:         %[[D1:.*]] = arith.muli %[[B]], %c2
// CHECK:         %[[X:.*]] = memref.dim %[[M]], %[[K]]
// CHECK:         %[[L:.*]] = arith.cmpi eq, %[[K]], %{{.*}} : index
// CHECK:         %[[T:.*]] = arith.muli %[[X]], %{{.*}} : index
// CHECK:         %[[D2:.*]] = arith.select %[[L]], %[[T]], %[[X]] : index
// CHECK:         memref.expand_shape %[[F]] {{\[}}[0], [1, 2]] output_shape [4, 2, 8] : memref<4x16xi8> into memref<4x2x8xi8>
// CHECK:         memref.collapse_shape %[[F]] {{\[}}[0, 1]] : memref<4x16xi8> into memref<64xi8>
// CHECK:         memref.transpose %{{.*}} : memref<4x2x8xi8> to memref<2x4x8xi8, strided<[8, 16, 1]>>
// CHECK:         memref.extract_aligned_pointer_as_index %[[F]] : memref<4x16xi8> -> index
// CHECK:         memref.assume_alignment %[[F]], 16 : memref<4x16xi8>
// CHECK:         memref.memory_space_cast %[[F]] : memref<4x16xi8> to memref<4x16xi8, 1>
// CHECK:         return %[[D0]], %[[D1]], %[[D2]]
func.func @shapes(%m: memref<?x?xf4E2M1FN, strided<[?, 1], offset: ?>>, %f: memref<4x32xf4E2M1FN>, %k: index)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = memref.dim %m, %c0 : memref<?x?xf4E2M1FN, strided<[?, 1], offset: ?>>
  %d1 = memref.dim %m, %c1 : memref<?x?xf4E2M1FN, strided<[?, 1], offset: ?>>
  %d2 = memref.dim %m, %k : memref<?x?xf4E2M1FN, strided<[?, 1], offset: ?>>
  %e = memref.expand_shape %f [[0], [1, 2]] output_shape [4, 2, 16]
    : memref<4x32xf4E2M1FN> into memref<4x2x16xf4E2M1FN>
  %g = memref.collapse_shape %f [[0, 1]] : memref<4x32xf4E2M1FN> into memref<128xf4E2M1FN>
  %t = memref.transpose %e (i, j, k) -> (j, i, k)
    : memref<4x2x16xf4E2M1FN> to memref<2x4x16xf4E2M1FN, strided<[16, 32, 1]>>
  %p = memref.extract_aligned_pointer_as_index %f : memref<4x32xf4E2M1FN> -> index
  %q = memref.assume_alignment %f, 16 : memref<4x32xf4E2M1FN>
  %s = memref.memory_space_cast %f : memref<4x32xf4E2M1FN> to memref<4x32xf4E2M1FN, 1>
  return %d0, %d1, %d2 : index, index, index
}

// -----

// CHECK-LABEL: func.func @metadata(
// CHECK-SAME:    %[[M:.*]]: memref<?x?xi8, strided<[?, 1], offset: ?>>)
// CHECK:         %[[B:.*]], %[[O:.*]], %[[S:.*]]:2, %[[T:.*]]:2 = memref.extract_strided_metadata %[[M]]
// CHECK-SAME:      -> memref<i8>, index, index, index, index, index
// CHECK:         %[[O2:.*]] = arith.muli %[[O]], %{{.*}} : index
// CHECK:         %[[S2:.*]] = arith.muli %[[S]]#1, %{{.*}} : index
// CHECK:         %[[T2:.*]] = arith.muli %[[T]]#0, %{{.*}} : index
// CHECK:         memref.reinterpret_cast %[[B]] to offset: [8], sizes: [4, 8], strides: [16, 1] : memref<i8> to memref<4x8xi8, strided<[16, 1], offset: 8>>
// CHECK:         return %[[O2]], %[[S]]#0, %[[S2]], %[[T2]], %
func.func @metadata(%m: memref<?x?xf4E2M1FN, strided<[?, 1], offset: ?>>)
    -> (index, index, index, index, index) {
  %b, %o, %s:2, %t:2 = memref.extract_strided_metadata %m
    : memref<?x?xf4E2M1FN, strided<[?, 1], offset: ?>>
    -> memref<f4E2M1FN>, index, index, index, index, index
  %r = memref.reinterpret_cast %b to offset: [16], sizes: [4, 16], strides: [32, 1]
    : memref<f4E2M1FN> to memref<4x16xf4E2M1FN, strided<[32, 1], offset: 16>>
  return %o, %s#0, %s#1, %t#0, %t#1 : index, index, index, index, index
}

// -----

// CHECK: memref.global "private" constant @nibbles : memref<2x2xi8> = dense<{{\[}}[16, 50], [-36, -2]]>
// CHECK: memref.global @splat : memref<3xi8> = dense<56>
// CHECK: memref.global @bytes : memref<2xi8> = dense<[127, -1]>
// CHECK: memref.global @unset : memref<4xi8> = uninitialized
// CHECK: memref.global "private" @extern : memref<4xi8>
memref.global "private" constant @nibbles : memref<2x4xf4E2M1FN> =
  dense<[[0.0, 0.5, 1.0, 1.5], [-2.0, -3.0, -4.0, -6.0]]>
memref.global @splat : memref<3xf8E4M3FN> = dense<1.0>
memref.global @bytes : memref<2xf8E8M0FNU> = dense<[1.0, 0xFF]>
memref.global @unset : memref<8xf4E2M1FN> = uninitialized
memref.global "private" @extern : memref<8xf4E2M1FN>
// CHECK: memref.get_global @nibbles : memref<2x2xi8>
func.func @use() {
  %0 = memref.get_global @nibbles : memref<2x4xf4E2M1FN>
  return
}

// -----

// CHECK-LABEL: func.func @element(
// CHECK-SAME:    %[[M:.*]]: memref<4x8xi8>, %[[I:.*]]: index, %[[J:.*]]: index)
// CHECK:         %[[BYTE:.*]] = arith.shrui %[[J]], %{{.*}} : index
// CHECK:         %[[ODD:.*]] = arith.andi %[[J]], %{{.*}} : index
// CHECK:         %[[BITS:.*]] = arith.shli %[[ODD]], %{{.*}} : index
// CHECK:         %[[SHIFT:.*]] = arith.index_cast %[[BITS]] : index to i8
// CHECK:         %[[X:.*]] = memref.load %[[M]][%[[I]], %[[BYTE]]] : memref<4x8xi8>
// CHECK:         %[[D:.*]] = arith.shrui %[[X]], %[[SHIFT]] : i8
// CHECK:         %[[N:.*]] = arith.trunci %[[D]] : i8 to i4
// CHECK:         arith.bitcast %[[N]] : i4 to f4E2M1FN
// CHECK:         memref.load %[[M]]
// CHECK:         arith.andi
// CHECK:         arith.ori
// CHECK:         memref.store %{{.*}}, %[[M]]
func.func @element(%m: memref<4x16xf4E2M1FN>, %i: index, %j: index) {
  %0 = memref.load %m[%i, %j] : memref<4x16xf4E2M1FN>
  memref.store %0, %m[%j, %i] : memref<4x16xf4E2M1FN>
  return
}

// -----

// CHECK-LABEL: func.func @vectors(
// CHECK-SAME:    %[[M:.*]]: memref<?x64xi8>, %[[I:.*]]: index)
// CHECK:         %[[X:.*]] = vector.load %[[M]][%[[I]], %{{.*}}] : memref<?x64xi8>, vector<8xi8>
// CHECK:         %[[H:.*]] = arith.shrui %[[X]], %{{.*}} : vector<8xi8>
// CHECK:         vector.interleave %[[X]], %[[H]] : vector<8xi8> -> vector<16xi8>
// CHECK-NOT:     vector.load
// CHECK:         vector.deinterleave
// CHECK:         vector.store %{{.*}}, %[[M]][%[[I]], %{{.*}}] : memref<?x64xi8>, vector<8xi8>
// An odd or unknown index: element by element.
// CHECK-COUNT-2: memref.load %[[M]]
// CHECK:         vector.from_elements %{{.*}}, %{{.*}} : vector<2xf4E2M1FN>
// CHECK-COUNT-2: memref.store %{{.*}}, %[[M]]
func.func @vectors(%m: memref<?x128xf4E2M1FN>, %i: index) {
  %c16 = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %j0 = arith.muli %i, %c16 : index
  %j = arith.addi %j0, %c8 : index
  %0 = vector.load %m[%i, %j] : memref<?x128xf4E2M1FN>, vector<16xf4E2M1FN>
  vector.store %0, %m[%i, %j] : memref<?x128xf4E2M1FN>, vector<16xf4E2M1FN>
  %1 = vector.load %m[%i, %i] : memref<?x128xf4E2M1FN>, vector<2xf4E2M1FN>
  vector.store %1, %m[%i, %i] : memref<?x128xf4E2M1FN>, vector<2xf4E2M1FN>
  return
}

// -----

// Loops with even bounds and step have even induction variables.
// CHECK-LABEL: func.func @loop(
// CHECK:         vector.load %{{.*}} : memref<64xi8>, vector<8xi8>
func.func @loop(%m: memref<128xf4E2M1FN>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  scf.for %i = %c0 to %c128 step %c16 {
    %0 = vector.load %m[%i] : memref<128xf4E2M1FN>, vector<16xf4E2M1FN>
    vector.store %0, %m[%i] : memref<128xf4E2M1FN>, vector<16xf4E2M1FN>
  }
  return
}

// -----

// CHECK-LABEL: func.func @bytes(
// CHECK:         vector.maskedload %{{.*}} : memref<64xi8>, vector<4xi1>, vector<4xi8> into vector<4xi8>
// CHECK:         vector.gather %{{.*}} : memref<64xi8>, vector<4xindex>, vector<4xi1>, vector<4xi8> into vector<4xi8>
// CHECK:         vector.maskedstore %{{.*}} : memref<64xi8>, vector<4xi1>, vector<4xi8>
// CHECK:         vector.transfer_read %{{.*}} : memref<64xi8>, vector<4xi8>
// CHECK:         vector.transfer_write %{{.*}} : vector<4xi8>, memref<64xi8>
func.func @bytes(%m: memref<64xf8E4M3FN>, %i: index, %mask: vector<4xi1>, %at: vector<4xindex>,
                 %x: vector<4xf8E4M3FN>, %pad: f8E4M3FN) {
  %0 = vector.maskedload %m[%i], %mask, %x
    : memref<64xf8E4M3FN>, vector<4xi1>, vector<4xf8E4M3FN> into vector<4xf8E4M3FN>
  %1 = vector.gather %m[%i] [%at], %mask, %0
    : memref<64xf8E4M3FN>, vector<4xindex>, vector<4xi1>, vector<4xf8E4M3FN> into vector<4xf8E4M3FN>
  vector.maskedstore %m[%i], %mask, %1 : memref<64xf8E4M3FN>, vector<4xi1>, vector<4xf8E4M3FN>
  %2 = vector.transfer_read %m[%i], %pad : memref<64xf8E4M3FN>, vector<4xf8E4M3FN>
  vector.transfer_write %2, %m[%i] : vector<4xf8E4M3FN>, memref<64xf8E4M3FN>
  return
}

// -----

// Other memrefs and low-bit values outside memrefs are left alone.
// CHECK-LABEL: func.func @untouched(
// CHECK-SAME:    memref<4xf32>, %{{.*}}: memref<?xi4>, %{{.*}}: vector<4xf4E2M1FN>, %{{.*}}: memref<4xf8E5M2>)
func.func @untouched(%a: memref<4xf32>, %b: memref<?xi4>, %c: vector<4xf4E2M1FN>, %d: memref<4xf8E5M2>)
    -> memref<*xf32> {
  %0 = memref.cast %a : memref<4xf32> to memref<*xf32>
  return %0 : memref<*xf32>
}

// -----

// CHECK-LABEL: func.func @unreachable(
// CHECK-SAME:    memref<8xi8> {llvm.noalias}) -> memref<8xi8>
// CHECK-NOT:     f4E2M1FN
func.func @unreachable(%a: memref<16xf4E2M1FN> {llvm.noalias})
    -> memref<16xf4E2M1FN> {
  return %a : memref<16xf4E2M1FN>
^bb1(%b: memref<16xf4E2M1FN>):
  return %b : memref<16xf4E2M1FN>
}

// -----

// Who takes the bits as integers gets those of the bytes; others the elements.
// CHECK-LABEL: func.func @bits(
// CHECK-SAME:    %[[A:.*]]: memref<4x16xi8>, %[[I:.*]]: index)
// CHECK:         %[[B:.*]] = vector.load %[[A]][%[[I]], %{{.*}}] : memref<4x16xi8>, vector<16xi8>
// CHECK-NOT:     vector.interleave
// CHECK:         vector.bitcast %[[B]] : vector<16xi8> to vector<8xi16>
// CHECK:         %[[C:.*]] = vector.load {{.*}}, vector<8xi8>
// CHECK:         vector.bitcast %[[C]] : vector<8xi8> to vector<2xi32>
// CHECK:         vector.interleave %[[C]]
func.func @bits(%a: memref<4x32xf4E2M1FN>, %i: index) -> (vector<8xi16>, vector<2xi32>, vector<16xf4E2M1FN>) {
  %c0 = arith.constant 0 : index
  %0 = vector.load %a[%i, %c0] : memref<4x32xf4E2M1FN>, vector<32xf4E2M1FN>
  %1 = vector.bitcast %0 : vector<32xf4E2M1FN> to vector<8xi16>
  %2 = vector.load %a[%i, %c0] : memref<4x32xf4E2M1FN>, vector<16xf4E2M1FN>
  %3 = vector.bitcast %2 : vector<16xf4E2M1FN> to vector<2xi32>
  return %1, %3, %2 : vector<8xi16>, vector<2xi32>, vector<16xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @prefetch(
// CHECK-SAME:    %[[A:.*]]: memref<4x16xi8>, %[[I:.*]]: index)
// CHECK:         %[[J:.*]] = arith.shrui %[[I]]
// CHECK:         memref.prefetch %[[A]][%[[I]], %[[J]]], read, locality<3>, data : memref<4x16xi8>
func.func @prefetch(%a: memref<4x32xf4E2M1FN>, %i: index) {
  memref.prefetch %a[%i, %i], read, locality<3>, data : memref<4x32xf4E2M1FN>
  return
}
