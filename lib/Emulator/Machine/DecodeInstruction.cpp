//===- DecodeInstruction.cpp - Find the family of an instruction ----------===//

#include "kvq/Emulator/Machine/Decoder.h"

using namespace kvq::emu;

llvm::Error Decoder::decodeInstruction(const ptx::Instruction &inst) {
  using O = ptx::Opcode;
  // `mma.sp`, `mma.sp::ordered_metadata`, `wgmma.mma_async.sp`, ...
  if ((inst.text.starts_with("mma.") || inst.text.starts_with("wgmma.") ||
       inst.text.starts_with("tcgen05.mma.")) &&
      inst.text.split(' ').first.contains(".sp"))
    return error(inst, "sparse products are not supported");
  switch (inst.opcode) {
  case O::Abs:
  case O::Neg:
  case O::Add:
  case O::Sub:
  case O::Mul:
  case O::Mad:
  case O::Div:
  case O::Min:
  case O::Max:
    return ptx::isFloat(inst.mods.type()) ? decodeFloat(*this, inst)
                                          : decodeInteger(*this, inst);
  case O::Rem:
  case O::Sad:
  case O::Mul24:
  case O::Mad24:
  case O::Dp4a:
  case O::Dp2a:
    return decodeInteger(*this, inst);
  case O::Addc:
  case O::Subc:
  case O::Madc:
    return decodeCarry(*this, inst);
  case O::Popc:
  case O::Clz:
  case O::Bfind:
  case O::Brev:
  case O::Bfe:
  case O::Bfi:
  case O::Fns:
  case O::Bmsk:
  case O::Szext:
    return decodeBitField(*this, inst);
  case O::Not:
  case O::Cnot:
  case O::And:
  case O::Or:
  case O::Xor:
  case O::Shl:
  case O::Shr:
  case O::Shf:
  case O::Lop3:
  case O::Prmt:
    return decodeLogic(*this, inst);
  case O::Fma:
  case O::Copysign:
  case O::Rcp:
  case O::Sqrt:
  case O::Rsqrt:
  case O::Sin:
  case O::Cos:
  case O::Lg2:
  case O::Ex2:
  case O::Tanh:
    return decodeFloat(*this, inst);
  case O::Set:
  case O::Setp:
  case O::Selp:
  case O::Slct:
  case O::Testp:
    return decodeCompare(*this, inst);
  case O::Cvt:
  case O::CvtPack:
    return decodeConvert(*this, inst);
  case O::Mov:
  case O::Isspacep:
  case O::Cvta:
  case O::Mapa:
  case O::Getctarank:
  case O::Createpolicy:
    return decodeMove(*this, inst);
  case O::Ld:
  case O::Ldu:
  case O::St:
  case O::Prefetch:
  case O::Prefetchu:
  case O::Discard:
  case O::Applypriority:
    return decodeMemory(*this, inst);
  case O::Atom:
  case O::Red:
  case O::Membar:
  case O::Fence:
  case O::FenceProxy:
  case O::FenceMbarrierInit:
    return decodeAtomic(*this, inst);
  case O::Bra:
  case O::BrxIdx:
  case O::Call:
  case O::Ret:
  case O::Exit:
  case O::Trap:
  case O::Brkpt:
  case O::Nanosleep:
  case O::Pmevent:
  case O::Griddepcontrol:
  case O::Setmaxnreg:
    return decodeControl(*this, inst);
  case O::BarSync:
  case O::BarArrive:
  case O::BarRed:
  case O::BarWarpSync:
  case O::BarrierClusterArrive:
  case O::BarrierClusterWait:
    return decodeBarrier(*this, inst);
  case O::Vote:
  case O::Match:
  case O::Activemask:
  case O::Redux:
  case O::Elect:
  case O::Shfl:
    return decodeWarpOp(*this, inst);
  case O::CpAsync:
  case O::CpAsyncCommitGroup:
  case O::CpAsyncWaitGroup:
  case O::CpAsyncWaitAll:
  case O::CpAsyncMbarrierArrive:
    return decodeAsyncCopy(*this, inst);
  case O::Ldmatrix:
  case O::Stmatrix:
  case O::Movmatrix:
    return decodeMatrix(*this, inst);
  case O::Mma:
  case O::WmmaMma:
    return decodeMma(*this, inst);
  case O::WmmaLoad:
  case O::WmmaStore:
    return decodeFragment(*this, inst);
  case O::MbarrierInit:
  case O::MbarrierInval:
  case O::MbarrierExpectTx:
  case O::MbarrierCompleteTx:
  case O::MbarrierArrive:
  case O::MbarrierArriveDrop:
  case O::MbarrierTestWait:
  case O::MbarrierTryWait:
  case O::MbarrierPendingCount:
    return decodeMBarrier(*this, inst);
  case O::CpAsyncBulk:
  case O::CpAsyncBulkPrefetch:
  case O::CpAsyncBulkPrefetchTensor:
  case O::CpAsyncBulkCommitGroup:
  case O::CpAsyncBulkWaitGroup:
  case O::CpReduceAsyncBulk:
    return decodeBulkCopy(*this, inst);
  case O::StAsync:
  case O::RedAsync:
  case O::StBulk:
    return decodeAsyncStore(*this, inst);
  case O::CpAsyncBulkTensor:
  case O::CpReduceAsyncBulkTensor:
    return decodeTensorCopy(*this, inst);
  case O::TensormapReplace:
  case O::TensormapCpFenceproxy:
    return decodeTensorMapOp(*this, inst);
  case O::Tcgen05Alloc:
  case O::Tcgen05Dealloc:
  case O::Tcgen05RelinquishAllocPermit:
    return decodeTensorAllocation(*this, inst);
  case O::Tcgen05Ld:
  case O::Tcgen05St:
  case O::Tcgen05WaitLd:
  case O::Tcgen05WaitSt:
  case O::Tcgen05FenceBefore:
  case O::Tcgen05FenceAfter:
    return decodeTensorMemory(*this, inst);
  case O::Tcgen05Mma:
  case O::Tcgen05MmaWs:
  case O::Tcgen05Cp:
  case O::Tcgen05Shift:
  case O::Tcgen05Commit:
    return decodeTensorMultiply(*this, inst);
  case O::WgmmaMmaAsync:
  case O::WgmmaFence:
  case O::WgmmaCommitGroup:
  case O::WgmmaWaitGroup:
    return decodeWarpgroup(*this, inst);
  case O::ClusterLaunchControlTryCancel:
  case O::ClusterLaunchControlQueryCancel:
    return decodeClusterLaunchControl(*this, inst);
  case O::Alloca:
  case O::Stacksave:
  case O::Stackrestore:
    return decodeStack(*this, inst);
  case O::MultimemLdReduce:
  case O::MultimemSt:
  case O::MultimemRed:
    return error(inst, "multimem addresses several devices, and there is one");
  default:
    return unsupported(inst);
  }
}
