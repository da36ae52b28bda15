// Written by emit_jax.py with jax 0.10.2.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#map3 = affine_map<() -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> ()>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
module @jit_plain {
  func.func public @main(%arg0: tensor<2x6x4x8xbf16>, %arg1: tensor<2x7x4x8xbf16>, %arg2: tensor<2x7x4x8xbf16>) -> tensor<2x6x4x8xbf16> {
    %cst = arith.constant 2.82842708 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant 0xFF80 : bf16
    %cst_2 = arith.constant 0.000000e+00 : bf16
    %0 = tensor.empty() : tensor<2x4x6x8xbf16>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x6x4x8xbf16>) outs(%0 : tensor<2x4x6x8xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x6x8xbf16>
    %2 = tensor.empty() : tensor<2x4x8x7xbf16>
    %3 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x7x4x8xbf16>) outs(%2 : tensor<2x4x8x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x8x7xbf16>
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x6x8xbf16> into tensor<8x6x8xbf16>
    %collapsed_3 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x4x8x7xbf16> into tensor<8x8x7xbf16>
    %4 = tensor.empty() : tensor<8x6x7xbf16>
    %5 = linalg.fill ins(%cst_2 : bf16) outs(%4 : tensor<8x6x7xbf16>) -> tensor<8x6x7xbf16>
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x6x8xbf16>, tensor<8x8x7xbf16>) outs(%5 : tensor<8x6x7xbf16>) -> tensor<8x6x7xbf16>
    %expanded = tensor.expand_shape %6 [[0, 1], [2], [3]] output_shape [2, 4, 6, 7] : tensor<8x6x7xbf16> into tensor<2x4x6x7xbf16>
    %7 = tensor.empty() : tensor<f32>
    %8 = linalg.generic {indexing_maps = [#map3], iterator_types = []} outs(%7 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %9 = tensor.empty() : tensor<bf16>
    %10 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = []} ins(%8 : tensor<f32>) outs(%9 : tensor<bf16>) {
    ^bb0(%in: f32, %out: bf16):
      %44 = arith.truncf %in : f32 to bf16
      linalg.yield %44 : bf16
    } -> tensor<bf16>
    %11 = tensor.empty() : tensor<2x4x6x7xbf16>
    %12 = linalg.generic {indexing_maps = [#map4, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<bf16>) outs(%11 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x6x7xbf16>
    %13 = tensor.empty() : tensor<2x4x6x7xbf16>
    %14 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %12 : tensor<2x4x6x7xbf16>, tensor<2x4x6x7xbf16>) outs(%13 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %in_7: bf16, %out: bf16):
      %44 = arith.divf %in, %in_7 : bf16
      linalg.yield %44 : bf16
    } -> tensor<2x4x6x7xbf16>
    %15 = tensor.empty() : tensor<2x4x6xbf16>
    %16 = linalg.fill ins(%cst_1 : bf16) outs(%15 : tensor<2x4x6xbf16>) -> tensor<2x4x6xbf16>
    %17 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<2x4x6x7xbf16>) outs(%16 : tensor<2x4x6xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %44 = arith.maximumf %out, %in : bf16
      linalg.yield %44 : bf16
    } -> tensor<2x4x6xbf16>
    %18 = tensor.empty() : tensor<2x4x6x7xbf16>
    %19 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x6xbf16>) outs(%18 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x6x7xbf16>
    %20 = tensor.empty() : tensor<2x4x6x7xbf16>
    %21 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %19 : tensor<2x4x6x7xbf16>, tensor<2x4x6x7xbf16>) outs(%20 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %in_7: bf16, %out: bf16):
      %44 = arith.subf %in, %in_7 : bf16
      linalg.yield %44 : bf16
    } -> tensor<2x4x6x7xbf16>
    %22 = tensor.empty() : tensor<2x4x6x7xbf16>
    %23 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x4x6x7xbf16>) outs(%22 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %44 = math.exp %in : bf16
      linalg.yield %44 : bf16
    } -> tensor<2x4x6x7xbf16>
    %24 = tensor.empty() : tensor<2x4x6x7xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x6x7xbf16>) outs(%24 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %44 = arith.extf %in : bf16 to f32
      linalg.yield %44 : f32
    } -> tensor<2x4x6x7xf32>
    %26 = tensor.empty() : tensor<2x4x6xf32>
    %27 = linalg.fill ins(%cst_0 : f32) outs(%26 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %28 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%25 : tensor<2x4x6x7xf32>) outs(%27 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.addf %out, %in : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x6xf32>
    %29 = tensor.empty() : tensor<2x4x6xbf16>
    %30 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel"]} ins(%28 : tensor<2x4x6xf32>) outs(%29 : tensor<2x4x6xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %44 = arith.truncf %in : f32 to bf16
      linalg.yield %44 : bf16
    } -> tensor<2x4x6xbf16>
    %31 = tensor.empty() : tensor<2x4x6x7xbf16>
    %32 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x4x6xbf16>) outs(%31 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x6x7xbf16>
    %33 = tensor.empty() : tensor<2x4x6x7xbf16>
    %34 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %32 : tensor<2x4x6x7xbf16>, tensor<2x4x6x7xbf16>) outs(%33 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %in_7: bf16, %out: bf16):
      %44 = arith.divf %in, %in_7 : bf16
      linalg.yield %44 : bf16
    } -> tensor<2x4x6x7xbf16>
    %35 = tensor.empty() : tensor<2x4x8x7xbf16>
    %36 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x7x4x8xbf16>) outs(%35 : tensor<2x4x8x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x8x7xbf16>
    %37 = tensor.empty() : tensor<2x4x7x6xbf16>
    %38 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%34 : tensor<2x4x6x7xbf16>) outs(%37 : tensor<2x4x7x6xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x7x6xbf16>
    %collapsed_4 = tensor.collapse_shape %36 [[0, 1], [2], [3]] : tensor<2x4x8x7xbf16> into tensor<8x8x7xbf16>
    %collapsed_5 = tensor.collapse_shape %38 [[0, 1], [2], [3]] : tensor<2x4x7x6xbf16> into tensor<8x7x6xbf16>
    %39 = tensor.empty() : tensor<8x8x6xbf16>
    %40 = linalg.fill ins(%cst_2 : bf16) outs(%39 : tensor<8x8x6xbf16>) -> tensor<8x8x6xbf16>
    %41 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<8x8x7xbf16>, tensor<8x7x6xbf16>) outs(%40 : tensor<8x8x6xbf16>) -> tensor<8x8x6xbf16>
    %expanded_6 = tensor.expand_shape %41 [[0, 1], [2], [3]] output_shape [2, 4, 8, 6] : tensor<8x8x6xbf16> into tensor<2x4x8x6xbf16>
    %42 = tensor.empty() : tensor<2x6x4x8xbf16>
    %43 = linalg.generic {indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x4x8x6xbf16>) outs(%42 : tensor<2x6x4x8xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x6x4x8xbf16>
    return %43 : tensor<2x6x4x8xbf16>
  }
}

