//===- npy-copy.cpp - Reads a .npy file and writes it again ---------------===//
//
// Usage: kvq-test-npy-copy IN.npy [OUT.npy]
// Prints the type and the shape. Exits with 1 and a message on an error.
//
//===----------------------------------------------------------------------===//

#include "kvq/Support/Npy.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace kvq;

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::ExitOnError exitOnError("error: ");
  if (argc != 2 && argc != 3) {
    llvm::errs() << "usage: " << argv[0] << " IN.npy [OUT.npy]\n";
    return 2;
  }
  NpyArray array = exitOnError(readNpy(argv[1]));
  llvm::outs() << toString(array.type()) << ' ' << toString(array.shape())
               << '\n';
  if (argc == 3)
    exitOnError(
        writeNpy(argv[2], array.type(), array.shape(), array.rawBytes()));
  return 0;
}
