//===- RaceDetector.h - Conflicting accesses without an order ---*- C++ -*-===//
//
// Keeps, for each piece of memory, who wrote it last and who read it since,
// and compares each access with them. Shared and global memory are kept in
// pages of cells of 16 bytes, that become smaller where accesses are.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_EMULATOR_MACHINE_RACEDETECTOR_H
#define KVQ_EMULATOR_MACHINE_RACEDETECTOR_H

#include "kvq/Emulator/Machine/GlobalMemory.h"
#include "kvq/Emulator/Machine/HappensBefore.h"

namespace kvq::emu {

/// How an access is made.
enum class AccessKind : uint8_t {
  Read,
  Write,
  /// A write of the value that is there already: no conflict with the write
  /// that put it there.
  SameWrite,
  /// Strong accesses (volatile, relaxed and up, atomics) do not race with each
  /// other where their scopes include both threads.
  StrongRead,
  StrongWrite
};

inline bool isWrite(AccessKind kind) {
  return kind == AccessKind::Write || kind == AccessKind::SameWrite ||
         kind == AccessKind::StrongWrite;
}

/// The path by which an access reaches memory.
enum class Proxy : uint8_t { Generic, Async, TensorMap };

/// What a tcgen05 instruction does to tensor memory: which pairs of them keep
/// their order follows from it.
enum class TensorRole : uint8_t {
  Load,
  Store,
  /// A and scales of a product.
  Operand,
  Accumulator,
  Copy,
  Shift,
  /// dealloc.
  Release
};

/// Keeping two reads per cell only can miss a race; it never reports one that
/// is none.
class RaceDetector : public HappensBefore {
public:
  /// An access by a thread or, with its stamp, by asynchronous work that a
  /// thread of the warp issues now. `address` is a host address: global
  /// memory, or a byte of a CTA's shared memory; `shown` is for messages.
  void access(Warp &warp, const Op &op, unsigned lane, uint64_t address,
              unsigned bytes, AccessKind kind, Space space, uint64_t shown) {
    access(warp, op, lane, address, bytes, kind, space, shown,
           threadStamp(warp, lane), Proxy::Generic);
  }
  void access(Warp &warp, const Op &op, unsigned lane, uint64_t address,
              unsigned bytes, AccessKind kind, Space space, uint64_t shown,
              Stamp stamp, Proxy proxy);

  /// Cells (half, column) .. (half, column + columns - 1) of a CTA's tensor
  /// memory; `half` counts 16 lanes. `shape` tells accumulators apart that are
  /// not the same.
  void accessTensor(Warp &warp, const Op &op, unsigned lane, Cta &cta,
                    unsigned half, unsigned column, unsigned columns,
                    bool write, TensorRole role, uint32_t shape, Stamp stamp);
  /// Checks that nothing uses these columns any more, and forgets them.
  void releaseTensor(Warp &warp, const Op &op, unsigned lane, Cta &cta,
                     unsigned column, unsigned columns);

  /// Whether tcgen05.fence is asked for between threads.
  void requireTensorFences();
  /// Whether only pairs that the PTX ISA lists keep their order.
  void requireTensorPairs();

  /// Forgets accesses to a range, as when its memory ends or begins life.
  void forget(uint64_t address, uint64_t bytes);
  void forgetTensor(const Cta &cta);

private:
  enum Flags : uint32_t {
    FlagStrong = 1,
    FlagScopeShift = 1, ///< Two bits.
    FlagAsync = 8,
    FlagMap = 16
  };
  struct Access {
    Stamp stamp;        ///< clock 0: none.
    uint32_t where = 0; ///< pc << 8 | flags.
    uint32_t pc() const { return where >> 8; }
  };
  struct Cell {
    Access write, reads[2];
  };
  static constexpr unsigned pageBits = 10;
  struct Page {
    /// Log2 of the bytes of a cell.
    unsigned shift = 4;
    std::vector<Cell> cells;
    void refine(unsigned newShift);
  };
  struct TensorAccess {
    Stamp stamp;
    uint32_t pc = 0;
    TensorRole role = TensorRole::Load;
    uint32_t shape = 0;
  };
  struct TensorCell {
    TensorAccess write, reads[2];
  };
  static constexpr unsigned halves = 8, columnCount = 512;
  using TensorCells = std::vector<TensorCell>;

  Page &pageOf(uint64_t address);
  bool areMorallyStrong(const Warp &warp, const Op &op,
                        const Access &earlier) const;
  /// Reports if the two conflict without order. True if it did.
  bool check(Warp &warp, const Op &op, unsigned lane, const Access &self,
             const Access &earlier, Space space, uint64_t shown,
             const char *what);
  std::string describe(const Warp &warp, Stamp stamp) const;
  void conflict(Warp &warp, const Op &op, unsigned lane, uint64_t shown,
                FindingKind kind, const char *what, Stamp stamp, uint32_t pc,
                const char *why);
  bool checkTensor(Warp &warp, const Op &op, unsigned lane,
                   const TensorAccess &self, const TensorAccess &earlier,
                   uint64_t shown, const char *what);

  llvm::DenseMap<uint64_t, std::unique_ptr<Page>> pages;
  static constexpr unsigned cacheSize = 64;
  struct CacheLine {
    uint64_t index = ~uint64_t(0);
    Page *page = nullptr;
  };
  std::array<CacheLine, cacheSize> cache;
  llvm::DenseMap<const Cta *, TensorCells> tensors;
  bool wantTensorFences = false;
  bool wantTensorPairs = false;
};

} // namespace kvq::emu

#endif // KVQ_EMULATOR_MACHINE_RACEDETECTOR_H
