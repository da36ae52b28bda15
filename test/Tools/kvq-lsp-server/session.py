# RUN: %python %s
# REQUIRES: compiler
"""One session with kvq-lsp-server over its standard streams."""

import json
import subprocess
import sys

URI = "test:///module.mlir"
INVALID = """\
func.func @f(%d: memref<?x16x8x128xf8E4M3FN>) {
  %k = kvq.make_cache data(%d : memref<?x16x8x128xf8E4M3FN>)
      : !kvq.cache<key, 16x8x128, fp8, NHD>
  return
}
"""
VALID = INVALID.replace(
    "%d: memref<?x16x8x128xf8E4M3FN>)", "%d: memref<?x16x8x128xf8E4M3FN>, %g: memref<f32>)"
).replace("      : !kvq", "      global_scale(%g : memref<f32>) : !kvq")


def message(method, params, id=None):
    content = {"jsonrpc": "2.0", "method": method, "params": params}
    if id is not None:
        content["id"] = id
    body = json.dumps(content).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def replies(output):
    while output:
        header, _, rest = output.partition(b"\r\n\r\n")
        length = int(header.split(b":")[1])
        yield json.loads(rest[:length])
        output = rest[length:].lstrip(b"\r\n")


def main():
    hover = {"textDocument": {"uri": URI}, "position": {"line": 1, "character": 9}}
    session = [
        message(
            "initialize",
            {"processId": 1, "rootUri": None, "capabilities": {}, "trace": "off"},
            0,
        ),
        message("initialized", {}),
        message(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": URI,
                    "languageId": "mlir",
                    "version": 1,
                    "text": INVALID,
                }
            },
        ),
        message(
            "textDocument/didChange",
            {
                "textDocument": {"uri": URI, "version": 2},
                "contentChanges": [{"text": VALID}],
            },
        ),
        message("textDocument/hover", hover, 1),
        message("shutdown", None, 2),
        message("exit", None),
    ]
    result = subprocess.run(
        ["kvq-lsp-server"], input=b"".join(session), capture_output=True, timeout=60
    )
    assert result.returncode == 0, result.stderr.decode()
    answers = list(replies(result.stdout))
    by_id = {a["id"]: a for a in answers if "id" in a}
    assert "capabilities" in by_id[0]["result"], by_id[0]
    assert by_id[2]["result"] is None, by_id[2]

    published = [
        a["params"]
        for a in answers
        if a.get("method") == "textDocument/publishDiagnostics"
    ]
    assert [p["version"] for p in published] == [1, 2], published
    (diagnostic,) = published[0]["diagnostics"]
    assert "needs global_scale" in diagnostic["message"], diagnostic
    assert diagnostic["severity"] == 1, diagnostic
    assert diagnostic["range"]["start"] == {"line": 1, "character": 7}, diagnostic
    assert published[1]["diagnostics"] == [], published[1]

    # The server knows the dialect's operations.
    assert "kvq.make_cache" in json.dumps(by_id[1]["result"]), by_id[1]


if __name__ == "__main__":
    sys.exit(main())
