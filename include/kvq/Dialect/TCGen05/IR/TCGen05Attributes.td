//===- TCGen05Attributes.td - Attributes of kvq_tcgen05 ---*- tablegen -*-===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05ATTRIBUTES_TD
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05ATTRIBUTES_TD

include "kvq/Dialect/TCGen05/IR/TCGen05Dialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class TCGen05Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::kvq::tcgen05";
  let genSpecializedAttr = 0;
}

def TCGen05_Packing : TCGen05Enum<"Packing",
    "how elements fill the 32-bit columns of tensor memory", [
    I32EnumAttrCase<"Dense", 0, "dense">,
    I32EnumAttrCase<"Byte", 1, "byte">,
    I32EnumAttrCase<"Word", 2, "word">
  ]>;

def TCGen05_Placement : TCGen05Enum<"Placement",
    "which lanes of tensor memory the rows of a region have", [
    I32EnumAttrCase<"Straight", 0, "straight">,
    I32EnumAttrCase<"Scattered", 1, "scattered">,
    I32EnumAttrCase<"Folded", 2, "folded">
  ]>;

def TCGen05_Major : TCGen05Enum<"Major",
    "the axis along which a tile in shared memory is contiguous", [
    I32EnumAttrCase<"K", 0, "k">,
    I32EnumAttrCase<"MN", 1, "mn">
  ]>;

def TCGen05_Swizzle : TCGen05Enum<"Swizzle",
    "the swizzle of a tile in shared memory", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"B32", 1, "b32">,
    I32EnumAttrCase<"B64", 2, "b64">,
    I32EnumAttrCase<"B128", 3, "b128">,
    I32EnumAttrCase<"B128Atom32", 4, "b128_atom32">
  ]>;

def TCGen05_MMAKind : TCGen05Enum<"MMAKind", "the kind of a product", [
    I32EnumAttrCase<"F16", 0, "f16">,
    I32EnumAttrCase<"TF32", 1, "tf32">,
    I32EnumAttrCase<"F8F6F4", 2, "f8f6f4">,
    I32EnumAttrCase<"I8", 3, "i8">,
    I32EnumAttrCase<"MXF8F6F4", 4, "mxf8f6f4">,
    I32EnumAttrCase<"MXF4", 5, "mxf4">,
    I32EnumAttrCase<"MXF4NVF4", 6, "mxf4nvf4">
  ]>;

def TCGen05_Collector : TCGen05Enum<"Collector",
    "what happens to the buffer of the operand that may be reused", [
    I32EnumAttrCase<"Discard", 0, "discard">,
    I32EnumAttrCase<"LastUse", 1, "lastuse">,
    I32EnumAttrCase<"Fill", 2, "fill">,
    I32EnumAttrCase<"Use", 3, "use">
  ]>;

def TCGen05_AccessShape : TCGen05Enum<"AccessShape",
    "the shape of a load from or a store to tensor memory", [
    I32EnumAttrCase<"S16x64b", 0, "shape_16x64b">,
    I32EnumAttrCase<"S16x128b", 1, "shape_16x128b">,
    I32EnumAttrCase<"S16x256b", 2, "shape_16x256b">,
    I32EnumAttrCase<"S32x32b", 3, "shape_32x32b">,
    I32EnumAttrCase<"S16x32bx2", 4, "shape_16x32bx2">
  ]>;

def TCGen05_CopyShape : TCGen05Enum<"CopyShape",
    "the shape of a copy from shared to tensor memory", [
    I32EnumAttrCase<"S128x256b", 0, "shape_128x256b">,
    I32EnumAttrCase<"S4x256b", 1, "shape_4x256b">,
    I32EnumAttrCase<"S128x128b", 2, "shape_128x128b">,
    I32EnumAttrCase<"S64x128b", 3, "shape_64x128b">,
    I32EnumAttrCase<"S32x128b", 4, "shape_32x128b">
  ]>;

def TCGen05_CopyMulticast : TCGen05Enum<"CopyMulticast",
    "the quarters of tensor memory that a copy writes", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Warpx2_02_13", 1, "warpx2_02_13">,
    I32EnumAttrCase<"Warpx2_01_23", 2, "warpx2_01_23">,
    I32EnumAttrCase<"Warpx4", 3, "warpx4">
  ]>;

def TCGen05_WaitKind : TCGen05Enum<"WaitKind", "what a wait waits for", [
    I32EnumAttrCase<"Load", 0, "load">,
    I32EnumAttrCase<"Store", 1, "store">
  ]>;

def TCGen05_FenceKind : TCGen05Enum<"FenceKind",
    "the side of a thread synchronization on which a fence stands", [
    I32EnumAttrCase<"Before", 0, "before">,
    I32EnumAttrCase<"After", 1, "after">
  ]>;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def TCGen05_LayoutAttr : AttrDef<TCGen05Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "how an operand lies in shared memory";
  let description = [{
    The layout of a tile in shared memory: the axis along which it is
    contiguous (`k`, or `mn` for M or N), the swizzle, whether elements of 4 or
    6 bits are `padded` to 16 elements in 16 bytes, and two byte strides.

    With `W` the width of the swizzle's pattern (16 bytes without one), row `r`
    along M or N, and `L` = `leading`, `S` = `stride`, a byte lies at this
    offset, which the swizzle then permutes:

    | major | swizzle | offset | default stride | default leading |
    |---|---|---|---|---|
    | `k` | none | `(r%8)*16 + (r/8)*S + (b/16)*L + b%16`, b = byte along K | 128 | rows/8 * S |
    | `k` | W | `(r%8)*W + (r/8)*S + (b/W)*L + b%W` | 8 * W | rows/8 * S |
    | `mn` | none | `b%16 + (b/16)*S + (k%8)*16 + (k/8)*L`, b = byte along MN | 128 | bytes/16 * S |
    | `mn` | W | `b%W + (b/W)*L + (k%8)*W + (k/8)*S` | 8 * W | K/8 * S |

    With `b128_atom32`, which is for MN-major elements of 32 bits only,
    groups along K have four lines instead of eight. The swizzle exclusive-ors
    bits of the shared-memory address `x`:

    | swizzle | W | address | tile starts at a multiple of |
    |---|---|---|---|
    | `none` | 16 | x | 16 |
    | `b32` | 32 | x ^ (((x >> 7) & 1) << 4) | 256 |
    | `b64` | 64 | x ^ (((x >> 7) & 3) << 4) | 512 |
    | `b128` | 128 | x ^ (((x >> 7) & 7) << 4) | 1024 |
    | `b128_atom32` | 128 | x ^ (((x >> 7) & 3) << 5) | 512 |

    `leading` of a swizzled K-major tile is the distance of panels of W bytes;
    the hardware does not see it, the lowering steps by it.

    Example:

    ```mlir
    #kvq_tcgen05.layout<k, b128>
    #kvq_tcgen05.layout<k, none, padded>
    #kvq_tcgen05.layout<mn, none, leading = 128, stride = 2048>
    ```
  }];
  let parameters = (ins
    "::kvq::tcgen05::Major":$major,
    "::kvq::tcgen05::Swizzle":$swizzle,
    DefaultValuedParameter<"bool", "false">:$padded,
    DefaultValuedParameter<"int64_t", "0">:$leading,
    DefaultValuedParameter<"int64_t", "0">:$stride
  );
  let builders = [
    AttrBuilder<(ins "::kvq::tcgen05::Major":$major,
                     "::kvq::tcgen05::Swizzle":$swizzle), [{
      return $_get($_ctxt, major, swizzle, false, 0, 0);
    }]>
  ];
  let extraClassDeclaration = [{
    /// The width of the swizzle's pattern in bytes; 16 without a swizzle.
    int64_t getPatternBytes() const;

    /// Lines along K of one pattern of an MN-major tile.
    int64_t getPatternLines() const;

    /// What the address of a tile must be a multiple of.
    int64_t getAlignment() const;

    bool isKMajor() const { return getMajor() == Major::K; }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

class TCGen05EnumAttr<EnumAttrInfo info, string attrMnemonic>
    : EnumAttr<TCGen05Dialect, info, attrMnemonic> {
  let assemblyFormat = "$value";
}

def TCGen05_MMAKindAttr : TCGen05EnumAttr<TCGen05_MMAKind, "mma_kind"> {
  let summary = "the kind of a product";
  let description = [{
    | kind | A and B | D | K of an instruction | scales |
    |---|---|---|---|---|
    | `f16` | f16 or bf16, the same | f32; f16 for f16 | 16 | |
    | `tf32` | tf32 | f32 | 8 | |
    | `f8f6f4` | f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN | f32, f16 | 32 | |
    | `i8` | si8, ui8 | i32 | 32 | |
    | `mxf8f6f4` | as f8f6f4 | f32 | 32 | f8E8M0FNU per 32 |
    | `mxf4` | f4E2M1FN | f32 | 64 | f8E8M0FNU per 32 |
    | `mxf4nvf4` | f4E2M1FN | f32 | 64 | f8E4M3FN or f8E8M0FNU per 16, f8E8M0FNU per 32 |

    Example:

    ```mlir
    #kvq_tcgen05<mma_kind mxf4nvf4>
    ```
  }];
}

def TCGen05_CollectorAttr : TCGen05EnumAttr<TCGen05_Collector, "collector"> {
  let summary = "a hint about the reuse of an operand";
  let description = [{
    `fill` keeps operand A (B of a weight-stationary product) for the next
    product, `use` and `lastuse` take it from there, `discard` does neither.
    The data must be the same; results do not depend on the hint.

    Example:

    ```mlir
    #kvq_tcgen05<collector fill>
    ```
  }];
}

def TCGen05_AccessShapeAttr
    : TCGen05EnumAttr<TCGen05_AccessShape, "access_shape"> {
  let summary = "the shape of a load or store";
  let description = [{
    Register `r` of thread `t` of a warp holds the 32-bit word at this lane and
    column of tensor memory, relative to the first lane of the access:

    | shape | registers of x N | columns | lane | column |
    |---|---|---|---|---|
    | `shape_32x32b` | N | N | t | r |
    | `shape_16x64b` | N | 2 N | t/4 + 8 (t%2) | 2 r + (t/2)%2 |
    | `shape_16x128b` | 2 N | 4 N | t/4 + 8 (r%2) | 4 (r/2) + t%4 |
    | `shape_16x256b` | 4 N | 8 N | t/4 + 8 ((r/2)%2) | 8 (r/4) + 2 (t%4) + r%2 |
    | `shape_16x32bx2` | N | N, twice | t%16 | r + (t < 16 ? 0 : split) |

    N is a power of two, and there are at most 128 registers.

    Example:

    ```mlir
    #kvq_tcgen05<access_shape shape_16x256b>
    ```
  }];
}

def TCGen05_CopyShapeAttr : TCGen05EnumAttr<TCGen05_CopyShape, "copy_shape"> {
  let summary = "the shape of a copy";
  let description = [{
    Rows of a tile of shared memory go to these lanes:

    | shape | multicast | lanes of row r |
    |---|---|---|
    | `shape_128x256b`, `shape_128x128b` | none | r |
    | `shape_4x256b` | none | 32 r |
    | `shape_64x128b` | `warpx2_02_13` | r, r + 64 |
    | `shape_64x128b` | `warpx2_01_23` | (r/32) 64 + r%32, and 32 more |
    | `shape_32x128b` | `warpx4` | r, r + 32, r + 64, r + 96 |

    Example:

    ```mlir
    #kvq_tcgen05<copy_shape shape_64x128b>
    ```
  }];
}

def TCGen05_CopyMulticastAttr
    : TCGen05EnumAttr<TCGen05_CopyMulticast, "copy_multicast"> {
  let summary = "the quarters of tensor memory that a copy writes";
  let description = [{
    A pair of quarters, 0 with 2 and 1 with 3 or 0 with 1 and 2 with 3, has the
    same rows after `warpx2_02_13` or `warpx2_01_23`, all four after `warpx4`.

    Example:

    ```mlir
    #kvq_tcgen05<copy_multicast warpx2_02_13>
    ```
  }];
}

def TCGen05_WaitKindAttr : TCGen05EnumAttr<TCGen05_WaitKind, "wait_kind"> {
  let summary = "what a wait waits for";
  let description = [{
    The loads or the stores of the executing threads.

    Example:

    ```mlir
    #kvq_tcgen05<wait_kind load>
    ```
  }];
}

def TCGen05_FenceKindAttr : TCGen05EnumAttr<TCGen05_FenceKind, "fence_kind"> {
  let summary = "the side of a thread synchronization";
  let description = [{
    Whether the fence stands before or after a barrier, arrival or wait.

    Example:

    ```mlir
    #kvq_tcgen05<fence_kind after>
    ```
  }];
}

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05ATTRIBUTES_TD
