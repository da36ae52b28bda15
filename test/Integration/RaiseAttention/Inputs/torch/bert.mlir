// Written by emit_torch.py with torch 2.15.0+cu132.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> ()>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, 0, 0, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x6x32xf32>, %arg1: tensor<2x6x32xf32>, %arg2: tensor<2x6x32xf32>, %arg3: tensor<2x6xf32>) -> tensor<2x6x32xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_2 = arith.constant 2.8284271247461903 : f64
    %cst_3 = arith.constant -3.40282347E+38 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
    %0 = tensor.empty() : tensor<2x4x6x8xf32>
    %transposed = linalg.transpose ins(%expanded : tensor<2x6x4x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) permutation = [0, 2, 1, 3] 
    %expanded_4 = tensor.expand_shape %arg1 [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
    %expanded_5 = tensor.expand_shape %arg2 [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
    %transposed_6 = linalg.transpose ins(%expanded_5 : tensor<2x6x4x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) permutation = [0, 2, 1, 3] 
    %1 = tensor.empty() : tensor<2x4x8x6xf32>
    %transposed_7 = linalg.transpose ins(%expanded_4 : tensor<2x6x4x8xf32>) outs(%1 : tensor<2x4x8x6xf32>) permutation = [0, 2, 3, 1] 
    %collapsed = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
    %collapsed_8 = tensor.collapse_shape %transposed_7 [[0, 1], [2], [3]] : tensor<2x4x8x6xf32> into tensor<8x8x6xf32>
    %2 = tensor.empty() : tensor<8x6x6xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_8 : tensor<8x6x8xf32>, tensor<8x8x6xf32>) outs(%3 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %expanded_9 = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 6, 6] : tensor<8x6x6xf32> into tensor<2x4x6x6xf32>
    %5 = tensor.empty() : tensor<2x4x6x6xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x4x6x6xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = arith.truncf %cst_2 : f64 to f32
      %27 = arith.divf %in, %26 : f32
      linalg.yield %27 : f32
    } -> tensor<2x4x6x6xf32>
    %expanded_10 = tensor.expand_shape %arg3 [[0], [1, 2, 3]] output_shape [2, 1, 1, 6] : tensor<2x6xf32> into tensor<2x1x1x6xf32>
    %7 = tensor.empty() : tensor<2x1x1x6xf32>
    %8 = linalg.generic {indexing_maps = [#map1, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1, %expanded_10 : tensor<f32>, tensor<2x1x1x6xf32>) outs(%7 : tensor<2x1x1x6xf32>) {
    ^bb0(%in: f32, %in_17: f32, %out: f32):
      %26 = arith.subf %in, %in_17 : f32
      linalg.yield %26 : f32
    } -> tensor<2x1x1x6xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<2x1x1x6xf32>) outs(%7 : tensor<2x1x1x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = arith.mulf %in, %cst_3 : f32
      linalg.yield %26 : f32
    } -> tensor<2x1x1x6xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %9 : tensor<2x4x6x6xf32>, tensor<2x1x1x6xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_17: f32, %out: f32):
      %26 = arith.addf %in, %in_17 : f32
      linalg.yield %26 : f32
    } -> tensor<2x4x6x6xf32>
    %11 = tensor.empty() : tensor<2x4x6xi64>
    %12 = linalg.fill ins(%c0_i64 : i64) outs(%11 : tensor<2x4x6xi64>) -> tensor<2x4x6xi64>
    %13 = tensor.empty() : tensor<2x4x6xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %15:2 = linalg.generic {indexing_maps = [#map, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%10 : tensor<2x4x6x6xf32>) outs(%14, %12 : tensor<2x4x6xf32>, tensor<2x4x6xi64>) {
    ^bb0(%in: f32, %out: f32, %out_17: i64):
      %26 = linalg.index 3 : index
      %27 = arith.index_cast %26 : index to i64
      %28 = arith.maximumf %in, %out : f32
      %29 = arith.cmpf ogt, %in, %out : f32
      %30 = arith.select %29, %27, %out_17 : i64
      linalg.yield %28, %30 : f32, i64
    } -> (tensor<2x4x6xf32>, tensor<2x4x6xi64>)
    %expanded_11 = tensor.expand_shape %15#0 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map4, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %expanded_11 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_17: f32, %out: f32):
      %26 = arith.subf %in, %in_17 : f32
      linalg.yield %26 : f32
    } -> tensor<2x4x6x6xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x4x6x6xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = math.exp %in : f32
      linalg.yield %26 : f32
    } -> tensor<2x4x6x6xf32>
    %18 = tensor.empty() : tensor<2x4x6x1xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<2x4x6x1xf32>) -> tensor<2x4x6x1xf32>
    %20 = linalg.generic {indexing_maps = [#map, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x6x6xf32>) outs(%19 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = arith.addf %in, %out : f32
      linalg.yield %26 : f32
    } -> tensor<2x4x6x1xf32>
    %21 = linalg.generic {indexing_maps = [#map, #map4, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %20 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_17: f32, %out: f32):
      %26 = arith.divf %in, %in_17 : f32
      linalg.yield %26 : f32
    } -> tensor<2x4x6x6xf32>
    %collapsed_12 = tensor.collapse_shape %21 [[0, 1], [2], [3]] : tensor<2x4x6x6xf32> into tensor<8x6x6xf32>
    %collapsed_13 = tensor.collapse_shape %transposed_6 [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
    %22 = tensor.empty() : tensor<8x6x8xf32>
    %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
    %24 = linalg.batch_matmul ins(%collapsed_12, %collapsed_13 : tensor<8x6x6xf32>, tensor<8x6x8xf32>) outs(%23 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
    %expanded_14 = tensor.expand_shape %24 [[0, 1], [2], [3]] output_shape [2, 4, 6, 8] : tensor<8x6x8xf32> into tensor<2x4x6x8xf32>
    %25 = tensor.empty() : tensor<2x6x4x8xf32>
    %transposed_15 = linalg.transpose ins(%expanded_14 : tensor<2x4x6x8xf32>) outs(%25 : tensor<2x6x4x8xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_16 = tensor.collapse_shape %transposed_15 [[0], [1], [2, 3]] : tensor<2x6x4x8xf32> into tensor<2x6x32xf32>
    return %collapsed_16 : tensor<2x6x32xf32>
  }
}
