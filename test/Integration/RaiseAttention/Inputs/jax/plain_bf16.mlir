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
  func.func public @main(%arg0: tensor<2x6x4x8xbf16>, %arg1: tensor<2x7x4x8xbf16>, %arg2: tensor<2x7x4x8xbf16>) -> (tensor<2x6x4x8xbf16> {jax.result_info = "result"}) {
    %cst = arith.constant 2.82842708 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant 0xFF80 : bf16
    %cst_2 = arith.constant 0.000000e+00 : bf16
    %cst_3 = arith.constant dense<0xFF80> : tensor<bf16>
    %0 = tensor.empty() : tensor<2x4x6x7xbf16>
    %1 = linalg.fill ins(%cst_2 : bf16) outs(%0 : tensor<2x4x6x7xbf16>) -> tensor<2x4x6x7xbf16>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x6x4x8xbf16>, tensor<2x7x4x8xbf16>) outs(%1 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %in_4: bf16, %out: bf16):
      %34 = arith.mulf %in, %in_4 : bf16
      %35 = arith.addf %out, %34 : bf16
      linalg.yield %35 : bf16
    } -> tensor<2x4x6x7xbf16>
    %3 = tensor.empty() : tensor<f32>
    %4 = linalg.generic {indexing_maps = [#map3], iterator_types = []} outs(%3 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %5 = tensor.empty() : tensor<bf16>
    %6 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = []} ins(%4 : tensor<f32>) outs(%5 : tensor<bf16>) {
    ^bb0(%in: f32, %out: bf16):
      %34 = arith.truncf %in : f32 to bf16
      linalg.yield %34 : bf16
    } -> tensor<bf16>
    %7 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6 : tensor<bf16>) outs(%0 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x6x7xbf16>
    %8 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %7 : tensor<2x4x6x7xbf16>, tensor<2x4x6x7xbf16>) outs(%0 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %in_4: bf16, %out: bf16):
      %34 = arith.divf %in, %in_4 : bf16
      linalg.yield %34 : bf16
    } -> tensor<2x4x6x7xbf16>
    %9 = tensor.empty() : tensor<2x4x6xbf16>
    %10 = linalg.fill ins(%cst_1 : bf16) outs(%9 : tensor<2x4x6xbf16>) -> tensor<2x4x6xbf16>
    %11 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%8 : tensor<2x4x6x7xbf16>) outs(%10 : tensor<2x4x6xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %34 = arith.maximumf %out, %in : bf16
      linalg.yield %34 : bf16
    } -> tensor<2x4x6xbf16>
    %12 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<bf16>) outs(%9 : tensor<2x4x6xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x6xbf16>
    %13 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12, %11 : tensor<2x4x6xbf16>, tensor<2x4x6xbf16>) outs(%9 : tensor<2x4x6xbf16>) {
    ^bb0(%in: bf16, %in_4: bf16, %out: bf16):
      %34 = arith.maximumf %in, %in_4 : bf16
      linalg.yield %34 : bf16
    } -> tensor<2x4x6xbf16>
    %14 = tensor.empty() : tensor<2x4x6x1xbf16>
    %15 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x4x6xbf16>) outs(%14 : tensor<2x4x6x1xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x6x1xbf16>
    %16 = linalg.generic {indexing_maps = [#map9, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x6x1xbf16>) outs(%0 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x6x7xbf16>
    %17 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %16 : tensor<2x4x6x7xbf16>, tensor<2x4x6x7xbf16>) outs(%0 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %in_4: bf16, %out: bf16):
      %34 = arith.subf %in, %in_4 : bf16
      linalg.yield %34 : bf16
    } -> tensor<2x4x6x7xbf16>
    %18 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x6x7xbf16>) outs(%0 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %34 = math.exp %in : bf16
      linalg.yield %34 : bf16
    } -> tensor<2x4x6x7xbf16>
    %19 = tensor.empty() : tensor<2x4x6x7xf32>
    %20 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x4x6x7xbf16>) outs(%19 : tensor<2x4x6x7xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %34 = arith.extf %in : bf16 to f32
      linalg.yield %34 : f32
    } -> tensor<2x4x6x7xf32>
    %21 = tensor.empty() : tensor<2x4x6xf32>
    %22 = linalg.fill ins(%cst_0 : f32) outs(%21 : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %23 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<2x4x6x7xf32>) outs(%22 : tensor<2x4x6xf32>) {
    ^bb0(%in: f32, %out: f32):
      %34 = arith.addf %out, %in : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x6xf32>
    %24 = tensor.empty() : tensor<2x4x6x1xf32>
    %25 = linalg.generic {indexing_maps = [#map6, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x6xf32>) outs(%24 : tensor<2x4x6x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x6x1xf32>
    %26 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<2x4x6x1xf32>) outs(%14 : tensor<2x4x6x1xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %34 = arith.truncf %in : f32 to bf16
      linalg.yield %34 : bf16
    } -> tensor<2x4x6x1xbf16>
    %27 = linalg.generic {indexing_maps = [#map9, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x4x6x1xbf16>) outs(%0 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x4x6x7xbf16>
    %28 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %27 : tensor<2x4x6x7xbf16>, tensor<2x4x6x7xbf16>) outs(%0 : tensor<2x4x6x7xbf16>) {
    ^bb0(%in: bf16, %in_4: bf16, %out: bf16):
      %34 = arith.divf %in, %in_4 : bf16
      linalg.yield %34 : bf16
    } -> tensor<2x4x6x7xbf16>
    %29 = tensor.empty() : tensor<2x4x8x6xbf16>
    %30 = linalg.fill ins(%cst_2 : bf16) outs(%29 : tensor<2x4x8x6xbf16>) -> tensor<2x4x8x6xbf16>
    %31 = linalg.generic {indexing_maps = [#map10, #map11, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %28 : tensor<2x7x4x8xbf16>, tensor<2x4x6x7xbf16>) outs(%30 : tensor<2x4x8x6xbf16>) {
    ^bb0(%in: bf16, %in_4: bf16, %out: bf16):
      %34 = arith.mulf %in, %in_4 : bf16
      %35 = arith.addf %out, %34 : bf16
      linalg.yield %35 : bf16
    } -> tensor<2x4x8x6xbf16>
    %32 = tensor.empty() : tensor<2x6x4x8xbf16>
    %33 = linalg.generic {indexing_maps = [#map12, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<2x4x8x6xbf16>) outs(%32 : tensor<2x6x4x8xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x6x4x8xbf16>
    return %33 : tensor<2x6x4x8xbf16>
  }
}

