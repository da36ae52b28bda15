//===- TCGen05Ops.td - Operations of kvq_tcgen05 ----------*- tablegen -*-===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05OPS_TD
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05OPS_TD

include "kvq/Dialect/TCGen05/IR/TCGen05Types.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Operand types and base classes
//===----------------------------------------------------------------------===//

def TCGen05_Region : AnyTypeOf<[TCGen05_TMemType, TCGen05_ScalesType],
                               "region of tensor memory">;
def TCGen05_AnyTile : AnyTypeOf<[TCGen05_TileType, TCGen05_ScaleTileType],
                                "tile of shared memory">;
def TCGen05_OperandA : AnyTypeOf<[TCGen05_TileType, TCGen05_TMemType],
                                 "tile of shared memory or tmem">;

def TCGen05_Shared
    : Type<CPred<"::kvq::tcgen05::detail::isSharedMemory($_self)">,
           "memref or LLVM pointer of shared memory">;

def TCGen05_CtaGroup
    : DefaultValuedAttr<ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<2>]>,
                        "1">;

class TCGen05Op<string mnemonic, list<Trait> traits = []>
    : Op<TCGen05Dialect, mnemonic, traits>;

/// An operation that neither moves across others nor disappears: it starts or
/// orders work that LLVM and MLIR do not see.
class TCGen05EffectOp<string mnemonic, list<Trait> traits = []>
    : TCGen05Op<mnemonic,
                !listconcat(traits, [MemoryEffects<[MemRead, MemWrite]>])>;

//===----------------------------------------------------------------------===//
// Allocation of tensor memory
//===----------------------------------------------------------------------===//

def TCGen05_AllocOp : TCGen05EffectOp<"alloc"> {
  let summary = "allocate tensor memory";
  let description = [{
    A whole warp allocates columns of tensor memory and writes the address to a
    32-bit slot in shared memory, from where all threads load it after a
    barrier. The number of columns is a power of two from 32 to 512; without it
    `kvq-tcgen05-allocate-tmem` chooses. What is allocated is deallocated
    before the kernel ends.

    Example:

    ```mlir
    kvq_tcgen05.alloc %slot[%c0] columns(64)
        : memref<1xi32, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins
    TCGen05_Shared:$slot,
    Variadic<Index>:$indices,
    OptionalAttr<I64Attr>:$columns,
    TCGen05_CtaGroup:$cta_group
  );
  let builders = [
    OpBuilder<(ins "::mlir::Value":$slot, "::mlir::ValueRange":$indices), [{
      build($_builder, $_state, slot, indices, ::mlir::IntegerAttr());
    }]>
  ];
  let assemblyFormat = [{
    $slot (`[` $indices^ `]`)? (`columns` `(` $columns^ `)`)? attr-dict
    `:` type($slot)
  }];
  let hasVerifier = 1;
}

def TCGen05_DeallocOp : TCGen05EffectOp<"dealloc"> {
  let summary = "free tensor memory";
  let description = [{
    A whole warp frees the allocation at `base`, with the number of columns
    that it was allocated with.

    Example:

    ```mlir
    kvq_tcgen05.dealloc %base columns(64)
    ```
  }];
  let arguments = (ins
    I32:$base,
    OptionalAttr<I64Attr>:$columns,
    TCGen05_CtaGroup:$cta_group
  );
  let builders = [
    OpBuilder<(ins "::mlir::Value":$base), [{
      build($_builder, $_state, base, ::mlir::IntegerAttr());
    }]>
  ];
  let assemblyFormat = [{
    $base (`columns` `(` $columns^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def TCGen05_RelinquishOp : TCGen05EffectOp<"relinquish"> {
  let summary = "give up the permit to allocate";
  let description = [{
    A whole warp says that its CTA allocates no more tensor memory.

    Example:

    ```mlir
    kvq_tcgen05.relinquish
    ```
  }];
  let arguments = (ins TCGen05_CtaGroup:$cta_group);
  let assemblyFormat = "attr-dict";
}

def TCGen05_RegionOp : TCGen05Op<"region"> {
  let summary = "a region of an allocation";
  let description = [{
    The region that begins `at` a 32-bit column of the allocation at `base`.
    Without a place `kvq-tcgen05-allocate-tmem` finds one; the region then
    lives until `kvq_tcgen05.release`, or to the end of its block. The name is
    for diagnostics.

    Example:

    ```mlir
    %s = kvq_tcgen05.region %base named "S" : !kvq_tcgen05.tmem<128x16xf32>
    %o = kvq_tcgen05.region %base at 16 : !kvq_tcgen05.tmem<128x16xf32>
    ```
  }];
  let arguments = (ins
    I32:$base,
    OptionalAttr<I64Attr>:$column,
    OptionalAttr<StrAttr>:$region_name
  );
  // An effect keeps apart two regions that are equal but for their place.
  let results = (outs Res<TCGen05_Region, "", [MemAlloc]>:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$base,
                   "::llvm::StringRef":$name), [{
      build($_builder, $_state, type, base, ::mlir::IntegerAttr(),
            $_builder.getStringAttr(name));
    }]>
  ];
  let assemblyFormat = [{
    $base (`at` $column^)? (`named` $region_name^)? attr-dict
    `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def TCGen05_ReleaseOp : TCGen05Op<"release"> {
  let summary = "the end of a region's life";
  let description = [{
    After it, and after the barrier that follows, other regions may use the
    columns of this one. It is in the block of the region and is no
    instruction.

    Example:

    ```mlir
    kvq_tcgen05.release %s : !kvq_tcgen05.tmem<128x16xf32>
    ```
  }];
  let arguments = (ins Arg<TCGen05_Region, "", [MemFree]>:$region);
  let assemblyFormat = "$region attr-dict `:` qualified(type($region))";
  let hasVerifier = 1;
}

def TCGen05_SliceOp : TCGen05Op<"slice", [Pure]> {
  let summary = "some columns of a region";
  let description = [{
    The columns of a region from `column` on, in elements or scales. The slice
    has all rows of the region.

    Example:

    ```mlir
    %h = kvq_tcgen05.slice %s[16]
        : !kvq_tcgen05.tmem<128x64xf32> to !kvq_tcgen05.tmem<128x16xf32>
    ```
  }];
  let arguments = (ins
    TCGen05_Region:$source,
    Optional<Index>:$column,
    OptionalAttr<I64Attr>:$static_column
  );
  let results = (outs TCGen05_Region:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$source,
                   "::mlir::OpFoldResult":$column), [{
      build($_builder, $_state, type, source,
            ::llvm::dyn_cast<::mlir::Value>(column),
            detail::getColumnAttr($_builder, column));
    }]>
  ];
  let assemblyFormat = [{
    $source `[` custom<Position>($column, $static_column) `]` attr-dict
    `:` qualified(type($source)) `to` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def TCGen05_CastOp : TCGen05Op<"cast", [Pure]> {
  let summary = "the same columns as another type";
  let description = [{
    A region of other elements, packing or placement that begins at the same
    column and takes no more columns and no other lanes. The bits stay. Regions
    of 32-bit elements begin at a multiple of two columns only, so that one that
    is also to hold 16-bit elements is made with these.

    Example:

    ```mlir
    %s = kvq_tcgen05.cast %p
        : !kvq_tcgen05.tmem<128x128xf16> to !kvq_tcgen05.tmem<128x64xf32>
    ```
  }];
  let arguments = (ins TCGen05_Region:$source);
  let results = (outs TCGen05_Region:$result);
  let assemblyFormat = [{
    $source attr-dict
    `:` qualified(type($source)) `to` qualified(type($result))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Tiles of shared memory
//===----------------------------------------------------------------------===//

def TCGen05_MakeTileOp : TCGen05Op<"make_tile", [Pure]> {
  let summary = "a tile in shared memory";
  let description = [{
    The tile that begins `offset` bytes after the start of a memref (or at a
    pointer) of shared memory. The address must be a multiple of what the
    layout asks for. Like `kvq.make_cache` this asserts a layout that nothing
    can check.

    Example:

    ```mlir
    %a = kvq_tcgen05.make_tile %smem[%c1024]
        : memref<16384xi8, #gpu.address_space<workgroup>>
        to !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b32>
    ```
  }];
  let arguments = (ins TCGen05_Shared:$source, Optional<Index>:$offset);
  let results = (outs TCGen05_AnyTile:$result);
  let assemblyFormat = [{
    $source (`[` $offset^ `]`)? attr-dict
    `:` type($source) `to` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def TCGen05_SliceTileOp : TCGen05Op<"slice_tile", [Pure]> {
  let summary = "a part of a tile";
  let description = [{
    The part of a tile that begins at a row and an element along K. Both types
    have the same strides, which the type of the part spells out where its own
    defaults differ.

    Example:

    ```mlir
    %h = kvq_tcgen05.slice_tile %a[0, 64]
        : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>
        to !kvq_tcgen05.tile<128x64xf4E2M1FN, k, b64>
    ```
  }];
  let arguments = (ins
    TCGen05_TileType:$source,
    I64Attr:$row,
    I64Attr:$column
  );
  let results = (outs TCGen05_TileType:$result);
  let assemblyFormat = [{
    $source `[` $row `,` $column `]` attr-dict
    `:` qualified(type($source)) `to` qualified(type($result))
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

class TCGen05MMAOpBase<string mnemonic, list<Trait> traits = []>
    : TCGen05EffectOp<mnemonic, traits> {
  let hasVerifier = 1;
  code mmaDeclarations = [{
    /// M and N of the instruction, over the CTAs of the group.
    int64_t getM();
    int64_t getN();

    /// Elements along K of the operands.
    int64_t getK();

    /// The number of instructions that the product takes.
    int64_t getNumSteps();
  }];
}

def TCGen05_MMAOp : TCGen05MMAOpBase<"mma", [AttrSizedOperandSegments]> {
  let summary = "a matrix product";
  let description = [{
    D = A * B^T, or with `accumulate` true D = A * B^T + D * 2^-scale_d, in
    which A is M by K and B is N by K. D is in tensor memory, A in shared or
    tensor memory, B in shared memory. One thread issues it; `commit` says when
    it is done.

    With `cta_group = 2` each of the two CTAs has half of the rows of A and of
    B; the types are those of one CTA.

    - `disable_lanes`: D keeps its value in lanes whose bit is set.
    - `scale_d`: 0 to 15, kinds f16 and tf32.
    - `negate_a`, `negate_b`: float kinds. `saturate`: kind i8; each step of 32
      along K saturates.
    - `shift_a`: A, in tensor memory, is shifted down by one row.
    - `weight_stationary`: B stays in the buffer `collector_b`; `collector`
      then is about B. `zero_columns` is the mask descriptor of columns of B
      that count as zero. It may also shift columns, at most by `max_shift`: 8,
      16, or, unless M is 32, 32.

    Example:

    ```mlir
    kvq_tcgen05.mma f16 ins(%a, %b : !kvq_tcgen05.tile<128x64xf16, k, b128>,
                                     !kvq_tcgen05.tile<16x64xf16, k, b128>)
        outs(%d : !kvq_tcgen05.tmem<128x16xf32>) accumulate(%p)
    ```
  }];
  let arguments = (ins
    TCGen05_MMAKindAttr:$kind,
    TCGen05_OperandA:$a,
    TCGen05_TileType:$b,
    TCGen05_TMemType:$d,
    Optional<I1>:$accumulate,
    Optional<FixedVectorOfLengthAndType<[4, 8], [I32]>>:$disable_lanes,
    Optional<I64>:$zero_columns,
    TCGen05_CtaGroup:$cta_group,
    OptionalAttr<I64Attr>:$scale_d,
    UnitAttr:$negate_a,
    UnitAttr:$negate_b,
    UnitAttr:$saturate,
    UnitAttr:$shift_a,
    UnitAttr:$weight_stationary,
    OptionalAttr<I64Attr>:$collector_b,
    OptionalAttr<I64Attr>:$max_shift,
    DefaultValuedAttr<TCGen05_CollectorAttr,
                      "::kvq::tcgen05::Collector::Discard">:$collector
  );
  let builders = [
    OpBuilder<(ins "::kvq::tcgen05::MMAKind":$kind, "::mlir::Value":$a,
                   "::mlir::Value":$b, "::mlir::Value":$d,
                   CArg<"::mlir::Value", "{}">:$accumulate), [{
      build($_builder, $_state, kind, a, b, d, accumulate, ::mlir::Value(),
            ::mlir::Value(), /*cta_group=*/1, ::mlir::IntegerAttr(),
            /*negate_a=*/false, /*negate_b=*/false, /*saturate=*/false,
            /*shift_a=*/false, /*weight_stationary=*/false,
            ::mlir::IntegerAttr(), ::mlir::IntegerAttr());
    }]>
  ];
  let assemblyFormat = [{
    $kind
    `ins` `(` $a `,` $b `:` qualified(type($a)) `,` qualified(type($b)) `)`
    `outs` `(` $d `:` qualified(type($d)) `)`
    (`accumulate` `(` $accumulate^ `)`)?
    (`disable_lanes` `(` $disable_lanes^ `:` type($disable_lanes) `)`)?
    (`zero_columns` `(` $zero_columns^ `)`)?
    attr-dict
  }];
  let extraClassDeclaration = mmaDeclarations;
}

def TCGen05_MMABlockScaledOp : TCGen05MMAOpBase<"mma_block_scaled"> {
  let summary = "a matrix product of block-scaled operands";
  let description = [{
    D = (A * SA) * (B * SB)^T, or that plus D with `accumulate` true. Each
    scale multiplies `block` elements along K. Without `accumulate` D is
    overwritten. With `cta_group = 2` M is 256 and types are those of one CTA,
    but the scales of B hold all of N.

    Example:

    ```mlir
    kvq_tcgen05.mma_block_scaled mxf4nvf4
        ins(%k, %q : !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>,
                     !kvq_tcgen05.tile<16x128xf4E2M1FN, k, b64>)
        scales(%sk, %sq : !kvq_tcgen05.scales<128x8xf8E4M3FN>,
                          !kvq_tcgen05.scales<128x8xf8E4M3FN>)
        outs(%d : !kvq_tcgen05.tmem<128x16xf32>) {block = 16 : i64}
    ```
  }];
  let arguments = (ins
    TCGen05_MMAKindAttr:$kind,
    TCGen05_OperandA:$a,
    TCGen05_TileType:$b,
    TCGen05_ScalesType:$scales_a,
    TCGen05_ScalesType:$scales_b,
    TCGen05_TMemType:$d,
    Optional<I1>:$accumulate,
    I64Attr:$block,
    TCGen05_CtaGroup:$cta_group,
    UnitAttr:$negate_a,
    UnitAttr:$negate_b,
    DefaultValuedAttr<TCGen05_CollectorAttr,
                      "::kvq::tcgen05::Collector::Discard">:$collector
  );
  let assemblyFormat = [{
    $kind
    `ins` `(` $a `,` $b `:` qualified(type($a)) `,` qualified(type($b)) `)`
    `scales` `(` $scales_a `,` $scales_b
    `:` qualified(type($scales_a)) `,` qualified(type($scales_b)) `)`
    `outs` `(` $d `:` qualified(type($d)) `)`
    (`accumulate` `(` $accumulate^ `)`)?
    attr-dict
  }];
  let extraClassDeclaration = mmaDeclarations;
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

def TCGen05_CopyOp : TCGen05EffectOp<"copy"> {
  let summary = "copy a tile to tensor memory";
  let description = [{
    One thread copies a K-major tile, which has the rows of the shape, to
    tensor memory, 256 or 128 bits of each row an instruction. Padded elements
    of 4 and 6 bits become the byte containers that `f8f6f4` reads.

    Example:

    ```mlir
    kvq_tcgen05.copy shape_128x256b %a to %t
        : !kvq_tcgen05.tile<128x64xf16, k, b128>
        to !kvq_tcgen05.tmem<128x64xf16>
    ```
  }];
  let arguments = (ins
    TCGen05_CopyShapeAttr:$shape,
    TCGen05_TileType:$source,
    TCGen05_TMemType:$dest,
    DefaultValuedAttr<TCGen05_CopyMulticastAttr,
                      "::kvq::tcgen05::CopyMulticast::None">:$multicast,
    TCGen05_CtaGroup:$cta_group
  );
  let assemblyFormat = [{
    $shape $source `to` $dest (`multicast` $multicast^)? attr-dict
    `:` qualified(type($source)) `to` qualified(type($dest))
  }];
  let extraClassDeclaration = [{
    /// Rows of the shape, and bytes of each row that an instruction copies.
    int64_t getShapeRows();
    int64_t getShapeBytes();
  }];
  let hasVerifier = 1;
}

def TCGen05_CopyScalesOp : TCGen05EffectOp<"copy_scales"> {
  let summary = "copy block scales to tensor memory";
  let description = [{
    One thread copies block scales to where a product reads them: an
    instruction of shape 32x128b to all four quarters for each block of 128
    rows by 4 scales.

    Example:

    ```mlir
    kvq_tcgen05.copy_scales %s to %t : !kvq_tcgen05.scale_tile<128x8xf8E4M3FN>
        to !kvq_tcgen05.scales<128x8xf8E4M3FN>
    ```
  }];
  let arguments = (ins
    TCGen05_ScaleTileType:$source,
    TCGen05_ScalesType:$dest,
    TCGen05_CtaGroup:$cta_group
  );
  let assemblyFormat = [{
    $source `to` $dest attr-dict
    `:` qualified(type($source)) `to` qualified(type($dest))
  }];
  let hasVerifier = 1;
}

defvar AccessArguments = (ins
  Optional<Index>:$column,
  OptionalAttr<I64Attr>:$static_column,
  Optional<I32>:$warp,
  DefaultValuedAttr<I64Attr, "0">:$lane,
  OptionalAttr<I64Attr>:$split);

defvar AccessDeclarations = [{
    /// 32-bit registers per thread.
    int64_t getNumRegisters();
}];

def TCGen05_LoadOp : TCGen05Op<"load",
    [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "load from tensor memory";
  let description = [{
    A whole warp loads columns of a region from `column` on into registers. The
    result, as the elements of the region or as 32-bit words, has all registers
    of a thread in order. `wait load` completes it.

    `warp` is the index of the executing warp modulo 4, which says the quarter
    of the lanes that it reaches; only a region inside a single quarter needs
    none. `lane`, 0 or 16, is where the shapes of 16 lanes begin in the
    quarter. `split` is the distance of the second half of `shape_16x32bx2`.
    `pack` joins the low halves of two adjacent columns in a register.

    Example:

    ```mlir
    %v = kvq_tcgen05.load shape_32x32b %s[16] warp(%w)
        : !kvq_tcgen05.tmem<128x64xf32> -> vector<16xf32>
    ```
  }];
  let arguments = !con((ins
    TCGen05_AccessShapeAttr:$shape,
    TCGen05_TMemType:$source), AccessArguments, (ins
    UnitAttr:$pack
  ));
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Type":$type, "::kvq::tcgen05::AccessShape":$shape,
                   "::mlir::Value":$source, "::mlir::OpFoldResult":$column,
                   "::mlir::Value":$warp, CArg<"int64_t", "0">:$lane), [{
      build($_builder, $_state, type, shape, source,
            ::llvm::dyn_cast<::mlir::Value>(column),
            detail::getColumnAttr($_builder, column), warp,
            static_cast<uint64_t>(lane), ::mlir::IntegerAttr());
    }]>
  ];
  let assemblyFormat = [{
    $shape $source custom<OptionalPosition>($column, $static_column)
    (`warp` `(` $warp^ `)`)? (`pack` $pack^)? attr-dict
    `:` qualified(type($source)) `->` type($result)
  }];
  let extraClassDeclaration = AccessDeclarations;
  let hasVerifier = 1;
}

def TCGen05_StoreOp : TCGen05Op<"store",
    [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "store to tensor memory";
  let description = [{
    A whole warp stores registers to columns of a region: the inverse of
    `kvq_tcgen05.load`. `unpack` stores the halves of a register to the low
    halves of two adjacent columns. `wait store` completes it.

    Example:

    ```mlir
    kvq_tcgen05.store shape_32x32b %v to %p[0] warp(%w)
        : vector<32xf16>, !kvq_tcgen05.tmem<128x128xf16>
    ```
  }];
  let arguments = !con((ins
    TCGen05_AccessShapeAttr:$shape,
    AnyVectorOfNonZeroRank:$value,
    TCGen05_TMemType:$dest), AccessArguments, (ins
    UnitAttr:$unpack
  ));
  let builders = [
    OpBuilder<(ins "::kvq::tcgen05::AccessShape":$shape,
                   "::mlir::Value":$value, "::mlir::Value":$dest,
                   "::mlir::OpFoldResult":$column, "::mlir::Value":$warp,
                   CArg<"int64_t", "0">:$lane), [{
      build($_builder, $_state, shape, value, dest,
            ::llvm::dyn_cast<::mlir::Value>(column),
            detail::getColumnAttr($_builder, column), warp,
            static_cast<uint64_t>(lane), ::mlir::IntegerAttr());
    }]>
  ];
  let assemblyFormat = [{
    $shape $value `to` $dest custom<OptionalPosition>($column, $static_column)
    (`warp` `(` $warp^ `)`)? (`unpack` $unpack^)? attr-dict
    `:` type($value) `,` qualified(type($dest))
  }];
  let extraClassDeclaration = AccessDeclarations;
  let hasVerifier = 1;
}

def TCGen05_ShiftOp : TCGen05EffectOp<"shift"> {
  let summary = "shift rows down";
  let description = [{
    One thread moves the rows of 32 bytes of the lanes of one warp, the last
    row excepted, to the next lane.

    Example:

    ```mlir
    kvq_tcgen05.shift %t : !kvq_tcgen05.tmem<32x8xi32, lane = 64>
    ```
  }];
  let arguments = (ins TCGen05_TMemType:$region, TCGen05_CtaGroup:$cta_group);
  let assemblyFormat = "$region attr-dict `:` qualified(type($region))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Synchronization
//===----------------------------------------------------------------------===//

def TCGen05_WaitOp : TCGen05EffectOp<"wait"> {
  let summary = "wait for the loads or stores of a thread";
  let description = [{
    A whole warp waits until its loads from, or stores to, tensor memory are
    done.

    Example:

    ```mlir
    kvq_tcgen05.wait load
    ```
  }];
  let arguments = (ins TCGen05_WaitKindAttr:$kind);
  let assemblyFormat = "$kind attr-dict";
}

def TCGen05_CommitOp : TCGen05EffectOp<"commit", [AttrSizedOperandSegments]> {
  let summary = "make an mbarrier track the work of a thread";
  let description = [{
    Arrives once at an mbarrier in shared memory when all products, copies and
    shifts that the thread issued before are done. With `multicast` it arrives
    at the barriers of the same offset of those CTAs of the cluster whose bits
    are set. Includes `fence before`.

    Example:

    ```mlir
    kvq_tcgen05.commit %bars[%i] : memref<4xi64, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins
    TCGen05_Shared:$barrier,
    Variadic<Index>:$indices,
    Optional<I16>:$multicast,
    TCGen05_CtaGroup:$cta_group
  );
  let assemblyFormat = [{
    $barrier (`[` $indices^ `]`)? (`multicast` `(` $multicast^ `)`)? attr-dict
    `:` type($barrier)
  }];
  let hasVerifier = 1;
}

def TCGen05_FenceOp : TCGen05EffectOp<"fence"> {
  let summary = "order tcgen05 work and thread synchronization";
  let description = [{
    `before` orders earlier asynchronous work before the synchronization that
    follows, `after` orders later work after the synchronization before it.

    Example:

    ```mlir
    kvq_tcgen05.fence before
    ```
  }];
  let arguments = (ins TCGen05_FenceKindAttr:$kind);
  let assemblyFormat = "$kind attr-dict";
}

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05OPS_TD
