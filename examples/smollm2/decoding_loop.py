"""The loop that generates tokens greedily, around the function @step."""

from linalg_text import tensor

GENERATE = """
func.func @generate(%all_tokens: {tokens}, %starts: {per_sequence}, %all_logits: {all_logits},
    {parameters}) -> ({tokens}, {all_logits}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.constant {last} : index
  %prompt = arith.constant {prompt} : index
  %zero = arith.constant 0 : i32
  %minus = arith.constant -1 : i32
  %page = arith.constant {page} : i32
  %least = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : {per_sequence}
  %empty_top = tensor.empty() : {tops}
  %r:2 = scf.for %t = %c0 to %end step %c1
      iter_args(%known = %all_tokens, %done = %all_logits) -> ({tokens}, {all_logits}) {{
    %tokens = tensor.extract_slice %known[0, %t] [{batch}, 1] [1, 1] : {tokens} to {per_sequence}
    // A sequence whose prompt is shorter starts later; before, its rows are padding.
    %before = arith.index_cast %t : index to i32
    %lengths = {map} ins(%starts : {per_sequence}) outs(%empty : {per_sequence}) {{
    ^bb0(%start: i32, %o: i32):
      %since = arith.subi %before, %start : i32
      %one = arith.constant 1 : i32
      %n = arith.addi %since, %one : i32
      %y = arith.maxsi %n, %zero : i32
      linalg.yield %y : i32
    }} -> {per_sequence}
    %positions = {map} ins(%lengths : {per_sequence}) outs(%empty : {per_sequence}) {{
    ^bb0(%n: i32, %o: i32):
      %last = arith.addi %n, %minus : i32
      %y = arith.maxsi %last, %zero : i32
      linalg.yield %y : i32
    }} -> {per_sequence}
    %slots = {map2} ins(%lengths, %positions : {per_sequence}, {per_sequence}) outs(%empty : {per_sequence}) {{
    ^bb0(%n: i32, %p: i32, %o: i32):
      %b = linalg.index 0 : index
      %i = arith.divui %p, %page : i32
      %j = arith.index_cast %i : i32 to index
      %id = tensor.extract %table[%b, %j] : {table}
      %first = arith.muli %id, %page : i32
      %offset = arith.remui %p, %page : i32
      %slot = arith.addi %first, %offset : i32
      %alive = arith.cmpi sgt, %n, %zero : i32
      %y = arith.select %alive, %slot, %minus : i32
      linalg.yield %y : i32
    }} -> {per_sequence}
    %logits = {call}
    %lows = linalg.fill ins(%least : f32) outs(%empty_top : {tops}) -> {tops}
    %picked:2 = linalg.generic {{indexing_maps = [affine_map<(b, n) -> (b, n)>, affine_map<(b, n) -> (b)>, affine_map<(b, n) -> (b)>], iterator_types = ["parallel", "reduction"]}} ins(%logits : {logits}) outs(%lows, %empty : {tops}, {per_sequence}) {{
    ^bb0(%x: f32, %top: f32, %at: i32):
      %n = linalg.index 1 : index
      %i = arith.index_cast %n : index to i32
      %more = arith.cmpf ogt, %x, %top : f32
      %y = arith.select %more, %x, %top : f32
      %z = arith.select %more, %i, %at : i32
      linalg.yield %y, %z : f32, i32
    }} -> ({tops}, {per_sequence})
    // The next column, unless prompts hold it.
    %next = arith.addi %t, %c1 : index
    %given = tensor.extract_slice %known[0, %next] [{batch}, 1] [1, 1] : {tokens} to {per_sequence}
    %generated = arith.cmpi sge, %next, %prompt : index
    %column = arith.select %generated, %picked#1, %given : {per_sequence}
    %more = tensor.insert_slice %column into %known[0, %next] [{batch}, 1] [1, 1] : {per_sequence} into {tokens}
    %over = arith.subi %next, %prompt : index
    %index = arith.maxsi %over, %c0 : index
    %kept = tensor.insert_slice %logits into %done[%index, 0, 0] [1, {batch}, {vocabulary}] [1, 1, 1] : {logits} into {all_logits}
    scf.yield %more, %kept : {tokens}, {all_logits}
  }}
  return %r#0, %r#1 : {tokens}, {all_logits}
}}
"""


def text(c, parameters, call):
    """The function @generate, for a decoder.Config. `parameters` are the (name,
    type) that it hands to @step, and `call` is the operation that calls that.
    """
    parameters = ", ".join(f"{name}: {type}" for name, type in parameters)
    identity = "affine_map<(b) -> (b)>"

    def elementwise(count):
        maps = ", ".join([identity] * count)
        return f'linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel"]}}'

    return GENERATE.format(
        tokens=tensor((c.batch, c.tokens), "i32"),
        per_sequence=tensor((c.batch,), "i32"),
        tops=tensor((c.batch,)),
        logits=tensor((c.batch, c.vocabulary)),
        all_logits=tensor((c.steps, c.batch, c.vocabulary)),
        table=tensor((c.batch, c.table_pages), "i32"),
        parameters=parameters,
        last=c.tokens - 1,
        prompt=c.prompt,
        page=c.page,
        batch=c.batch,
        vocabulary=c.vocabulary,
        map=elementwise(2),
        map2=elementwise(3),
        call=call,
    )
