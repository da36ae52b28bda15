// Written by emit_jax.py with jax 0.10.2.
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<() -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> ()>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> ()>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
module @jit_plain attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x7x4x8xf32>, %arg2: tensor<2x7x4x8xf32>) -> (tensor<2x6x4x8xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 2.82842708 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
    %0 = tensor.empty() : tensor<2x4x6x7xf32>
    %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<2x4x6x7xf32>) -> tensor<2x4x6x7xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x6x4x8xf32>, tensor<2x7x4x8xf32>) outs(%1 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.mulf %in, %in_3 : f32
      %28 = arith.addf %out, %27 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x6x7xf32>
    %3 = tensor.empty() : tensor<f32>
    %4 = linalg.generic {indexing_maps = [#map3], iterator_types = []} outs(%3 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %5 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<f32>) outs(%0 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x7xf32>
    %6 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %5 : tensor<2x4x6x7xf32>, tensor<2x4x6x7xf32>) outs(%0 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.divf %in, %in_3 : f32
      linalg.yield %27 : f32
    } -> tensor<2x4x6x7xf32>
    %7 = tensor.empty() : tensor<2x4x6xf32>
    %8 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %9 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6 : tensor<2x4x6x7xf32>) outs(%8 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %27 = arith.maximumf %out, %in : f32
      linalg.yield %27 : f32
    } -> tensor<2x4x6xf32>
    %10 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%7 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6xf32>
    %11 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %9 : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%7 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.maximumf %in, %in_3 : f32
      linalg.yield %27 : f32
    } -> tensor<2x4x6xf32>
    %12 = tensor.empty() : tensor<2x4x6x1xf32>
    %13 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x4x6xf32>) outs(%12 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x1xf32>
    %14 = linalg.generic {indexing_maps = [#map9, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x7xf32>
    %15 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %14 : tensor<2x4x6x7xf32>, tensor<2x4x6x7xf32>) outs(%0 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.subf %in, %in_3 : f32
      linalg.yield %27 : f32
    } -> tensor<2x4x6x7xf32>
    %16 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x6x7xf32>) outs(%0 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %27 = math.exp %in : f32
      linalg.yield %27 : f32
    } -> tensor<2x4x6x7xf32>
    %17 = linalg.fill ins(%cst_1 : f32) outs(%7 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %18 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x4x6x7xf32>) outs(%17 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %27 = arith.addf %out, %in : f32
      linalg.yield %27 : f32
    } -> tensor<2x4x6xf32>
    %19 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x6xf32>) outs(%12 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x1xf32>
    %20 = linalg.generic {indexing_maps = [#map9, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<2x4x6x1xf32>) outs(%0 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x7xf32>
    %21 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %20 : tensor<2x4x6x7xf32>, tensor<2x4x6x7xf32>) outs(%0 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.divf %in, %in_3 : f32
      linalg.yield %27 : f32
    } -> tensor<2x4x6x7xf32>
    %22 = tensor.empty() : tensor<2x4x8x6xf32>
    %23 = linalg.fill ins(%cst_1 : f32) outs(%22 : tensor<2x4x8x6xf32>) -> tensor<2x4x8x6xf32>
    %24 = linalg.generic {indexing_maps = [#map10, #map11, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %21 : tensor<2x7x4x8xf32>, tensor<2x4x6x7xf32>) outs(%23 : tensor<2x4x8x6xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.mulf %in, %in_3 : f32
      %28 = arith.addf %out, %27 : f32
      linalg.yield %28 : f32
    } -> tensor<2x4x8x6xf32>
    %25 = tensor.empty() : tensor<2x6x4x8xf32>
    %26 = linalg.generic {indexing_maps = [#map12, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<2x4x8x6xf32>) outs(%25 : tensor<2x6x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x4x8xf32>
    return %26 : tensor<2x6x4x8xf32>
  }
}

