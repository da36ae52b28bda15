//===- DecodeKernel.cpp - Attention of few queries on Blackwell -----------===//

#include "DecodeKernel.h"
#include "kvq/Dialect/TCGen05/IR/TCGen05Ops.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace kvq;
using namespace kvq::kernel;

DecodeKernel::DecodeKernel(DequantAttentionOp op, OpBuilder &host,
                           KernelTarget target, const DecodePlan &plan)
    : AttentionArguments(op, host, target,
                         getAttentionName(op, "blackwell_attention"),
                         plan.rows),
      plan(plan) {
  // Dynamic shared memory is aligned to 16 bytes; swizzles want more.
  SharedTile bytes = b.shared(1, plan.shared.bytes, b.getI8Type());
  I64 start = Ptr(b, bytes.pointer(b.i32(0), b.i32(0))).address();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  sharedMemory = {b, LLVM::IntToPtrOp::create(
                         b, pointer, Value((start + 1023) & ~int64_t(1023)))};

  int64_t at = plan.shared.barriers;
  auto makeRing = [&](BarrierRing &ring, int64_t count, Handed handed) {
    ring = {b, sharedMemory, at, count, handed};
    at += BarrierRing::getBytes(count);
  };
  makeRing(filled, plan.stages, Handed::Memory);
  makeRing(consumed, plan.stages, Handed::Memory);
  // Scores and the end say that weights have been read, too.
  makeRing(scored, plan.buffers(), Handed::Memory);
  makeRing(weighted, plan.buffers(), Handed::Memory);
  for (BarrierRing *ring : {&transposed, &expanded, &accumulated})
    makeRing(*ring, plan.buffers(), Handed::TensorMemory);
  makeRing(finished, 1, Handed::Memory);
}

void DecodeKernel::emit() {
  whenWork([&](QueryRows rows, TokenRange tokens) {
    I32 first = tokens.begin - tokens.begin % kTileTokens;
    I32 count = ((tokens.end - first).max(0) + (kTileTokens - 1)) / kTileTokens;
    count = (tokens.begin < tokens.end).select(count, b.i32(0));
    Work work{rows, tokens, first, count};
    b.when(count > 0, [&] { computeRows(work); }, [&] { storeEmpty(rows); });
  });
  // Lest ptxas keep to the registers with which more would fit.
  kernel.setBlocksPerProcessor(1);
  launch(threads());
}

void DecodeKernel::computeRows(Work work) {
  setUp(work);
  // Of what comes from a shuffle ptxas knows that it is the same in all lanes.
  // Each role has its own, so that no register keeps it through the others.
  auto getWarp = [&] { return b.shuffle(b.warp(), b.i32(0)); };
  b.when(getWarp() < 4, [&] { weighAndFinish(work); });
  if (plan.expandsValues()) {
    I32 warp = getWarp();
    b.when((warp >= 4) & (warp < 8), [&] {
      if (plan.values == ValueRoute::ExpandedFP8)
        expandByteValues(work);
      else
        expandValues(work);
    });
  }
  b.when(getWarp() == loadWarp(), [&] { loadTiles(work); });
  b.when(getWarp() == productWarp(), [&] { issueProducts(work); });
  tcgen05::FenceOp::create(b, tcgen05::FenceKind::Before);
  b.barrier();
  b.when(getWarp() == productWarp(),
         [&] { tcgen05::DeallocOp::create(b, loadTensorMemory()); });
}

void DecodeKernel::forBuffers(I32 count, int64_t buffers,
                              function_ref<void(I32 item)> body) {
  b.loop(b.i32(0), count, buffers, [&](I32 first) {
    body(first);
    for (int64_t i = 1; i < buffers; ++i)
      b.when(first + i < count, [&] { body(first + i); });
  });
}

Value DecodeKernel::bufferOf(Value region, I32 item) {
  I32 buffer = scored.buffer(item);
  auto slice = [&](Type type, int64_t columns) -> Value {
    Value column = arith::IndexCastUIOp::create(b, b.getIndexType(),
                                                Value(buffer * columns));
    return tcgen05::SliceOp::create(b, type, region, OpFoldResult(column));
  };
  if (auto scales = dyn_cast<tcgen05::ScalesType>(region.getType())) {
    int64_t columns = scales.getColumns() / plan.buffers();
    return slice(tcgen05::ScalesType::get(b.getContext(), scales.getRows(),
                                          columns, scales.getElementType()),
                 columns);
  }
  auto type = cast<tcgen05::TMemType>(region.getType());
  int64_t columns = type.getColumns() / plan.buffers();
  return slice(type.withColumns(columns), columns);
}

/// The address of what is allocated, from where the instruction has put it.
I32 DecodeKernel::loadTensorMemory() {
  return b.shuffle(b.loadI32(shared(plan.shared.tensorMemory)), b.i32(0));
}

/// Fills shared memory of whole words with zeros, with all threads.
static void clear(KernelBuilder &b, Ptr from, int64_t bytes, int64_t threads) {
  assert(bytes % 16 == 0);
  Value zeros = arith::ConstantOp::create(
      b, DenseElementsAttr::get(VectorType::get(4, b.getI32Type()),
                                b.getI32IntegerAttr(0)));
  b.loop(b.thread() * 16, b.i32(bytes), threads * 16,
         [&](I32 offset) { b.store(zeros, from + offset); });
}

/// Everything that is done once, before the roles begin.
void DecodeKernel::setUp(Work work) {
  b.when(b.thread() == 0, [&] {
    // Each thread of other roles arrives; the products arrive once.
    filled.initialize(32);
    consumed.initialize((plan.pairsChannels() ? kExpandThreads : 0) + 1);
    scored.initialize(1);
    if (plan.transposesValues())
      transposed.initialize(1);
    if (plan.expandsValues())
      expanded.initialize(kExpandThreads);
    weighted.initialize(kSoftmaxThreads);
    accumulated.initialize(1);
    finished.initialize(1);
    NVVM::FenceMbarrierInitOp::create(b);
  });
  b.when(b.warp() == productWarp(), [&] {
    tcgen05::AllocOp::create(b, shared(plan.shared.tensorMemory), ValueRange());
    tcgen05::RelinquishOp::create(b);
  });
  // Padding, and weights between which the parities of channels alternate:
  // zeros for good.
  clear(b, shared(plan.shared.queries),
        plan.shared.queryScales - plan.shared.queries, threads());
  clear(b, shared(plan.shared.queryScales), plan.k.scaleBytes(), threads());
  clear(b, shared(plan.shared.weights),
        plan.buffers() * plan.shared.weightBytes, threads());
  clear(b, shared(plan.shared.identity), plan.shared.identityBytes, threads());
  b.barrier();
  splitQueries(work.rows);
  if (plan.transposesValues())
    storeIdentity();
  fenceForAsyncProxy(b);
  b.barrier();

  tensorMemory = loadTensorMemory();
  auto region = [&](int64_t columns, Type element, StringRef name) -> Value {
    auto type =
        tcgen05::TMemType::get(b.getContext(), kTileTokens, columns, element);
    return tcgen05::RegionOp::create(b, type, tensorMemory, name);
  };
  auto scaleRegion = [&](int64_t columns, const CachePointers &cache,
                         StringRef name) -> Value {
    auto type = tcgen05::ScalesType::get(b.getContext(), kTileTokens, columns,
                                         cache.getFormat().getScaleType());
    return tcgen05::RegionOp::create(b, type, tensorMemory, name);
  };
  scoreRegion =
      region(plan.buffers() * plan.scoreColumns(), b.getF32Type(), "S");
  if (plan.keys == KeyRoute::BlockScaled) {
    int64_t columns = plan.k.scaleColumns();
    keyScaleRegion = scaleRegion(plan.buffers() * columns, k, "scales of K");
    queryScaleRegion = scaleRegion(columns, k, "scales of Q");
  }
  if (plan.transposesValues()) {
    identityScaleRegion = scaleRegion(plan.partScales(), v, "scales of I");
    valueScaleRegion =
        scaleRegion(plan.buffers() * plan.partScales(), v, "scales of V");
    // A buffer has all tokens in f32 first.
    int64_t columns = kTileTokens * 32 / plan.weightBits();
    valueRegion = region(plan.buffers() * columns, plan.weightType, "V");
  } else if (plan.expandsValues()) {
    valueRegion =
        region(plan.buffers() * plan.weightDepth(), plan.weightType, "V");
  }
  outputRegion = region(plan.outputColumns(), b.getF32Type(), "O");
}
