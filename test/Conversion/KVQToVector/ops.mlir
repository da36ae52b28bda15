// RUN: kvq-opt %s -convert-kvq-to-vector -canonicalize -cse -split-input-file | FileCheck %s --implicit-check-not='kvq.{{[a-z]*(quantize|append|attention|merge|gather|pages)}}'
// RUN: kvq-opt %s -convert-kvq-to-vector -kvq-expand-handles -canonicalize -kvq-legalize-storage -split-input-file | FileCheck %s --check-prefix=BYTES

!k = !kvq.cache<key, 16x2x128, nvfp4, HND, linear>
!v = !kvq.cache<value, 16x2x64, fp8, NHD>

// The plan, the items, and the merge of the ranges.
// CHECK-LABEL: func.func @decode(
// CHECK:         %[[G:.*]] = kvq.cache_global_scale
// CHECK:         memref.load %[[G]][]
// CHECK:         memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?xindex>
// CHECK:         scf.for
// CHECK:         memref.alloc(%{{.*}}) {alignment = 64 : i64} : memref<?x32x64xf32>
// CHECK:         scf.parallel (%{{.*}}, %{{.*}}, %{{.*}}) =
// A key of 128 elements is 64 bytes and 8 scales, which lanes of 4 share.
// CHECK:           memref.prefetch
// CHECK:           %[[S:.*]] = vector.load {{.*}} : memref<?x2x16x8xf8E4M3FN{{.*}}>, vector<8xf8E4M3FN>
// CHECK:           %[[D:.*]] = vector.load {{.*}} : memref<?x2x16x128xf4E2M1FN{{.*}}>, vector<128xf4E2M1FN>
// CHECK:           vector.bitcast %[[D]] : vector<128xf4E2M1FN> to vector<32xi16>
// CHECK:           arith.extf %{{.*}} : vector<32xf16> to vector<32xf32>
// CHECK:           vector.shuffle {{.*}} [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7] : vector<8xf32>, vector<8xf32>
// Four rows by four keys.
// CHECK:           scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-16:    math.fma
// CHECK:           vector.load {{.*}} : memref<?x16x2x64xf8E4M3FN{{.*}}>, vector<32xf8E4M3FN>
// CHECK:         scf.parallel (%{{.*}}, %{{.*}}) =
// CHECK:           math.log
// CHECK:         memref.dealloc
// CHECK:         return

// The keys are loaded as bytes and never taken apart into nibbles.
// BYTES-LABEL: func.func @decode(
// BYTES:         vector.load {{.*}} : memref<?x2x16x64xi8{{.*}}>, vector<64xi8>
// BYTES-NOT:     vector.interleave
// BYTES-NOT:     i4
// BYTES:         vector.bitcast {{.*}} : vector<64xi8> to vector<32xi16>
// BYTES:         return
func.func @decode(%q: memref<?x1x8x128xbf16>, %k: !k, %v: !v, %bt: memref<?x?xi32>, %len: memref<?xi32>,
    %scale: f32, %o: memref<?x1x8x64xbf16>, %lse: memref<?x1x8xf32>) {
  kvq.dequant_attention ins(%q : memref<?x1x8x128xbf16>) caches(%k, %v : !k, !v)
      block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>) scale(%scale)
      outs(%o, %lse : memref<?x1x8x64xbf16>, memref<?x1x8xf32>) {options = #kvq.attention<causal>}
  return
}

// -----

!vt = !kvq.cache<value, 16x1x32, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token, global_scale>, NHD, linear>
!kt = !kvq.cache<key, 16x1x32, mxfp8, NHD, linear>

// With kv_split the chunks are the operation's: no workspace and no merge. A
// format with blocks along the tokens is read element by element.
// CHECK-LABEL: func.func @split(
// CHECK-NOT:     memref<?xindex>
// CHECK:         scf.parallel
// CHECK-NOT:     scf.parallel
// CHECK:           %[[E:.*]] = memref.load {{.*}} : memref<?x16x1x32xf4E2M1FN{{.*}}>
// CHECK:         return
// BYTES-LABEL: func.func @split(
func.func @split(%q: memref<1x1x1x32xf32>, %k: !kt, %v: !vt, %bt: memref<1x?xi32>, %len: memref<1xi32>,
    %scale: f32, %o: memref<?x1x1x1x32xf32>, %lse: memref<?x1x1x1xf32>) {
  kvq.dequant_attention ins(%q : memref<1x1x1x32xf32>) caches(%k, %v : !kt, !vt)
      block_table(%bt : memref<1x?xi32>) seq_lens(%len : memref<1xi32>) scale(%scale)
      outs(%o, %lse : memref<?x1x1x1x32xf32>, memref<?x1x1x1xf32>) {kv_split = 64}
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>

// A row and head at a time; a block is a vector, and its bytes are stored whole.
// CHECK-LABEL: func.func @quantize_append(
// CHECK:         scf.parallel (%{{.*}}, %{{.*}}) =
// CHECK:           scf.if
// CHECK:             scf.for
// CHECK:               vector.load {{.*}} : memref<?x8x128xbf16>, vector<16xbf16>
// CHECK:               vector.reduction <maxui>
// CHECK:               memref.store {{.*}} : memref<?x16x8x8xf8E4M3FN
// CHECK:               arith.truncf {{.*}} : vector<16xf32> to vector<16xf4E2M1FN>
// CHECK:               vector.store
// BYTES-LABEL: func.func @quantize_append(
// BYTES:         vector.store {{.*}} : memref<?x16x8x64xi8{{.*}}>, vector<8xi8>
func.func @quantize_append(%k: !k, %x: memref<?x8x128xbf16>, %slots: memref<?xi64>) {
  kvq.quantize_append ins(%x : memref<?x8x128xbf16>) into(%k : !k) slot_mapping(%slots : memref<?xi64>)
  return
}

// -----

!k = !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>

// Half of the channels rotate, by vectors of a block: one of each half.
// CHECK-LABEL: func.func @rope(
// CHECK:         scf.for
// CHECK:           scf.if %{{.*}} -> (vector<16xf32>)
// CHECK-COUNT-2:     vector.load {{.*}} : memref<?x8x128xf16>, vector<16xf16>
// CHECK-COUNT-2:     vector.load {{.*}} : memref<?x32xf32>, vector<16xf32>
// CHECK:           } else {
// CHECK:             vector.load {{.*}} : memref<?x8x128xf16>, vector<16xf16>
// CHECK:           vector.reduction <maxui>
func.func @rope(%k: !k, %x: memref<?x8x128xf16>, %slots: memref<?xi64>, %cos: memref<?x32xf32>, %sin: memref<?x32xf32>) {
  kvq.quantize_append ins(%x : memref<?x8x128xf16>) into(%k : !k) slot_mapping(%slots : memref<?xi64>) rope(%cos, %sin : memref<?x32xf32>, memref<?x32xf32>)
  return
}

// -----

!k = !kvq.cache<key, 16x8x96, mxfp4, HND, linear>

// CHECK-LABEL: func.func @copies(
// CHECK-COUNT-3: scf.parallel
// CHECK-NOT:     scf.parallel
// CHECK:         return
// BYTES-LABEL: func.func @copies(
// BYTES:         vector.load {{.*}}, vector<16xi8>
// BYTES:         vector.store {{.*}}, vector<16xi8>
func.func @copies(%k: !k, %d: memref<?x8x96xf4E2M1FN>, %s: memref<?x8x3xf8E8M0FNU>, %bt: memref<?x?xi32>, %pos: memref<?xi32>,
    %len: memref<?xi32>, %gd: memref<?x?x8x96xf4E2M1FN>, %gs: memref<?x?x8x3xf8E8M0FNU>) {
  kvq.append ins(%d, %s : memref<?x8x96xf4E2M1FN>, memref<?x8x3xf8E8M0FNU>) into(%k : !k)
      block_table(%bt : memref<?x?xi32>) positions(%pos : memref<?xi32>)
  kvq.gather cache(%k : !k) block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>)
      outs(%gd, %gs : memref<?x?x8x96xf4E2M1FN>, memref<?x?x8x3xf8E8M0FNU>)
  kvq.copy_pages from(%k) to(%k) src_pages(%pos : memref<?xi32>) dst_pages(%len : memref<?xi32>) : !k
  return
}
