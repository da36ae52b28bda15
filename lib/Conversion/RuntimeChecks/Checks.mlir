// The run-time checks of compiled code. RuntimeChecks.h says what each takes;
// the kinds of errors, and what index, value and limit of a report mean, are
// those of kvq/Support/RuntimeError.h. Every check stops at the first offence,
// reports it and returns its kind; 0 says that all is well.

!i32s = memref<?xi32, strided<[?], offset: ?>>
!i64s = memref<?xi64, strided<[?], offset: ?>>
!rows = memref<?x?xi32, strided<[?, ?], offset: ?>>
!table = memref<?x2xi64>

// A host that wants to know defines its own.
func.func @kvq_report(%kind: i32, %index: i64, %value: i64, %limit: i64)
    attributes {no_inline, llvm.linkage = #llvm.linkage<weak>} {
  return
}

func.func private @kvq_fail(%kind: i32, %index: i64, %value: i64, %limit: i64) -> i32 {
  call @kvq_report(%kind, %index, %value, %limit) : (i32, i64, i64, i64) -> ()
  return %kind : i32
}

// Accepts 0 <= value < limit.
func.func private @kvq_check_range(%kind: i32, %index: i64, %value: i64, %limit: i64) -> i32 {
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0 : i64
  %negative = arith.cmpi slt, %value, %zero : i64
  %large = arith.cmpi sge, %value, %limit : i64
  %bad = arith.ori %negative, %large : i1
  %status = scf.if %bad -> (i32) {
    %kind_of = func.call @kvq_fail(%kind, %index, %value, %limit) : (i32, i64, i64, i64) -> i32
    scf.yield %kind_of : i32
  } else {
    scf.yield %ok : i32
  }
  return %status : i32
}

func.func private @kvq_check_size(%dimension: i64, %size: i64, %expected: i64) -> i32 {
  %ok = arith.constant 0 : i32
  %kind = arith.constant 13 : i32
  %bad = arith.cmpi ne, %size, %expected : i64
  %status = scf.if %bad -> (i32) {
    %kind_of = func.call @kvq_fail(%kind, %dimension, %size, %expected) : (i32, i64, i64, i64) -> i32
    scf.yield %kind_of : i32
  } else {
    scf.yield %ok : i32
  }
  return %status : i32
}

// Reports what a kernel has stored in an error word: kind, index, value, limit.
func.func private @kvq_check_error_word(%word: !i64s) -> i32 {
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %kind = memref.load %word[%c0] : !i64s
  %bad = arith.cmpi ne, %kind, %zero : i64
  %status = scf.if %bad -> (i32) {
    %narrow = arith.trunci %kind : i64 to i32
    %index = memref.load %word[%c1] : !i64s
    %value = memref.load %word[%c2] : !i64s
    %limit = memref.load %word[%c3] : !i64s
    %kind_of = func.call @kvq_fail(%narrow, %index, %value, %limit) : (i32, i64, i64, i64) -> i32
    scf.yield %kind_of : i32
  } else {
    scf.yield %ok : i32
  }
  return %status : i32
}

//===----------------------------------------------------------------------===//
// A hash table of (key, index + 1) with open addressing; 0 marks a free entry.
// It has 2^bits entries, at least twice as many as there will be keys, so that
// a search ends, and after few steps.
//===----------------------------------------------------------------------===//

func.func private @kvq_table_bits(%keys: index) -> i64 {
  %one = arith.constant 1 : i64
  %n = arith.index_cast %keys : index to i64
  %needed = arith.shli %n, %one : i64
  %bits = scf.while (%b = %one) : (i64) -> i64 {
    %size = arith.shli %one, %b : i64
    %small = arith.cmpi ult, %size, %needed : i64
    scf.condition(%small) %b : i64
  } do {
  ^bb0(%b: i64):
    %next = arith.addi %b, %one : i64
    scf.yield %next : i64
  }
  return %bits : i64
}

func.func private @kvq_table_clear(%table: !table) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %free = arith.constant 0 : i64
  %size = memref.dim %table, %c0 : !table
  scf.for %i = %c0 to %size step %c1 {
    memref.store %free, %table[%i, %c1] : !table
  }
  return
}

// The entry of a key, or the free entry where it belongs. Multiplicative
// hashing: 2^64 divided by the golden ratio, the top bits of the product.
func.func private @kvq_table_find(%table: !table, %bits: i64, %key: i64) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %width = arith.constant 64 : i64
  %factor = arith.constant -7046029254386353131 : i64
  %shift = arith.subi %width, %bits : i64
  %product = arith.muli %key, %factor : i64
  %start = arith.shrui %product, %shift : i64
  %size = arith.shli %one, %bits : i64
  %mask = arith.subi %size, %one : i64
  %found = scf.while (%p = %start) : (i64) -> i64 {
    %at = arith.index_cast %p : i64 to index
    %entry = memref.load %table[%at, %c1] : !table
    %used = arith.cmpi ne, %entry, %zero : i64
    // The key of a free entry is not initialized.
    %go = scf.if %used -> (i1) {
      %other = memref.load %table[%at, %c0] : !table
      %differs = arith.cmpi ne, %other, %key : i64
      scf.yield %differs : i1
    } else {
      scf.yield %used : i1
    }
    scf.condition(%go) %p : i64
  } do {
  ^bb0(%p: i64):
    %up = arith.addi %p, %one : i64
    %next = arith.andi %up, %mask : i64
    scf.yield %next : i64
  }
  %at = arith.index_cast %found : i64 to index
  return %at : index
}

// Reports `kind` if the key is in the table, with the index it came with;
// otherwise adds it.
func.func private @kvq_check_unique(%kind: i32, %table: !table, %bits: i64, %key: i64, %index: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %at = call @kvq_table_find(%table, %bits, %key) : (!table, i64, i64) -> index
  %entry = memref.load %table[%at, %c1] : !table
  %used = arith.cmpi ne, %entry, %zero : i64
  %status = scf.if %used -> (i32) {
    %first = arith.subi %entry, %one : i64
    %kind_of = func.call @kvq_fail(%kind, %index, %key, %first) : (i32, i64, i64, i64) -> i32
    scf.yield %kind_of : i32
  } else {
    %mark = arith.addi %index, %one : i64
    memref.store %key, %table[%at, %c0] : !table
    memref.store %mark, %table[%at, %c1] : !table
    scf.yield %ok : i32
  }
  return %status : i32
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

func.func private @kvq_check_slot(%table: !table, %bits: i64, %slot: i64, %num_slots: i64, %index: i64) -> i32 {
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0 : i64
  %out_of_range = arith.constant 3 : i32
  %duplicate = arith.constant 4 : i32
  %padding = arith.cmpi slt, %slot, %zero : i64
  %status = scf.if %padding -> (i32) {
    scf.yield %ok : i32
  } else {
    %in_range = func.call @kvq_check_range(%out_of_range, %index, %slot, %num_slots) : (i32, i64, i64, i64) -> i32
    %bad = arith.cmpi ne, %in_range, %ok : i32
    %both = scf.if %bad -> (i32) {
      scf.yield %in_range : i32
    } else {
      %unique = func.call @kvq_check_unique(%duplicate, %table, %bits, %slot, %index) : (i32, !table, i64, i64, i64) -> i32
      scf.yield %unique : i32
    }
    scf.yield %both : i32
  }
  return %status : i32
}

func.func private @kvq_check_slots_i32(%slots: !i32s, %num_slots: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %n = memref.dim %slots, %c0 : !i32s
  %bits = call @kvq_table_bits(%n) : (index) -> i64
  %size = arith.shli %one, %bits : i64
  %entries = arith.index_cast %size : i64 to index
  %table = memref.alloc(%entries) {bufferization.manual_deallocation} : !table
  call @kvq_table_clear(%table) : (!table) -> ()
  %last, %status = scf.while (%i = %c0, %s = %ok) : (index, i32) -> (index, i32) {
    %more = arith.cmpi ult, %i, %n : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %s : index, i32
  } do {
  ^bb0(%i: index, %s: i32):
    %index = arith.index_cast %i : index to i64
    %narrow = memref.load %slots[%i] : !i32s
    %slot = arith.extsi %narrow : i32 to i64
    %result = func.call @kvq_check_slot(%table, %bits, %slot, %num_slots, %index) : (!table, i64, i64, i64, i64) -> i32
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %result : index, i32
  }
  memref.dealloc %table {bufferization.manual_deallocation} : !table
  return %status : i32
}

func.func private @kvq_check_slots_i64(%slots: !i64s, %num_slots: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %n = memref.dim %slots, %c0 : !i64s
  %bits = call @kvq_table_bits(%n) : (index) -> i64
  %size = arith.shli %one, %bits : i64
  %entries = arith.index_cast %size : i64 to index
  %table = memref.alloc(%entries) {bufferization.manual_deallocation} : !table
  call @kvq_table_clear(%table) : (!table) -> ()
  %last, %status = scf.while (%i = %c0, %s = %ok) : (index, i32) -> (index, i32) {
    %more = arith.cmpi ult, %i, %n : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %s : index, i32
  } do {
  ^bb0(%i: index, %s: i32):
    %index = arith.index_cast %i : index to i64
    %slot = memref.load %slots[%i] : !i64s
    %result = func.call @kvq_check_slot(%table, %bits, %slot, %num_slots, %index) : (!table, i64, i64, i64, i64) -> i32
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %result : index, i32
  }
  memref.dealloc %table {bufferization.manual_deallocation} : !table
  return %status : i32
}

//===----------------------------------------------------------------------===//
// Block tables and positions
//===----------------------------------------------------------------------===//

// Entry (sequence, column) of the block table.
func.func private @kvq_check_table_page(%block_table: !rows, %sequence: index, %column: index, %num_pages: i64) -> i32 {
  %c1 = arith.constant 1 : index
  %kind = arith.constant 1 : i32
  %columns = memref.dim %block_table, %c1 : !rows
  %before = arith.muli %sequence, %columns : index
  %flat = arith.addi %before, %column : index
  %index = arith.index_cast %flat : index to i64
  %narrow = memref.load %block_table[%sequence, %column] : !rows
  %page = arith.extsi %narrow : i32 to i64
  %status = call @kvq_check_range(%kind, %index, %page, %num_pages) : (i32, i64, i64, i64) -> i32
  return %status : i32
}

// One sequence: its length, then the pages that it covers.
func.func private @kvq_check_sequence(%block_table: !rows, %sequence: index, %length: i64, %page_size: i64, %num_pages: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %kind = arith.constant 2 : i32
  %columns = memref.dim %block_table, %c1 : !rows
  %max_pages = arith.index_cast %columns : index to i64
  %tokens = arith.muli %max_pages, %page_size : i64
  %limit = arith.addi %tokens, %one : i64
  %index = arith.index_cast %sequence : index to i64
  %in_range = call @kvq_check_range(%kind, %index, %length, %limit) : (i32, i64, i64, i64) -> i32
  %least = arith.subi %page_size, %one : i64
  %up = arith.addi %length, %least : i64
  %covered = arith.divsi %up, %page_size : i64
  %pages = arith.index_cast %covered : i64 to index
  %last, %status = scf.while (%i = %c0, %s = %in_range) : (index, i32) -> (index, i32) {
    %more = arith.cmpi slt, %i, %pages : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %s : index, i32
  } do {
  ^bb0(%i: index, %s: i32):
    %result = func.call @kvq_check_table_page(%block_table, %sequence, %i, %num_pages) : (!rows, index, index, i64) -> i32
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %result : index, i32
  }
  return %status : i32
}

func.func private @kvq_check_block_table(%block_table: !rows, %seq_lens: !i32s, %page_size: i64, %num_pages: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %n = memref.dim %seq_lens, %c0 : !i32s
  %last, %status = scf.while (%i = %c0, %s = %ok) : (index, i32) -> (index, i32) {
    %more = arith.cmpi ult, %i, %n : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %s : index, i32
  } do {
  ^bb0(%i: index, %s: i32):
    %narrow = memref.load %seq_lens[%i] : !i32s
    %length = arith.extsi %narrow : i32 to i64
    %result = func.call @kvq_check_sequence(%block_table, %i, %length, %page_size, %num_pages) : (!rows, index, i64, i64, i64) -> i32
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %result : index, i32
  }
  return %status : i32
}

// One row to append: its sequence, its position, its page, its slot.
func.func private @kvq_check_position(%table: !table, %bits: i64, %position: i64, %sequence: i64, %index: i64, %block_table: !rows, %page_size: i64, %num_pages: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %duplicate = arith.constant 4 : i32
  %position_kind = arith.constant 6 : i32
  %sequence_kind = arith.constant 14 : i32
  %rows = memref.dim %block_table, %c0 : !rows
  %columns = memref.dim %block_table, %c1 : !rows
  %sequences = arith.index_cast %rows : index to i64
  %max_pages = arith.index_cast %columns : index to i64
  %tokens = arith.muli %max_pages, %page_size : i64
  %known = call @kvq_check_range(%sequence_kind, %index, %sequence, %sequences) : (i32, i64, i64, i64) -> i32
  %unknown = arith.cmpi ne, %known, %ok : i32
  %status = scf.if %unknown -> (i32) {
    scf.yield %known : i32
  } else {
    %reached = func.call @kvq_check_range(%position_kind, %index, %position, %tokens) : (i32, i64, i64, i64) -> i32
    %unreached = arith.cmpi ne, %reached, %ok : i32
    %inner = scf.if %unreached -> (i32) {
      scf.yield %reached : i32
    } else {
      %row = arith.index_cast %sequence : i64 to index
      %which = arith.divui %position, %page_size : i64
      %column = arith.index_cast %which : i64 to index
      %in_range = func.call @kvq_check_table_page(%block_table, %row, %column, %num_pages) : (!rows, index, index, i64) -> i32
      %out = arith.cmpi ne, %in_range, %ok : i32
      %innermost = scf.if %out -> (i32) {
        scf.yield %in_range : i32
      } else {
        %narrow = memref.load %block_table[%row, %column] : !rows
        %page = arith.extsi %narrow : i32 to i64
        %first = arith.muli %page, %page_size : i64
        %offset = arith.remui %position, %page_size : i64
        %slot = arith.addi %first, %offset : i64
        %unique = func.call @kvq_check_unique(%duplicate, %table, %bits, %slot, %index) : (i32, !table, i64, i64, i64) -> i32
        scf.yield %unique : i32
      }
      scf.yield %innermost : i32
    }
    scf.yield %inner : i32
  }
  return %status : i32
}

func.func private @kvq_check_positions_of(%positions: !i32s, %has_batch_indices: i1, %batch_indices: !i32s, %block_table: !rows, %page_size: i64, %num_pages: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = memref.dim %positions, %c0 : !i32s
  %bits = call @kvq_table_bits(%n) : (index) -> i64
  %size = arith.shli %one, %bits : i64
  %entries = arith.index_cast %size : i64 to index
  %table = memref.alloc(%entries) {bufferization.manual_deallocation} : !table
  call @kvq_table_clear(%table) : (!table) -> ()
  %last, %status = scf.while (%i = %c0, %s = %ok) : (index, i32) -> (index, i32) {
    %more = arith.cmpi ult, %i, %n : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %s : index, i32
  } do {
  ^bb0(%i: index, %s: i32):
    %index = arith.index_cast %i : index to i64
    %narrow = memref.load %positions[%i] : !i32s
    %position = arith.extsi %narrow : i32 to i64
    %padding = arith.cmpi slt, %position, %zero : i64
    %result = scf.if %padding -> (i32) {
      scf.yield %ok : i32
    } else {
      %sequence = scf.if %has_batch_indices -> (i64) {
        %batch = memref.load %batch_indices[%i] : !i32s
        %wide = arith.extsi %batch : i32 to i64
        scf.yield %wide : i64
      } else {
        scf.yield %index : i64
      }
      %checked = func.call @kvq_check_position(%table, %bits, %position, %sequence, %index, %block_table, %page_size, %num_pages) : (!table, i64, i64, i64, i64, !rows, i64, i64) -> i32
      scf.yield %checked : i32
    }
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %result : index, i32
  }
  memref.dealloc %table {bufferization.manual_deallocation} : !table
  return %status : i32
}

func.func private @kvq_check_positions(%positions: !i32s, %block_table: !rows, %page_size: i64, %num_pages: i64) -> i32 {
  %no = arith.constant false
  %status = call @kvq_check_positions_of(%positions, %no, %positions, %block_table, %page_size, %num_pages) : (!i32s, i1, !i32s, !rows, i64, i64) -> i32
  return %status : i32
}

func.func private @kvq_check_positions_batched(%positions: !i32s, %batch_indices: !i32s, %block_table: !rows, %page_size: i64, %num_pages: i64) -> i32 {
  %yes = arith.constant true
  %status = call @kvq_check_positions_of(%positions, %yes, %batch_indices, %block_table, %page_size, %num_pages) : (!i32s, i1, !i32s, !rows, i64, i64) -> i32
  return %status : i32
}

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

// The last entry is the one check with a lower limit other than the entry
// before it.
func.func private @kvq_check_indptr(%indptr: !i32s, %total: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %kind = arith.constant 5 : i32
  %limit = arith.addi %total, %one : i64
  %n = memref.dim %indptr, %c0 : !i32s
  %end = arith.subi %n, %c1 : index
  %empty = arith.cmpi eq, %n, %c0 : index
  %start = scf.if %empty -> (i32) {
    %fail = func.call @kvq_fail(%kind, %zero, %zero, %limit) : (i32, i64, i64, i64) -> i32
    scf.yield %fail : i32
  } else {
    scf.yield %ok : i32
  }
  %last, %before, %status = scf.while (%i = %c0, %p = %zero, %s = %start) : (index, i64, i32) -> (index, i64, i32) {
    %more = arith.cmpi ult, %i, %n : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %p, %s : index, i64, i32
  } do {
  ^bb0(%i: index, %p: i64, %s: i32):
    %index = arith.index_cast %i : index to i64
    %narrow = memref.load %indptr[%i] : !i32s
    %value = arith.extsi %narrow : i32 to i64
    %is_first = arith.cmpi eq, %i, %c0 : index
    %is_last = arith.cmpi eq, %i, %end : index
    %least = arith.select %is_last, %total, %p : i64
    %most = arith.select %is_first, %zero, %total : i64
    %falls = arith.cmpi slt, %value, %p : i64
    %short = arith.cmpi slt, %value, %least : i64
    %long = arith.cmpi sgt, %value, %most : i64
    %low = arith.ori %falls, %short : i1
    %bad = arith.ori %low, %long : i1
    %result = scf.if %bad -> (i32) {
      %fail = func.call @kvq_fail(%kind, %index, %value, %limit) : (i32, i64, i64, i64) -> i32
      scf.yield %fail : i32
    } else {
      scf.yield %ok : i32
    }
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %value, %result : index, i64, i32
  }
  return %status : i32
}

// Accepts 0 <= ceil(length / unit) <= most for each sequence.
func.func private @kvq_check_units(%kind: i32, %seq_lens: !i32s, %unit: i64, %most: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i64
  %limit = arith.addi %most, %one : i64
  %least = arith.subi %unit, %one : i64
  %n = memref.dim %seq_lens, %c0 : !i32s
  %last, %status = scf.while (%i = %c0, %s = %ok) : (index, i32) -> (index, i32) {
    %more = arith.cmpi ult, %i, %n : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %s : index, i32
  } do {
  ^bb0(%i: index, %s: i32):
    %index = arith.index_cast %i : index to i64
    %narrow = memref.load %seq_lens[%i] : !i32s
    %length = arith.extsi %narrow : i32 to i64
    %up = arith.addi %length, %least : i64
    %rounded = arith.divsi %up, %unit : i64
    // A negative length stands for itself: rounded up it could be zero.
    %negative = arith.cmpi slt, %length, %zero : i64
    %units = arith.select %negative, %length, %rounded : i64
    %result = func.call @kvq_check_range(%kind, %index, %units, %limit) : (i32, i64, i64, i64) -> i32
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %result : index, i32
  }
  return %status : i32
}

func.func private @kvq_check_max_len(%seq_lens: !i32s, %most: i64) -> i32 {
  %kind = arith.constant 9 : i32
  %one = arith.constant 1 : i64
  %status = call @kvq_check_units(%kind, %seq_lens, %one, %most) : (i32, !i32s, i64, i64) -> i32
  return %status : i32
}

func.func private @kvq_check_kv_chunks(%seq_lens: !i32s, %chunk_size: i64, %chunks: i64) -> i32 {
  %kind = arith.constant 10 : i32
  %status = call @kvq_check_units(%kind, %seq_lens, %chunk_size, %chunks) : (i32, !i32s, i64, i64) -> i32
  return %status : i32
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

func.func private @kvq_check_pages(%pages: !i32s, %num_pages: i64) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %kind = arith.constant 7 : i32
  %n = memref.dim %pages, %c0 : !i32s
  %last, %status = scf.while (%i = %c0, %s = %ok) : (index, i32) -> (index, i32) {
    %more = arith.cmpi ult, %i, %n : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %s : index, i32
  } do {
  ^bb0(%i: index, %s: i32):
    %index = arith.index_cast %i : index to i64
    %narrow = memref.load %pages[%i] : !i32s
    %page = arith.extsi %narrow : i32 to i64
    %result = func.call @kvq_check_range(%kind, %index, %page, %num_pages) : (i32, i64, i64, i64) -> i32
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %result : index, i32
  }
  return %status : i32
}

func.func private @kvq_check_duplicate_pages(%pages: !i32s) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  %kind = arith.constant 8 : i32
  %n = memref.dim %pages, %c0 : !i32s
  %bits = call @kvq_table_bits(%n) : (index) -> i64
  %size = arith.shli %one, %bits : i64
  %entries = arith.index_cast %size : i64 to index
  %table = memref.alloc(%entries) {bufferization.manual_deallocation} : !table
  call @kvq_table_clear(%table) : (!table) -> ()
  %last, %status = scf.while (%i = %c0, %s = %ok) : (index, i32) -> (index, i32) {
    %more = arith.cmpi ult, %i, %n : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %s : index, i32
  } do {
  ^bb0(%i: index, %s: i32):
    %index = arith.index_cast %i : index to i64
    %narrow = memref.load %pages[%i] : !i32s
    %page = arith.extsi %narrow : i32 to i64
    %result = func.call @kvq_check_unique(%kind, %table, %bits, %page, %index) : (i32, !table, i64, i64, i64) -> i32
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %result : index, i32
  }
  memref.dealloc %table {bufferization.manual_deallocation} : !table
  return %status : i32
}

// The sources may repeat: a page may go to several. The first mention counts.
func.func private @kvq_check_disjoint_pages(%destinations: !i32s, %sources: !i32s) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %kind = arith.constant 8 : i32
  %m = memref.dim %sources, %c0 : !i32s
  %n = memref.dim %destinations, %c0 : !i32s
  %bits = call @kvq_table_bits(%m) : (index) -> i64
  %size = arith.shli %one, %bits : i64
  %entries = arith.index_cast %size : i64 to index
  %table = memref.alloc(%entries) {bufferization.manual_deallocation} : !table
  call @kvq_table_clear(%table) : (!table) -> ()
  scf.for %i = %c0 to %m step %c1 {
    %narrow = memref.load %sources[%i] : !i32s
    %page = arith.extsi %narrow : i32 to i64
    %at = func.call @kvq_table_find(%table, %bits, %page) : (!table, i64, i64) -> index
    %entry = memref.load %table[%at, %c1] : !table
    %free = arith.cmpi eq, %entry, %zero : i64
    scf.if %free {
      %index = arith.index_cast %i : index to i64
      %mark = arith.addi %index, %one : i64
      memref.store %page, %table[%at, %c0] : !table
      memref.store %mark, %table[%at, %c1] : !table
    }
  }
  %last, %status = scf.while (%i = %c0, %s = %ok) : (index, i32) -> (index, i32) {
    %more = arith.cmpi ult, %i, %n : index
    %fine = arith.cmpi eq, %s, %ok : i32
    %go = arith.andi %more, %fine : i1
    scf.condition(%go) %i, %s : index, i32
  } do {
  ^bb0(%i: index, %s: i32):
    %index = arith.index_cast %i : index to i64
    %narrow = memref.load %destinations[%i] : !i32s
    %page = arith.extsi %narrow : i32 to i64
    %at = func.call @kvq_table_find(%table, %bits, %page) : (!table, i64, i64) -> index
    %entry = memref.load %table[%at, %c1] : !table
    %used = arith.cmpi ne, %entry, %zero : i64
    %result = scf.if %used -> (i32) {
      %other = arith.subi %entry, %one : i64
      %fail = func.call @kvq_fail(%kind, %index, %page, %other) : (i32, i64, i64, i64) -> i32
      scf.yield %fail : i32
    } else {
      scf.yield %ok : i32
    }
    %next = arith.addi %i, %c1 : index
    scf.yield %next, %result : index, i32
  }
  memref.dealloc %table {bufferization.manual_deallocation} : !table
  return %status : i32
}

//===----------------------------------------------------------------------===//
// Global scales, as bits: a comparison of floats would depend on the
// processor's mode for subnormals.
//===----------------------------------------------------------------------===//

func.func private @kvq_check_global_scale(%scale: memref<f32>) -> i32 {
  %ok = arith.constant 0 : i32
  %zero = arith.constant 0 : i32
  %infinity = arith.constant 0x7F800000 : i32
  %none = arith.constant 0 : i64
  %kind = arith.constant 11 : i32
  %value = memref.load %scale[] : memref<f32>
  %bits = arith.bitcast %value : f32 to i32
  // Signed, so that values with a sign bit are below zero.
  %small = arith.cmpi sle, %bits, %zero : i32
  %large = arith.cmpi sge, %bits, %infinity : i32
  %bad = arith.ori %small, %large : i1
  %status = scf.if %bad -> (i32) {
    %wide = arith.extui %bits : i32 to i64
    %fail = func.call @kvq_fail(%kind, %none, %wide, %none) : (i32, i64, i64, i64) -> i32
    scf.yield %fail : i32
  } else {
    scf.yield %ok : i32
  }
  return %status : i32
}

func.func private @kvq_check_same_global_scale(%rows: memref<f32>, %cache: memref<f32>) -> i32 {
  %ok = arith.constant 0 : i32
  %none = arith.constant 0 : i64
  %kind = arith.constant 12 : i32
  %a = memref.load %rows[] : memref<f32>
  %b = memref.load %cache[] : memref<f32>
  %a_bits = arith.bitcast %a : f32 to i32
  %b_bits = arith.bitcast %b : f32 to i32
  %bad = arith.cmpi ne, %a_bits, %b_bits : i32
  %status = scf.if %bad -> (i32) {
    %a_wide = arith.extui %a_bits : i32 to i64
    %b_wide = arith.extui %b_bits : i32 to i64
    %fail = func.call @kvq_fail(%kind, %none, %a_wide, %b_wide) : (i32, i64, i64, i64) -> i32
    scf.yield %fail : i32
  } else {
    scf.yield %ok : i32
  }
  return %status : i32
}
