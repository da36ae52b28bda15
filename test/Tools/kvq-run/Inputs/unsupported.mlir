// Functions that cannot be an entry.

func.func @complex(%x: memref<2xcomplex<f32>>) { return }
func.func @unranked(%x: memref<*xf32>) { return }
func.func @odd(%x: memref<4x3xf4E2M1FN>) { return }
func.func @space(%x: memref<4xf32, 3>) { return }
func.func @affine(%x: memref<4x4xf32, affine_map<(i, j) -> (i mod 2, j)>>) {
  return
}
func.func @cache(%x: !kvq.cache<key, 16x2x64, nvfp4, HND, linear>) { return }
