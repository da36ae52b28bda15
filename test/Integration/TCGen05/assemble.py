# RUN: %pytest %s
# REQUIRES: python, ptxas
"""ptxas accepts the forms that the emulator does not execute."""

import kernels

A, B = "!kvq_tcgen05.tmem<128x32xf16>", "!kvq_tcgen05.tile<64x32xf16, k, b64>"
D = "!kvq_tcgen05.tmem<128x64xf32>"
OPERANDS = f"""
      %a = kvq_tcgen05.region %base at 64 : {A}
      %b = kvq_tcgen05.make_tile %smem : !llvm.ptr<3> to {B}
      %d = kvq_tcgen05.region %base at 0 : {D}
"""
PRODUCT = f"      kvq_tcgen05.mma f16 ins(%a, %b : {A}, {B}) outs(%d : {D}) "


def assembled(body):
    text = kernels.frame(kernels.issue(OPERANDS + body), 128, 8192)
    with open(kernels.ptx_file(text)) as file:
        return file.read()


def test_shift():
    ptx = assembled(
        """      %t = kvq_tcgen05.region %base at 120 : !kvq_tcgen05.tmem<128x8xi32>
      kvq_tcgen05.shift %t : !kvq_tcgen05.tmem<128x8xi32>
"""
    )
    assert "tcgen05.shift.cta_group::1.down" in ptx


def test_shift_a():
    ptx = assembled(PRODUCT + "{shift_a}\n")
    assert (
        ptx.count("tcgen05.mma.cta_group::1.kind::f16.collector::a::discard.ashift")
        == 2
    )


def test_zero_columns():
    ptx = assembled(
        "      %zeros = arith.constant 0 : i64\n"
        + PRODUCT
        + "zero_columns(%zeros) {weight_stationary, collector_b = 3 : i64,"
        " collector = #kvq_tcgen05<collector lastuse>}\n"
    )
    assert "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b3::lastuse" in ptx
