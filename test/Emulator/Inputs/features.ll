; Kernels in LLVM IR for what C++ seldom makes the back end print.
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare ptr @llvm.stacksave()
declare void @llvm.stackrestore(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; 128-bit integers through memory, a call, and a return value.
define internal i128 @mix(i128 %a, i128 %b) noinline {
  %p = mul i128 %a, %b
  %s = shl i128 %a, 37
  %r = xor i128 %p, %s
  %q = sub i128 %r, %b
  ret i128 %q
}
define ptx_kernel void @wide(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %j = add i64 %i, 1
  %pa = getelementptr i128, ptr addrspace(1) %in, i64 %i
  %pb = getelementptr i128, ptr addrspace(1) %in, i64 %j
  %a = load i128, ptr addrspace(1) %pa
  %b = load i128, ptr addrspace(1) %pb
  %r = call i128 @mix(i128 %a, i128 %b)
  %po = getelementptr i128, ptr addrspace(1) %out, i64 %i
  store i128 %r, ptr addrspace(1) %po
  ret void
}

; A dense switch becomes a table of branches or a chain of compares.
define ptx_kernel void @jump(ptr addrspace(1) %out) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %i
  switch i32 %t, label %other [
    i32 0, label %a
    i32 1, label %b
    i32 2, label %c
    i32 3, label %d
    i32 4, label %e
    i32 5, label %f
    i32 6, label %b
  ]
a:
  store i32 100, ptr addrspace(1) %p
  ret void
b:
  %t2 = mul i32 %t, 7
  store i32 %t2, ptr addrspace(1) %p
  ret void
c:
  store volatile i32 33, ptr addrspace(1) %p
  br label %d
d:
  %old = load volatile i32, ptr addrspace(1) %p
  %new = add i32 %old, 1
  store i32 %new, ptr addrspace(1) %p
  ret void
e:
  store i32 -5, ptr addrspace(1) %p
  ret void
f:
  br label %e
other:
  %neg = sub i32 0, %t
  store i32 %neg, ptr addrspace(1) %p
  ret void
}

; Structures by value: as a kernel's argument, a function's, and its result.
%Point = type { i8, double, [3 x i16] }
define internal %Point @scaled(ptr byval(%Point) align 8 %p, double %s) noinline {
  %v = load %Point, ptr %p
  %x = extractvalue %Point %v, 1
  %y = fmul double %x, %s
  %r = insertvalue %Point %v, double %y, 1
  %h = extractvalue %Point %v, 2, 1
  %h1 = add i16 %h, 1
  %r2 = insertvalue %Point %r, i16 %h1, 2, 1
  ret %Point %r2
}
define ptx_kernel void @aggregates(ptr byval(%Point) align 8 %p, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %s = uitofp i32 %t to double
  %local = alloca %Point
  %v = load %Point, ptr %p
  store %Point %v, ptr %local
  %r = call %Point @scaled(ptr byval(%Point) align 8 %local, double %s)
  %i = zext i32 %t to i64
  %po = getelementptr %Point, ptr addrspace(1) %out, i64 %i
  store %Point %r, ptr addrspace(1) %po
  ret void
}

; Half, bfloat and their vectors.
define ptx_kernel void @halves(ptr addrspace(1) %h, ptr addrspace(1) %b) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %ph = getelementptr <8 x half>, ptr addrspace(1) %h, i64 %i
  %x = load <8 x half>, ptr addrspace(1) %ph
  %y = fadd <8 x half> %x, splat (half 0xH3E00)
  %z = fmul <8 x half> %y, %x
  store <8 x half> %z, ptr addrspace(1) %ph
  %pb = getelementptr <4 x bfloat>, ptr addrspace(1) %b, i64 %i
  %u = load <4 x bfloat>, ptr addrspace(1) %pb
  %v = fmul <4 x bfloat> %u, splat (bfloat 0xR4040)
  %w = fsub <4 x bfloat> %v, <bfloat 0xR3F80, bfloat 0xR0000, bfloat 0xRBF80, bfloat 0xR4000>
  store <4 x bfloat> %w, ptr addrspace(1) %pb
  ret void
}

; Integer intrinsics that the back end expands or has instructions for.
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i64 @llvm.fshr.i64(i64, i64, i64)
declare i64 @llvm.bitreverse.i64(i64)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
declare i32 @llvm.sadd.sat.i32(i32, i32)
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
declare i32 @llvm.bswap.i32(i32)
define ptx_kernel void @integers(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %p = getelementptr i64, ptr addrspace(1) %in, i64 %i
  %x = load i64, ptr addrspace(1) %p
  %lo = trunc i64 %x to i32
  %hi64 = lshr i64 %x, 32
  %hi = trunc i64 %hi64 to i32
  %o = getelementptr [8 x i64], ptr addrspace(1) %out, i64 %i
  %r0 = call i32 @llvm.fshl.i32(i32 %lo, i32 %hi, i32 %t)
  %z0 = zext i32 %r0 to i64
  %r1 = call i64 @llvm.fshr.i64(i64 %x, i64 %i, i64 %x)
  %r2 = call i64 @llvm.bitreverse.i64(i64 %x)
  %r3a = call i64 @llvm.ctpop.i64(i64 %x)
  %r3b = call i64 @llvm.cttz.i64(i64 %x, i1 false)
  %r3 = add i64 %r3a, %r3b
  %r4 = call i32 @llvm.sadd.sat.i32(i32 %lo, i32 %hi)
  %z4 = sext i32 %r4 to i64
  %m = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %x, i64 %i)
  %r5 = extractvalue { i64, i1 } %m, 0
  %ov = extractvalue { i64, i1 } %m, 1
  %z6 = zext i1 %ov to i64
  %r7 = call i32 @llvm.bswap.i32(i32 %hi)
  %z7 = zext i32 %r7 to i64
  store i64 %z0, ptr addrspace(1) %o
  %o1 = getelementptr i64, ptr addrspace(1) %o, i64 1
  store i64 %r1, ptr addrspace(1) %o1
  %o2 = getelementptr i64, ptr addrspace(1) %o, i64 2
  store i64 %r2, ptr addrspace(1) %o2
  %o3 = getelementptr i64, ptr addrspace(1) %o, i64 3
  store i64 %r3, ptr addrspace(1) %o3
  %o4 = getelementptr i64, ptr addrspace(1) %o, i64 4
  store i64 %z4, ptr addrspace(1) %o4
  %o5 = getelementptr i64, ptr addrspace(1) %o, i64 5
  store i64 %r5, ptr addrspace(1) %o5
  %o6 = getelementptr i64, ptr addrspace(1) %o, i64 6
  store i64 %z6, ptr addrspace(1) %o6
  %o7 = getelementptr i64, ptr addrspace(1) %o, i64 7
  store i64 %z7, ptr addrspace(1) %o7
  ret void
}

; Atomics with every order, and of widths that become loops.
define ptx_kernel void @atomics(ptr addrspace(1) %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = atomicrmw add ptr addrspace(1) %p, i32 %t seq_cst
  %p1 = getelementptr i8, ptr addrspace(1) %p, i64 4
  %t8 = trunc i32 %t to i8
  %b = atomicrmw umax ptr addrspace(1) %p1, i8 %t8 acq_rel
  %p2 = getelementptr i8, ptr addrspace(1) %p, i64 6
  %c = atomicrmw add ptr addrspace(1) %p2, i16 1 monotonic
  %p3 = getelementptr i8, ptr addrspace(1) %p, i64 8
  %d = atomicrmw fadd ptr addrspace(1) %p3, double 0.5 acquire
  %p4 = getelementptr i8, ptr addrspace(1) %p, i64 16
  %e = atomicrmw nand ptr addrspace(1) %p4, i32 -1 release
  %p5 = getelementptr i8, ptr addrspace(1) %p, i64 20
  %f = atomicrmw fmax ptr addrspace(1) %p5, float 3.0 monotonic
  fence acq_rel
  ret void
}

; Stack memory whose size the run knows, and block copies.
define ptx_kernel void @stack(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = add i32 %t, 1
  %n64 = zext i32 %n to i64
  %buffer = alloca i8, i64 100, align 4
  %copy = alloca i8, i64 100, align 16
  call void @llvm.memset.p0.i64(ptr %buffer, i8 3, i64 100, i1 false)
  %at = getelementptr i8, ptr %buffer, i64 %n64
  store i8 9, ptr %at
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %buffer, i64 100, i1 false)
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %sum2, %loop ]
  %q = getelementptr i8, ptr %copy, i64 %i
  %v = load i8, ptr %q
  %w = zext i8 %v to i32
  %factor = trunc i64 %i to i32
  %x = mul i32 %w, %factor
  %sum2 = add i32 %sum, %x
  %next = add i64 %i, 1
  %end = icmp eq i64 %next, 100
  br i1 %end, label %done, label %loop
done:
  %i64 = zext i32 %t to i64
  %po = getelementptr i32, ptr addrspace(1) %out, i64 %i64
  store i32 %sum2, ptr addrspace(1) %po
  ret void
}

; Addresses in initializers, of functions and in the middle of arrays.
@values = internal addrspace(1) global [4 x i32] [i32 10, i32 20, i32 30, i32 40]
@middle = internal addrspace(1) global ptr addrspace(1) getelementptr (i32, ptr addrspace(1) @values, i64 2)
@table = internal addrspace(1) global [2 x ptr] [ptr @double, ptr @square]
define internal i32 @double(i32 %x) noinline {
  %r = shl i32 %x, 1
  ret i32 %r
}
define internal i32 @square(i32 %x) noinline {
  %r = mul i32 %x, %x
  ret i32 %r
}
define ptx_kernel void @pointers(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %odd = and i64 %i, 1
  %pf = getelementptr ptr, ptr addrspace(1) @table, i64 %odd
  %f = load volatile ptr, ptr addrspace(1) %pf
  %m = load volatile ptr addrspace(1), ptr addrspace(1) @middle
  %pv = getelementptr i32, ptr addrspace(1) %m, i64 %odd
  %v = load i32, ptr addrspace(1) %pv
  %s = add i32 %v, %t
  %r = call i32 %f(i32 %s)
  %po = getelementptr i32, ptr addrspace(1) %out, i64 %i
  store i32 %r, ptr addrspace(1) %po
  ret void
}
