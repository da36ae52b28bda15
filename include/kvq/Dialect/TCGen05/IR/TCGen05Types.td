//===- TCGen05Types.td - Types of the kvq_tcgen05 dialect -*- tablegen -*-===//

#ifndef KVQ_DIALECT_TCGEN05_IR_TCGEN05TYPES_TD
#define KVQ_DIALECT_TCGEN05_IR_TCGEN05TYPES_TD

include "kvq/Dialect/TCGen05/IR/TCGen05Attributes.td"
include "mlir/IR/AttrTypeBase.td"

class TCGen05Type<string cppName, string typeMnemonic>
    : TypeDef<TCGen05Dialect, cppName> {
  let mnemonic = typeMnemonic;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TCGen05_TMemType : TCGen05Type<"TMem", "tmem"> {
  let summary = "a matrix in tensor memory";
  let description = [{
    A matrix of `rows` by `columns` elements in tensor memory, which has 128
    lanes of 512 columns of 32 bits per CTA.

    Packing: `dense` (not printed) puts 32 bits of elements in a column, `byte`
    gives elements of 4 and 6 bits a byte each (a 4-bit value in bits 2 to 5,
    as `f8f6f4` reads them), `word` gives 16-bit elements a column each (16-bit
    accumulators).

    Placement: rows lie in lanes `lane` and on (not printed); or they are
    `scattered` over 16 lanes of every 32, `lane` is 0 or 16; or the columns
    are `folded` onto the lanes that the rows leave free. The lanes of a region
    are a window: a warp reaches those of its own quarter only.

    Example:

    ```mlir
    !kvq_tcgen05.tmem<128x16xf32>
    !kvq_tcgen05.tmem<128x64xf4E2M1FN, byte>
    !kvq_tcgen05.tmem<128x16xf16, word>
    !kvq_tcgen05.tmem<64x16xf32, scattered, lane = 16>
    !kvq_tcgen05.tmem<32x128xf32, folded>
    !kvq_tcgen05.tmem<32x8xi32, lane = 96>
    ```
  }];
  let parameters = (ins
    "int64_t":$rows,
    "int64_t":$columns,
    "::mlir::Type":$elementType,
    "::kvq::tcgen05::Packing":$packing,
    "::kvq::tcgen05::Placement":$placement,
    "int64_t":$lane
  );
  let builders = [
    TypeBuilder<(ins "int64_t":$rows, "int64_t":$columns,
                     "::mlir::Type":$elementType,
                     CArg<"::kvq::tcgen05::Packing",
                          "::kvq::tcgen05::Packing::Dense">:$packing), [{
      return $_get($_ctxt, rows, columns, elementType, packing,
                   Placement::Straight, int64_t(0));
    }]>
  ];
  let extraClassDeclaration = [{
    /// Bits that an element takes in tensor memory.
    int64_t getContainerBits() const;

    /// How many parts the columns are folded into; 1 where they are not.
    int64_t getFolds() const;

    /// The number of 32-bit columns.
    int64_t getNumWords() const;

    /// The 32-bit column of an element column, which begins one.
    int64_t getWordOf(int64_t column) const;

    /// What the first 32-bit column must be a multiple of.
    int64_t getWordAlignment() const;

    /// The lanes of the region, bit i of word i / 32.
    std::array<uint32_t, 4> getLanes() const;

    /// The type of the same region with another number of columns.
    TMemType withColumns(int64_t columns) const;
  }];
}

def TCGen05_ScalesType : TCGen05Type<"Scales", "scales"> {
  let summary = "block scales in tensor memory";
  let description = [{
    The block scales of an operand: `rows` along M or N, `columns` scales
    along K. Scale `j` of row `m` is byte `j % 4` of the word at lane
    `m % 32` of each quarter, column `(j / 4) * (rows / 32) + m / 32`.

    Example:

    ```mlir
    !kvq_tcgen05.scales<128x8xf8E4M3FN>
    ```
  }];
  let parameters = (ins
    "int64_t":$rows,
    "int64_t":$columns,
    "::mlir::Type":$elementType
  );
  let extraClassDeclaration = [{
    /// The number of 32-bit columns.
    int64_t getNumWords() const;

    /// The 32-bit column of a scale that begins a group of four.
    int64_t getWordOf(int64_t column) const;

    /// What the first 32-bit column must be a multiple of.
    int64_t getWordAlignment() const { return 2; }
  }];
}

def TCGen05_TileType : TCGen05Type<"Tile", "tile"> {
  let summary = "an operand in shared memory";
  let description = [{
    A matrix of `rows` (along M or N) by `columns` (along K) elements in shared
    memory, laid out as a `#kvq_tcgen05.layout` says, whose parameters follow
    the element type.

    Example:

    ```mlir
    !kvq_tcgen05.tile<128x128xf4E2M1FN, k, b64>
    !kvq_tcgen05.tile<16x32xf8E4M3FN, k, none>
    !kvq_tcgen05.tile<32x128xf16, mn, none, leading = 128, stride = 2048>
    ```
  }];
  let parameters = (ins
    "int64_t":$rows,
    "int64_t":$columns,
    "::mlir::Type":$elementType,
    "::kvq::tcgen05::LayoutAttr":$layout
  );
  let extraClassDeclaration = [{
    /// Bits that an element takes in shared memory, padding included.
    int64_t getContainerBits() const;

    /// The strides of the layout with their defaults worked out, in bytes.
    int64_t getLeading() const;
    int64_t getStride() const;

    /// The offset of an element in bytes, before the swizzle. The element
    /// begins a byte.
    int64_t getByteOffset(int64_t row, int64_t column) const;

    /// The bytes from the first to the last that the tile occupies.
    int64_t getSizeInBytes() const;

    /// The matrix descriptor of a tile at address 0.
    uint64_t getDescriptor() const;
  }];
}

def TCGen05_ScaleTileType : TCGen05Type<"ScaleTile", "scale_tile"> {
  let summary = "block scales in shared memory";
  let description = [{
    `rows` by `columns` block scales in the order of the tensor cores
    (`blocked_128x4`): blocks of 128 rows by 4 scales of 512 bytes, in which
    scale `j` of row `m` is at byte `16 * (m % 32) + 4 * (m / 32) + j`. Blocks
    along K follow each other, then those of the next 128 rows. The tile starts
    at a multiple of 16 bytes.

    Example:

    ```mlir
    !kvq_tcgen05.scale_tile<128x8xf8E4M3FN>
    ```
  }];
  let parameters = (ins
    "int64_t":$rows,
    "int64_t":$columns,
    "::mlir::Type":$elementType
  );
  let extraClassDeclaration = [{
    int64_t getSizeInBytes() const { return getRows() * getColumns(); }

    /// The offset of a scale in bytes.
    int64_t getByteOffset(int64_t row, int64_t column) const {
      return (row / 128 * (getColumns() / 4) + column / 4) * 512 +
             row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
    }

    /// The matrix descriptor of the first block of a tile at address 0.
    uint64_t getDescriptor() const;
  }];
}

#endif // KVQ_DIALECT_TCGEN05_IR_TCGEN05TYPES_TD
