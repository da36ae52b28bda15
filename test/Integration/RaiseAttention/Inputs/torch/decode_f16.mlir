// Written by emit_torch.py with torch 2.15.0+cu132.
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x4x1x8xf16>, %arg1: tensor<2x2x9x8xf16>, %arg2: tensor<2x2x9x8xf16>, %arg3: tensor<2x1x1x9xf16>) -> tensor<2x4x1x8xf16> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 0.35355339059327379 : f64
    %0 = tensor.empty() : tensor<2x2x2x9x8xf16>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x2x9x8xf16>) outs(%0 : tensor<2x2x2x9x8xf16>) {
    ^bb0(%in: f16, %out: f16):
      linalg.yield %in : f16
    } -> tensor<2x2x2x9x8xf16>
    %collapsed = tensor.collapse_shape %1 [[0], [1, 2], [3], [4]] : tensor<2x2x2x9x8xf16> into tensor<2x4x9x8xf16>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x2x9x8xf16>) outs(%0 : tensor<2x2x2x9x8xf16>) {
    ^bb0(%in: f16, %out: f16):
      linalg.yield %in : f16
    } -> tensor<2x2x2x9x8xf16>
    %3 = tensor.empty() : tensor<2x4x8x9xf16>
    %transposed = linalg.transpose ins(%collapsed : tensor<2x4x9x8xf16>) outs(%3 : tensor<2x4x8x9xf16>) permutation = [0, 1, 3, 2] 
    %collapsed_2 = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x1x8xf16> into tensor<8x1x8xf16>
    %collapsed_3 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x8x9xf16> into tensor<8x8x9xf16>
    %4 = tensor.empty() : tensor<8x1x9xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<8x1x9xf32>) -> tensor<8x1x9xf32>
    %6 = linalg.batch_matmul ins(%collapsed_2, %collapsed_3 : tensor<8x1x8xf16>, tensor<8x8x9xf16>) outs(%5 : tensor<8x1x9xf32>) -> tensor<8x1x9xf32>
    %7 = tensor.empty() : tensor<8x1x9xf16>
    %8 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6 : tensor<8x1x9xf32>) outs(%7 : tensor<8x1x9xf16>) {
    ^bb0(%in: f32, %out: f16):
      %31 = arith.truncf %in : f32 to f16
      linalg.yield %31 : f16
    } -> tensor<8x1x9xf16>
    %expanded = tensor.expand_shape %8 [[0, 1], [2], [3]] output_shape [2, 4, 1, 9] : tensor<8x1x9xf16> into tensor<2x4x1x9xf16>
    %9 = tensor.empty() : tensor<2x4x1x9xf16>
    %10 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x1x9xf16>) outs(%9 : tensor<2x4x1x9xf16>) {
    ^bb0(%in: f16, %out: f16):
      %31 = arith.truncf %cst_1 : f64 to f16
      %32 = arith.mulf %in, %31 : f16
      linalg.yield %32 : f16
    } -> tensor<2x4x1x9xf16>
    %11 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %arg3 : tensor<2x4x1x9xf16>, tensor<2x1x1x9xf16>) outs(%9 : tensor<2x4x1x9xf16>) {
    ^bb0(%in: f16, %in_8: f16, %out: f16):
      %31 = arith.addf %in, %in_8 : f16
      linalg.yield %31 : f16
    } -> tensor<2x4x1x9xf16>
    %12 = tensor.empty() : tensor<2x4x1x9xf32>
    %13 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x4x1x9xf16>) outs(%12 : tensor<2x4x1x9xf32>) {
    ^bb0(%in: f16, %out: f32):
      %31 = arith.extf %in : f16 to f32
      linalg.yield %31 : f32
    } -> tensor<2x4x1x9xf32>
    %14 = tensor.empty() : tensor<2x4x1xi64>
    %15 = linalg.fill ins(%c0_i64 : i64) outs(%14 : tensor<2x4x1xi64>) -> tensor<2x4x1xi64>
    %16 = tensor.empty() : tensor<2x4x1xf32>
    %17 = linalg.fill ins(%cst_0 : f32) outs(%16 : tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %18:2 = linalg.generic {indexing_maps = [#map3, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%13 : tensor<2x4x1x9xf32>) outs(%17, %15 : tensor<2x4x1xf32>, tensor<2x4x1xi64>) {
    ^bb0(%in: f32, %out: f32, %out_8: i64):
      %31 = linalg.index 3 : index
      %32 = arith.index_cast %31 : index to i64
      %33 = arith.maximumf %in, %out : f32
      %34 = arith.cmpf ogt, %in, %out : f32
      %35 = arith.select %34, %32, %out_8 : i64
      linalg.yield %33, %35 : f32, i64
    } -> (tensor<2x4x1xf32>, tensor<2x4x1xi64>)
    %expanded_4 = tensor.expand_shape %18#0 [[0], [1], [2, 3]] output_shape [2, 4, 1, 1] : tensor<2x4x1xf32> into tensor<2x4x1x1xf32>
    %19 = linalg.generic {indexing_maps = [#map3, #map6, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %expanded_4 : tensor<2x4x1x9xf32>, tensor<2x4x1x1xf32>) outs(%12 : tensor<2x4x1x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %31 = arith.subf %in, %in_8 : f32
      linalg.yield %31 : f32
    } -> tensor<2x4x1x9xf32>
    %20 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<2x4x1x9xf32>) outs(%12 : tensor<2x4x1x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = math.exp %in : f32
      linalg.yield %31 : f32
    } -> tensor<2x4x1x9xf32>
    %21 = tensor.empty() : tensor<2x4x1x1xf32>
    %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<2x4x1x1xf32>) -> tensor<2x4x1x1xf32>
    %23 = linalg.generic {indexing_maps = [#map3, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<2x4x1x9xf32>) outs(%22 : tensor<2x4x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.addf %in, %out : f32
      linalg.yield %31 : f32
    } -> tensor<2x4x1x1xf32>
    %24 = linalg.generic {indexing_maps = [#map3, #map6, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %23 : tensor<2x4x1x9xf32>, tensor<2x4x1x1xf32>) outs(%12 : tensor<2x4x1x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %31 = arith.divf %in, %in_8 : f32
      linalg.yield %31 : f32
    } -> tensor<2x4x1x9xf32>
    %25 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<2x4x1x9xf32>) outs(%9 : tensor<2x4x1x9xf16>) {
    ^bb0(%in: f32, %out: f16):
      %31 = arith.truncf %in : f32 to f16
      linalg.yield %31 : f16
    } -> tensor<2x4x1x9xf16>
    %collapsed_5 = tensor.collapse_shape %25 [[0, 1], [2], [3]] : tensor<2x4x1x9xf16> into tensor<8x1x9xf16>
    %collapsed_6 = tensor.collapse_shape %2 [[0, 1, 2], [3], [4]] : tensor<2x2x2x9x8xf16> into tensor<8x9x8xf16>
    %26 = tensor.empty() : tensor<8x1x8xf32>
    %27 = linalg.fill ins(%cst : f32) outs(%26 : tensor<8x1x8xf32>) -> tensor<8x1x8xf32>
    %28 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x1x9xf16>, tensor<8x9x8xf16>) outs(%27 : tensor<8x1x8xf32>) -> tensor<8x1x8xf32>
    %29 = tensor.empty() : tensor<8x1x8xf16>
    %30 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%28 : tensor<8x1x8xf32>) outs(%29 : tensor<8x1x8xf16>) {
    ^bb0(%in: f32, %out: f16):
      %31 = arith.truncf %in : f32 to f16
      linalg.yield %31 : f16
    } -> tensor<8x1x8xf16>
    %expanded_7 = tensor.expand_shape %30 [[0, 1], [2], [3]] output_shape [2, 4, 1, 8] : tensor<8x1x8xf16> into tensor<2x4x1x8xf16>
    return %expanded_7 : tensor<2x4x1x8xf16>
  }
}
