//===- Chip.h - The GPUs that kernels are made for ------------------------===//
//
// LLVM's back end ends the process on a chip and PTX version that do not go
// together, so that they are checked here before it sees them.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_SUPPORT_CHIP_H
#define KVQ_SUPPORT_CHIP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace kvq {

/// A GPU architecture and what code for it may use. Availability is that of the
/// PTX ISA's tables, at the PTX version that kvq asks for.
struct Chip {
  /// The name of LLVM and ptxas, "sm_90".
  llvm::StringLiteral name;
  /// The number of the architecture: 80 for sm_80, 100 for sm_100a.
  unsigned number;
  /// The PTX version that kvq uses, times ten, and the least one it accepts.
  unsigned ptxVersion, leastPtxVersion;
  /// Shared memory that one block can have, in bytes (CUDA programming guide,
  /// "maximum amount of shared memory per thread block").
  unsigned sharedMemory;
  /// cvt between e4m3x2 and f16x2 or f32 (sm_89, PTX 8.1).
  bool hasFP8Conversions;
  /// cvt between e2m1x2 and f16x2 or f32 (PTX 8.6, a-variants).
  bool hasFP4Conversions;
  /// mma.sync with e4m3 operands (sm_89, PTX 8.4).
  bool hasFP8Mma;
  /// mbarrier with transaction counts and cp.async.bulk (sm_90).
  bool hasBulkCopies;
  /// wgmma (sm_90a only).
  bool hasWgmma;
  /// tcgen05: tensor memory and its instructions, block scaling included.
  bool hasTcgen05;
  /// mma.sync with block scales (sm_120a).
  bool hasBlockScaledMma;

  /// The features that select the PTX version, "+ptx88".
  std::string getFeatures() const;
};

/// All chips that kvq makes code for, in ascending order.
llvm::ArrayRef<Chip> getChips();

/// The names of all chips, "sm_80, sm_86, ...".
std::string getChipNames();

/// Finds a chip. The error of an unknown name lists the names accepted.
llvm::Expected<const Chip &> getChip(llvm::StringRef name);

/// Checks features for a chip and returns the ones to use: those of the chip if
/// `features` is empty. Accepted is one PTX version that the chip has,
/// "+ptx88"; the error of anything else lists them.
llvm::Expected<std::string> getChipFeatures(const Chip &chip,
                                            llvm::StringRef features);

} // namespace kvq

#endif // KVQ_SUPPORT_CHIP_H
