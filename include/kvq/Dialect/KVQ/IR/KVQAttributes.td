//===- KVQAttributes.td - Attributes of the kvq dialect ---*- tablegen -*-===//

#ifndef KVQ_DIALECT_KVQ_IR_KVQATTRIBUTES_TD
#define KVQ_DIALECT_KVQ_IR_KVQATTRIBUTES_TD

include "kvq/Dialect/KVQ/IR/KVQDialect.td"
include "kvq/Dialect/KVQ/IR/KVQInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

def KVQ_Side : I32EnumAttr<"Side", "the side of a cache", [
    I32EnumAttrCase<"Key", 0, "key">,
    I32EnumAttrCase<"Value", 1, "value">
  ]> {
  let cppNamespace = "::kvq";
  let genSpecializedAttr = 0;
}

def KVQ_BlockAxis : I32EnumAttr<"BlockAxis", "the axis of a scale block", [
    I32EnumAttrCase<"HeadDim", 0, "head_dim">,
    I32EnumAttrCase<"Token", 1, "token">
  ]> {
  let cppNamespace = "::kvq";
  let genSpecializedAttr = 0;
}

def KVQ_KVLayout : I32EnumAttr<"KVLayout", "the order of a page", [
    I32EnumAttrCase<"NHD", 0>,
    I32EnumAttrCase<"HND", 1>
  ]> {
  let cppNamespace = "::kvq";
  let genSpecializedAttr = 0;
}

def KVQ_ScaleLayout : I32EnumAttr<"ScaleLayout", "the order of block scales", [
    I32EnumAttrCase<"Undecided", 0, "undecided">,
    I32EnumAttrCase<"Linear", 1, "linear">,
    I32EnumAttrCase<"Interleaved4", 2, "interleaved_4">,
    I32EnumAttrCase<"Blocked128x4", 3, "blocked_128x4">
  ]> {
  let cppNamespace = "::kvq";
  let genSpecializedAttr = 0;
}

def KVQ_Rounding : I32EnumAttr<"Rounding", "how quantization rounds", [
    I32EnumAttrCase<"Exact", 0, "exact">,
    I32EnumAttrCase<"Fast", 1, "fast">
  ]> {
  let cppNamespace = "::kvq";
  let genSpecializedAttr = 0;
}

def KVQ_RopeStyle : I32EnumAttr<"RopeStyle", "which channels RoPE pairs", [
    I32EnumAttrCase<"RotateHalf", 0, "rotate_half">,
    I32EnumAttrCase<"Interleaved", 1, "interleaved">
  ]> {
  let cppNamespace = "::kvq";
  let genSpecializedAttr = 0;
}

def KVQ_MMAUnit : I32EnumAttr<"MMAUnit", "operand types of a matrix product", [
    I32EnumAttrCase<"BlockScaled", 0, "block_scaled">,
    I32EnumAttrCase<"F8", 1, "f8">,
    I32EnumAttrCase<"F16", 2, "f16">,
    I32EnumAttrCase<"BF16", 3, "bf16">
  ]> {
  let cppNamespace = "::kvq";
  let genSpecializedAttr = 0;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class KVQAttr<string cppName, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<KVQDialect, cppName, traits> {
  let mnemonic = attrMnemonic;
}

def KVQ_FormatAttr : KVQAttr<"Format", "format",
    [DeclareAttrInterfaceMethods<KVFormatInterface>]> {
  let summary = "how the values of a cache are stored";
  let description = [{
    A format has an element type, a block-scale type with the number of
    elements that share a scale and the axis along which they lie, and says
    whether values carry a global scale. The usual ones have a name:

    | preset | element | block scale | block | global scale | largest |
    |---|---|---|---|---|---|
    | `nvfp4` | f4E2M1FN | f8E4M3FN | 16 | yes | 6 |
    | `mxfp4` | f4E2M1FN | f8E8M0FNU | 32 | no | 6 |
    | `mxfp8` | f8E4M3FN | f8E8M0FNU | 32 | no | 448 |
    | `fp8` | f8E4M3FN | none | | yes | 448 |
    | `bf16` | bf16 | none | | no | |
    | `f16` | f16 | none | | no | |

    Blocks lie along `head_dim` or along `token`s. A preset name may be
    followed by its own parameters; one that contradicts it is an error.
    Other combinations are spelled out. A format that equals a preset prints
    as the preset.

    Example:

    ```mlir
    #kvq.format<nvfp4>
    #kvq.format<f4E2M1FN, scale = f8E4M3FN, block = 16, axis = token, global_scale>
    ```
  }];
  let parameters = (ins
    "::mlir::FloatType":$elementType,
    "::mlir::FloatType":$scaleType,
    "int64_t":$blockSize,
    "::kvq::BlockAxis":$blockAxis,
    "bool":$hasGlobalScale
  );
  let builders = [
    AttrBuilder<(ins "::mlir::FloatType":$elementType,
                     "::mlir::FloatType":$scaleType, "int64_t":$blockSize,
                     "bool":$hasGlobalScale), [{
      return $_get($_ctxt, elementType, scaleType, blockSize,
                   BlockAxis::HeadDim, hasGlobalScale);
    }]>
  ];
  let extraClassDeclaration = [{
    /// Returns the preset of a name, null where there is none.
    static FormatAttr getPreset(::mlir::MLIRContext *context,
                                ::llvm::StringRef name);

    /// Returns the names of the presets.
    static ::llvm::ArrayRef<::llvm::StringLiteral> getPresetNames();

    /// Returns the name of the preset that this format equals, or an empty
    /// string.
    ::llvm::StringRef getPresetName() const;

    /// Whether elements are floats that need no quantization: bf16 and f16.
    bool isUnquantized() const {
      return ::mlir::isa<::mlir::BFloat16Type, ::mlir::Float16Type>(
          getElementType());
    }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVQ_UndecidedFP4Attr : KVQAttr<"UndecidedFP4", "fp4",
    [DeclareAttrInterfaceMethods<KVFormatInterface>]> {
  let summary = "4-bit elements whose block scales are not decided";
  let description = [{
    The format of a cache that shall hold f4E2M1FN elements while the type of
    the block scales, the block and its axis are open, as the scale layout `?`
    is. `kvq-assign-block-scales` chooses them. Up to then nothing has scales:
    `kvq.make_cache`, `kvq.quantize`, `kvq.append`, `kvq.gather` and
    `kvq.dequantize` take the data alone. Code cannot be made for it. In the type
    of a cache it is spelled `fp4`: `!kvq.cache<key, 16x8x128, fp4, NHD>`.

    Example:

    ```mlir
    #kvq.fp4
    ```
  }];
}

def KVQ_AttentionAttr : KVQAttr<"AttentionOptions", "attention"> {
  let summary = "which keys a query sees, and the soft-cap of its logits";
  let description = [{
    The options that both attention operations share. The query of index `i`
    among the `n` queries of a sequence of length `L` is at position
    `p = L - n + i`. It sees the keys at positions `j` with

    - `j <= p` if `causal`;
    - `j >= p - window_left` if `window_left` is given: the query's own
      position and `window_left` before it;
    - `j <= p + window_right` if `window_right` is given.

    With `softcap = c`, a scaled logit `s` becomes `c * tanh(s / c)` before it
    is masked.

    Example:

    ```mlir
    #kvq.attention<causal, window_left = 1023, softcap = 3.000000e+01>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"bool", "false">:$causal,
    DefaultValuedParameter<"int64_t", "-1">:$windowLeft,
    DefaultValuedParameter<"int64_t", "-1">:$windowRight,
    OptionalParameter<"::mlir::FloatAttr">:$softcap
  );
  let extraClassDeclaration = [{
    bool hasWindowLeft() const { return getWindowLeft() >= 0; }
    bool hasWindowRight() const { return getWindowRight() >= 0; }

    /// Returns the soft-cap, or 0 without one.
    double getSoftcapValue() const {
      return getSoftcap() ? getSoftcap().getValueAsDouble() : 0.0;
    }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def KVQ_MMAKindAttr : KVQAttr<"MMAKind", "mma_kind"> {
  let summary = "how a matrix product of attention is computed";
  let description = [{
    The operand types of one of the two products of attention, chosen for a
    chip by a pass and checked against it. With `block_scaled` both operands
    are block-scaled FP4 and the float operand is split into `terms` of that
    format: each further term is the quantized residual of those before it.

    Example:

    ```mlir
    #kvq.mma_kind<block_scaled, terms = 2>
    #kvq.mma_kind<f16>
    ```
  }];
  let parameters = (ins
    EnumParameter<KVQ_MMAUnit>:$unit,
    DefaultValuedParameter<"int64_t", "0">:$terms
  );
  let assemblyFormat = "`<` $unit (`,` `terms` `=` $terms^)? `>`";
  let genVerifyDecl = 1;
}

class KVQEnumAttr<EnumAttrInfo info, string attrMnemonic>
    : EnumAttr<KVQDialect, info, attrMnemonic> {
  let assemblyFormat = "$value";
}

def KVQ_KVLayoutAttr : KVQEnumAttr<KVQ_KVLayout, "kv_layout"> {
  let summary = "the order of a page";
  let description = [{
    `NHD`: a page is `[page, heads, head_dim]`; `HND`: `[heads, page,
    head_dim]`.

    Example:

    ```mlir
    #kvq<kv_layout HND>
    ```
  }];
}

def KVQ_ScaleLayoutAttr : KVQEnumAttr<KVQ_ScaleLayout, "scale_layout"> {
  let summary = "the order of the block scales of a page";
  let description = [{
    The scales of one page and head form a matrix of `T` tokens by `S` scales.
    A scales buffer has the shape of the linear one in every layout; a layout
    says at which row and column of it the scale `(t, s)` sits:

    | layout | offset of `(t, s)`; row = offset div S, column = offset mod S | needs |
    |---|---|---|
    | `linear` | `t*S + s` | |
    | `interleaved_4` | `(t div 4)*4*S + 4*s + t mod 4` | T % 4 = 0, S % 4 = 0, value side |
    | `blocked_128x4` | `((t div 128)*(S div 4) + s div 4)*512 + (t mod 32)*16 + ((t mod 128) div 32)*4 + s mod 4` | T % 128 = 0, S % 4 = 0 |

    `interleaved_4` is what the trtllm-gen attention kernels of SM100 read on
    the value side, `blocked_128x4` the order of block-scaled tensor-core
    operands. `?` is a layout that a pass has still to choose.

    Example:

    ```mlir
    #kvq<scale_layout interleaved_4>
    ```
  }];
}

def KVQ_RoundingAttr : KVQEnumAttr<KVQ_Rounding, "rounding"> {
  let summary = "how quantization rounds";
  let description = [{
    `exact` follows the numeric contract bit for bit on every target. `fast`
    allows reciprocal instructions where the contract divides.

    Example:

    ```mlir
    #kvq<rounding exact>
    ```
  }];
}

def KVQ_RopeStyleAttr : KVQEnumAttr<KVQ_RopeStyle, "rope_style"> {
  let summary = "which channels a rotary position embedding pairs";
  let description = [{
    Of R channels that are rotated, pair i consists of channels i and i + R/2
    with `rotate_half` (GPT-NeoX, Llama), and of channels 2i and 2i + 1 with
    `interleaved` (GPT-J).

    Example:

    ```mlir
    #kvq<rope_style interleaved>
    ```
  }];
}

#endif // KVQ_DIALECT_KVQ_IR_KVQATTRIBUTES_TD
