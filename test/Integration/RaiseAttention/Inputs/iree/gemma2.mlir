// Written by emit_jax.py with jax 0.10.2.
#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4, d2)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3, d2)>
#map5 = affine_map<(d0) -> (d0)>
#map6 = affine_map<(d0, d1) -> (d1)>
#map7 = affine_map<(d0, d1) -> (d0, d1)>
#map8 = affine_map<(d0, d1) -> (d0)>
#map9 = affine_map<(d0, d1) -> (d0, 0)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4, d2)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
module @jit_gemma2 {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x6x2x8xf32>, %arg2: tensor<2x6x2x8xf32>) -> tensor<2x6x4x8xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant -2.38197633E+38 : f32
    %c3_i32 = arith.constant 3 : i32
    %cst_1 = arith.constant 5.000000e+01 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %cst_3 = arith.constant 0.353553385 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3], [4]] output_shape [2, 6, 2, 2, 8] : tensor<2x6x4x8xf32> into tensor<2x6x2x2x8xf32>
    %0 = tensor.empty() : tensor<2x6x2x2x8xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x6x2x2x8xf32>) outs(%0 : tensor<2x6x2x2x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %62 = arith.mulf %in, %cst_3 : f32
      linalg.yield %62 : f32
    } -> tensor<2x6x2x2x8xf32>
    %2 = tensor.empty() : tensor<2x2x6x8xf32>
    %3 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x6x2x8xf32>) outs(%2 : tensor<2x2x6x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x6x8xf32>
    %4 = tensor.empty() : tensor<2x2x8x6x2xf32>
    %5 = linalg.generic {indexing_maps = [#map3, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x6x2x2x8xf32>) outs(%4 : tensor<2x2x8x6x2xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x8x6x2xf32>
    %collapsed = tensor.collapse_shape %3 [[0, 1], [2], [3]] : tensor<2x2x6x8xf32> into tensor<4x6x8xf32>
    %collapsed_4 = tensor.collapse_shape %5 [[0, 1], [2], [3, 4]] : tensor<2x2x8x6x2xf32> into tensor<4x8x12xf32>
    %6 = tensor.empty() : tensor<4x6x12xf32>
    %7 = linalg.fill ins(%cst_2 : f32) outs(%6 : tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
    %8 = linalg.batch_matmul ins(%collapsed, %collapsed_4 : tensor<4x6x8xf32>, tensor<4x8x12xf32>) outs(%7 : tensor<4x6x12xf32>) -> tensor<4x6x12xf32>
    %expanded_5 = tensor.expand_shape %8 [[0, 1], [2], [3, 4]] output_shape [2, 2, 6, 6, 2] : tensor<4x6x12xf32> into tensor<2x2x6x6x2xf32>
    %9 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %10 = linalg.generic {indexing_maps = [#map4, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x2x6x6x2xf32>) outs(%9 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x6xf32>
    %11 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%10 : tensor<2x2x2x6x6xf32>) outs(%11 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %62 = arith.divf %in, %cst_1 : f32
      linalg.yield %62 : f32
    } -> tensor<2x2x2x6x6xf32>
    %13 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<2x2x2x6x6xf32>) outs(%13 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %62 = math.tanh %in : f32
      linalg.yield %62 : f32
    } -> tensor<2x2x2x6x6xf32>
    %15 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x2x2x6x6xf32>) outs(%15 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %62 = arith.mulf %in, %cst_1 : f32
      linalg.yield %62 : f32
    } -> tensor<2x2x2x6x6xf32>
    %17 = tensor.empty() : tensor<6xi32>
    %18 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel"]} outs(%17 : tensor<6xi32>) {
    ^bb0(%out: i32):
      %62 = linalg.index 0 : index
      %63 = arith.index_cast %62 : index to i32
      linalg.yield %63 : i32
    } -> tensor<6xi32>
    %19 = tensor.empty() : tensor<6x6xi32>
    %20 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<6xi32>) outs(%19 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %21 = tensor.empty() : tensor<6x6xi32>
    %22 = linalg.generic {indexing_maps = [#map8, #map7], iterator_types = ["parallel", "parallel"]} ins(%18 : tensor<6xi32>) outs(%21 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %23 = tensor.empty() : tensor<6x6xi1>
    %24 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel"]} ins(%20, %22 : tensor<6x6xi32>, tensor<6x6xi32>) outs(%23 : tensor<6x6xi1>) {
    ^bb0(%in: i32, %in_11: i32, %out: i1):
      %62 = arith.cmpi sle, %in, %in_11 : i32
      linalg.yield %62 : i1
    } -> tensor<6x6xi1>
    %expanded_6 = tensor.expand_shape %18 [[0, 1]] output_shape [6, 1] : tensor<6xi32> into tensor<6x1xi32>
    %25 = tensor.empty() : tensor<6x1xi32>
    %26 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel"]} ins(%expanded_6 : tensor<6x1xi32>) outs(%25 : tensor<6x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      %62 = arith.subi %in, %c3_i32 : i32
      linalg.yield %62 : i32
    } -> tensor<6x1xi32>
    %27 = tensor.empty() : tensor<6x6xi32>
    %28 = linalg.generic {indexing_maps = [#map9, #map7], iterator_types = ["parallel", "parallel"]} ins(%26 : tensor<6x1xi32>) outs(%27 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %29 = tensor.empty() : tensor<6x6xi1>
    %30 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel"]} ins(%20, %28 : tensor<6x6xi32>, tensor<6x6xi32>) outs(%29 : tensor<6x6xi1>) {
    ^bb0(%in: i32, %in_11: i32, %out: i1):
      %62 = arith.cmpi sgt, %in, %in_11 : i32
      linalg.yield %62 : i1
    } -> tensor<6x6xi1>
    %31 = tensor.empty() : tensor<6x6xi1>
    %32 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel"]} ins(%24, %30 : tensor<6x6xi1>, tensor<6x6xi1>) outs(%31 : tensor<6x6xi1>) {
    ^bb0(%in: i1, %in_11: i1, %out: i1):
      %62 = arith.andi %in, %in_11 : i1
      linalg.yield %62 : i1
    } -> tensor<6x6xi1>
    %33 = tensor.empty() : tensor<2x2x2x6x6xi1>
    %34 = linalg.generic {indexing_maps = [#map10, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<6x6xi1>) outs(%33 : tensor<2x2x2x6x6xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x2x2x6x6xi1>
    %35 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %36 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%34, %16 : tensor<2x2x2x6x6xi1>, tensor<2x2x2x6x6xf32>) outs(%35 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: i1, %in_11: f32, %out: f32):
      %62 = arith.select %in, %in_11, %cst_0 : f32
      linalg.yield %62 : f32
    } -> tensor<2x2x2x6x6xf32>
    %37 = tensor.empty() : tensor<2x2x2x6xf32>
    %38 = linalg.fill ins(%cst : f32) outs(%37 : tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
    %39 = linalg.generic {indexing_maps = [#map, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<2x2x2x6x6xf32>) outs(%38 : tensor<2x2x2x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %62 = arith.maximumf %out, %in : f32
      linalg.yield %62 : f32
    } -> tensor<2x2x2x6xf32>
    %40 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %41 = linalg.generic {indexing_maps = [#map11, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%39 : tensor<2x2x2x6xf32>) outs(%40 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x6xf32>
    %42 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %43 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36, %41 : tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xf32>) outs(%42 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %62 = arith.subf %in, %in_11 : f32
      linalg.yield %62 : f32
    } -> tensor<2x2x2x6x6xf32>
    %44 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %45 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<2x2x2x6x6xf32>) outs(%44 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %62 = math.exp %in : f32
      linalg.yield %62 : f32
    } -> tensor<2x2x2x6x6xf32>
    %46 = tensor.empty() : tensor<2x2x2x6xf32>
    %47 = linalg.fill ins(%cst_2 : f32) outs(%46 : tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
    %48 = linalg.generic {indexing_maps = [#map, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%45 : tensor<2x2x2x6x6xf32>) outs(%47 : tensor<2x2x2x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %62 = arith.addf %out, %in : f32
      linalg.yield %62 : f32
    } -> tensor<2x2x2x6xf32>
    %49 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %50 = linalg.generic {indexing_maps = [#map11, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%48 : tensor<2x2x2x6xf32>) outs(%49 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x6xf32>
    %51 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %52 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%45, %50 : tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xf32>) outs(%51 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %62 = arith.divf %in, %in_11 : f32
      linalg.yield %62 : f32
    } -> tensor<2x2x2x6x6xf32>
    %53 = tensor.empty() : tensor<2x2x8x6xf32>
    %54 = linalg.generic {indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<2x6x2x8xf32>) outs(%53 : tensor<2x2x8x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x8x6xf32>
    %55 = tensor.empty() : tensor<2x2x6x2x6xf32>
    %56 = linalg.generic {indexing_maps = [#map13, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%52 : tensor<2x2x2x6x6xf32>) outs(%55 : tensor<2x2x6x2x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x6x2x6xf32>
    %collapsed_7 = tensor.collapse_shape %54 [[0, 1], [2], [3]] : tensor<2x2x8x6xf32> into tensor<4x8x6xf32>
    %collapsed_8 = tensor.collapse_shape %56 [[0, 1], [2], [3, 4]] : tensor<2x2x6x2x6xf32> into tensor<4x6x12xf32>
    %57 = tensor.empty() : tensor<4x8x12xf32>
    %58 = linalg.fill ins(%cst_2 : f32) outs(%57 : tensor<4x8x12xf32>) -> tensor<4x8x12xf32>
    %59 = linalg.batch_matmul ins(%collapsed_7, %collapsed_8 : tensor<4x8x6xf32>, tensor<4x6x12xf32>) outs(%58 : tensor<4x8x12xf32>) -> tensor<4x8x12xf32>
    %expanded_9 = tensor.expand_shape %59 [[0, 1], [2], [3, 4]] output_shape [2, 2, 8, 2, 6] : tensor<4x8x12xf32> into tensor<2x2x8x2x6xf32>
    %60 = tensor.empty() : tensor<2x6x2x2x8xf32>
    %61 = linalg.generic {indexing_maps = [#map14, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<2x2x8x2x6xf32>) outs(%60 : tensor<2x6x2x2x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x2x2x8xf32>
    %collapsed_10 = tensor.collapse_shape %61 [[0], [1], [2, 3], [4]] : tensor<2x6x2x2x8xf32> into tensor<2x6x4x8xf32>
    return %collapsed_10 : tensor<2x6x4x8xf32>
  }
}

