// Written by emit_jax.py with jax 0.10.2.
#map = affine_map<() -> ()>
#map1 = affine_map<(d0, d1, d2, d3) -> ()>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#map5 = affine_map<(d0) -> (d0)>
#map6 = affine_map<(d0, d1) -> (d1)>
#map7 = affine_map<(d0, d1) -> (d0, d1)>
#map8 = affine_map<(d0, d1) -> (d0)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
module @jit_causal {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x6x4x8xf32>, %arg2: tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32> {
    %cst = arith.constant 2.82842708 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant -3.40282347E+38 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<f32>
    %1 = linalg.generic {indexing_maps = [#map], iterator_types = []} outs(%0 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %2 = tensor.empty() : tensor<2x6x4x8xf32>
    %3 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<f32>) outs(%2 : tensor<2x6x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x4x8xf32>
    %4 = tensor.empty() : tensor<2x6x4x8xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %3 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) outs(%4 : tensor<2x6x4x8xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %50 = arith.divf %in, %in_7 : f32
      linalg.yield %50 : f32
    } -> tensor<2x6x4x8xf32>
    %6 = tensor.empty() : tensor<2x4x6x8xf32>
    %7 = linalg.generic {indexing_maps = [#map3, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<2x6x4x8xf32>) outs(%6 : tensor<2x4x6x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x8xf32>
    %8 = tensor.empty() : tensor<2x4x8x6xf32>
    %9 = linalg.generic {indexing_maps = [#map4, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x6x4x8xf32>) outs(%8 : tensor<2x4x8x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x8x6xf32>
    %collapsed = tensor.collapse_shape %7 [[0, 1], [2], [3]] : tensor<2x4x6x8xf32> into tensor<8x6x8xf32>
    %collapsed_3 = tensor.collapse_shape %9 [[0, 1], [2], [3]] : tensor<2x4x8x6xf32> into tensor<8x8x6xf32>
    %10 = tensor.empty() : tensor<8x6x6xf32>
    %11 = linalg.fill ins(%cst_2 : f32) outs(%10 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %12 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x6x8xf32>, tensor<8x8x6xf32>) outs(%11 : tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %expanded = tensor.expand_shape %12 [[0, 1], [2], [3]] output_shape [2, 4, 6, 6] : tensor<8x6x6xf32> into tensor<2x4x6x6xf32>
    %13 = tensor.empty() : tensor<6xi32>
    %14 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel"]} outs(%13 : tensor<6xi32>) {
    ^bb0(%out: i32):
      %50 = linalg.index 0 : index
      %51 = arith.index_cast %50 : index to i32
      linalg.yield %51 : i32
    } -> tensor<6xi32>
    %15 = tensor.empty() : tensor<6x6xi32>
    %16 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<6xi32>) outs(%15 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %17 = tensor.empty() : tensor<6x6xi32>
    %18 = linalg.generic {indexing_maps = [#map8, #map7], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<6xi32>) outs(%17 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %19 = tensor.empty() : tensor<6x6xi1>
    %20 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel"]} ins(%16, %18 : tensor<6x6xi32>, tensor<6x6xi32>) outs(%19 : tensor<6x6xi1>) {
    ^bb0(%in: i32, %in_7: i32, %out: i1):
      %50 = arith.cmpi sle, %in, %in_7 : i32
      linalg.yield %50 : i1
    } -> tensor<6x6xi1>
    %21 = tensor.empty() : tensor<2x4x6x6xi1>
    %22 = linalg.generic {indexing_maps = [#map9, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<6x6xi1>) outs(%21 : tensor<2x4x6x6xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x6x6xi1>
    %23 = tensor.empty() : tensor<2x4x6x6xf32>
    %24 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %expanded : tensor<2x4x6x6xi1>, tensor<2x4x6x6xf32>) outs(%23 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: i1, %in_7: f32, %out: f32):
      %50 = arith.select %in, %in_7, %cst_1 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x6x6xf32>
    %25 = tensor.empty() : tensor<2x4x6xf32>
    %26 = linalg.fill ins(%cst_0 : f32) outs(%25 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %27 = linalg.generic {indexing_maps = [#map2, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<2x4x6x6xf32>) outs(%26 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %50 = arith.maximumf %out, %in : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x6xf32>
    %28 = tensor.empty() : tensor<2x4x6x6xf32>
    %29 = linalg.generic {indexing_maps = [#map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x4x6xf32>) outs(%28 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x6xf32>
    %30 = tensor.empty() : tensor<2x4x6x6xf32>
    %31 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %29 : tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) outs(%30 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %50 = arith.subf %in, %in_7 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x6x6xf32>
    %32 = tensor.empty() : tensor<2x4x6x6xf32>
    %33 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<2x4x6x6xf32>) outs(%32 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %50 = math.exp %in : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x6x6xf32>
    %34 = tensor.empty() : tensor<2x4x6xf32>
    %35 = linalg.fill ins(%cst_2 : f32) outs(%34 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %36 = linalg.generic {indexing_maps = [#map2, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%33 : tensor<2x4x6x6xf32>) outs(%35 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %50 = arith.addf %out, %in : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x6xf32>
    %37 = tensor.empty() : tensor<2x4x6x6xf32>
    %38 = linalg.generic {indexing_maps = [#map10, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x4x6xf32>) outs(%37 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x6xf32>
    %39 = tensor.empty() : tensor<2x4x6x6xf32>
    %40 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33, %38 : tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) outs(%39 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %50 = arith.divf %in, %in_7 : f32
      linalg.yield %50 : f32
    } -> tensor<2x4x6x6xf32>
    %41 = tensor.empty() : tensor<2x4x8x6xf32>
    %42 = linalg.generic {indexing_maps = [#map4, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x6x4x8xf32>) outs(%41 : tensor<2x4x8x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x8x6xf32>
    %43 = tensor.empty() : tensor<2x4x6x6xf32>
    %44 = linalg.generic {indexing_maps = [#map11, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<2x4x6x6xf32>) outs(%43 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x6xf32>
    %collapsed_4 = tensor.collapse_shape %42 [[0, 1], [2], [3]] : tensor<2x4x8x6xf32> into tensor<8x8x6xf32>
    %collapsed_5 = tensor.collapse_shape %44 [[0, 1], [2], [3]] : tensor<2x4x6x6xf32> into tensor<8x6x6xf32>
    %45 = tensor.empty() : tensor<8x8x6xf32>
    %46 = linalg.fill ins(%cst_2 : f32) outs(%45 : tensor<8x8x6xf32>) -> tensor<8x8x6xf32>
    %47 = linalg.batch_matmul ins(%collapsed_4, %collapsed_5 : tensor<8x8x6xf32>, tensor<8x6x6xf32>) outs(%46 : tensor<8x8x6xf32>) -> tensor<8x8x6xf32>
    %expanded_6 = tensor.expand_shape %47 [[0, 1], [2], [3]] output_shape [2, 4, 8, 6] : tensor<8x8x6xf32> into tensor<2x4x8x6xf32>
    %48 = tensor.empty() : tensor<2x6x4x8xf32>
    %49 = linalg.generic {indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<2x4x8x6xf32>) outs(%48 : tensor<2x6x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x4x8xf32>
    return %49 : tensor<2x6x4x8xf32>
  }
}

