//===- AllocateTMem.cpp - Regions placed in tensor memory -----------------===//

#include "PackColumns.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "kvq/Dialect/TCGen05/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace kvq::tcgen05 {
#define GEN_PASS_DEF_TCGEN05ALLOCATETMEM
#include "kvq/Dialect/TCGen05/Transforms/Passes.h.inc"
} // namespace kvq::tcgen05

using namespace mlir;
using namespace kvq::tcgen05;

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

/// The release of a region, or null: it lives to the end of its block.
static ReleaseOp getRelease(RegionOp region) {
  for (Operation *user : region.getResult().getUsers())
    if (auto release = dyn_cast<ReleaseOp>(user))
      return release;
  return {};
}

/// Whether all threads of the CTA meet at an operation.
static bool isBarrier(Operation &op) {
  if (auto barrier = dyn_cast<NVVM::BarrierOp>(op))
    return !barrier.getBarrierId() && !barrier.getNumberOfThreads();
  return isa<gpu::BarrierOp, NVVM::Barrier0Op>(op);
}

/// Whether a barrier is after `from` (null: the begin of the block) and before
/// `to` (null: its end).
static bool hasBarrier(Block *block, Operation *from, Operation *to) {
  Block::iterator begin =
      from ? std::next(Block::iterator(from)) : block->begin();
  Block::iterator end = to ? Block::iterator(to) : block->end();
  return llvm::any_of(llvm::make_range(begin, end), isBarrier);
}

/// Whether a block may run more than once in a function.
static bool isRepeated(Block *block) {
  for (Operation *op = block->getParentOp(); op; op = op->getParentOp()) {
    if (isa<FunctionOpInterface>(op))
      return false;
    if (isa<LoopLikeOpInterface>(op) ||
        !op->getBlock()->getParent()->hasOneBlock())
      return true;
  }
  return true;
}

namespace {

/// When a region lives, seen from one block.
struct Lifetime {
  Operation *begin;
  /// The last operation, null at the end of the block.
  Operation *end;
};

} // namespace

/// The lifetime of a region whose operation lies at or under `ancestor`. Warps
/// are in different branches at a time, so inside of an operation a region
/// lives as long as the operation.
static Lifetime getLifetime(RegionOp region, Operation *ancestor) {
  if (region != ancestor)
    return {ancestor, ancestor};
  return {region, getRelease(region)};
}

/// Whether all threads are done with one region before the other begins.
static bool areSeparate(RegionOp a, RegionOp b) {
  Block *block = a->getBlock();
  Operation *inA = a, *inB = nullptr;
  while (block && !(inB = block->findAncestorOpInBlock(*b))) {
    inA = block->getParentOp();
    block = inA ? inA->getBlock() : nullptr;
  }
  if (!inB || inA == inB || !block->getParent()->hasOneBlock())
    return false;
  Lifetime first = getLifetime(a, inA), second = getLifetime(b, inB);
  if (!first.begin->isBeforeInBlock(second.begin))
    std::swap(first, second);
  if (!first.end || !first.end->isBeforeInBlock(second.begin))
    return false;
  if (!hasBarrier(block, first.end, second.begin))
    return false;
  return !isRepeated(block) ||
         (second.end && hasBarrier(block, second.end, nullptr)) ||
         hasBarrier(block, nullptr, first.begin);
}

static bool shareLanes(RegionOp a, RegionOp b) {
  auto lanesA = getLanes(a.getResult().getType());
  auto lanesB = getLanes(b.getResult().getType());
  for (unsigned quarter = 0; quarter < 4; ++quarter)
    if (lanesA[quarter] & lanesB[quarter])
      return true;
  return false;
}

/// Checks that nothing uses a region, or a part of it, after its release.
static LogicalResult verifyUses(RegionOp region) {
  ReleaseOp release = getRelease(region);
  if (!release)
    return success();
  SmallVector<Value> values = {region.getResult()};
  while (!values.empty())
    for (Operation *user : values.pop_back_val().getUsers()) {
      if (isa<SliceOp, CastOp>(user))
        values.push_back(user->getResult(0));
      Operation *inBlock = release->getBlock()->findAncestorOpInBlock(*user);
      if (user == release || (inBlock && inBlock->isBeforeInBlock(release)))
        continue;
      InFlightDiagnostic diag = user->emitOpError()
                                << "uses a region of tensor memory after its "
                                   "release";
      diag.attachNote(release.getLoc()) << "released here";
      return diag;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static std::string describe(RegionOp region, unsigned index) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (region.getRegionName())
    stream << '\'' << *region.getRegionName() << '\'';
  else
    stream << "region #" << index;
  stream << " (" << getNumWords(region.getResult().getType()) << ")";
  return text;
}

namespace {

struct AllocateTMemPass
    : public kvq::tcgen05::impl::TCGen05AllocateTMemBase<AllocateTMemPass> {
  using TCGen05AllocateTMemBase::TCGen05AllocateTMemBase;

  void runOnOperation() override {
    SmallVector<RegionOp> regions;
    SmallVector<AllocOp> allocs;
    SmallVector<DeallocOp> deallocs;
    bool pending = false;
    getOperation()->walk([&](Operation *op) {
      if (auto region = dyn_cast<RegionOp>(op)) {
        regions.push_back(region);
        pending |= !region.getColumn();
      } else if (auto alloc = dyn_cast<AllocOp>(op)) {
        allocs.push_back(alloc);
        pending |= !alloc.getColumns();
      } else if (auto dealloc = dyn_cast<DeallocOp>(op)) {
        deallocs.push_back(dealloc);
        pending |= !dealloc.getColumns();
      }
    });
    if (!pending)
      return;
    if (failed(allocate(regions, allocs, deallocs)))
      signalPassFailure();
  }

private:
  LogicalResult allocate(ArrayRef<RegionOp> regions, ArrayRef<AllocOp> allocs,
                         ArrayRef<DeallocOp> deallocs);
};

} // namespace

static SmallVector<ColumnRequest> makeRequests(ArrayRef<RegionOp> regions) {
  SmallVector<ColumnRequest> requests(regions.size());
  for (auto [index, region] : llvm::enumerate(regions)) {
    Type type = region->getResult(0).getType();
    ColumnRequest &request = requests[index];
    request.words = getNumWords(type);
    request.alignment = getWordAlignment(type);
    if (RegionOp(region).getColumn())
      request.fixed = *RegionOp(region).getColumn();
    request.conflicts.resize(regions.size());
  }
  for (size_t i = 0; i < regions.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (shareLanes(regions[i], regions[j]) &&
          !areSeparate(regions[i], regions[j])) {
        requests[i].conflicts.set(j);
        requests[j].conflicts.set(i);
      }
  return requests;
}

LogicalResult AllocateTMemPass::allocate(ArrayRef<RegionOp> regions,
                                         ArrayRef<AllocOp> allocs,
                                         ArrayRef<DeallocOp> deallocs) {
  if (allocs.size() != 1)
    return getOperation().emitError()
           << "regions of tensor memory need one kvq_tcgen05.alloc in the "
              "function, found "
           << allocs.size();
  for (RegionOp region : regions)
    if (failed(verifyUses(region)))
      return failure();
  SmallVector<ColumnRequest> requests = makeRequests(regions);
  SmallVector<int64_t> columns = packColumns(requests);
  int64_t used = 0;
  for (auto [column, request] : llvm::zip_equal(columns, requests))
    used = std::max(used, column + request.words);

  AllocOp alloc = allocs.front();
  int64_t available = alloc.getColumns().value_or(numWordColumns);
  if (used > available) {
    InFlightDiagnostic diag = alloc.emitOpError()
                              << "has " << available
                              << " columns of tensor memory, but " << used
                              << " are needed for ";
    for (auto [index, region] : llvm::enumerate(regions))
      diag << (index ? ", " : "") << describe(region, index);
    return diag;
  }
  int64_t size = alloc.getColumns().value_or(allocationSize(used));
  for (DeallocOp dealloc : deallocs)
    if (static_cast<int64_t>(dealloc.getColumns().value_or(size)) != size)
      return dealloc.emitOpError() << "frees " << *dealloc.getColumns()
                                   << " columns, the allocation has " << size;
  alloc.setColumns(size);
  for (DeallocOp dealloc : deallocs)
    dealloc.setColumns(size);
  for (auto [region, column] : llvm::zip_equal(regions, columns))
    RegionOp(region).setColumn(column);
  numColumns += size;
  return success();
}
