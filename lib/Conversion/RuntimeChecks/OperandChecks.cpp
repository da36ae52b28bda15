//===- OperandChecks.cpp - What an operation's operands must satisfy ------===//

#include "OperandChecks.h"
#include "kvq/Conversion/RuntimeChecks/RuntimeChecks.h"
#include "kvq/Dialect/KVQ/Analysis/HandleAliasAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace kvq;

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

static Value getInt(OpBuilder &b, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(b, loc, value, 64);
}

/// Size `dim` of a memref as i64.
static Value getSize(OpBuilder &b, Location loc, Value value, unsigned dim) {
  auto type = cast<MemRefType>(value.getType());
  if (!type.isDynamicDim(dim))
    return getInt(b, loc, type.getDimSize(dim));
  Value size = memref::DimOp::create(b, loc, value, dim);
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), size);
}

/// The number of pages of a handle as i64.
static Value getPages(OpBuilder &b, Location loc, Value handle) {
  auto type = cast<CacheType>(handle.getType());
  Value data = CacheDataOp::create(b, loc, type.getDataType(), handle);
  return getSize(b, loc, data, 0);
}

static Value getGlobalScale(OpBuilder &b, Location loc, Value handle) {
  auto type = cast<CacheType>(handle.getType());
  return CacheGlobalScaleOp::create(b, loc, type.getGlobalScaleType(), handle);
}

/// Casts a memref to what the checks take: dynamic sizes and strides.
static Value toDynamic(OpBuilder &b, Location loc, Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (!type || type.getRank() == 0)
    return value;
  SmallVector<int64_t> dynamic(type.getRank(), ShapedType::kDynamic);
  auto expected = MemRefType::get(
      dynamic, type.getElementType(),
      StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, dynamic));
  if (type == expected)
    return value;
  return memref::CastOp::create(b, loc, expected, value);
}

void OperandChecks::addCall(StringRef name, Operands operands) {
  std::string symbol = ("kvq_check_" + name).str();
  func::FuncOp function = getOrInsertRuntimeCheck(module, symbol);
  if (!function) {
    op->emitOpError() << "needs the run-time check @" << symbol
                      << ", but the module has another symbol of this name or "
                         "of one that it calls";
    failed = true;
    return;
  }
  checks.push_back([=](OpBuilder &b, Location loc) mutable -> Value {
    SmallVector<Value> values = operands(b, loc);
    for (Value &value : values)
      value = toDynamic(b, loc, value);
    return func::CallOp::create(b, loc, function, values).getResult(0);
  });
}

void OperandChecks::addReadingCall(StringRef name, Operands operands) {
  if (!onHost)
    addCall(name, std::move(operands));
}

void OperandChecks::addSize(Value value, unsigned dim, Value other,
                            unsigned otherDim, int64_t more, int64_t factor) {
  if (!value || !other)
    return;
  // What is static on both sides has been verified.
  if (!cast<MemRefType>(value.getType()).isDynamicDim(dim) &&
      !cast<MemRefType>(other.getType()).isDynamicDim(otherDim))
    return;
  addCall("size", [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
    Value expected = getSize(b, loc, other, otherDim);
    if (factor != 1)
      expected =
          arith::MulIOp::create(b, loc, expected, getInt(b, loc, factor));
    if (more != 0)
      expected = arith::AddIOp::create(b, loc, expected, getInt(b, loc, more));
    return {getInt(b, loc, dim), getSize(b, loc, value, dim), expected};
  });
}

void OperandChecks::addMultiple(Value value, unsigned dim, int64_t factor) {
  if (factor == 1 || !cast<MemRefType>(value.getType()).isDynamicDim(dim))
    return;
  addCall("size", [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
    Value size = getSize(b, loc, value, dim);
    Value step = getInt(b, loc, factor);
    Value whole = arith::MulIOp::create(
        b, loc, arith::DivUIOp::create(b, loc, size, step), step);
    return {getInt(b, loc, dim), size, whole};
  });
}

void OperandChecks::addGlobalScale(Value handle) {
  if (!cast<CacheType>(handle.getType()).getFormat().getHasGlobalScale())
    return;
  addReadingCall("global_scale",
                 [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
                   return {getGlobalScale(b, loc, handle)};
                 });
}

//===----------------------------------------------------------------------===//
// Groups of operands
//===----------------------------------------------------------------------===//

void OperandChecks::addQuantization(Value values, Value data, Value scales,
                                    Value globalScale,
                                    KVFormatInterface format) {
  int64_t rank = cast<MemRefType>(values.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    addSize(data, dim, values, dim);
  if (scales) {
    for (int64_t dim = 0; dim + 1 < rank; ++dim)
      addSize(scales, dim, values, dim);
    addSize(values, rank - 1, scales, rank - 1, /*more=*/0,
            format.getBlockSize());
  }
  if (globalScale) {
    // Not in a sequential loop, and not shared by the iterations of a parallel
    // one.
    Operation *scope =
        op->getParentWithTrait<OpTrait::AutomaticAllocationScope>();
    OpBuilder entry = OpBuilder::atBlockBegin(&scope->getRegion(0).front());
    Value slot = memref::AllocaOp::create(
        entry, op->getLoc(), MemRefType::get({}, entry.getF32Type()));
    addCall("global_scale",
            [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
              memref::StoreOp::create(b, loc, globalScale, slot);
              return {slot};
            });
  }
}

void OperandChecks::addAddressing(PagedBatchOpInterface paged, Value rows,
                                  Value cache) {
  auto type = cast<CacheType>(cache.getType());
  int64_t pageSize = type.getPageSize();
  Value slots = paged.getSlotMapping(), positions = paged.getPositions();
  Value batchIndices = paged.getBatchIndices();
  Value blockTable = paged.getBlockTable();
  if (slots) {
    addSize(slots, 0, rows, 0);
    bool isWide =
        cast<MemRefType>(slots.getType()).getElementType().isInteger(64);
    addReadingCall(
        isWide ? "slots_i64" : "slots_i32",
        [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
          return {slots, arith::MulIOp::create(b, loc, getPages(b, loc, cache),
                                               getInt(b, loc, pageSize))};
        });
    return;
  }
  addSize(positions, 0, rows, 0);
  if (batchIndices)
    addSize(batchIndices, 0, rows, 0);
  else
    addSize(positions, 0, blockTable, 0);
  addReadingCall(batchIndices ? "positions_batched" : "positions",
                 [=](OpBuilder &b, Location loc) {
                   SmallVector<Value> operands{positions};
                   if (batchIndices)
                     operands.push_back(batchIndices);
                   operands.append({blockTable, getInt(b, loc, pageSize),
                                    getPages(b, loc, cache)});
                   return operands;
                 });
}

void OperandChecks::addBlockTable(Value blockTable, Value seqLens,
                                  ValueRange caches) {
  addSize(seqLens, 0, blockTable, 0);
  SmallVector<Value> handles(caches);
  addReadingCall(
      "block_table", [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
        auto type = cast<CacheType>(handles.front().getType());
        // A page must be there on every side.
        Value pages = getPages(b, loc, handles.front());
        for (Value handle : ArrayRef(handles).drop_front())
          pages =
              arith::MinSIOp::create(b, loc, pages, getPages(b, loc, handle));
        return {blockTable, seqLens, getInt(b, loc, type.getPageSize()), pages};
      });
}

void OperandChecks::addQueries(Value q, Value qoIndptr, Value output, Value lse,
                               Value sinks, unsigned leading) {
  int64_t rank = cast<MemRefType>(q.getType()).getRank();
  for (int64_t dim = 0; dim + 1 < rank; ++dim) {
    addSize(output, dim + leading, q, dim);
    addSize(lse, dim + leading, q, dim);
  }
  if (leading)
    addSize(lse, 0, output, 0);
  addSize(sinks, 0, q, rank - 2);
  if (qoIndptr)
    addReadingCall("indptr",
                   [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
                     return {qoIndptr, getSize(b, loc, q, 0)};
                   });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void OperandChecks::addFor(QuantizeOp op) {
  addQuantization(op.getInput(), op.getData(), op.getScales(),
                  op.getGlobalScale(), op.getFormat());
}

void OperandChecks::addFor(DequantizeOp op) {
  addQuantization(op.getOutput(), op.getData(), op.getScales(),
                  op.getGlobalScale(), op.getFormat());
}

void OperandChecks::addFor(ConvertScaleLayoutOp op) {
  for (unsigned dim = 0; dim < 4; ++dim)
    addSize(op.getOutput(), dim, op.getInput(), dim);
  unsigned rows = op.getKvLayout() == KVLayout::NHD ? 1 : 2;
  for (ScaleLayout layout : {op.getFrom(), op.getTo()}) {
    if (layout == ScaleLayout::Linear)
      continue;
    addMultiple(op.getInput(), rows,
                layout == ScaleLayout::Interleaved4 ? 4 : 128);
    addMultiple(op.getInput(), 3, 4);
  }
}

void OperandChecks::addFor(MakeCacheOp op) {
  addSize(op.getScales(), 0, op.getData(), 0);
}

void OperandChecks::addFor(AppendOp op) {
  addSize(op.getScales(), 0, op.getData(), 0);
  addAddressing(op, op.getData(), op.getCache());
}

void OperandChecks::addFor(QuantizeAppendOp op) {
  for (Value table : {op.getCos(), op.getSin()})
    addSize(table, 0, op.getInput(), 0);
  addGlobalScale(op.getCache());
  addAddressing(op, op.getInput(), op.getCache());
}

void OperandChecks::addFor(CopyPagesOp op) {
  Value source = op.getSource(), dest = op.getDest();
  Value srcPages = op.getSrcPages(), dstPages = op.getDstPages();
  addSize(dstPages, 0, srcPages, 0);
  for (auto [pages, handle] :
       {std::pair(srcPages, source), std::pair(dstPages, dest)})
    addReadingCall("pages",
                   [=, pages = pages, handle = handle](
                       OpBuilder &b, Location loc) -> SmallVector<Value> {
                     return {pages, getPages(b, loc, handle)};
                   });
  addReadingCall(
      "duplicate_pages",
      [=](OpBuilder &, Location) -> SmallVector<Value> { return {dstPages}; });

  HandleAliasAnalysis aliases(op);
  AliasResult alias = aliases.alias(source, dest);
  if (!alias.isNo()) {
    addReadingCall("disjoint_pages",
                   [=](OpBuilder &, Location) -> SmallVector<Value> {
                     return {dstPages, srcPages};
                   });
    if (!alias.isMust() && !failed && !onHost) {
      // Two handles may or may not be one pool: page numbers matter if so.
      Check disjoint = checks.pop_back_val();
      checks.push_back([=](OpBuilder &b, Location loc) -> Value {
        auto getPointer = [&](Value handle) -> Value {
          auto type = cast<CacheType>(handle.getType());
          return memref::ExtractAlignedPointerAsIndexOp::create(
              b, loc, CacheDataOp::create(b, loc, type.getDataType(), handle));
        };
        Value same =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                  getPointer(source), getPointer(dest));
        auto branch = scf::IfOp::create(b, loc, b.getI32Type(), same,
                                        /*withElseRegion=*/true);
        OpBuilder then = branch.getThenBodyBuilder();
        scf::YieldOp::create(then, loc, disjoint(then, loc));
        OpBuilder other = branch.getElseBodyBuilder();
        Value zero = arith::ConstantIntOp::create(other, loc, 0, 32);
        scf::YieldOp::create(other, loc, zero);
        return branch.getResult(0);
      });
    }
  }
  if (source != dest &&
      cast<CacheType>(source.getType()).getFormat().getHasGlobalScale())
    addReadingCall("same_global_scale",
                   [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
                     return {getGlobalScale(b, loc, source),
                             getGlobalScale(b, loc, dest)};
                   });
}

void OperandChecks::addFor(GatherOp op) {
  Value data = op.getData(), seqLens = op.getSeqLens();
  addSize(data, 0, seqLens, 0);
  addSize(op.getScales(), 0, seqLens, 0);
  addSize(op.getScales(), 1, data, 1);
  addBlockTable(op.getBlockTable(), seqLens, op.getCache());
  addReadingCall("max_len",
                 [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
                   return {seqLens, getSize(b, loc, data, 1)};
                 });
}

void OperandChecks::addFor(AttentionOp op) {
  Value q = op.getQ(), k = op.getK(), v = op.getV();
  for (unsigned dim = 0; dim < 3; ++dim)
    addSize(v, dim, k, dim);
  unsigned rank = cast<MemRefType>(q.getType()).getRank();
  addSize(q, rank - 1, k, 3);
  addSize(op.getOutput(), rank - 1, v, 3);
  Value seqLens = op.getSeqLens();
  addSize(seqLens, 0, k, 0);
  if (op.getQoIndptr())
    addSize(op.getQoIndptr(), 0, k, 0, /*more=*/1);
  else
    addSize(q, 0, k, 0);
  if (Value mask = op.getMask()) {
    // A size of 1 stands for all, and is a static one.
    auto type = cast<MemRefType>(mask.getType());
    for (auto [dim, qDim] : {std::pair(0, 0), std::pair(1, 2), std::pair(2, 1)})
      if (type.getDimSize(dim) != 1)
        addSize(mask, dim, q, qDim);
    addSize(mask, 3, k, 1);
  }
  addQueries(q, op.getQoIndptr(), op.getOutput(), op.getLse(), op.getSinks(),
             /*leading=*/0);
  // Of a part, the lengths of the whole may go past the part.
  bool isPart = bool(op.getKvOffset());
  if (seqLens)
    addReadingCall(
        "max_len", [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
          Value most = isPart
                           ? getInt(b, loc, std::numeric_limits<int32_t>::max())
                           : getSize(b, loc, k, 1);
          return {seqLens, most};
        });
}

void OperandChecks::addFor(DequantAttentionOp op) {
  Value q = op.getQ(), seqLens = op.getSeqLens(), output = op.getOutput();
  addGlobalScale(op.getKCache());
  addGlobalScale(op.getVCache());
  if (op.getQoIndptr())
    addSize(op.getQoIndptr(), 0, seqLens, 0, /*more=*/1);
  else
    addSize(q, 0, seqLens, 0);
  bool split = op.getKvSplit().has_value();
  addQueries(q, op.getQoIndptr(), output, op.getLse(), op.getSinks(),
             /*leading=*/split ? 1 : 0);
  addBlockTable(op.getBlockTable(), seqLens, {op.getKCache(), op.getVCache()});
  if (split) {
    int64_t chunk = *op.getKvSplit();
    addReadingCall(
        "kv_chunks", [=](OpBuilder &b, Location loc) -> SmallVector<Value> {
          return {seqLens, getInt(b, loc, chunk), getSize(b, loc, output, 0)};
        });
  }
}

void OperandChecks::addFor(MergeStatesOp op) {
  Value partial = op.getPartialOutput(), output = op.getOutput();
  unsigned rank = cast<MemRefType>(partial.getType()).getRank();
  for (unsigned dim = 0; dim + 1 < rank; ++dim)
    addSize(op.getPartialLse(), dim, partial, dim);
  for (unsigned dim = 1; dim < rank; ++dim) {
    addSize(output, dim - 1, partial, dim);
    if (dim + 1 < rank)
      addSize(op.getLse(), dim - 1, partial, dim);
  }
}

FailureOr<SmallVector<OperandChecks::Check>> OperandChecks::collect() {
  TypeSwitch<Operation *>(op)
      .Case<QuantizeOp, DequantizeOp, ConvertScaleLayoutOp, MakeCacheOp,
            AppendOp, QuantizeAppendOp, CopyPagesOp, GatherOp, AttentionOp,
            DequantAttentionOp, MergeStatesOp>(
          [&](auto concrete) { addFor(concrete); });
  if (failed)
    return failure();
  return std::move(checks);
}

Value OperandChecks::isZero(OpBuilder &b, Location loc, Value status) {
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, status, zero);
}

Value OperandChecks::emit(OpBuilder &b, Location loc, ArrayRef<Check> checks,
                          Value status) {
  for (const Check &check : checks) {
    auto branch =
        scf::IfOp::create(b, loc, b.getI32Type(), isZero(b, loc, status),
                          /*withElseRegion=*/true);
    OpBuilder then = branch.getThenBodyBuilder();
    scf::YieldOp::create(then, loc, check(then, loc));
    OpBuilder other = branch.getElseBodyBuilder();
    scf::YieldOp::create(other, loc, status);
    status = branch.getResult(0);
  }
  return status;
}

void OperandChecks::guard(OpBuilder &b, ArrayRef<Operation *> ops,
                          Value status) {
  Location loc = ops.front()->getLoc();
  auto branch = scf::IfOp::create(b, loc, isZero(b, loc, status));
  for (Operation *op : ops)
    op->moveBefore(branch.thenBlock()->getTerminator());
}
