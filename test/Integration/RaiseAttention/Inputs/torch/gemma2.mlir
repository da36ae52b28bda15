// Written by emit_torch.py with torch 2.15.0+cu132.
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0) -> (d0)>
#map4 = affine_map<(d0, d1) -> (0, d1)>
#map5 = affine_map<(d0, d1) -> (d0, 0)>
#map6 = affine_map<(d0, d1) -> (d0, d1)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> ()>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x4x6x8xf32>, %arg1: tensor<2x2x6x8xf32>, %arg2: tensor<2x2x6x8xf32>) -> tensor<2x4x6x8xf32> {
    %c3_i64 = arith.constant 3 : i64
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_2 = arith.constant 0.35355339059327379 : f64
    %cst_3 = arith.constant 5.000000e+01 : f32
    %0 = tensor.empty() : tensor<2x2x2x6x8xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x2x6x8xf32>) outs(%0 : tensor<2x2x2x6x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x8xf32>
    %collapsed = tensor.collapse_shape %1 [[0], [1, 2], [3], [4]] : tensor<2x2x2x6x8xf32> into tensor<2x4x6x8xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x2x6x8xf32>) outs(%0 : tensor<2x2x2x6x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x8xf32>
    %3 = tensor.empty() : tensor<2x4x8x6xf32>
    %transposed = linalg.transpose ins(%collapsed : tensor<2x4x6x8xf32>) outs(%3 : tensor<2x4x8x6xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_4 = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
    %collapsed_5 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x8x6xf32> into tensor<8x8x6xf32>
    %4 = tensor.empty() : tensor<8x6x6xf32>
    %5 = linalg.fill ins(%cst : f32) outs(%4 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %6 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<8x6x8xf32>, tensor<8x8x6xf32>) outs(%5 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %expanded = tensor.expand_shape %6 [[0, 1], [2], [3]] output_shape [2, 4, 6, 6] : tensor<8x6x6xf32> into tensor<2x4x6x6xf32>
    %7 = tensor.empty() : tensor<2x4x6x6xf32>
    %8 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x6x6xf32>) outs(%7 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = arith.truncf %cst_2 : f64 to f32
      %36 = arith.mulf %in, %35 : f32
      linalg.yield %36 : f32
    } -> tensor<2x4x6x6xf32>
    %9 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<2x4x6x6xf32>) outs(%7 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = arith.divf %in, %cst_3 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x6x6xf32>
    %10 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x4x6x6xf32>) outs(%7 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = math.tanh %in : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x6x6xf32>
    %11 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x4x6x6xf32>) outs(%7 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = arith.mulf %in, %cst_3 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x6x6xf32>
    %12 = tensor.empty() : tensor<6xi64>
    %13 = linalg.generic {indexing_maps = [#map3], iterator_types = ["parallel"]} outs(%12 : tensor<6xi64>) {
    ^bb0(%out: i64):
      %35 = linalg.index 0 : index
      %36 = arith.index_cast %35 : index to i64
      linalg.yield %36 : i64
    } -> tensor<6xi64>
    %expanded_6 = tensor.expand_shape %13 [[0, 1]] output_shape [6, 1] : tensor<6xi64> into tensor<6x1xi64>
    %expanded_7 = tensor.expand_shape %13 [[0, 1]] output_shape [1, 6] : tensor<6xi64> into tensor<1x6xi64>
    %14 = tensor.empty() : tensor<6x6xi1>
    %15 = linalg.generic {indexing_maps = [#map4, #map5, #map6], iterator_types = ["parallel", "parallel"]} ins(%expanded_7, %expanded_6 : tensor<1x6xi64>, tensor<6x1xi64>) outs(%14 : tensor<6x6xi1>) {
    ^bb0(%in: i64, %in_12: i64, %out: i1):
      %35 = arith.cmpi sle, %in, %in_12 : i64
      linalg.yield %35 : i1
    } -> tensor<6x6xi1>
    %16 = tensor.empty() : tensor<6x1xi64>
    %17 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel"]} ins(%expanded_6 : tensor<6x1xi64>) outs(%16 : tensor<6x1xi64>) {
    ^bb0(%in: i64, %out: i64):
      %35 = arith.subi %in, %c3_i64 : i64
      linalg.yield %35 : i64
    } -> tensor<6x1xi64>
    %18 = linalg.generic {indexing_maps = [#map4, #map5, #map6], iterator_types = ["parallel", "parallel"]} ins(%expanded_7, %17 : tensor<1x6xi64>, tensor<6x1xi64>) outs(%14 : tensor<6x6xi1>) {
    ^bb0(%in: i64, %in_12: i64, %out: i1):
      %35 = arith.cmpi sgt, %in, %in_12 : i64
      linalg.yield %35 : i1
    } -> tensor<6x6xi1>
    %19 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel"]} ins(%15, %18 : tensor<6x6xi1>, tensor<6x6xi1>) outs(%14 : tensor<6x6xi1>) {
    ^bb0(%in: i1, %in_12: i1, %out: i1):
      %35 = arith.andi %in, %in_12 : i1
      linalg.yield %35 : i1
    } -> tensor<6x6xi1>
    %20 = linalg.generic {indexing_maps = [#map7, #map2, #map8, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %11, %cst_1 : tensor<6x6xi1>, tensor<2x4x6x6xf32>, tensor<f32>) outs(%7 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: i1, %in_12: f32, %in_13: f32, %out: f32):
      %35 = arith.select %in, %in_12, %in_13 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x6x6xf32>
    %21 = tensor.empty() : tensor<2x4x6xi64>
    %22 = linalg.fill ins(%c0_i64 : i64) outs(%21 : tensor<2x4x6xi64>) -> tensor<2x4x6xi64>
    %23 = tensor.empty() : tensor<2x4x6xf32>
    %24 = linalg.fill ins(%cst_0 : f32) outs(%23 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %25:2 = linalg.generic {indexing_maps = [#map2, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<2x4x6x6xf32>) outs(%24, %22 : tensor<2x4x6xf32>, tensor<2x4x6xi64>) {
    ^bb0(%in: f32, %out: f32, %out_12: i64):
      %35 = linalg.index 3 : index
      %36 = arith.index_cast %35 : index to i64
      %37 = arith.maximumf %in, %out : f32
      %38 = arith.cmpf ogt, %in, %out : f32
      %39 = arith.select %38, %36, %out_12 : i64
      linalg.yield %37, %39 : f32, i64
    } -> (tensor<2x4x6xf32>, tensor<2x4x6xi64>)
    %expanded_8 = tensor.expand_shape %25#0 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
    %26 = linalg.generic {indexing_maps = [#map2, #map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %expanded_8 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>) outs(%7 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %35 = arith.subf %in, %in_12 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x6x6xf32>
    %27 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x4x6x6xf32>) outs(%7 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = math.exp %in : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x6x6xf32>
    %28 = tensor.empty() : tensor<2x4x6x1xf32>
    %29 = linalg.fill ins(%cst : f32) outs(%28 : tensor<2x4x6x1xf32>) -> tensor<2x4x6x1xf32>
    %30 = linalg.generic {indexing_maps = [#map2, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%27 : tensor<2x4x6x6xf32>) outs(%29 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %35 = arith.addf %in, %out : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x6x1xf32>
    %31 = linalg.generic {indexing_maps = [#map2, #map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27, %30 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>) outs(%7 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_12: f32, %out: f32):
      %35 = arith.divf %in, %in_12 : f32
      linalg.yield %35 : f32
    } -> tensor<2x4x6x6xf32>
    %collapsed_9 = tensor.collapse_shape %31 [[0, 1], [2], [3]] : tensor<2x4x6x6xf32> into tensor<8x6x6xf32>
    %collapsed_10 = tensor.collapse_shape %2 [[0, 1, 2], [3], [4]] : tensor<2x2x2x6x8xf32> into tensor<8x6x8xf32>
    %32 = tensor.empty() : tensor<8x6x8xf32>
    %33 = linalg.fill ins(%cst : f32) outs(%32 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
    %34 = linalg.batch_matmul ins(%collapsed_9, %collapsed_10 : tensor<8x6x6xf32>, tensor<8x6x8xf32>) outs(%33 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
    %expanded_11 = tensor.expand_shape %34 [[0, 1], [2], [3]] output_shape [2, 4, 6, 8] : tensor<8x6x8xf32> into tensor<2x4x6x8xf32>
    return %expanded_11 : tensor<2x4x6x8xf32>
  }
}
