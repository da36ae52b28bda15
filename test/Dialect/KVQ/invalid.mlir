// RUN: kvq-opt %s --split-input-file --verify-diagnostics

func.func @quantize_needs_scales(%x: memref<7x64xf32>, %d: memref<7x64xf4E2M1FN>) {
  // expected-error @+1 {{needs scales: the format #kvq.format<mxfp4> has one}}
  kvq.quantize ins(%x : memref<7x64xf32>) outs(%d : memref<7x64xf4E2M1FN>) {format = #kvq.format<mxfp4>}
  return
}

// -----

func.func @quantize_no_global_scale(%x: memref<7x64xf32>, %g: f32, %d: memref<7x64xf4E2M1FN>, %s: memref<7x2xf8E8M0FNU>) {
  // expected-error @+1 {{has no place for global_scale: the format #kvq.format<mxfp4> has none}}
  kvq.quantize ins(%x : memref<7x64xf32>) global_scale(%g) outs(%d, %s : memref<7x64xf4E2M1FN>, memref<7x2xf8E8M0FNU>) {format = #kvq.format<mxfp4>}
  return
}

// -----

func.func @quantize_element_type(%x: memref<7x64xf32>, %d: memref<7x64xf8E4M3FN>, %s: memref<7x2xf8E8M0FNU>) {
  // expected-error @+1 {{data has element type 'f8E4M3FN', expected 'f4E2M1FN' (the element type of the format)}}
  kvq.quantize ins(%x : memref<7x64xf32>) outs(%d, %s : memref<7x64xf8E4M3FN>, memref<7x2xf8E8M0FNU>) {format = #kvq.format<mxfp4>}
  return
}

// -----

func.func @quantize_scale_type(%x: memref<7x64xf32>, %d: memref<7x64xf4E2M1FN>, %s: memref<7x2xf8E4M3FN>) {
  // expected-error @+1 {{scales has element type 'f8E4M3FN', expected 'f8E8M0FNU' (the scale type of the format)}}
  kvq.quantize ins(%x : memref<7x64xf32>) outs(%d, %s : memref<7x64xf4E2M1FN>, memref<7x2xf8E4M3FN>) {format = #kvq.format<mxfp4>}
  return
}

// -----

func.func @quantize_data_shape(%x: memref<7x64xf32>, %d: memref<7x32xf4E2M1FN>, %s: memref<7x2xf8E8M0FNU>) {
  // expected-error @+1 {{data has shape [7, 32], expected [7, 64] (the shape of the input)}}
  kvq.quantize ins(%x : memref<7x64xf32>) outs(%d, %s : memref<7x32xf4E2M1FN>, memref<7x2xf8E8M0FNU>) {format = #kvq.format<mxfp4>}
  return
}

// -----

func.func @quantize_scales_shape(%x: memref<7x64xf32>, %d: memref<7x64xf4E2M1FN>, %s: memref<7x4xf8E8M0FNU>) {
  // expected-error @+1 {{scales has shape [7, 4], expected [7, 2] (one per block of 32 elements of data)}}
  kvq.quantize ins(%x : memref<7x64xf32>) outs(%d, %s : memref<7x64xf4E2M1FN>, memref<7x4xf8E8M0FNU>) {format = #kvq.format<mxfp4>}
  return
}

// -----

func.func @quantize_block(%x: memref<7x48xf32>, %d: memref<7x48xf4E2M1FN>, %s: memref<7x1xf8E8M0FNU>) {
  // expected-error @+1 {{input has 48 elements along its innermost axis, expected a multiple of the block size 32}}
  kvq.quantize ins(%x : memref<7x48xf32>) outs(%d, %s : memref<7x48xf4E2M1FN>, memref<7x1xf8E8M0FNU>) {format = #kvq.format<mxfp4>}
  return
}

// -----

func.func @quantize_odd(%x: memref<7x5xf32>, %d: memref<7x5xf4E2M1FN>) {
  // expected-error @+1 {{input has 5 elements along its innermost axis, expected an even number}}
  kvq.quantize ins(%x : memref<7x5xf32>) outs(%d : memref<7x5xf4E2M1FN>) {format = #kvq.format<f4E2M1FN>}
  return
}

// -----

func.func @quantize_token_axis(%x: memref<16x2x64xf32>, %d: memref<16x2x64xf4E2M1FN>, %s: memref<1x2x64xf8E8M0FNU>) {
  // expected-error @+1 {{handles single rows, found blocks with axis = token; accepted is axis = head_dim}}
  kvq.quantize ins(%x : memref<16x2x64xf32>) outs(%d, %s : memref<16x2x64xf4E2M1FN>, memref<1x2x64xf8E8M0FNU>) {format = #kvq.format<f4E2M1FN, scale = f8E8M0FNU, block = 16, axis = token>}
  return
}

// -----

func.func @quantize_four_over_six(%x: memref<7x64xf32>, %d: memref<7x64xf4E2M1FN>, %s: memref<7x2xf8E8M0FNU>) {
  // expected-error @+1 {{has four_over_six with the format #kvq.format<mxfp4>, accepted is #kvq.format<nvfp4>}}
  kvq.quantize ins(%x : memref<7x64xf32>) outs(%d, %s : memref<7x64xf4E2M1FN>, memref<7x2xf8E8M0FNU>) {format = #kvq.format<mxfp4>, four_over_six}
  return
}

// -----

func.func @quantize_results(%x: tensor<7x64xf32>, %d: tensor<7x64xf4E2M1FN>, %s: memref<7x2xf8E8M0FNU>) {
  // expected-error @+1 {{has 0 results, expected 1 (one per tensor of outs)}}
  kvq.quantize ins(%x : tensor<7x64xf32>) outs(%d, %s : tensor<7x64xf4E2M1FN>, memref<7x2xf8E8M0FNU>) {format = #kvq.format<mxfp4>}
  return
}

// -----

func.func @quantize_input_type(%x: memref<7x64xf64>, %d: memref<7x64xf8E4M3FN>) {
  // expected-error @+1 {{operand #0 must be ranked tensor or memref of f32, f16 or bf16}}
  kvq.quantize ins(%x : memref<7x64xf64>) outs(%d : memref<7x64xf8E4M3FN>) {format = #kvq.format<f8E4M3FN>}
  return
}

// -----

func.func @dequantize_shape(%d: memref<3x48xf8E4M3FN>, %g: f32, %y: memref<3x32xf32>) {
  // expected-error @+1 {{data has shape [3, 48], expected [3, 32] (the shape of the output)}}
  kvq.dequantize ins(%d : memref<3x48xf8E4M3FN>) global_scale(%g) outs(%y : memref<3x32xf32>) {format = #kvq.format<fp8>}
  return
}

// -----

func.func @dequantize_global_scale(%d: memref<3x48xf8E4M3FN>, %y: memref<3x48xf32>) {
  // expected-error @+1 {{needs global_scale: the format #kvq.format<fp8> has one}}
  kvq.dequantize ins(%d : memref<3x48xf8E4M3FN>) outs(%y : memref<3x48xf32>) {format = #kvq.format<fp8>}
  return
}

// -----

func.func @convert_rank(%s: memref<16x8x8xf8E4M3FN>) {
  // expected-error @+1 {{input has rank 3, expected 4: [pages, page, heads, S] for NHD, [pages, heads, page, S] for HND}}
  kvq.convert_scale_layout ins(%s : memref<16x8x8xf8E4M3FN>) outs(%s : memref<16x8x8xf8E4M3FN>) from linear to interleaved_4 NHD
  return
}

// -----

func.func @convert_type(%s: memref<?x16x8x8xf32>) {
  // expected-error @+1 {{input has element type 'f32', expected f8E4M3FN or f8E8M0FNU}}
  kvq.convert_scale_layout ins(%s : memref<?x16x8x8xf32>) outs(%s : memref<?x16x8x8xf32>) from linear to interleaved_4 NHD
  return
}

// -----

func.func @convert_output(%s: memref<?x16x8x8xf8E4M3FN>, %t: memref<?x16x8x4xf8E4M3FN>) {
  // expected-error @+1 {{output has shape [?, 16, 8, 4], expected [?, 16, 8, 8] (the shape of the input)}}
  kvq.convert_scale_layout ins(%s : memref<?x16x8x8xf8E4M3FN>) outs(%t : memref<?x16x8x4xf8E4M3FN>) from linear to interleaved_4 NHD
  return
}

// -----

func.func @convert_output_type(%s: memref<?x16x8x8xf8E4M3FN>, %t: memref<?x16x8x8xf8E8M0FNU>) {
  // expected-error @+1 {{output has element type 'f8E8M0FNU', expected 'f8E4M3FN' (that of the input)}}
  kvq.convert_scale_layout ins(%s : memref<?x16x8x8xf8E4M3FN>) outs(%t : memref<?x16x8x8xf8E8M0FNU>) from linear to interleaved_4 NHD
  return
}

// -----

func.func @convert_undecided(%s: memref<?x16x8x8xf8E4M3FN>, %t: memref<?x16x8x8xf8E4M3FN>) {
  // expected-error @+1 {{has an undecided layout, expected linear, interleaved_4 or blocked_128x4}}
  kvq.convert_scale_layout ins(%s : memref<?x16x8x8xf8E4M3FN>) outs(%t : memref<?x16x8x8xf8E4M3FN>) from linear to undecided NHD
  return
}

// -----

// The page is the second size for NHD and the third for HND.
func.func @convert_rows(%s: memref<?x16x6x8xf8E4M3FN>, %t: memref<?x16x6x8xf8E4M3FN>) {
  kvq.convert_scale_layout ins(%s : memref<?x16x6x8xf8E4M3FN>) outs(%t : memref<?x16x6x8xf8E4M3FN>) from interleaved_4 to linear NHD
  // expected-error @+1 {{scale layout interleaved_4 needs a multiple of 4 rows of scales per page, found 6}}
  kvq.convert_scale_layout ins(%s : memref<?x16x6x8xf8E4M3FN>) outs(%t : memref<?x16x6x8xf8E4M3FN>) from interleaved_4 to linear HND
  return
}

// -----

func.func @make_no_scales(%d: memref<?x16x8x128xf4E2M1FN>, %g: memref<f32>) {
  // expected-error @+1 {{needs scales: the format #kvq.format<nvfp4> has one}}
  %k = kvq.make_cache data(%d : memref<?x16x8x128xf4E2M1FN>) global_scale(%g : memref<f32>) : !kvq.cache<key, 16x8x128, nvfp4, NHD, linear>
  return
}

// -----

func.func @make_no_global(%d: memref<?x16x8x128xf8E4M3FN>) {
  // expected-error @+1 {{needs global_scale: the format #kvq.format<fp8> has one}}
  %k = kvq.make_cache data(%d : memref<?x16x8x128xf8E4M3FN>) : !kvq.cache<key, 16x8x128, fp8, NHD>
  return
}

// -----

func.func @make_element_type(%d: memref<?x16x8x128xi8>) {
  // expected-error @+1 {{data has element type 'i8', expected 'bf16' (of the cache's format)}}
  %k = kvq.make_cache data(%d : memref<?x16x8x128xi8>) : !kvq.cache<key, 16x8x128, bf16, NHD>
  return
}

// -----

func.func @make_shape(%d: memref<?x16x8x128xbf16>) {
  // expected-error @+1 {{data has shape [?, 16, 8, 128], expected [?, 8, 16, 128] (of the cache's type)}}
  %k = kvq.make_cache data(%d : memref<?x16x8x128xbf16>) : !kvq.cache<key, 16x8x128, bf16, HND>
  return
}

// -----

func.func @make_dynamic_shape(%d: memref<?x16x?x128xbf16>) {
  // expected-error @+1 {{data has shape [?, 16, ?, 128], expected static sizes [?, 16, 8, 128] but for the number of pages}}
  %k = kvq.make_cache data(%d : memref<?x16x?x128xbf16>) : !kvq.cache<key, 16x8x128, bf16, NHD>
  return
}

// -----

func.func @make_innermost_stride(%d: memref<?x16x8x128xbf16, strided<[?, ?, 256, 2]>>) {
  // expected-error @+1 {{data has innermost stride 2, expected 1}}
  %k = kvq.make_cache data(%d : memref<?x16x8x128xbf16, strided<[?, ?, 256, 2]>>) : !kvq.cache<key, 16x8x128, bf16, NHD>
  return
}

// -----

func.func @make_odd_stride(%d: memref<?x16x8x128xf4E2M1FN, strided<[16520, 1033, 129, 1]>>, %s: memref<?x16x8x4xf8E8M0FNU>) {
  // expected-error @+1 {{data has stride 1033 in dimension 1, expected an even one for 4-bit elements}}
  %k = kvq.make_cache data(%d : memref<?x16x8x128xf4E2M1FN, strided<[16520, 1033, 129, 1]>>) scales(%s : memref<?x16x8x4xf8E8M0FNU>) : !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>
  return
}

// -----

func.func @make_odd_offset(%d: memref<?x16x8x128xf4E2M1FN, strided<[16384, 1024, 128, 1], offset: 3>>, %s: memref<?x16x8x4xf8E8M0FNU>) {
  // expected-error @+1 {{data has offset 3, expected an even one for 4-bit elements}}
  %k = kvq.make_cache data(%d : memref<?x16x8x128xf4E2M1FN, strided<[16384, 1024, 128, 1], offset: 3>>) scales(%s : memref<?x16x8x4xf8E8M0FNU>) : !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>
  return
}

// -----

#map = affine_map<(a, b, c, d) -> (a, c, b floordiv 2, d)>
func.func @make_not_strided(%d: memref<4x16x8x128xbf16, #map>) {
  // expected-error @+1 {{has no strides, expected a strided layout}}
  %k = kvq.make_cache data(%d : memref<4x16x8x128xbf16, #map>) : !kvq.cache<key, 16x8x128, bf16, NHD>
  return
}

// -----

func.func @make_pages(%d: memref<5x16x8x128xf4E2M1FN>, %s: memref<4x16x8x4xf8E8M0FNU>) {
  // expected-error @+1 {{scales has shape [4, 16, 8, 4], expected [5, ?, ?, ?] (as many pages as the data)}}
  %k = kvq.make_cache data(%d : memref<5x16x8x128xf4E2M1FN>) scales(%s : memref<4x16x8x4xf8E8M0FNU>) : !kvq.cache<key, 16x8x128, mxfp4, NHD, linear>
  return
}

// -----

func.func @make_from_tensor(%d: tensor<?x16x8x128xbf16>) {
  // expected-error @+1 {{operand #0 must be memref of any type values}}
  %k = "kvq.make_cache"(%d) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<?x16x8x128xbf16>) -> !kvq.cache<key, 16x8x128, bf16, NHD>
  return
}

// -----

func.func @accessor_type(%k: !kvq.cache<key, 16x8x128, bf16, NHD>) {
  // expected-error @+1 {{has result type 'memref<?x16x8x128xbf16>', expected 'memref<?x16x8x128xbf16, strided<[?, ?, ?, 1], offset: ?>>'}}
  %d = kvq.cache_data %k : !kvq.cache<key, 16x8x128, bf16, NHD> -> memref<?x16x8x128xbf16>
  return
}

// -----

func.func @accessor_no_scales(%k: !kvq.cache<key, 16x8x128, bf16, NHD>) {
  // expected-error @+1 {{asks for the block scales of a handle of type '!kvq.cache<key, 16x8x128, bf16, NHD>', whose format has none}}
  %d = kvq.cache_scales %k : !kvq.cache<key, 16x8x128, bf16, NHD> -> memref<?x16x8x8xf8E4M3FN>
  return
}

// -----

func.func @accessor_no_global(%k: !kvq.cache<key, 16x8x128, bf16, NHD>) {
  // expected-error @+1 {{asks for the global scale of a handle of type '!kvq.cache<key, 16x8x128, bf16, NHD>', whose format has none}}
  %d = kvq.cache_global_scale %k : !kvq.cache<key, 16x8x128, bf16, NHD> -> memref<f32>
  return
}

// -----

// expected-note @+1 {{the handle of type '!kvq.cache<key, 16x8x128, fp8, NHD>' is defined here}}
func.func @append_rows(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %d: memref<?x4x128xf8E4M3FN>, %s: memref<?xi32>) {
  // expected-error @+1 {{data has shape [?, 4, 128], expected [?, 8, 128] (rows x heads x head_dim of the handle)}}
  kvq.append ins(%d : memref<?x4x128xf8E4M3FN>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<?xi32>)
  return
}

// -----

func.func @append_no_address(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %d: memref<?x8x128xf8E4M3FN>) {
  // expected-error @+1 {{needs slot_mapping, or block_table with positions}}
  kvq.append ins(%d : memref<?x8x128xf8E4M3FN>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>)
  return
}

// -----

func.func @append_both(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %d: memref<?x8x128xf8E4M3FN>, %s: memref<?xi32>, %bt: memref<?x?xi32>) {
  // expected-error @+1 {{takes either slot_mapping or block_table with positions, found slot_mapping and block_table}}
  kvq.append ins(%d : memref<?x8x128xf8E4M3FN>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<?xi32>) block_table(%bt : memref<?x?xi32>)
  return
}

// -----

func.func @append_no_table(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %d: memref<?x8x128xf8E4M3FN>, %p: memref<?xi32>) {
  // expected-error @+1 {{has positions without block_table}}
  kvq.append ins(%d : memref<?x8x128xf8E4M3FN>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) positions(%p : memref<?xi32>)
  return
}

// -----

func.func @append_no_positions(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %d: memref<?x8x128xf8E4M3FN>, %bt: memref<?x?xi32>, %p: memref<?xi32>) {
  // expected-error @+1 {{has batch_indices without positions}}
  kvq.append ins(%d : memref<?x8x128xf8E4M3FN>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) block_table(%bt : memref<?x?xi32>) batch_indices(%p : memref<?xi32>)
  return
}

// -----

func.func @append_slots(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %d: memref<5x8x128xf8E4M3FN>, %s: memref<4xi32>) {
  // expected-error @+1 {{slot_mapping has shape [4], expected [5] (one per row)}}
  kvq.append ins(%d : memref<5x8x128xf8E4M3FN>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>)
  return
}

// -----

func.func @append_positions(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %d: memref<5x8x128xf8E4M3FN>, %bt: memref<4x?xi32>, %p: memref<5xi32>) {
  // expected-error @+1 {{positions has shape [5], expected [4] (one per sequence without batch_indices)}}
  kvq.append ins(%d : memref<5x8x128xf8E4M3FN>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) block_table(%bt : memref<4x?xi32>) positions(%p : memref<5xi32>)
  return
}

// -----

func.func @append_batch_indices(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %d: memref<5x8x128xf8E4M3FN>, %bt: memref<4x?xi32>, %p: memref<5xi32>, %b: memref<3xi32>) {
  // expected-error @+1 {{batch_indices has 3 entries, expected 5 (one per position)}}
  kvq.append ins(%d : memref<5x8x128xf8E4M3FN>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) block_table(%bt : memref<4x?xi32>) positions(%p : memref<5xi32>) batch_indices(%b : memref<3xi32>)
  return
}

// -----

func.func @append_token_axis(%k: !kvq.cache<value, 32x8x128, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token>, NHD, linear>, %d: memref<?x8x128xf32>, %s: memref<?xi32>) {
  // expected-error @+1 {{handles single rows, found blocks with axis = token; accepted is axis = head_dim}}
  kvq.quantize_append ins(%d : memref<?x8x128xf32>) into(%k : !kvq.cache<value, 32x8x128, #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token>, NHD, linear>) slot_mapping(%s : memref<?xi32>)
  return
}

// -----

// expected-note @+1 {{is defined here}}
func.func @quantize_append_rows(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<?x8x64xf16>, %s: memref<?xi32>) {
  // expected-error @+1 {{input has shape [?, 8, 64], expected [?, 8, 128] (rows x heads x head_dim of the handle)}}
  kvq.quantize_append ins(%x : memref<?x8x64xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<?xi32>)
  return
}

// -----

func.func @quantize_append_slots_type(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<?x8x128xf16>, %s: memref<?xi16>) {
  // expected-error @+1 {{must be rank-1 tensor or memref of i32 or i64}}
  kvq.quantize_append ins(%x : memref<?x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<?xi16>)
  return
}

// -----

func.func @rope_of_values(%k: !kvq.cache<value, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x64xf32>) {
  // expected-error @+1 {{has rope with a handle of type '!kvq.cache<value, 16x8x128, fp8, NHD>', accepted are handles of keys}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<value, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) rope(%c, %c : memref<4x64xf32>, memref<4x64xf32>)
  return
}

// -----

func.func @rope_rows(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<3x64xf32>) {
  // expected-error @+1 {{cos has shape [3, 64], expected [4, ?] (one row per row of the input)}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) rope(%c, %c : memref<3x64xf32>, memref<3x64xf32>)
  return
}

// -----

func.func @rope_sin_rows(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x64xf32>, %t: memref<3x64xf32>) {
  // expected-error @+1 {{sin has shape [3, 64], expected [4, 64] (one row per row of the input, columns as cos)}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) rope(%c, %t : memref<4x64xf32>, memref<3x64xf32>)
  return
}

// -----

func.func @rope_sin_columns(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x64xf32>, %t: memref<4x32xf32>) {
  // expected-error @+1 {{sin has shape [4, 32], expected [4, 64] (one row per row of the input, columns as cos)}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) rope(%c, %t : memref<4x64xf32>, memref<4x32xf32>)
  return
}

// -----

func.func @rope_wide(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x65xf32>) {
  // expected-error @+1 {{cos has shape [4, 65], expected a static number of columns from 1 to 64 (pairs of channels of a head)}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) rope(%c, %c : memref<4x65xf32>, memref<4x65xf32>)
  return
}

// -----

func.func @rope_empty(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x0xf32>) {
  // expected-error @+1 {{cos has shape [4, 0], expected a static number of columns from 1 to 64 (pairs of channels of a head)}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) rope(%c, %c : memref<4x0xf32>, memref<4x0xf32>)
  return
}

// -----

func.func @rope_dynamic(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x?xf32>) {
  // expected-error @+1 {{cos has shape [4, ?], expected a static number of columns from 1 to 64}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) rope(%c, %c : memref<4x?xf32>, memref<4x?xf32>)
  return
}

// -----

func.func @rope_dynamic_sin(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x64xf32>, %t: memref<4x?xf32>) {
  // expected-error @+1 {{sin has shape [4, ?], expected a static number of columns from 1 to 64}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) rope(%c, %t : memref<4x64xf32>, memref<4x?xf32>)
  return
}

// -----

func.func @rope_type(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x64xf16>) {
  // expected-error @+1 {{must be rank-2 tensor or memref of f32}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) rope(%c, %c : memref<4x64xf16>, memref<4x64xf16>)
  return
}

// -----

func.func @rope_style_alone(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x64xf32>) {
  // expected-error @+1 {{has rope_style without rope}}
  kvq.quantize_append ins(%x : memref<4x8x128xf16>) into(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) slot_mapping(%s : memref<4xi32>) {rope_style = #kvq<rope_style interleaved>}
  return
}

// -----

func.func @rope_one_table(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %x: memref<4x8x128xf16>, %s: memref<4xi32>, %c: memref<4x64xf32>) {
  // expected-error @+1 {{has rope with one table, expected cos and sin}}
  "kvq.quantize_append"(%x, %k, %s, %c) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, 0>}> : (memref<4x8x128xf16>, !kvq.cache<key, 16x8x128, fp8, NHD>, memref<4xi32>, memref<4x64xf32>) -> ()
  return
}

// -----

func.func @copy_pages(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %a: memref<3xi32>, %b: memref<4xi32>) {
  // expected-error @+1 {{dst_pages has shape [4], expected [3] (one per entry of src_pages)}}
  kvq.copy_pages from(%k) to(%k) src_pages(%a : memref<3xi32>) dst_pages(%b : memref<4xi32>) : !kvq.cache<key, 16x8x128, fp8, NHD>
  return
}

// -----

// expected-note @+1 {{is defined here}}
func.func @gather_shape(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %bt: memref<3x?xi32>, %len: memref<3xi32>, %d: memref<2x?x8x128xf8E4M3FN>) {
  // expected-error @+1 {{data has shape [2, ?, 8, 128], expected [3, ?, 8, 128] (sequences x L x heads x head_dim of the handle)}}
  kvq.gather cache(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) block_table(%bt : memref<3x?xi32>) seq_lens(%len : memref<3xi32>) outs(%d : memref<2x?x8x128xf8E4M3FN>)
  return
}

// -----

func.func @gather_batch(%k: !kvq.cache<key, 16x8x128, fp8, NHD>, %bt: memref<3x?xi32>, %len: memref<4xi32>, %d: memref<4x?x8x128xf8E4M3FN>) {
  // expected-error @+1 {{seq_lens has 4 entries, expected 3 (one per sequence)}}
  kvq.gather cache(%k : !kvq.cache<key, 16x8x128, fp8, NHD>) block_table(%bt : memref<3x?xi32>) seq_lens(%len : memref<4xi32>) outs(%d : memref<4x?x8x128xf8E4M3FN>)
  return
}

// -----

func.func @attention_rank(%q: memref<4x8x64xf32>, %k: memref<2x5x2x64xf32>, %o: memref<4x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{q has rank 3, expected 4: [B, Lq, heads, head_dim] without qo_indptr}}
  kvq.attention ins(%q, %k, %k : memref<4x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) scale(%scale) outs(%o : memref<4x8x64xf32>)
  return
}

// -----

func.func @attention_heads(%q: memref<2x4x7x64xf32>, %k: memref<2x5x2x64xf32>, %o: memref<2x4x7x64xf32>, %scale: f32) {
  // expected-error @+1 {{q has 7 heads, expected a multiple of the 2 KV heads}}
  kvq.attention ins(%q, %k, %k : memref<2x4x7x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) scale(%scale) outs(%o : memref<2x4x7x64xf32>)
  return
}

// -----

func.func @attention_dynamic_heads(%q: memref<2x4x?x64xf32>, %k: memref<2x5x2x64xf32>, %o: memref<2x4x?x64xf32>, %scale: f32) {
  // expected-error @+1 {{q has a dynamic number of heads, expected a static one}}
  kvq.attention ins(%q, %k, %k : memref<2x4x?x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) scale(%scale) outs(%o : memref<2x4x?x64xf32>)
  return
}

// -----

func.func @attention_v(%q: memref<2x4x8x64xf32>, %k: memref<2x5x2x64xf32>, %v: memref<2x6x2x64xf32>, %o: memref<2x4x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{v has shape [2, 6, 2, 64], expected [2, 5, 2, ?] (the keys' but for head_dim)}}
  kvq.attention ins(%q, %k, %v : memref<2x4x8x64xf32>, memref<2x5x2x64xf32>, memref<2x6x2x64xf32>) scale(%scale) outs(%o : memref<2x4x8x64xf32>)
  return
}

// -----

func.func @attention_no_heads(%q: memref<2x4x8x64xf32>, %k: memref<2x5x0x64xf32>, %o: memref<2x4x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{k has 0 heads, expected at least 1}}
  kvq.attention ins(%q, %k, %k : memref<2x4x8x64xf32>, memref<2x5x0x64xf32>, memref<2x5x0x64xf32>) scale(%scale) outs(%o : memref<2x4x8x64xf32>)
  return
}

// -----

func.func @attention_k_batch(%q: memref<3x4x8x64xf32>, %k: memref<2x5x2x64xf32>, %o: memref<3x4x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{k has shape [2, 5, 2, 64], expected [3, ?, ?, ?] (as many sequences as q)}}
  kvq.attention ins(%q, %k, %k : memref<3x4x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) scale(%scale) outs(%o : memref<3x4x8x64xf32>)
  return
}

// -----

func.func @attention_kv_offset(%q: memref<2x4x8x64xf32>, %k: memref<2x5x2x64xf32>, %o: memref<2x4x8x64xf32>, %scale: f32, %first: index) {
  // expected-error @+1 {{has kv_offset without seq_lens, which it counts from}}
  kvq.attention ins(%q, %k, %k : memref<2x4x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) scale(%scale) kv_offset(%first) outs(%o : memref<2x4x8x64xf32>)
  return
}

// -----

func.func @attention_seq_lens(%q: memref<2x4x8x64xf32>, %k: memref<2x5x2x64xf32>, %len: memref<3xi32>, %o: memref<2x4x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{seq_lens has shape [3], expected [2] (one per sequence of k)}}
  kvq.attention ins(%q, %k, %k : memref<2x4x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) seq_lens(%len : memref<3xi32>) scale(%scale) outs(%o : memref<2x4x8x64xf32>)
  return
}

// -----

func.func @attention_qo_indptr(%q: memref<7x8x64xf32>, %k: memref<2x5x2x64xf32>, %i: memref<2xi32>, %o: memref<7x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{qo_indptr has shape [2], expected [3] (one more than sequences of k)}}
  kvq.attention ins(%q, %k, %k : memref<7x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) qo_indptr(%i : memref<2xi32>) scale(%scale) outs(%o : memref<7x8x64xf32>)
  return
}

// -----

func.func @attention_output(%q: memref<2x4x8x64xf32>, %k: memref<2x5x2x64xf32>, %v: memref<2x5x2x32xf32>, %o: memref<2x4x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{output has shape [2, 4, 8, 64], expected [2, 4, 8, 32] (q's shape with the value's head_dim)}}
  kvq.attention ins(%q, %k, %v : memref<2x4x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x32xf32>) scale(%scale) outs(%o : memref<2x4x8x64xf32>)
  return
}

// -----

func.func @attention_lse(%q: memref<2x4x8x64xf32>, %k: memref<2x5x2x64xf32>, %o: memref<2x4x8x64xf32>, %l: memref<2x8x4xf32>, %scale: f32) {
  // expected-error @+1 {{lse has shape [2, 8, 4], expected [2, 4, 8] (output's without head_dim)}}
  kvq.attention ins(%q, %k, %k : memref<2x4x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) scale(%scale) outs(%o, %l : memref<2x4x8x64xf32>, memref<2x8x4xf32>)
  return
}

// -----

func.func @attention_sinks(%q: memref<2x4x8x64xf32>, %k: memref<2x5x2x64xf32>, %s: memref<2xf32>, %o: memref<2x4x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{sinks has shape [2], expected [8] (one per head)}}
  kvq.attention ins(%q, %k, %k : memref<2x4x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) scale(%scale) sinks(%s : memref<2xf32>) outs(%o : memref<2x4x8x64xf32>)
  return
}

// -----

func.func @attention_mask(%q: memref<2x4x8x64xf32>, %k: memref<2x5x2x64xf32>, %m: memref<1x8x1x4xf32>, %o: memref<2x4x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{mask has shape [1, 8, 1, 4], expected [1, 8, 1, 5] ([B or 1, heads or 1, Lq or 1, L])}}
  kvq.attention ins(%q, %k, %k : memref<2x4x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) scale(%scale) mask(%m : memref<1x8x1x4xf32>) outs(%o : memref<2x4x8x64xf32>)
  return
}

// -----

func.func @attention_ragged_mask(%q: memref<7x8x64xf32>, %k: memref<2x5x2x64xf32>, %i: memref<3xi32>, %m: memref<1x8x1x5xf32>, %o: memref<7x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{has a mask with qo_indptr, accepted is a mask with q of shape [B, Lq, heads, head_dim]}}
  kvq.attention ins(%q, %k, %k : memref<7x8x64xf32>, memref<2x5x2x64xf32>, memref<2x5x2x64xf32>) qo_indptr(%i : memref<3xi32>) scale(%scale) mask(%m : memref<1x8x1x5xf32>) outs(%o : memref<7x8x64xf32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, HND>
!v = !kvq.cache<value, 16x2x64, fp8, HND>
// expected-note @+2 {{the key handle of type '!kvq.cache<value, 16x2x64, fp8, HND>' is defined here}}
// expected-note @+1 {{the value handle of type '!kvq.cache<key, 16x2x64, fp8, HND>' is defined here}}
func.func @dequant_sides(%q: memref<2x1x8x64xf32>, %k: !k, %v: !v, %bt: memref<2x?xi32>, %len: memref<2xi32>, %o: memref<2x1x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{caches are of the sides value and key, expected key and value}}
  kvq.dequant_attention ins(%q : memref<2x1x8x64xf32>) caches(%v, %k : !v, !k) block_table(%bt : memref<2x?xi32>) seq_lens(%len : memref<2xi32>) scale(%scale) outs(%o : memref<2x1x8x64xf32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, HND>
!v = !kvq.cache<value, 16x4x64, fp8, HND>
// expected-note @+2 {{the key handle}}
// expected-note @+1 {{the value handle}}
func.func @dequant_heads(%q: memref<2x1x8x64xf32>, %k: !k, %v: !v, %bt: memref<2x?xi32>, %len: memref<2xi32>, %o: memref<2x1x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{caches have 2 and 4 heads, expected one number}}
  kvq.dequant_attention ins(%q : memref<2x1x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<2x?xi32>) seq_lens(%len : memref<2xi32>) scale(%scale) outs(%o : memref<2x1x8x64xf32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, HND>
!v = !kvq.cache<value, 32x2x64, fp8, HND>
// expected-note @+2 {{the key handle}}
// expected-note @+1 {{the value handle}}
func.func @dequant_pages(%q: memref<2x1x8x64xf32>, %k: !k, %v: !v, %bt: memref<2x?xi32>, %len: memref<2xi32>, %o: memref<2x1x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{caches have pages of 16 and 32 tokens, expected one size, as they share a block_table}}
  kvq.dequant_attention ins(%q : memref<2x1x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<2x?xi32>) seq_lens(%len : memref<2xi32>) scale(%scale) outs(%o : memref<2x1x8x64xf32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, HND>
!v = !kvq.cache<value, 16x2x64, fp8, HND>
func.func @dequant_qk(%q: memref<2x1x8x64xf32>, %k: !k, %v: !v, %bt: memref<2x?xi32>, %len: memref<2xi32>, %o: memref<2x1x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{qk is block_scaled, which needs 4-bit elements with block scales, found the format #kvq.format<fp8>}}
  kvq.dequant_attention ins(%q : memref<2x1x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<2x?xi32>) seq_lens(%len : memref<2xi32>) scale(%scale) outs(%o : memref<2x1x8x64xf32>) {qk = #kvq.mma_kind<block_scaled, terms = 1>}
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, nvfp4, HND, linear>
!v = !kvq.cache<value, 16x2x64, nvfp4, HND, linear>
func.func @dequant_pv(%q: memref<2x1x8x64xf32>, %k: !k, %v: !v, %bt: memref<2x?xi32>, %len: memref<2xi32>, %o: memref<2x1x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{pv is block_scaled, which needs blocks with axis = token, found axis = head_dim}}
  kvq.dequant_attention ins(%q : memref<2x1x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<2x?xi32>) seq_lens(%len : memref<2xi32>) scale(%scale) outs(%o : memref<2x1x8x64xf32>) {pv = #kvq.mma_kind<block_scaled, terms = 1>}
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, HND>
!v = !kvq.cache<value, 16x2x64, fp8, HND>
func.func @dequant_split(%q: memref<2x1x8x64xf32>, %k: !k, %v: !v, %bt: memref<2x?xi32>, %len: memref<2xi32>, %o: memref<3x2x1x8x64xf32>, %l: memref<3x2x1x8xf32>, %scale: f32) {
  // expected-error @+1 {{kv_split is 0, expected at least 1}}
  kvq.dequant_attention ins(%q : memref<2x1x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<2x?xi32>) seq_lens(%len : memref<2xi32>) scale(%scale) outs(%o, %l : memref<3x2x1x8x64xf32>, memref<3x2x1x8xf32>) {kv_split = 0 : i64}
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, HND>
!v = !kvq.cache<value, 16x2x64, fp8, HND>
func.func @dequant_split_lse(%q: memref<2x1x8x64xf32>, %k: !k, %v: !v, %bt: memref<2x?xi32>, %len: memref<2xi32>, %o: memref<3x2x1x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{has kv_split without lse in outs, which merge_states needs}}
  kvq.dequant_attention ins(%q : memref<2x1x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<2x?xi32>) seq_lens(%len : memref<2xi32>) scale(%scale) outs(%o : memref<3x2x1x8x64xf32>) {kv_split = 64 : i64}
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, HND>
!v = !kvq.cache<value, 16x2x64, fp8, HND>
// expected-note @+1 {{the handle of type '!kvq.cache<key, 16x2x64, fp8, HND>' is defined here}}
func.func @dequant_head_dim(%q: memref<2x1x8x32xf32>, %k: !k, %v: !v, %bt: memref<2x?xi32>, %len: memref<2xi32>, %o: memref<2x1x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{q has shape [2, 1, 8, 32], expected [2, 1, 8, 64] (sequences, and the head_dim of the keys)}}
  kvq.dequant_attention ins(%q : memref<2x1x8x32xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<2x?xi32>) seq_lens(%len : memref<2xi32>) scale(%scale) outs(%o : memref<2x1x8x64xf32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, HND>
!v = !kvq.cache<value, 16x2x64, fp8, HND>
func.func @dequant_indptr(%q: memref<7x8x64xf32>, %k: !k, %v: !v, %bt: memref<2x?xi32>, %len: memref<2xi32>, %i: memref<2xi32>, %o: memref<7x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{qo_indptr has 2 entries, expected 3 (one more than sequences)}}
  kvq.dequant_attention ins(%q : memref<7x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<2x?xi32>) seq_lens(%len : memref<2xi32>) qo_indptr(%i : memref<2xi32>) scale(%scale) outs(%o : memref<7x8x64xf32>)
  return
}

// -----

func.func @merge_rank(%p: memref<4x8x64xf32>, %l: memref<4x8xf32>, %o: memref<1x8x64xf32>) {
  // expected-error @+1 {{partial output has rank 3, expected 4 or 5: [C, ..., heads, head_dim]}}
  kvq.merge_states ins(%p, %l : memref<4x8x64xf32>, memref<4x8xf32>) outs(%o : memref<1x8x64xf32>)
  return
}

// -----

func.func @merge_type(%p: memref<4x3x8x64xf16>, %l: memref<4x3x8xf32>, %o: memref<3x8x64xf32>) {
  // expected-error @+1 {{partial output has element type 'f16', expected f32}}
  kvq.merge_states ins(%p, %l : memref<4x3x8x64xf16>, memref<4x3x8xf32>) outs(%o : memref<3x8x64xf32>)
  return
}

// -----

func.func @merge_lse(%p: memref<4x3x8x64xf32>, %l: memref<3x3x8xf32>, %o: memref<3x8x64xf32>) {
  // expected-error @+1 {{partial lse has shape [3, 3, 8], expected [4, 3, 8] (the partial output's without head_dim)}}
  kvq.merge_states ins(%p, %l : memref<4x3x8x64xf32>, memref<3x3x8xf32>) outs(%o : memref<3x8x64xf32>)
  return
}

// -----

func.func @merge_output(%p: memref<4x3x8x64xf32>, %l: memref<4x3x8xf32>, %o: memref<4x8x64xf32>) {
  // expected-error @+1 {{output has shape [4, 8, 64], expected [3, 8, 64] (the partial output's without chunks)}}
  kvq.merge_states ins(%p, %l : memref<4x3x8x64xf32>, memref<4x3x8xf32>) outs(%o : memref<4x8x64xf32>)
  return
}

// -----

func.func @merge_output_lse(%p: memref<4x3x8x64xf32>, %l: memref<4x3x8xf32>, %o: memref<3x8x64xf32>, %ol: memref<3x4xf32>) {
  // expected-error @+1 {{lse has shape [3, 4], expected [3, 8] (the output's without head_dim)}}
  kvq.merge_states ins(%p, %l : memref<4x3x8x64xf32>, memref<4x3x8xf32>) outs(%o, %ol : memref<3x8x64xf32>, memref<3x4xf32>)
  return
}

// -----

!k = !kvq.cache<key, 16x2x64, fp8, HND>
!v = !kvq.cache<value, 16x2x64, fp8, HND>
func.func @dequant_no_indptr(%q: memref<7x8x64xf32>, %k: !k, %v: !v, %bt: memref<?x?xi32>, %len: memref<?xi32>, %i: memref<0xi32>, %o: memref<7x8x64xf32>, %scale: f32) {
  // expected-error @+1 {{qo_indptr has 0 entries, expected at least 1}}
  kvq.dequant_attention ins(%q : memref<7x8x64xf32>) caches(%k, %v : !k, !v) block_table(%bt : memref<?x?xi32>) seq_lens(%len : memref<?xi32>) qo_indptr(%i : memref<0xi32>) scale(%scale) outs(%o : memref<7x8x64xf32>)
  return
}

// -----

func.func @dequantize_results(%d: tensor<3x48xf8E4M3FN>, %g: f32, %y: tensor<3x48xf32>) {
  // expected-error @+1 {{has 0 results, expected 1 (one per tensor of outs)}}
  kvq.dequantize ins(%d : tensor<3x48xf8E4M3FN>) global_scale(%g) outs(%y : tensor<3x48xf32>) {format = #kvq.format<fp8>}
  return
}
