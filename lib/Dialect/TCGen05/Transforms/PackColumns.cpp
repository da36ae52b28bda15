//===- PackColumns.cpp - Regions packed into columns ----------------------===//

#include "PackColumns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace kvq::tcgen05;

int64_t kvq::tcgen05::allocationSize(int64_t words) {
  constexpr int64_t unit = 32;
  return static_cast<int64_t>(
      llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max(words, unit))));
}

namespace {

/// Searches over the orders in which first fit places the requests. In the
/// order of the columns of a best solution first fit places none higher than
/// that solution does, so that trying all orders finds one.
class Packer {
public:
  explicit Packer(llvm::ArrayRef<ColumnRequest> requests)
      : requests(requests), columns(requests.size(), -1) {
    for (auto [index, request] : llvm::enumerate(requests)) {
      lowerBound = std::max(lowerBound, request.words);
      if (request.fixed)
        place(index, *request.fixed);
      else
        order.push_back(index);
    }
    llvm::sort(order, [&](size_t a, size_t b) {
      return std::pair(-requests[a].words, a) <
             std::pair(-requests[b].words, b);
    });
    fixedHeight = height;
  }

  llvm::SmallVector<int64_t> run() {
    for (size_t index : order)
      place(index, firstFit(index));
    best = columns;
    bestSize = allocationSize(height);
    if (order.size() > exhaustiveLimit)
      return best;
    for (size_t index : order)
      columns[index] = -1;
    height = fixedHeight;
    search();
    return best;
  }

private:
  void place(size_t index, int64_t column) {
    columns[index] = column;
    height = std::max(height, column + requests[index].words);
  }

  bool fits(size_t index, int64_t column) const {
    for (unsigned other : requests[index].conflicts.set_bits())
      if (columns[other] >= 0 &&
          columns[other] < column + requests[index].words &&
          column < columns[other] + requests[other].words)
        return false;
    return true;
  }

  int64_t firstFit(size_t index) const {
    int64_t alignment = requests[index].alignment;
    int64_t result = -1;
    auto consider = [&](int64_t end) {
      int64_t column = llvm::divideCeil(end, alignment) * alignment;
      if ((result < 0 || column < result) && fits(index, column))
        result = column;
    };
    consider(0);
    for (unsigned other : requests[index].conflicts.set_bits())
      if (columns[other] >= 0)
        consider(columns[other] + requests[other].words);
    return result;
  }

  void search() {
    bool done = true;
    for (size_t index : order) {
      if (columns[index] >= 0)
        continue;
      done = false;
      int64_t before = height;
      place(index, firstFit(index));
      // Only a smaller allocation is better.
      if (allocationSize(height) < bestSize)
        search();
      height = before;
      columns[index] = -1;
      if (bestSize == allocationSize(lowerBound))
        return;
    }
    if (done) {
      best = columns;
      bestSize = allocationSize(height);
    }
  }

  llvm::ArrayRef<ColumnRequest> requests;
  llvm::SmallVector<size_t> order;
  llvm::SmallVector<int64_t> columns, best;
  int64_t height = 0, fixedHeight = 0, bestSize = 0, lowerBound = 0;
};

} // namespace

llvm::SmallVector<int64_t>
kvq::tcgen05::packColumns(llvm::ArrayRef<ColumnRequest> requests) {
  return Packer(requests).run();
}
