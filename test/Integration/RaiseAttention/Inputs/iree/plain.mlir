// Written by emit_jax.py with jax 0.10.2.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#map3 = affine_map<() -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> ()>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
module @jit_plain {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x7x4x8xf32>, %arg2: tensor<2x7x4x8xf32>) -> tensor<2x6x4x8xf32> {
    %cst = arith.constant 2.82842708 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x6x8xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x6x4x8xf32>) outs(%0 : tensor<2x4x6x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x8xf32>
    %2 = tensor.empty() : tensor<2x4x8x7xf32>
    %3 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x7x4x8xf32>) outs(%2 : tensor<2x4x8x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x8x7xf32>
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
    %collapsed_2 = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x4x8x7xf32> into tensor<8x8x7xf32>
    %4 = tensor.empty() : tensor<8x6x7xf32>
    %5 = linalg.fill ins(%cst_1 : f32) outs(%4 : tensor<8x6x7xf32>) -> tensor<8x6x7xf32>
    %6 = linalg.batch_matmul ins(%collapsed, %collapsed_2 : tensor<8x6x8xf32>, tensor<8x8x7xf32>) outs(%5 : tensor<8x6x7xf32>) -> tensor<8x6x7xf32>
    %expanded = tensor.expand_shape %6 [[0, 1], [2], [3]] output_shape [2, 4, 6, 7] : tensor<8x6x7xf32> into tensor<2x4x6x7xf32>
    %7 = tensor.empty() : tensor<f32>
    %8 = linalg.generic {indexing_maps = [#map3], iterator_types = []} outs(%7 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %9 = tensor.empty() : tensor<2x4x6x7xf32>
    %10 = linalg.generic {indexing_maps = [#map4, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<f32>) outs(%9 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x7xf32>
    %11 = tensor.empty() : tensor<2x4x6x7xf32>
    %12 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %10 : tensor<2x4x6x7xf32>, tensor<2x4x6x7xf32>) outs(%11 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %38 = arith.divf %in, %in_6 : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x6x7xf32>
    %13 = tensor.empty() : tensor<2x4x6xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %15 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%12 : tensor<2x4x6x7xf32>) outs(%14 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = arith.maximumf %out, %in : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x6xf32>
    %16 = tensor.empty() : tensor<2x4x6x7xf32>
    %17 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x6xf32>) outs(%16 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x7xf32>
    %18 = tensor.empty() : tensor<2x4x6x7xf32>
    %19 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %17 : tensor<2x4x6x7xf32>, tensor<2x4x6x7xf32>) outs(%18 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %38 = arith.subf %in, %in_6 : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x6x7xf32>
    %20 = tensor.empty() : tensor<2x4x6x7xf32>
    %21 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<2x4x6x7xf32>) outs(%20 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = math.exp %in : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x6x7xf32>
    %22 = tensor.empty() : tensor<2x4x6xf32>
    %23 = linalg.fill ins(%cst_1 : f32) outs(%22 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%21 : tensor<2x4x6x7xf32>) outs(%23 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %38 = arith.addf %out, %in : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x6xf32>
    %25 = tensor.empty() : tensor<2x4x6x7xf32>
    %26 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<2x4x6xf32>) outs(%25 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x7xf32>
    %27 = tensor.empty() : tensor<2x4x6x7xf32>
    %28 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %26 : tensor<2x4x6x7xf32>, tensor<2x4x6x7xf32>) outs(%27 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %38 = arith.divf %in, %in_6 : f32
      linalg.yield %38 : f32
    } -> tensor<2x4x6x7xf32>
    %29 = tensor.empty() : tensor<2x4x8x7xf32>
    %30 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x7x4x8xf32>) outs(%29 : tensor<2x4x8x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x8x7xf32>
    %31 = tensor.empty() : tensor<2x4x7x6xf32>
    %32 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<2x4x6x7xf32>) outs(%31 : tensor<2x4x7x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x7x6xf32>
    %collapsed_3 = tensor.collapse_shape %30 [[0, 1], [2], [3]] : tensor<2x4x8x7xf32> into tensor<8x8x7xf32>
    %collapsed_4 = tensor.collapse_shape %32 [[0, 1], [2], [3]] : tensor<2x4x7x6xf32> into tensor<8x7x6xf32>
    %33 = tensor.empty() : tensor<8x8x6xf32>
    %34 = linalg.fill ins(%cst_1 : f32) outs(%33 : tensor<8x8x6xf32>) -> tensor<8x8x6xf32>
    %35 = linalg.batch_matmul ins(%collapsed_3, %collapsed_4 : tensor<8x8x7xf32>, tensor<8x7x6xf32>) outs(%34 : tensor<8x8x6xf32>) -> tensor<8x8x6xf32>
    %expanded_5 = tensor.expand_shape %35 [[0, 1], [2], [3]] output_shape [2, 4, 8, 6] : tensor<8x8x6xf32> into tensor<2x4x8x6xf32>
    %36 = tensor.empty() : tensor<2x6x4x8xf32>
    %37 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x4x8x6xf32>) outs(%36 : tensor<2x6x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x4x8xf32>
    return %37 : tensor<2x6x4x8xf32>
  }
}

