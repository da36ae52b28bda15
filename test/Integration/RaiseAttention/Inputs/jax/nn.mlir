// Written by emit_jax.py with jax 0.10.2.
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> ()>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map11 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
module @jit_nn attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x7x4x8xf32>, %arg2: tensor<2x7x4x8xf32>) -> (tensor<2x6x4x8xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_2 = arith.constant dense<0.353553385> : tensor<f32>
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 6, 4, 1, 8] : tensor<2x6x4x8xf32> into tensor<2x6x4x1x8xf32>
    %0 = tensor.empty() : tensor<2x4x6x1x7xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<2x4x6x1x7xf32>) -> tensor<2x4x6x1x7xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x6x4x1x8xf32>, tensor<2x7x4x8xf32>) outs(%1 : tensor<2x4x6x1x7xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %31 = arith.mulf %in, %in_3 : f32
      %32 = arith.addf %out, %31 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x6x1x7xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%0 : tensor<2x4x6x1x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x1x7xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x6x1x7xf32>, tensor<2x4x6x1x7xf32>) outs(%0 : tensor<2x4x6x1x7xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %31 = arith.mulf %in, %in_3 : f32
      linalg.yield %31 : f32
    } -> tensor<2x4x6x1x7xf32>
    %5 = tensor.empty() : tensor<2x4x6x1xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<2x4x6x1xf32>) -> tensor<2x4x6x1xf32>
    %7 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4 : tensor<2x4x6x1x7xf32>) outs(%6 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.maximumf %out, %in : f32
      linalg.yield %31 : f32
    } -> tensor<2x4x6x1xf32>
    %8 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%5 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x1xf32>
    %9 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %7 : tensor<2x4x6x1xf32>, tensor<2x4x6x1xf32>) outs(%5 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %31 = arith.maximumf %in, %in_3 : f32
      linalg.yield %31 : f32
    } -> tensor<2x4x6x1xf32>
    %10 = tensor.empty() : tensor<1x2x4x6xf32>
    %11 = linalg.generic {indexing_maps = [#map8, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x4x6x1xf32>) outs(%10 : tensor<1x2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x6xf32>
    %12 = tensor.empty() : tensor<1x2x4x6x1xf32>
    %13 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<1x2x4x6xf32>) outs(%12 : tensor<1x2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x6x1xf32>
    %14 = tensor.empty() : tensor<1x2x4x6x7xf32>
    %15 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x4x6x1x7xf32>) outs(%14 : tensor<1x2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x6x7xf32>
    %16 = linalg.generic {indexing_maps = [#map10, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<1x2x4x6x1xf32>) outs(%14 : tensor<1x2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x6x7xf32>
    %17 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15, %16 : tensor<1x2x4x6x7xf32>, tensor<1x2x4x6x7xf32>) outs(%14 : tensor<1x2x4x6x7xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %31 = arith.subf %in, %in_3 : f32
      linalg.yield %31 : f32
    } -> tensor<1x2x4x6x7xf32>
    %18 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<1x2x4x6x7xf32>) outs(%14 : tensor<1x2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = math.exp %in : f32
      linalg.yield %31 : f32
    } -> tensor<1x2x4x6x7xf32>
    %19 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32>
    %20 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<1x2x4x6x7xf32>) outs(%19 : tensor<1x2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %31 = arith.addf %out, %in : f32
      linalg.yield %31 : f32
    } -> tensor<1x2x4x6xf32>
    %21 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<1x2x4x6xf32>) outs(%12 : tensor<1x2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x6x1xf32>
    %22 = linalg.generic {indexing_maps = [#map10, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<1x2x4x6x1xf32>) outs(%14 : tensor<1x2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x6x7xf32>
    %23 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%18, %22 : tensor<1x2x4x6x7xf32>, tensor<1x2x4x6x7xf32>) outs(%14 : tensor<1x2x4x6x7xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %31 = arith.divf %in, %in_3 : f32
      linalg.yield %31 : f32
    } -> tensor<1x2x4x6x7xf32>
    %24 = tensor.empty() : tensor<2x4x8x1x6xf32>
    %25 = linalg.fill ins(%cst_0 : f32) outs(%24 : tensor<2x4x8x1x6xf32>) -> tensor<2x4x8x1x6xf32>
    %26 = linalg.generic {indexing_maps = [#map11, #map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %23 : tensor<2x7x4x8xf32>, tensor<1x2x4x6x7xf32>) outs(%25 : tensor<2x4x8x1x6xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %31 = arith.mulf %in, %in_3 : f32
      %32 = arith.addf %out, %31 : f32
      linalg.yield %32 : f32
    } -> tensor<2x4x8x1x6xf32>
    %27 = tensor.empty() : tensor<1x2x6x4x8xf32>
    %28 = linalg.generic {indexing_maps = [#map13, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x4x8x1x6xf32>) outs(%27 : tensor<1x2x6x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x6x4x8xf32>
    %29 = tensor.empty() : tensor<2x6x4x1x8xf32>
    %30 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<1x2x6x4x8xf32>) outs(%29 : tensor<2x6x4x1x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x4x1x8xf32>
    %collapsed = tensor.collapse_shape %30 [[0], [1], [2], [3, 4]] : tensor<2x6x4x1x8xf32> into tensor<2x6x4x8xf32>
    return %collapsed : tensor<2x6x4x8xf32>
  }
}

