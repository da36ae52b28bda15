//===- TilingModel.h - Tiling by the loops of each operand ----------------===//
//
// An operation says, for each dimension of each operand, which loop runs over
// it and how many elements one step covers. Everything else follows.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_DIALECT_KVQ_TRANSFORMS_TILINGMODEL_H
#define KVQ_LIB_DIALECT_KVQ_TRANSFORMS_TILINGMODEL_H

#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace kvq::tiling {

/// How a loop covers a dimension: `factor` elements per step. Without a loop
/// the dimension is taken whole.
struct DimLoop {
  std::optional<unsigned> loop;
  int64_t factor = 1;
};

/// The dimensions of one operand; empty for operands without a shape.
using OperandLoops = llvm::SmallVector<DimLoop, 4>;

/// The offsets and sizes of a slice.
struct Slice {
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes;
};

/// A size of a tensor or a memref.
mlir::OpFoldResult getSize(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value value, int64_t dim);

mlir::OpFoldResult divide(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::OpFoldResult value, int64_t factor);

/// The part of an operand that a tile covers.
Slice getSlice(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
               const OperandLoops &loops,
               llvm::ArrayRef<mlir::OpFoldResult> offsets,
               llvm::ArrayRef<mlir::OpFoldResult> sizes);

mlir::Operation *makeSlice(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value value, const Slice &slice);

/// What TilingModel needs of an operation; a base class with defaults.
template <typename OpTy>
struct OpLoopsBase {
  /// Refuses a tile, with an error at `op`.
  static llvm::LogicalResult
  checkTile(OpTy op, llvm::ArrayRef<mlir::OpFoldResult> offsets,
            llvm::ArrayRef<mlir::OpFoldResult> sizes) {
    return mlir::success();
  }

  /// Completes the operation that was made for a tile.
  static void placeTile(OpTy op, OpTy tiled, mlir::OpBuilder &b,
                        llvm::ArrayRef<mlir::OpFoldResult> offsets,
                        llvm::ArrayRef<mlir::OpFoldResult> sizes) {}
};

/// TilingInterface of an operation. `OpLoops` derives from OpLoopsBase and has
///
///   static SmallVector<utils::IteratorType> getIteratorTypes(OpTy op);
///   static OperandLoops getLoops(OpTy op, OpOperand &operand);
template <typename OpTy, typename OpLoops>
struct TilingModel
    : public mlir::TilingInterface::ExternalModel<TilingModel<OpTy, OpLoops>,
                                                  OpTy> {
  using OpFoldResults = llvm::ArrayRef<mlir::OpFoldResult>;

  llvm::SmallVector<mlir::utils::IteratorType>
  getLoopIteratorTypes(mlir::Operation *op) const {
    return OpLoops::getIteratorTypes(mlir::cast<OpTy>(op));
  }

  llvm::SmallVector<mlir::Range> getIterationDomain(mlir::Operation *op,
                                                    mlir::OpBuilder &b) const {
    mlir::Location loc = op->getLoc();
    llvm::SmallVector<mlir::Range> domain(getLoopIteratorTypes(op).size());
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      OperandLoops loops = OpLoops::getLoops(mlir::cast<OpTy>(op), operand);
      for (auto [dim, dimLoop] : llvm::enumerate(loops)) {
        if (!dimLoop.loop || domain[*dimLoop.loop].size)
          continue;
        mlir::OpFoldResult size = getSize(b, loc, operand.get(), dim);
        domain[*dimLoop.loop] = {b.getIndexAttr(0),
                                 divide(b, loc, size, dimLoop.factor),
                                 b.getIndexAttr(1)};
      }
    }
    return domain;
  }

  mlir::FailureOr<mlir::TilingResult>
  getTiledImplementation(mlir::Operation *op, mlir::OpBuilder &b,
                         OpFoldResults offsets, OpFoldResults sizes) const {
    mlir::Location loc = op->getLoc();
    if (mlir::failed(OpLoops::checkTile(mlir::cast<OpTy>(op), offsets, sizes)))
      return mlir::failure();
    llvm::SmallVector<mlir::Value> operands;
    llvm::SmallVector<mlir::Operation *> slices;
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      OperandLoops loops = OpLoops::getLoops(mlir::cast<OpTy>(op), operand);
      if (llvm::none_of(loops, [](DimLoop dim) { return dim.loop; })) {
        operands.push_back(operand.get());
        continue;
      }
      slices.push_back(
          makeSlice(b, loc, operand.get(),
                    getSlice(b, loc, operand.get(), loops, offsets, sizes)));
      operands.push_back(slices.back()->getResult(0));
    }
    llvm::SmallVector<mlir::Type> results;
    for (mlir::OpOperand &init :
         mlir::cast<mlir::DestinationStyleOpInterface>(op)
             .getDpsInitsMutable()) {
      mlir::Type type = operands[init.getOperandNumber()].getType();
      if (mlir::isa<mlir::RankedTensorType>(type))
        results.push_back(type);
    }
    mlir::Operation *tiled = b.insert(mlir::Operation::create(
        loc, op->getName(), results, operands,
        op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
        /*successors=*/mlir::BlockRange(), /*numRegions=*/0));
    OpLoops::placeTile(mlir::cast<OpTy>(op), mlir::cast<OpTy>(tiled), b,
                       offsets, sizes);
    return mlir::TilingResult{
        {tiled}, llvm::SmallVector<mlir::Value>(tiled->getResults()), slices};
  }

  llvm::LogicalResult getResultTilePosition(
      mlir::Operation *op, mlir::OpBuilder &b, unsigned resultNumber,
      OpFoldResults offsets, OpFoldResults sizes,
      llvm::SmallVector<mlir::OpFoldResult> &resultOffsets,
      llvm::SmallVector<mlir::OpFoldResult> &resultSizes) const {
    mlir::OpOperand &init = getInit(op, resultNumber);
    Slice slice =
        getSlice(b, op->getLoc(), init.get(),
                 OpLoops::getLoops(mlir::cast<OpTy>(op), init), offsets, sizes);
    resultOffsets = std::move(slice.offsets);
    resultSizes = std::move(slice.sizes);
    return mlir::success();
  }

  mlir::FailureOr<mlir::TilingResult>
  generateResultTileValue(mlir::Operation *op, mlir::OpBuilder &b,
                          unsigned resultNumber, OpFoldResults offsets,
                          OpFoldResults sizes) const {
    mlir::Location loc = op->getLoc();
    mlir::OpOperand &init = getInit(op, resultNumber);
    llvm::SmallVector<mlir::OpFoldResult> loopOffsets, loopSizes;
    for (mlir::Range range : getIterationDomain(op, b)) {
      loopOffsets.push_back(range.offset);
      loopSizes.push_back(range.size);
    }
    for (auto [dim, dimLoop] :
         llvm::enumerate(OpLoops::getLoops(mlir::cast<OpTy>(op), init))) {
      // A slice may start or end within a step, which cannot be computed
      // alone, unless it is known not to.
      if (!dimLoop.loop) {
        if (!mlir::isConstantIntValue(offsets[dim], 0) ||
            !mlir::isEqualConstantIntOrValue(sizes[dim],
                                             getSize(b, loc, init.get(), dim)))
          return mlir::failure();
        continue;
      }
      auto isWhole = [factor = dimLoop.factor](mlir::OpFoldResult value) {
        std::optional<int64_t> constant = mlir::getConstantIntValue(value);
        return factor == 1 || (constant && *constant % factor == 0);
      };
      if (!isWhole(offsets[dim]) || !isWhole(sizes[dim]))
        return mlir::failure();
      loopOffsets[*dimLoop.loop] = divide(b, loc, offsets[dim], dimLoop.factor);
      loopSizes[*dimLoop.loop] = divide(b, loc, sizes[dim], dimLoop.factor);
    }
    mlir::FailureOr<mlir::TilingResult> tiled =
        getTiledImplementation(op, b, loopOffsets, loopSizes);
    if (mlir::failed(tiled))
      return mlir::failure();
    return mlir::TilingResult{tiled->tiledOps,
                              {tiled->tiledValues[resultNumber]},
                              tiled->generatedSlices};
  }

private:
  static mlir::OpOperand &getInit(mlir::Operation *op, unsigned resultNumber) {
    return *mlir::cast<mlir::DestinationStyleOpInterface>(op).getTiedOpOperand(
        op->getResult(resultNumber));
  }
};

/// Attaches the interfaces of `kvq.attention`.
void attachAttentionTiling(mlir::MLIRContext &context);

} // namespace kvq::tiling

#endif // KVQ_LIB_DIALECT_KVQ_TRANSFORMS_TILINGMODEL_H
