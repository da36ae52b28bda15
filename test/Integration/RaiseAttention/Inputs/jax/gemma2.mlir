// Written by emit_jax.py with jax 0.10.2.
#map = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d5)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d4, d5)>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3, d2)>
#map6 = affine_map<(d0) -> (d0)>
#map7 = affine_map<(d0, d1) -> (d1)>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1) -> (d0)>
#map10 = affine_map<(d0, d1) -> (0, d1)>
#map11 = affine_map<(d0, d1) -> (d0, 0)>
#map12 = affine_map<(d0, d1) -> ()>
#map13 = affine_map<() -> ()>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map16 = affine_map<(d0, d1, d2, d3) -> ()>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map19 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map20 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d4, d5)>
#map21 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
module @jit_gemma2 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x6x2x8xf32>, %arg2: tensor<2x6x2x8xf32>) -> (tensor<2x6x4x8xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant -2.38197633E+38 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_3 = arith.constant dense<3> : tensor<i32>
    %cst_4 = arith.constant dense<5.000000e+01> : tensor<f32>
    %cst_5 = arith.constant dense<0.353553385> : tensor<f32>
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3], [4]] output_shape [2, 6, 2, 2, 8] : tensor<2x6x4x8xf32> into tensor<2x6x2x2x8xf32>
    %0 = tensor.empty() : tensor<2x6x2x2x8xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_5 : tensor<f32>) outs(%0 : tensor<2x6x2x2x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x2x2x8xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded, %1 : tensor<2x6x2x2x8xf32>, tensor<2x6x2x2x8xf32>) outs(%0 : tensor<2x6x2x2x8xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %53 = arith.mulf %in, %in_6 : f32
      linalg.yield %53 : f32
    } -> tensor<2x6x2x2x8xf32>
    %3 = tensor.empty() : tensor<2x2x6x6x2xf32>
    %4 = linalg.fill ins(%cst_1 : f32) outs(%3 : tensor<2x2x6x6x2xf32>) -> tensor<2x2x6x6x2xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %2 : tensor<2x6x2x8xf32>, tensor<2x6x2x2x8xf32>) outs(%4 : tensor<2x2x6x6x2xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %53 = arith.mulf %in, %in_6 : f32
      %54 = arith.addf %out, %53 : f32
      linalg.yield %54 : f32
    } -> tensor<2x2x6x6x2xf32>
    %6 = tensor.empty() : tensor<2x2x2x6x6xf32>
    %7 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%5 : tensor<2x2x6x6x2xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x6xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x6xf32>
    %9 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%7, %8 : tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %53 = arith.divf %in, %in_6 : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6x6xf32>
    %10 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x2x2x6x6xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %53 = math.tanh %in : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6x6xf32>
    %11 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%10, %8 : tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %53 = arith.mulf %in, %in_6 : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6x6xf32>
    %12 = tensor.empty() : tensor<6xi32>
    %13 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel"]} outs(%12 : tensor<6xi32>) {
    ^bb0(%out: i32):
      %53 = linalg.index 0 : index
      %54 = arith.index_cast %53 : index to i32
      linalg.yield %54 : i32
    } -> tensor<6xi32>
    %14 = tensor.empty() : tensor<1x6xi32>
    %15 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<6xi32>) outs(%14 : tensor<1x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x6xi32>
    %16 = tensor.empty() : tensor<6x1xi32>
    %17 = linalg.generic {indexing_maps = [#map9, #map8], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<6xi32>) outs(%16 : tensor<6x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x1xi32>
    %18 = tensor.empty() : tensor<6x6xi32>
    %19 = linalg.generic {indexing_maps = [#map10, #map8], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<1x6xi32>) outs(%18 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %20 = linalg.generic {indexing_maps = [#map11, #map8], iterator_types = ["parallel", "parallel"]} ins(%17 : tensor<6x1xi32>) outs(%18 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %21 = tensor.empty() : tensor<6x6xi1>
    %22 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%19, %20 : tensor<6x6xi32>, tensor<6x6xi32>) outs(%21 : tensor<6x6xi1>) {
    ^bb0(%in: i32, %in_6: i32, %out: i1):
      %53 = arith.cmpi sle, %in, %in_6 : i32
      linalg.yield %53 : i1
    } -> tensor<6x6xi1>
    %23 = linalg.generic {indexing_maps = [#map12, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<i32>) outs(%16 : tensor<6x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x1xi32>
    %24 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%17, %23 : tensor<6x1xi32>, tensor<6x1xi32>) outs(%16 : tensor<6x1xi32>) {
    ^bb0(%in: i32, %in_6: i32, %out: i32):
      %53 = arith.subi %in, %in_6 : i32
      linalg.yield %53 : i32
    } -> tensor<6x1xi32>
    %25 = linalg.generic {indexing_maps = [#map11, #map8], iterator_types = ["parallel", "parallel"]} ins(%24 : tensor<6x1xi32>) outs(%18 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %26 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%19, %25 : tensor<6x6xi32>, tensor<6x6xi32>) outs(%21 : tensor<6x6xi1>) {
    ^bb0(%in: i32, %in_6: i32, %out: i1):
      %53 = arith.cmpi sgt, %in, %in_6 : i32
      linalg.yield %53 : i1
    } -> tensor<6x6xi1>
    %27 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%22, %26 : tensor<6x6xi1>, tensor<6x6xi1>) outs(%21 : tensor<6x6xi1>) {
    ^bb0(%in: i1, %in_6: i1, %out: i1):
      %53 = arith.andi %in, %in_6 : i1
      linalg.yield %53 : i1
    } -> tensor<6x6xi1>
    %28 = tensor.empty() : tensor<f32>
    %29 = linalg.generic {indexing_maps = [#map13], iterator_types = []} outs(%28 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst_0 : f32
    } -> tensor<f32>
    %30 = tensor.empty() : tensor<2x2x2x6x6xi1>
    %31 = linalg.generic {indexing_maps = [#map14, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<6x6xi1>) outs(%30 : tensor<2x2x2x6x6xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x2x2x6x6xi1>
    %32 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<f32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x6xf32>
    %33 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%31, %11, %32 : tensor<2x2x2x6x6xi1>, tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: i1, %in_6: f32, %in_7: f32, %out: f32):
      %53 = arith.select %in, %in_6, %in_7 : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6x6xf32>
    %34 = tensor.empty() : tensor<2x2x2x6xf32>
    %35 = linalg.fill ins(%cst : f32) outs(%34 : tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
    %36 = linalg.generic {indexing_maps = [#map1, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%33 : tensor<2x2x2x6x6xf32>) outs(%35 : tensor<2x2x2x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %53 = arith.maximumf %out, %in : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6xf32>
    %37 = linalg.generic {indexing_maps = [#map16, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%34 : tensor<2x2x2x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6xf32>
    %38 = linalg.generic {indexing_maps = [#map17, #map17, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%37, %36 : tensor<2x2x2x6xf32>, tensor<2x2x2x6xf32>) outs(%34 : tensor<2x2x2x6xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %53 = arith.maximumf %in, %in_6 : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6xf32>
    %39 = tensor.empty() : tensor<2x2x2x6x1xf32>
    %40 = linalg.generic {indexing_maps = [#map15, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<2x2x2x6xf32>) outs(%39 : tensor<2x2x2x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x1xf32>
    %41 = linalg.generic {indexing_maps = [#map18, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<2x2x2x6x1xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x6xf32>
    %42 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%33, %41 : tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %53 = arith.subf %in, %in_6 : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6x6xf32>
    %43 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%42 : tensor<2x2x2x6x6xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %53 = math.exp %in : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6x6xf32>
    %44 = linalg.fill ins(%cst_1 : f32) outs(%34 : tensor<2x2x2x6xf32>) -> tensor<2x2x2x6xf32>
    %45 = linalg.generic {indexing_maps = [#map1, #map15], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%43 : tensor<2x2x2x6x6xf32>) outs(%44 : tensor<2x2x2x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %53 = arith.addf %out, %in : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6xf32>
    %46 = linalg.generic {indexing_maps = [#map15, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%45 : tensor<2x2x2x6xf32>) outs(%39 : tensor<2x2x2x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x1xf32>
    %47 = linalg.generic {indexing_maps = [#map18, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%46 : tensor<2x2x2x6x1xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x6x6xf32>
    %48 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43, %47 : tensor<2x2x2x6x6xf32>, tensor<2x2x2x6x6xf32>) outs(%6 : tensor<2x2x2x6x6xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %53 = arith.divf %in, %in_6 : f32
      linalg.yield %53 : f32
    } -> tensor<2x2x2x6x6xf32>
    %49 = tensor.empty() : tensor<2x2x8x2x6xf32>
    %50 = linalg.fill ins(%cst_1 : f32) outs(%49 : tensor<2x2x8x2x6xf32>) -> tensor<2x2x8x2x6xf32>
    %51 = linalg.generic {indexing_maps = [#map19, #map20, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %48 : tensor<2x6x2x8xf32>, tensor<2x2x2x6x6xf32>) outs(%50 : tensor<2x2x8x2x6xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %53 = arith.mulf %in, %in_6 : f32
      %54 = arith.addf %out, %53 : f32
      linalg.yield %54 : f32
    } -> tensor<2x2x8x2x6xf32>
    %52 = linalg.generic {indexing_maps = [#map21, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%51 : tensor<2x2x8x2x6xf32>) outs(%0 : tensor<2x6x2x2x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x2x2x8xf32>
    %collapsed = tensor.collapse_shape %52 [[0], [1], [2, 3], [4]] : tensor<2x6x2x2x8xf32> into tensor<2x6x4x8xf32>
    return %collapsed : tensor<2x6x4x8xf32>
  }
}

