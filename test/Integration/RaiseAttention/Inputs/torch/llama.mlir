// Written by emit_torch.py with torch 2.15.0+cu132.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map4 = affine_map<(d0) -> (d0)>
#map5 = affine_map<(d0, d1) -> (0, d1)>
#map6 = affine_map<(d0, d1) -> (d0, 0)>
#map7 = affine_map<(d0, d1) -> (d0, d1)>
#map8 = affine_map<(d0, d1) -> ()>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x6x32xf32>, %arg1: tensor<2x6x16xf32>, %arg2: tensor<2x6x16xf32>, %arg3: tensor<6x8xf32>, %arg4: tensor<6x8xf32>) -> tensor<2x6x32xf32> {
    %c1_i64 = arith.constant 1 : i64
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_2 = arith.constant dense<0xFF800000> : tensor<6x6xf32>
    %cst_3 = arith.constant 2.8284271247461903 : f64
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
    %0 = tensor.empty() : tensor<2x4x6x8xf32>
    %transposed = linalg.transpose ins(%expanded : tensor<2x6x4x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) permutation = [0, 2, 1, 3] 
    %expanded_4 = tensor.expand_shape %arg1 [[0], [1], [2, 3]] output_shape [2, 6, 2, 8] : tensor<2x6x16xf32> into tensor<2x6x2x8xf32>
    %1 = tensor.empty() : tensor<2x2x6x8xf32>
    %transposed_5 = linalg.transpose ins(%expanded_4 : tensor<2x6x2x8xf32>) outs(%1 : tensor<2x2x6x8xf32>) permutation = [0, 2, 1, 3] 
    %expanded_6 = tensor.expand_shape %arg2 [[0], [1], [2, 3]] output_shape [2, 6, 2, 8] : tensor<2x6x16xf32> into tensor<2x6x2x8xf32>
    %transposed_7 = linalg.transpose ins(%expanded_6 : tensor<2x6x2x8xf32>) outs(%1 : tensor<2x2x6x8xf32>) permutation = [0, 2, 1, 3] 
    %extracted_slice = tensor.extract_slice %transposed[0, 0, 0, 4] [2, 4, 6, 4] [1, 1, 1, 1] : tensor<2x4x6x8xf32> to tensor<2x4x6x4xf32>
    %2 = tensor.empty() : tensor<2x4x6x4xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<2x4x6x4xf32>) outs(%2 : tensor<2x4x6x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = arith.negf %in : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x6x4xf32>
    %extracted_slice_8 = tensor.extract_slice %transposed[0, 0, 0, 0] [2, 4, 6, 4] [1, 1, 1, 1] : tensor<2x4x6x8xf32> to tensor<2x4x6x4xf32>
    %concat = tensor.concat dim(3) %3, %extracted_slice_8 : (tensor<2x4x6x4xf32>, tensor<2x4x6x4xf32>) -> tensor<2x4x6x8xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed, %arg3 : tensor<2x4x6x8xf32>, tensor<6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %45 = arith.mulf %in, %in_24 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x6x8xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat, %arg4 : tensor<2x4x6x8xf32>, tensor<6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %45 = arith.mulf %in, %in_24 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x6x8xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4, %5 : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %45 = arith.addf %in, %in_24 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x6x8xf32>
    %extracted_slice_9 = tensor.extract_slice %transposed_5[0, 0, 0, 4] [2, 2, 6, 4] [1, 1, 1, 1] : tensor<2x2x6x8xf32> to tensor<2x2x6x4xf32>
    %7 = tensor.empty() : tensor<2x2x6x4xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%extracted_slice_9 : tensor<2x2x6x4xf32>) outs(%7 : tensor<2x2x6x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = arith.negf %in : f32
      linalg.yield %45 : f32
    } -> tensor<2x2x6x4xf32>
    %extracted_slice_10 = tensor.extract_slice %transposed_5[0, 0, 0, 0] [2, 2, 6, 4] [1, 1, 1, 1] : tensor<2x2x6x8xf32> to tensor<2x2x6x4xf32>
    %concat_11 = tensor.concat dim(3) %8, %extracted_slice_10 : (tensor<2x2x6x4xf32>, tensor<2x2x6x4xf32>) -> tensor<2x2x6x8xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_5, %arg3 : tensor<2x2x6x8xf32>, tensor<6x8xf32>) outs(%1 : tensor<2x2x6x8xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %45 = arith.mulf %in, %in_24 : f32
      linalg.yield %45 : f32
    } -> tensor<2x2x6x8xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%concat_11, %arg4 : tensor<2x2x6x8xf32>, tensor<6x8xf32>) outs(%1 : tensor<2x2x6x8xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %45 = arith.mulf %in, %in_24 : f32
      linalg.yield %45 : f32
    } -> tensor<2x2x6x8xf32>
    %11 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %10 : tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>) outs(%1 : tensor<2x2x6x8xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %45 = arith.addf %in, %in_24 : f32
      linalg.yield %45 : f32
    } -> tensor<2x2x6x8xf32>
    %12 = tensor.empty() : tensor<2x2x2x6x8xf32>
    %13 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x8xf32>
    %collapsed = tensor.collapse_shape %13 [[0], [1, 2], [3], [4]] : tensor<2x2x2x6x8xf32> into tensor<2x4x6x8xf32>
    %14 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%transposed_7 : tensor<2x2x6x8xf32>) outs(%12 : tensor<2x2x2x6x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x8xf32>
    %15 = tensor.empty() : tensor<2x4x8x6xf32>
    %transposed_12 = linalg.transpose ins(%collapsed : tensor<2x4x6x8xf32>) outs(%15 : tensor<2x4x8x6xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_13 = tensor.collapse_shape %6 [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
    %collapsed_14 = tensor.collapse_shape %transposed_12 [[0, 1], [2], [3]] : tensor<2x4x8x6xf32> into tensor<8x8x6xf32>
    %16 = tensor.empty() : tensor<8x6x6xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%16 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %18 = linalg.batch_matmul ins(%collapsed_13, %collapsed_14 : tensor<8x6x8xf32>, tensor<8x8x6xf32>) outs(%17 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %expanded_15 = tensor.expand_shape %18 [[0, 1], [2], [3]] output_shape [2, 4, 6, 6] : tensor<8x6x6xf32> into tensor<2x4x6x6xf32>
    %19 = tensor.empty() : tensor<2x4x6x6xf32>
    %20 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_15 : tensor<2x4x6x6xf32>) outs(%19 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = arith.truncf %cst_3 : f64 to f32
      %46 = arith.divf %in, %45 : f32
      linalg.yield %46 : f32
    } -> tensor<2x4x6x6xf32>
    %21 = tensor.empty() : tensor<6xi64>
    %22 = linalg.generic {indexing_maps = [#map4], iterator_types = ["parallel"]} outs(%21 : tensor<6xi64>) {
    ^bb0(%out: i64):
      %45 = linalg.index 0 : index
      %46 = arith.index_cast %45 : index to i64
      linalg.yield %46 : i64
    } -> tensor<6xi64>
    %expanded_16 = tensor.expand_shape %22 [[0, 1]] output_shape [1, 6] : tensor<6xi64> into tensor<1x6xi64>
    %expanded_17 = tensor.expand_shape %22 [[0, 1]] output_shape [6, 1] : tensor<6xi64> into tensor<6x1xi64>
    %23 = tensor.empty() : tensor<6x6xi64>
    %24 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel"]} ins(%expanded_16, %expanded_17 : tensor<1x6xi64>, tensor<6x1xi64>) outs(%23 : tensor<6x6xi64>) {
    ^bb0(%in: i64, %in_24: i64, %out: i64):
      %45 = arith.subi %in, %in_24 : i64
      linalg.yield %45 : i64
    } -> tensor<6x6xi64>
    %25 = tensor.empty() : tensor<6x6xi1>
    %26 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel"]} ins(%24 : tensor<6x6xi64>) outs(%25 : tensor<6x6xi1>) {
    ^bb0(%in: i64, %out: i1):
      %45 = arith.cmpi sge, %in, %c1_i64 : i64
      linalg.yield %45 : i1
    } -> tensor<6x6xi1>
    %27 = tensor.empty() : tensor<6x6xf32>
    %28 = linalg.generic {indexing_maps = [#map7, #map7, #map8, #map7], iterator_types = ["parallel", "parallel"]} ins(%26, %cst_2, %cst_1 : tensor<6x6xi1>, tensor<6x6xf32>, tensor<f32>) outs(%27 : tensor<6x6xf32>) {
    ^bb0(%in: i1, %in_24: f32, %in_25: f32, %out: f32):
      %45 = arith.select %in, %in_24, %in_25 : f32
      linalg.yield %45 : f32
    } -> tensor<6x6xf32>
    %29 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %28 : tensor<2x4x6x6xf32>, tensor<6x6xf32>) outs(%19 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %45 = arith.addf %in, %in_24 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x6x6xf32>
    %30 = tensor.empty() : tensor<2x4x6xi64>
    %31 = linalg.fill ins(%c0_i64 : i64) outs(%30 : tensor<2x4x6xi64>) -> tensor<2x4x6xi64>
    %32 = tensor.empty() : tensor<2x4x6xf32>
    %33 = linalg.fill ins(%cst_0 : f32) outs(%32 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %34:2 = linalg.generic {indexing_maps = [#map, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%29 : tensor<2x4x6x6xf32>) outs(%33, %31 : tensor<2x4x6xf32>, tensor<2x4x6xi64>) {
    ^bb0(%in: f32, %out: f32, %out_24: i64):
      %45 = linalg.index 3 : index
      %46 = arith.index_cast %45 : index to i64
      %47 = arith.maximumf %in, %out : f32
      %48 = arith.cmpf ogt, %in, %out : f32
      %49 = arith.select %48, %46, %out_24 : i64
      linalg.yield %47, %49 : f32, i64
    } -> (tensor<2x4x6xf32>, tensor<2x4x6xi64>)
    %expanded_18 = tensor.expand_shape %34#0 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
    %35 = linalg.generic {indexing_maps = [#map, #map10, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29, %expanded_18 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>) outs(%19 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %45 = arith.subf %in, %in_24 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x6x6xf32>
    %36 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x4x6x6xf32>) outs(%19 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = math.exp %in : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x6x6xf32>
    %37 = tensor.empty() : tensor<2x4x6x1xf32>
    %38 = linalg.fill ins(%cst : f32) outs(%37 : tensor<2x4x6x1xf32>) -> tensor<2x4x6x1xf32>
    %39 = linalg.generic {indexing_maps = [#map, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<2x4x6x6xf32>) outs(%38 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %45 = arith.addf %in, %out : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x6x1xf32>
    %40 = linalg.generic {indexing_maps = [#map, #map10, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %39 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>) outs(%19 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %45 = arith.divf %in, %in_24 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x6x6xf32>
    %collapsed_19 = tensor.collapse_shape %40 [[0, 1], [2], [3]] : tensor<2x4x6x6xf32> into tensor<8x6x6xf32>
    %collapsed_20 = tensor.collapse_shape %14 [[0, 1, 2], [3], [4]] : tensor<2x2x2x6x8xf32> into tensor<8x6x8xf32>
    %41 = tensor.empty() : tensor<8x6x8xf32>
    %42 = linalg.fill ins(%cst : f32) outs(%41 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
    %43 = linalg.batch_matmul ins(%collapsed_19, %collapsed_20 : tensor<8x6x6xf32>, tensor<8x6x8xf32>) outs(%42 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
    %expanded_21 = tensor.expand_shape %43 [[0, 1], [2], [3]] output_shape [2, 4, 6, 8] : tensor<8x6x8xf32> into tensor<2x4x6x8xf32>
    %44 = tensor.empty() : tensor<2x6x4x8xf32>
    %transposed_22 = linalg.transpose ins(%expanded_21 : tensor<2x4x6x8xf32>) outs(%44 : tensor<2x6x4x8xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_23 = tensor.collapse_shape %transposed_22 [[0], [1], [2, 3]] : tensor<2x6x4x8xf32> into tensor<2x6x32xf32>
    return %collapsed_23 : tensor<2x6x32xf32>
  }
}
