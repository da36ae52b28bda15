// RUN: kvq-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected rows x columns, found 1 dimensions}}
func.func private @f(!kvq_tcgen05.tmem<128xf32>)

// -----

// expected-error @+1 {{expected byte, word, scattered, folded or lane}}
func.func private @f(!kvq_tcgen05.tmem<128x16xf32, 3>)

// -----

// expected-error @+1 {{unknown parameter 'dense', expected byte, word, scattered, folded or lane}}
func.func private @f(!kvq_tcgen05.tmem<128x16xf32, dense>)

// -----

// expected-error @+1 {{expected elements of f32, tf32, f16, bf16, f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN or integers of 8, 16 or 32 bits, found 'f64'}}
func.func private @f(!kvq_tcgen05.tmem<128x16xf64>)

// -----

// expected-error @+1 {{byte packing is for elements of 4 and 6 bits, found 'f8E4M3FN'}}
func.func private @f(!kvq_tcgen05.tmem<128x16xf8E4M3FN, byte>)

// -----

// expected-error @+1 {{word packing is for elements of 16 bits, found 'f32'}}
func.func private @f(!kvq_tcgen05.tmem<128x16xf32, word>)

// -----

// expected-error @+1 {{elements of 6 bits need byte packing, found 'f6E2M3FN' without}}
func.func private @f(!kvq_tcgen05.tmem<128x16xf6E2M3FN>)

// -----

// expected-error @+1 {{a region has 32, 64, 96 or 128 rows, found 16}}
func.func private @f(!kvq_tcgen05.tmem<16x16xf32>)

// -----

// expected-error @+1 {{a region has 32, 64, 96 or 128 rows, found 160}}
func.func private @f(!kvq_tcgen05.tmem<160x16xf32>)

// -----

// expected-error @+1 {{64 rows begin at a multiple of 32 lanes and end within 128, found lane 96}}
func.func private @f(!kvq_tcgen05.tmem<64x16xf32, lane = 96>)

// -----

// expected-error @+1 {{32 rows begin at a multiple of 32 lanes and end within 128, found lane 16}}
func.func private @f(!kvq_tcgen05.tmem<32x16xf32, lane = 16>)

// -----

// expected-error @+1 {{a scattered region has 64 rows, found 128}}
func.func private @f(!kvq_tcgen05.tmem<128x16xf32, scattered>)

// -----

// expected-error @+1 {{a scattered region begins at lane 0 or 16, found lane 32}}
func.func private @f(!kvq_tcgen05.tmem<64x16xf32, scattered, lane = 32>)

// -----

// expected-error @+1 {{a folded region has 32 or 64 rows, found 128}}
func.func private @f(!kvq_tcgen05.tmem<128x16xf32, folded>)

// -----

// expected-error @+1 {{a folded region begins at lane 0, found lane 32}}
func.func private @f(!kvq_tcgen05.tmem<32x128xf32, folded, lane = 32>)

// -----

// expected-error @+1 {{the columns of a region fill words of 32 bits, found 7 elements of 8 bits}}
func.func private @f(!kvq_tcgen05.tmem<128x7xf8E4M3FN>)

// -----

// expected-error @+1 {{the columns of a region fill words of 32 bits in each fold, found 66 elements of 32 bits}}
func.func private @f(!kvq_tcgen05.tmem<32x66xf32, folded>)

// -----

// expected-error @+1 {{the columns of a region fill words of 32 bits, found 0 elements of 32 bits}}
func.func private @f(!kvq_tcgen05.tmem<128x0xf32>)

// -----

// expected-error @+1 {{tensor memory has 512 columns, the region needs 513}}
func.func private @f(!kvq_tcgen05.tmem<128x513xf32>)

// -----

// expected-error @+1 {{block scales are f8E4M3FN or f8E8M0FNU, found 'f8E5M2'}}
func.func private @f(!kvq_tcgen05.scales<128x4xf8E5M2>)

// -----

// expected-error @+1 {{scales have a multiple of 32 rows up to 256, found 16}}
func.func private @f(!kvq_tcgen05.scales<16x4xf8E4M3FN>)

// -----

// expected-error @+1 {{scales have a multiple of 32 rows up to 256, found 288}}
func.func private @f(!kvq_tcgen05.scales<288x4xf8E4M3FN>)

// -----

// expected-error @+1 {{scales have at least one column, found 0}}
func.func private @f(!kvq_tcgen05.scales<128x0xf8E4M3FN>)

// -----

// expected-error @+1 {{tensor memory has 512 columns, the scales need 516}}
func.func private @f(!kvq_tcgen05.scales<128x516xf8E4M3FN>)

// -----

// expected-error @+1 {{block scales are f8E4M3FN or f8E8M0FNU, found 'f32'}}
func.func private @f(!kvq_tcgen05.scale_tile<128x4xf32>)

// -----

// expected-error @+1 {{a scale tile has 128 or 256 rows, found 64}}
func.func private @f(!kvq_tcgen05.scale_tile<64x4xf8E4M3FN>)

// -----

// expected-error @+1 {{a scale tile has a multiple of 4 columns, found 2}}
func.func private @f(!kvq_tcgen05.scale_tile<128x2xf8E4M3FN>)

// -----

// expected-error @+1 {{expected major-ness: k or mn}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, 3>)

// -----

// expected-error @+1 {{unknown major-ness 'm', expected k or mn}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, m, none>)

// -----

// expected-error @+1 {{unknown swizzle 'b256', expected none, b32, b64, b128 or b128_atom32}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, k, b256>)

// -----

// expected-error @+1 {{unknown parameter 'lbo', expected padded, leading or stride}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, k, b128, lbo = 16>)

// -----

// expected-error @+1 {{expected padded, leading or stride}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, k, b128, 16>)

// -----

// expected-error @+1 {{stride must be positive, found 0}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, k, b128, stride = 0>)

// -----

// expected-error @+1 {{leading must be a multiple of 16 below 262144, found 24}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, k, none, leading = 24>)

// -----

// expected-error @+1 {{stride must be a multiple of 1024 below 262144, found 512}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, k, b128, stride = 512>)

// -----

// expected-error @+1 {{stride must be a multiple of 512 below 262144, found 262144}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, k, b64, stride = 262144>)

// -----

// expected-error @+1 {{padded elements are K-major, found mn}}
func.func private @f(!kvq_tcgen05.tile<128x64xf4E2M1FN, mn, b64, padded>)

// -----

// expected-error @+1 {{swizzle b128_atom32 is for MN-major tiles, found k}}
func.func private @f(!kvq_tcgen05.tile<128x64xtf32, k, b128_atom32>)

// -----

// expected-error @+1 {{expected elements of tf32, f32, f16, bf16, f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN or integers of 8 or 32 bits, found 'f64'}}
func.func private @f(!kvq_tcgen05.tile<128x64xf64, k, b64>)

// -----

// expected-error @+1 {{padding is for elements of 4 and 6 bits, found 'f16'}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, k, b64, padded>)

// -----

// expected-error @+1 {{elements of 6 bits are padded in shared memory, found 'f6E2M3FN' without}}
func.func private @f(!kvq_tcgen05.tile<128x64xf6E2M3FN, k, b64>)

// -----

// expected-error @+1 {{elements of 4 and 6 bits are K-major, found 'f4E2M1FN' in an MN-major tile}}
func.func private @f(!kvq_tcgen05.tile<128x64xf4E2M1FN, mn, b64>)

// -----

// expected-error @+1 {{MN-major elements of 32 bits, and only they, have swizzle b128_atom32, found 'tf32' with b128}}
func.func private @f(!kvq_tcgen05.tile<128x64xtf32, mn, b128>)

// -----

// expected-error @+1 {{MN-major elements of 32 bits, and only they, have swizzle b128_atom32, found 'f16' with b128_atom32}}
func.func private @f(!kvq_tcgen05.tile<128x64xf16, mn, b128_atom32>)

// -----

// expected-error @+1 {{a K-major tile has 4 rows or a multiple of 8 up to 256, found 12}}
func.func private @f(!kvq_tcgen05.tile<12x64xf16, k, b128>)

// -----

// expected-error @+1 {{a row of a K-major tile is a multiple of 16 bytes, found 4 elements of 16 bits}}
func.func private @f(!kvq_tcgen05.tile<8x4xf16, k, none>)

// -----

// expected-error @+1 {{a row of 192 bytes is no multiple of the 128 bytes of the swizzle}}
func.func private @f(!kvq_tcgen05.tile<8x96xf16, k, b128>)

// -----

// expected-error @+1 {{a column of an MN-major tile has at most 256 elements and is a multiple of 128 bytes, found 32 elements of 16 bits}}
func.func private @f(!kvq_tcgen05.tile<32x64xf16, mn, b128>)

// -----

// This holds the steps of 16 of N where an 8-bit B is MN-major (table 52).
// expected-error @+1 {{a column of an MN-major tile has at most 256 elements and is a multiple of 16 bytes, found 24 elements of 8 bits}}
func.func private @f(!kvq_tcgen05.tile<24x64xf8E4M3FN, mn, none>)

// -----

// expected-error @+1 {{an MN-major tile has a multiple of 8 along K, found 12}}
func.func private @f(!kvq_tcgen05.tile<64x12xf16, mn, b128>)

// -----

// expected-error @+1 {{an MN-major tile has a multiple of 4 along K, found 6}}
func.func private @f(!kvq_tcgen05.tile<32x6xtf32, mn, b128_atom32>)

// -----

// expected-error @+1 {{strides of 131072 and 262144 bytes do not fit a matrix descriptor}}
func.func private @f(!kvq_tcgen05.tile<16x64xf16, k, none, stride = 131072>)
