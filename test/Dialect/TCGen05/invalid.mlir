// RUN: kvq-opt %s --split-input-file --verify-diagnostics

func.func @f(%s: memref<1xi32, #gpu.address_space<workgroup>>) {
  // expected-error @+1 {{op takes 1 indices into 'memref<1xi32, #gpu.address_space<workgroup>>', found 0}}
  kvq_tcgen05.alloc %s columns(64) : memref<1xi32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%s: memref<1xi32>, %i: index) {
  // expected-error @+1 {{op operand #0 must be memref or LLVM pointer of shared memory, but got 'memref<1xi32>'}}
  kvq_tcgen05.alloc %s[%i] columns(64) : memref<1xi32>
  return
}

// -----

func.func @f(%s: memref<1xi64, 3>, %i: index) {
  // expected-error @+1 {{op the slot of the address is an i32, found 'memref<1xi64, 3>'}}
  kvq_tcgen05.alloc %s[%i] columns(64) : memref<1xi64, 3>
  return
}

// -----

func.func @f(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{op an allocation has 32, 64, 128, 256 or 512 columns, found 48}}
  kvq_tcgen05.alloc %s columns(48) : !llvm.ptr<3>
  return
}

// -----

func.func @f(%s: !llvm.ptr<3>) {
  // expected-error @+1 {{op an allocation has 32, 64, 128, 256 or 512 columns, found 1024}}
  kvq_tcgen05.alloc %s columns(1024) : !llvm.ptr<3>
  return
}

// -----

func.func @f(%b: i32) {
  // expected-error @+1 {{op an allocation has 32, 64, 128, 256 or 512 columns, found 16}}
  kvq_tcgen05.dealloc %b columns(16)
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{op attribute 'cta_group' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 1 whose maximum value is 2}}
  kvq_tcgen05.relinquish {cta_group = 3 : i64}
  return
}

// -----

func.func @f(%b: i32) {
  // expected-error @+1 {{op '!kvq_tcgen05.tmem<128x16xf32>' begins at a multiple of 2 columns, found 3}}
  %0 = kvq_tcgen05.region %b at 3 : !kvq_tcgen05.tmem<128x16xf32>
  return
}

// -----

func.func @f(%b: i32) {
  // expected-error @+1 {{op '!kvq_tcgen05.tmem<128x16xf16>' begins at a multiple of 4 columns, found 6}}
  %0 = kvq_tcgen05.region %b at 6 : !kvq_tcgen05.tmem<128x16xf16>
  return
}

// -----

func.func @f(%b: i32) {
  // expected-error @+1 {{op '!kvq_tcgen05.scales<128x8xf8E4M3FN>' begins at a multiple of 2 columns, found 5}}
  %0 = kvq_tcgen05.region %b at 5 : !kvq_tcgen05.scales<128x8xf8E4M3FN>
  return
}

// -----

func.func @f(%b: i32) {
  // expected-error @+1 {{op columns 504 to 519 reach beyond the 512 of tensor memory}}
  %0 = kvq_tcgen05.region %b at 504 : !kvq_tcgen05.tmem<128x16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x16xf32>) {
  // expected-error @+1 {{op releases what a kvq_tcgen05.region of the function makes}}
  kvq_tcgen05.release %r : !kvq_tcgen05.tmem<128x16xf32>
  return
}

// -----

func.func @f(%b: i32, %p: i1) {
  %r = kvq_tcgen05.region %b : !kvq_tcgen05.tmem<128x16xf32>
  scf.if %p {
    // expected-error @+1 {{op belongs in the block of the region}}
    kvq_tcgen05.release %r : !kvq_tcgen05.tmem<128x16xf32>
  }
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<64x128xf32, folded>) {
  // expected-error @+1 {{op a folded region has no slices, found '!kvq_tcgen05.tmem<64x128xf32, folded>'}}
  %0 = kvq_tcgen05.slice %r[0] : !kvq_tcgen05.tmem<64x128xf32, folded> to !kvq_tcgen05.tmem<64x64xf32, folded>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>) {
  // expected-error @+1 {{op a slice differs from its source in the number of columns only, found '!kvq_tcgen05.tmem<128x64xf32>' and '!kvq_tcgen05.tmem<128x16xi32>'}}
  %0 = kvq_tcgen05.slice %r[0] : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x16xi32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.scales<128x8xf8E4M3FN>) {
  // expected-error @+1 {{op a slice differs from its source in the number of columns only}}
  %0 = kvq_tcgen05.slice %r[0] : !kvq_tcgen05.scales<128x8xf8E4M3FN> to !kvq_tcgen05.scales<64x4xf8E4M3FN>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>) {
  // expected-error @+1 {{op columns 56 to 71 are not all among the 64 of the source}}
  %0 = kvq_tcgen05.slice %r[56] : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>) {
  // expected-error @+1 {{op column 3 does not begin a multiple of 2 columns of 32 bits}}
  %0 = kvq_tcgen05.slice %r[3] : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf16>) {
  // expected-error @+1 {{op column 4 does not begin a multiple of 4 columns of 32 bits}}
  %0 = kvq_tcgen05.slice %r[4] : !kvq_tcgen05.tmem<128x64xf16> to !kvq_tcgen05.tmem<128x16xf16>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.scales<128x8xf8E4M3FN>) {
  // expected-error @+1 {{op column 2 does not begin a multiple of 2 columns of 32 bits}}
  %0 = kvq_tcgen05.slice %r[2] : !kvq_tcgen05.scales<128x8xf8E4M3FN> to !kvq_tcgen05.scales<128x4xf8E4M3FN>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>) {
  // expected-error @+1 {{op takes one column, a value or a number}}
  %0 = "kvq_tcgen05.slice"(%r) : (!kvq_tcgen05.tmem<128x64xf32>) -> !kvq_tcgen05.tmem<128x16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>) {
  // expected-error @+1 {{op '!kvq_tcgen05.tmem<128x65xf32>' takes 65 columns of 32 bits, the source has 64}}
  %0 = kvq_tcgen05.cast %r : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x65xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<64x64xf32>) {
  // expected-error @+1 {{op '!kvq_tcgen05.tmem<128x16xf32>' has lanes that '!kvq_tcgen05.tmem<64x64xf32>' has not}}
  %0 = kvq_tcgen05.cast %r : !kvq_tcgen05.tmem<64x64xf32> to !kvq_tcgen05.tmem<128x16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>) {
  // expected-error @+1 {{op '!kvq_tcgen05.tmem<128x16xf16>' begins at a multiple of 4 columns, '!kvq_tcgen05.tmem<128x64xf32>' at one of 2}}
  %0 = kvq_tcgen05.cast %r : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x16xf16>
  return
}

// -----

func.func @f(%m: memref<64xi4, 3>) {
  // expected-error @+1 {{op needs a memref of whole bytes, found 'memref<64xi4, 3>'}}
  %0 = kvq_tcgen05.make_tile %m : memref<64xi4, 3> to !kvq_tcgen05.tile<8x16xf16, k, none>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x128xf16, k, b128>) {
  // expected-error @+1 {{op a part has the elements, the layout and the strides of its source, stride = 1024 and leading = 16384, found}}
  %0 = kvq_tcgen05.slice_tile %t[0, 0] : !kvq_tcgen05.tile<128x128xf16, k, b128> to !kvq_tcgen05.tile<64x128xf16, k, b128>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x128xf16, k, b128>) {
  // expected-error @+1 {{op a part of 128 by 64 at 0, 96 is not inside 128 by 128}}
  %0 = kvq_tcgen05.slice_tile %t[0, 96] : !kvq_tcgen05.tile<128x128xf16, k, b128> to !kvq_tcgen05.tile<128x64xf16, k, b128>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x128xf16, k, b128>) {
  // expected-error @+1 {{op a part of a K-major tile begins at a multiple of 8 rows and 16 bytes, found row 4 and element 0 of 16 bits}}
  %0 = kvq_tcgen05.slice_tile %t[4, 0] : !kvq_tcgen05.tile<128x128xf16, k, b128> to !kvq_tcgen05.tile<64x128xf16, k, b128, leading = 16384>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x128xf16, k, b128>) {
  // expected-error @+1 {{op a part of a K-major tile begins at a multiple of 8 rows and 16 bytes, found row 0 and element 4 of 16 bits}}
  %0 = kvq_tcgen05.slice_tile %t[0, 4] : !kvq_tcgen05.tile<128x128xf16, k, b128> to !kvq_tcgen05.tile<128x64xf16, k, b128>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x128xf16, k, b128>) {
  // expected-error @+1 {{op a part that begins inside a pattern of 128 bytes does not reach beyond it}}
  %0 = kvq_tcgen05.slice_tile %t[0, 16] : !kvq_tcgen05.tile<128x128xf16, k, b128> to !kvq_tcgen05.tile<128x64xf16, k, b128>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x32xf16, mn, b128>) {
  // expected-error @+1 {{op a part of an MN-major tile begins at a multiple of 64 rows and 8 along K, found row 0 and element 4}}
  %0 = kvq_tcgen05.slice_tile %t[0, 4] : !kvq_tcgen05.tile<128x32xf16, mn, b128> to !kvq_tcgen05.tile<128x16xf16, mn, b128, leading = 4096>
  return
}

// -----

func.func @f(%m: memref<4xi32, 3>, %i: index) {
  // expected-error @+1 {{op an mbarrier is an i64, found 'memref<4xi32, 3>'}}
  kvq_tcgen05.commit %m[%i] : memref<4xi32, 3>
  return
}

// -----

func.func @f(%m: memref<4xi64, 3>, %i: index) {
  // expected-error @+1 {{op takes 1 indices into 'memref<4xi64, 3>', found 2}}
  kvq_tcgen05.commit %m[%i, %i] : memref<4xi64, 3>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op moves vectors of one dimension, found 'vector<2x8xf32>'}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<2x8xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op moves words of i32 or the elements of '!kvq_tcgen05.tmem<128x64xf32>', found 'vector<16xf16>'}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf16>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf4E2M1FN, byte>, %w: i32, %x: index) {
  // expected-error @+1 {{op moves words of i32 of '!kvq_tcgen05.tmem<128x64xf4E2M1FN, byte>', found 'vector<64xf4E2M1FN>'}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf4E2M1FN, byte> -> vector<64xf4E2M1FN>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf16, word>, %w: i32, %x: index) {
  // expected-error @+1 {{op moves words of i32 where each element has a column, found 'vector<16xf16>'}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf16, word> -> vector<16xf16>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op packs regions with word packing, found '!kvq_tcgen05.tmem<128x64xf32>'}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w) pack {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_32x32b moves a power of two from 1 to 128 registers, found 'vector<12xf32>'}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<12xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x256xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_32x32b moves a power of two from 1 to 128 registers, found 'vector<256xf32>'}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<128x256xf32> -> vector<256xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_16x128b moves a power of two from 2 to 128 registers, found 'vector<1xf32>'}}
  %0 = kvq_tcgen05.load shape_16x128b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<1xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_16x256b moves a power of two from 4 to 128 registers, found 'vector<2xf32>'}}
  %0 = kvq_tcgen05.load shape_16x256b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<2xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_16x32bx2, and only it, has a split}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w)  {split = 8 : i64} : !kvq_tcgen05.tmem<128x64xf32> -> vector<8xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_16x32bx2, and only it, has a split}}
  %0 = kvq_tcgen05.load shape_16x32bx2 %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<8xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf16, word>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_16x32bx2 does not pack: what its split then counts is not documented}}
  %0 = kvq_tcgen05.load shape_16x32bx2 %r[0] warp(%w) pack {split = 8 : i64} : !kvq_tcgen05.tmem<128x64xf16, word> -> vector<8xf16>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op the split is not negative, found -8}}
  %0 = kvq_tcgen05.load shape_16x32bx2 %r[0] warp(%w)  {split = -8 : i64} : !kvq_tcgen05.tmem<128x64xf32> -> vector<8xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf16>, %w: i32, %x: index) {
  // expected-error @+1 {{op column 1 does not begin a column of 32 bits}}
  %0 = kvq_tcgen05.load shape_32x32b %r[1] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf16> -> vector<16xf16>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op column -2 does not begin a column of 32 bits}}
  %0 = kvq_tcgen05.load shape_32x32b %r[-2] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_16x64b begins at an even column, found 3}}
  %0 = kvq_tcgen05.load shape_16x64b %r[3] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<8xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_16x128b begins at an even column, found 1}}
  %0 = kvq_tcgen05.load shape_16x128b %r[1] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<8xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op moves 32 columns from 40 on, the region has 64}}
  %0 = kvq_tcgen05.load shape_32x32b %r[40] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<32xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op moves 32 columns from 40 on, the region has 64}}
  %0 = kvq_tcgen05.load shape_16x256b %r[40] warp(%w)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op moves 16 columns from 56 on, the region has 64}}
  %0 = kvq_tcgen05.load shape_16x32bx2 %r[0] warp(%w)  {split = 56 : i64} : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf16, word>, %w: i32, %x: index) {
  // expected-error @+1 {{op moves 32 columns from 48 on, the region has 64}}
  %0 = kvq_tcgen05.load shape_32x32b %r[48] warp(%w) pack {} : !kvq_tcgen05.tmem<128x64xf16, word> -> vector<32xf16>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_32x32b begins at lane 0, found 16}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w)  {lane = 16 : i64} : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op shape_16x64b begins at lane 0 or 16, found 8}}
  %0 = kvq_tcgen05.load shape_16x64b %r[0] warp(%w)  {lane = 8 : i64} : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<64x64xf32, scattered, lane = 16>, %w: i32, %x: index) {
  // expected-error @+1 {{op a scattered region at lane 16 takes shapes of 16 lanes at that lane, found shape_16x64b at 0}}
  %0 = kvq_tcgen05.load shape_16x64b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<64x64xf32, scattered, lane = 16> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<64x64xf32, scattered>, %w: i32, %x: index) {
  // expected-error @+1 {{op a scattered region at lane 0 takes shapes of 16 lanes at that lane, found shape_32x32b at 0}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%w)  {} : !kvq_tcgen05.tmem<64x64xf32, scattered> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op needs the warp, as the region has lanes of several}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0]   {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  %c = arith.constant 4 : i32
  // expected-error @+1 {{op the warp is 0 to 3, found 4}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%c)  {} : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<64x8xf32, lane = 64>, %w: i32, %x: index) {
  %c = arith.constant 1 : i32
  // expected-error @+1 {{op warp 1 reaches lanes 32 to 63, of which '!kvq_tcgen05.tmem<64x8xf32, lane = 64>' has none}}
  %0 = kvq_tcgen05.load shape_32x32b %r[0] warp(%c)  {} : !kvq_tcgen05.tmem<64x8xf32, lane = 64> -> vector<8xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %x: index) {
  // expected-error @+1 {{op takes one column, a value or a number}}
  %0 = "kvq_tcgen05.load"(%r, %x, %w) <{operandSegmentSizes = array<i32: 1, 1, 1>, shape = #kvq_tcgen05<access_shape shape_32x32b>, static_column = 4 : i64}> : (!kvq_tcgen05.tmem<128x64xf32>, index, i32) -> vector<8xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %v: vector<32xf32>) {
  // expected-error @+1 {{op moves 32 columns from 40 on, the region has 64}}
  kvq_tcgen05.store shape_32x32b %v to %r[40] warp(%w) : vector<32xf32>, !kvq_tcgen05.tmem<128x64xf32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x64xf32>, %w: i32, %v: vector<32xf32>) {
  // expected-error @+1 {{op packs regions with word packing}}
  kvq_tcgen05.store shape_32x32b %v to %r[0] warp(%w) unpack : vector<32xf32>, !kvq_tcgen05.tmem<128x64xf32>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<64x8xf16, k, none>, %r: !kvq_tcgen05.tmem<128x8xf16>) {
  // expected-error @+1 {{op multicast warpx2_02_13 or warpx2_01_23 goes with shape_64x128b, found none with shape_64x128b}}
  kvq_tcgen05.copy shape_64x128b %t to %r  : !kvq_tcgen05.tile<64x8xf16, k, none> to !kvq_tcgen05.tmem<128x8xf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x8xf16, k, none>, %r: !kvq_tcgen05.tmem<128x8xf16>) {
  // expected-error @+1 {{op multicast warpx2_02_13 or warpx2_01_23 goes with shape_64x128b, found warpx2_02_13 with shape_128x128b}}
  kvq_tcgen05.copy shape_128x128b %t to %r multicast warpx2_02_13 : !kvq_tcgen05.tile<128x8xf16, k, none> to !kvq_tcgen05.tmem<128x8xf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<32x8xf16, k, none>, %r: !kvq_tcgen05.tmem<128x8xf16>) {
  // expected-error @+1 {{op multicast warpx4 goes with shape_32x128b, found none with shape_32x128b}}
  kvq_tcgen05.copy shape_32x128b %t to %r  : !kvq_tcgen05.tile<32x8xf16, k, none> to !kvq_tcgen05.tmem<128x8xf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x8xf16, k, none>, %r: !kvq_tcgen05.tmem<128x8xf16>) {
  // expected-error @+1 {{op multicast warpx4 goes with shape_32x128b, found warpx4 with shape_128x128b}}
  kvq_tcgen05.copy shape_128x128b %t to %r multicast warpx4 : !kvq_tcgen05.tile<128x8xf16, k, none> to !kvq_tcgen05.tmem<128x8xf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x16xf16, mn, b128>, %r: !kvq_tcgen05.tmem<128x16xf16>) {
  // expected-error @+1 {{op copies K-major tiles, found '!kvq_tcgen05.tile<128x16xf16, mn, b128>'}}
  kvq_tcgen05.copy shape_128x256b %t to %r  : !kvq_tcgen05.tile<128x16xf16, mn, b128> to !kvq_tcgen05.tmem<128x16xf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<64x16xf16, k, none>, %r: !kvq_tcgen05.tmem<128x16xf16>) {
  // expected-error @+1 {{op shape_128x256b copies 128 rows, found 64}}
  kvq_tcgen05.copy shape_128x256b %t to %r  : !kvq_tcgen05.tile<64x16xf16, k, none> to !kvq_tcgen05.tmem<128x16xf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x8xf16, k, none>, %r: !kvq_tcgen05.tmem<128x16xf16>) {
  // expected-error @+1 {{op shape_128x256b copies multiples of 32 bytes of a row, found 16}}
  kvq_tcgen05.copy shape_128x256b %t to %r  : !kvq_tcgen05.tile<128x8xf16, k, none> to !kvq_tcgen05.tmem<128x16xf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x16xf16, k, none>, %r: !kvq_tcgen05.tmem<128x16xbf16>) {
  // expected-error @+1 {{op copies to words of i32 or elements of 'f16' with dense packing, found '!kvq_tcgen05.tmem<128x16xbf16>'}}
  kvq_tcgen05.copy shape_128x256b %t to %r  : !kvq_tcgen05.tile<128x16xf16, k, none> to !kvq_tcgen05.tmem<128x16xbf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x32xf4E2M1FN, k, none, padded>, %r: !kvq_tcgen05.tmem<128x32xf4E2M1FN>) {
  // expected-error @+1 {{op copies to words of i32 or elements of 'f4E2M1FN' with byte packing, found '!kvq_tcgen05.tmem<128x32xf4E2M1FN>'}}
  kvq_tcgen05.copy shape_128x256b %t to %r  : !kvq_tcgen05.tile<128x32xf4E2M1FN, k, none, padded> to !kvq_tcgen05.tmem<128x32xf4E2M1FN>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x16xf16, k, none>, %r: !kvq_tcgen05.tmem<64x16xf16>) {
  // expected-error @+1 {{op copies to regions of 128 lanes, found '!kvq_tcgen05.tmem<64x16xf16>'}}
  kvq_tcgen05.copy shape_128x256b %t to %r  : !kvq_tcgen05.tile<128x16xf16, k, none> to !kvq_tcgen05.tmem<64x16xf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x32xf16, k, none>, %r: !kvq_tcgen05.tmem<128x16xf16>) {
  // expected-error @+1 {{op copies 16 columns, the region has 8}}
  kvq_tcgen05.copy shape_128x256b %t to %r  : !kvq_tcgen05.tile<128x32xf16, k, none> to !kvq_tcgen05.tmem<128x16xf16>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.tile<128x16xf16, k, none>, %r: !kvq_tcgen05.tmem<128x8xi32>) {
  // expected-error @+1 {{op shape_128x256b copies to a multiple of 4 columns, '!kvq_tcgen05.tmem<128x8xi32>' begins at one of 2}}
  kvq_tcgen05.copy shape_128x256b %t to %r  : !kvq_tcgen05.tile<128x16xf16, k, none> to !kvq_tcgen05.tmem<128x8xi32>
  return
}

// -----

func.func @f(%t: !kvq_tcgen05.scale_tile<128x8xf8E4M3FN>, %r: !kvq_tcgen05.scales<128x4xf8E4M3FN>) {
  // expected-error @+1 {{op copies scales of one shape and type, found '!kvq_tcgen05.scale_tile<128x8xf8E4M3FN>' and '!kvq_tcgen05.scales<128x4xf8E4M3FN>'}}
  kvq_tcgen05.copy_scales %t to %r : !kvq_tcgen05.scale_tile<128x8xf8E4M3FN> to !kvq_tcgen05.scales<128x4xf8E4M3FN>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x16xi32>) {
  // expected-error @+1 {{op shifts rows of 32 bytes, found a region of 64}}
  kvq_tcgen05.shift %r : !kvq_tcgen05.tmem<128x16xi32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<128x8xi32>) {
  // expected-error @+1 {{op shifts regions of 32 lanes, found '!kvq_tcgen05.tmem<128x8xi32>'}}
  kvq_tcgen05.shift %r : !kvq_tcgen05.tmem<128x8xi32>
  return
}

// -----

func.func @f(%r: !kvq_tcgen05.tmem<64x8xi32, scattered>) {
  // expected-error @+1 {{op shifts regions of 32 lanes, found '!kvq_tcgen05.tmem<64x8xi32, scattered>'}}
  kvq_tcgen05.shift %r : !kvq_tcgen05.tmem<64x8xi32, scattered>
  return
}
