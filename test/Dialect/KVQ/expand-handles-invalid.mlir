// RUN: kvq-opt %s --kvq-expand-handles --split-input-file --verify-diagnostics

!f8 = !kvq.cache<key, 16x8x128, fp8, NHD>

// expected-error@+1 {{function returns a handle of type '!kvq.cache<key, 16x8x128, fp8, NHD>'; handles are passed down, not returned}}
func.func @returned(%k: !f8) -> !f8 {
  return %k : !f8
}

// -----

!f8 = !kvq.cache<key, 16x8x128, fp8, NHD>

// expected-error@+1 {{function returns a handle of type}}
func.func private @returned_by_declaration() -> (i32, !f8)
