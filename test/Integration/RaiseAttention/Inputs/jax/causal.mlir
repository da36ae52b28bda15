// Written by emit_jax.py with jax 0.10.2.
#map = affine_map<() -> ()>
#map1 = affine_map<(d0, d1, d2, d3) -> ()>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0) -> (d0)>
#map7 = affine_map<(d0, d1) -> (d1)>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1) -> (d0)>
#map10 = affine_map<(d0, d1) -> (0, d1)>
#map11 = affine_map<(d0, d1) -> (d0, 0)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map14 = affine_map<(d0, d1, d2) -> ()>
#map15 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map16 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map17 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map19 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
module @jit_causal attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x6x4x8xf32>, %arg1: tensor<2x6x4x8xf32>, %arg2: tensor<2x6x4x8xf32>) -> (tensor<2x6x4x8xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 2.82842708 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 0.000000e+00 : f32
    %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_3 = arith.constant dense<-3.40282347E+38> : tensor<f32>
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
    %4 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %3 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) outs(%2 : tensor<2x6x4x8xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %42 = arith.divf %in, %in_4 : f32
      linalg.yield %42 : f32
    } -> tensor<2x6x4x8xf32>
    %5 = tensor.empty() : tensor<2x4x6x6xf32>
    %6 = linalg.fill ins(%cst_1 : f32) outs(%5 : tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
    %7 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%4, %arg1 : tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) outs(%6 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %42 = arith.mulf %in, %in_4 : f32
      %43 = arith.addf %out, %42 : f32
      linalg.yield %43 : f32
    } -> tensor<2x4x6x6xf32>
    %8 = tensor.empty() : tensor<6xi32>
    %9 = linalg.generic {indexing_maps = [#map6], iterator_types = ["parallel"]} outs(%8 : tensor<6xi32>) {
    ^bb0(%out: i32):
      %42 = linalg.index 0 : index
      %43 = arith.index_cast %42 : index to i32
      linalg.yield %43 : i32
    } -> tensor<6xi32>
    %10 = tensor.empty() : tensor<1x6xi32>
    %11 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<6xi32>) outs(%10 : tensor<1x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x6xi32>
    %12 = tensor.empty() : tensor<6x1xi32>
    %13 = linalg.generic {indexing_maps = [#map9, #map8], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<6xi32>) outs(%12 : tensor<6x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x1xi32>
    %14 = tensor.empty() : tensor<6x6xi32>
    %15 = linalg.generic {indexing_maps = [#map10, #map8], iterator_types = ["parallel", "parallel"]} ins(%11 : tensor<1x6xi32>) outs(%14 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %16 = linalg.generic {indexing_maps = [#map11, #map8], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<6x1xi32>) outs(%14 : tensor<6x6xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<6x6xi32>
    %17 = tensor.empty() : tensor<6x6xi1>
    %18 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%15, %16 : tensor<6x6xi32>, tensor<6x6xi32>) outs(%17 : tensor<6x6xi1>) {
    ^bb0(%in: i32, %in_4: i32, %out: i1):
      %42 = arith.cmpi sle, %in, %in_4 : i32
      linalg.yield %42 : i1
    } -> tensor<6x6xi1>
    %19 = tensor.empty() : tensor<2x4x6x6xi1>
    %20 = linalg.generic {indexing_maps = [#map12, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<6x6xi1>) outs(%19 : tensor<2x4x6x6xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x6x6xi1>
    %21 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x6xf32>
    %22 = linalg.generic {indexing_maps = [#map2, #map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %7, %21 : tensor<2x4x6x6xi1>, tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: i1, %in_4: f32, %in_5: f32, %out: f32):
      %42 = arith.select %in, %in_4, %in_5 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x6x6xf32>
    %23 = tensor.empty() : tensor<2x4x6xf32>
    %24 = linalg.fill ins(%cst_0 : f32) outs(%23 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %25 = linalg.generic {indexing_maps = [#map2, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%22 : tensor<2x4x6x6xf32>) outs(%24 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = arith.maximumf %out, %in : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x6xf32>
    %26 = linalg.generic {indexing_maps = [#map14, #map15], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%23 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6xf32>
    %27 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26, %25 : tensor<2x4x6xf32>, tensor<2x4x6xf32>) outs(%23 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %42 = arith.maximumf %in, %in_4 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x6xf32>
    %28 = tensor.empty() : tensor<2x4x6x1xf32>
    %29 = linalg.generic {indexing_maps = [#map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x4x6xf32>) outs(%28 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x1xf32>
    %30 = linalg.generic {indexing_maps = [#map16, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<2x4x6x1xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x6xf32>
    %31 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %30 : tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %42 = arith.subf %in, %in_4 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x6x6xf32>
    %32 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<2x4x6x6xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = math.exp %in : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x6x6xf32>
    %33 = linalg.fill ins(%cst_1 : f32) outs(%23 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %34 = linalg.generic {indexing_maps = [#map2, #map13], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%32 : tensor<2x4x6x6xf32>) outs(%33 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %42 = arith.addf %out, %in : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x6xf32>
    %35 = linalg.generic {indexing_maps = [#map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%34 : tensor<2x4x6xf32>) outs(%28 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x1xf32>
    %36 = linalg.generic {indexing_maps = [#map16, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x4x6x1xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x6xf32>
    %37 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%32, %36 : tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) outs(%5 : tensor<2x4x6x6xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %42 = arith.divf %in, %in_4 : f32
      linalg.yield %42 : f32
    } -> tensor<2x4x6x6xf32>
    %38 = tensor.empty() : tensor<2x4x8x6xf32>
    %39 = linalg.fill ins(%cst_1 : f32) outs(%38 : tensor<2x4x8x6xf32>) -> tensor<2x4x8x6xf32>
    %40 = linalg.generic {indexing_maps = [#map17, #map18, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %37 : tensor<2x6x4x8xf32>, tensor<2x4x6x6xf32>) outs(%39 : tensor<2x4x8x6xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %42 = arith.mulf %in, %in_4 : f32
      %43 = arith.addf %out, %42 : f32
      linalg.yield %43 : f32
    } -> tensor<2x4x8x6xf32>
    %41 = linalg.generic {indexing_maps = [#map19, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<2x4x8x6xf32>) outs(%2 : tensor<2x6x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x6x4x8xf32>
    return %41 : tensor<2x6x4x8xf32>
  }
}

