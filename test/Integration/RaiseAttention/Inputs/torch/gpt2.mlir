// Written by emit_torch.py with torch 2.15.0+cu132.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> ()>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x6x96xf32>) -> tensor<2x6x32xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i8 = arith.constant 0 : i8
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<-3.40282347E+38> : tensor<f32>
    %cst_2 = arith.constant 2.8284271247461903 : f64
    %cst_3 = arith.constant dense_resource<torch_tensor_1_1_6_6_torch.uint8> : tensor<1x1x6x6xi8>
    %extracted_slice = tensor.extract_slice %arg0[0, 0, 0] [2, 6, 32] [1, 1, 1] : tensor<2x6x96xf32> to tensor<2x6x32xf32>
    %extracted_slice_4 = tensor.extract_slice %arg0[0, 0, 32] [2, 6, 32] [1, 1, 1] : tensor<2x6x96xf32> to tensor<2x6x32xf32>
    %extracted_slice_5 = tensor.extract_slice %arg0[0, 0, 64] [2, 6, 32] [1, 1, 1] : tensor<2x6x96xf32> to tensor<2x6x32xf32>
    %expanded = tensor.expand_shape %extracted_slice [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
    %0 = tensor.empty() : tensor<2x4x6x8xf32>
    %transposed = linalg.transpose ins(%expanded : tensor<2x6x4x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) permutation = [0, 2, 1, 3] 
    %expanded_6 = tensor.expand_shape %extracted_slice_4 [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
    %expanded_7 = tensor.expand_shape %extracted_slice_5 [[0], [1], [2, 3]] output_shape [2, 6, 4, 8] : tensor<2x6x32xf32> into tensor<2x6x4x8xf32>
    %transposed_8 = linalg.transpose ins(%expanded_7 : tensor<2x6x4x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) permutation = [0, 2, 1, 3] 
    %1 = tensor.empty() : tensor<2x4x8x6xf32>
    %transposed_9 = linalg.transpose ins(%expanded_6 : tensor<2x6x4x8xf32>) outs(%1 : tensor<2x4x8x6xf32>) permutation = [0, 2, 3, 1] 
    %collapsed = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
    %collapsed_10 = tensor.collapse_shape %transposed_9 [[0, 1], [2], [3]] : tensor<2x4x8x6xf32> into tensor<8x8x6xf32>
    %2 = tensor.empty() : tensor<8x6x6xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %4 = linalg.batch_matmul ins(%collapsed, %collapsed_10 : tensor<8x6x8xf32>, tensor<8x8x6xf32>) outs(%3 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %expanded_11 = tensor.expand_shape %4 [[0, 1], [2], [3]] output_shape [2, 4, 6, 6] : tensor<8x6x6xf32> into tensor<2x4x6x6xf32>
    %5 = tensor.empty() : tensor<2x4x6x6xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_11 : tensor<2x4x6x6xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.truncf %cst_2 : f64 to f32
      %26 = arith.divf %in, %25 : f32
      linalg.yield %26 : f32
    } -> tensor<2x4x6x6xf32>
    %7 = tensor.empty() : tensor<1x1x6x6xi1>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<1x1x6x6xi8>) outs(%7 : tensor<1x1x6x6xi1>) {
    ^bb0(%in: i8, %out: i1):
      %25 = arith.cmpi ne, %in, %c0_i8 : i8
      linalg.yield %25 : i1
    } -> tensor<1x1x6x6xi1>
    %9 = linalg.generic {indexing_maps = [#map1, #map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %6, %cst_1 : tensor<1x1x6x6xi1>, tensor<2x4x6x6xf32>, tensor<f32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: i1, %in_18: f32, %in_19: f32, %out: f32):
      %25 = arith.select %in, %in_18, %in_19 : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x6x6xf32>
    %10 = tensor.empty() : tensor<2x4x6xi64>
    %11 = linalg.fill ins(%c0_i64 : i64) outs(%10 : tensor<2x4x6xi64>) -> tensor<2x4x6xi64>
    %12 = tensor.empty() : tensor<2x4x6xf32>
    %13 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %14:2 = linalg.generic {indexing_maps = [#map, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%9 : tensor<2x4x6x6xf32>) outs(%13, %11 : tensor<2x4x6xf32>, tensor<2x4x6xi64>) {
    ^bb0(%in: f32, %out: f32, %out_18: i64):
      %25 = linalg.index 3 : index
      %26 = arith.index_cast %25 : index to i64
      %27 = arith.maximumf %in, %out : f32
      %28 = arith.cmpf ogt, %in, %out : f32
      %29 = arith.select %28, %26, %out_18 : i64
      linalg.yield %27, %29 : f32, i64
    } -> (tensor<2x4x6xf32>, tensor<2x4x6xi64>)
    %expanded_12 = tensor.expand_shape %14#0 [[0], [1], [2, 3]] output_shape [2, 4, 6, 1] : tensor<2x4x6xf32> into tensor<2x4x6x1xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map4, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %expanded_12 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %25 = arith.subf %in, %in_18 : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x6x6xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x6x6xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = math.exp %in : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x6x6xf32>
    %17 = tensor.empty() : tensor<2x4x6x1xf32>
    %18 = linalg.fill ins(%cst : f32) outs(%17 : tensor<2x4x6x1xf32>) -> tensor<2x4x6x1xf32>
    %19 = linalg.generic {indexing_maps = [#map, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x4x6x6xf32>) outs(%18 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.addf %in, %out : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x6x1xf32>
    %20 = linalg.generic {indexing_maps = [#map, #map4, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<2x4x6x6xf32>, tensor<2x4x6x1xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_18: f32, %out: f32):
      %25 = arith.divf %in, %in_18 : f32
      linalg.yield %25 : f32
    } -> tensor<2x4x6x6xf32>
    %collapsed_13 = tensor.collapse_shape %20 [[0, 1], [2], [3]] : tensor<2x4x6x6xf32> into tensor<8x6x6xf32>
    %collapsed_14 = tensor.collapse_shape %transposed_8 [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
    %21 = tensor.empty() : tensor<8x6x8xf32>
    %22 = linalg.fill ins(%cst : f32) outs(%21 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
    %23 = linalg.batch_matmul ins(%collapsed_13, %collapsed_14 : tensor<8x6x6xf32>, tensor<8x6x8xf32>) outs(%22 : tensor<8x6x8xf32>) -> tensor<8x6x8xf32>
    %expanded_15 = tensor.expand_shape %23 [[0, 1], [2], [3]] output_shape [2, 4, 6, 8] : tensor<8x6x8xf32> into tensor<2x4x6x8xf32>
    %24 = tensor.empty() : tensor<2x6x4x8xf32>
    %transposed_16 = linalg.transpose ins(%expanded_15 : tensor<2x4x6x8xf32>) outs(%24 : tensor<2x6x4x8xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_17 = tensor.collapse_shape %transposed_16 [[0], [1], [2, 3]] : tensor<2x6x4x8xf32> into tensor<2x6x32xf32>
    return %collapsed_17 : tensor<2x6x32xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_1_1_6_6_torch.uint8: "0x01000000010000000000010100000000010101000000010101010000010101010100010101010101"
    }
  }
#-}
