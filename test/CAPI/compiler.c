// RUN: kvq-capi-compiler 2>&1 | FileCheck %s
//
// Parses modules, runs pipelines and collects diagnostics.

#include "kvq-c/KVQ.h"

#include <stdio.h>
#include <string.h>

static MlirStringRef str(const char *text) {
  return mlirStringRefCreate(text, strlen(text));
}

static void print(MlirStringRef text, void *userData) {
  fwrite(text.data, 1, text.length, (FILE *)userData);
}

// Prints a diagnostic and counts the errors in its user data.
static void report(const KvqDiagnostic *d, void *userData) {
  static const char *const names[] = {"error", "warning", "note", "remark"};
  printf("%s at '%.*s' %u:%u: %.*s\n", names[d->severity], (int)d->file.length,
         d->file.data, d->line, d->column, (int)d->message.length,
         d->message.data);
  if (userData && d->severity == KvqSeverityError)
    ++*(int *)userData;
}

static const char *const source =
    "!k = !kvq.cache<key, 16x2x32, nvfp4, NHD, linear>\n"
    "func.func @append(%k: !k, %x: memref<?x2x32xf32>,\n"
    "                  %slots: memref<?xi32>) {\n"
    "  kvq.quantize_append ins(%x : memref<?x2x32xf32>) into(%k : !k)\n"
    "      slot_mapping(%slots : memref<?xi32>)\n"
    "  return\n"
    "}\n";

int main(void) {
  MlirStringRef version = kvqGetVersion();
  printf("version %.*s\n", (int)version.length, version.data);
  // CHECK: version {{[0-9]+\.[0-9]+\.[0-9]+$}}

  MlirContext context = kvqContextCreate();
  int errors = 0;

  MlirModule module =
      kvqModuleParse(context, str(source), str("a.mlir"), report, &errors);
  printf("parsed: %d\n", !mlirModuleIsNull(module));
  // CHECK: parsed: 1
  printf("verified: %d\n",
         mlirLogicalResultIsSuccess(kvqModuleVerify(module, report, &errors)));
  // CHECK: verified: 1
  kvqModulePrint(module, print, stdout);
  // CHECK: func.func @append
  // CHECK: kvq.quantize_append

  // Neither text is a pipeline, and neither touches the module.
  const char *const wrong[] = {"kvq-verify-handels", "builtin.module(cse",
                               "builtin.module(kvq-to-cpu{bogus=1})", "",
                               "func.func(cse)"};
  for (int i = 0; i < 4; ++i)
    printf("%d ran: %d\n", i,
           mlirLogicalResultIsSuccess(
               kvqModuleRunPipeline(module, str(wrong[i]), report, &errors)));
  // CHECK: error at '' 0:0: 'kvq-verify-handels' does not refer to a registered pass or pass pipeline
  // CHECK-NEXT: 0 ran: 0
  // CHECK-NEXT: error at '' 0:0: {{.*}}
  // CHECK-NEXT: 1 ran: 0
  // CHECK-NEXT: error at '' 0:0: {{.*}}bogus{{.*}}
  // CHECK-NEXT: 2 ran: 0
  // CHECK-NEXT: error at '' 0:0: the pipeline names no pass
  // CHECK-NEXT: 3 ran: 0
  printf("nested: %d\n", mlirLogicalResultIsSuccess(kvqModuleRunPipeline(
                             module, str(wrong[4]), report, &errors)));
  // CHECK-NEXT: nested: 1

  // Both spellings of a pipeline run.
  printf("list: %d\n",
         mlirLogicalResultIsSuccess(kvqModuleRunPipeline(
             module, str("kvq-verify-handles,canonicalize"), report, &errors)));
  // CHECK-NEXT: list: 1
  printf("anchored: %d\n", mlirLogicalResultIsSuccess(kvqModuleRunPipeline(
                               module,
                               str(" builtin.module(kvq-to-cpu{reference})"),
                               report, &errors)));
  // CHECK-NEXT: anchored: 1
  kvqModulePrint(module, print, stdout);
  // CHECK: llvm.func @append
  // CHECK-NOT: kvq.quantize_append
  mlirModuleDestroy(module);

  // A syntax error has its place, a failed verification too.
  errors = 0;
  module = kvqModuleParse(context, str("func.func @f(\n  %x: !kvq.cash)"),
                          str("b.mlir"), report, &errors);
  printf("parsed: %d, %d error\n", !mlirModuleIsNull(module), errors);
  // CHECK: error at 'b.mlir' 2:{{[0-9]+}}: unknown  type `cash` in dialect `kvq`
  // CHECK: parsed: 0, {{[12]}} error
  module = kvqModuleParse(
      context,
      str("func.func @f(%d: memref<?x1x1x16xf8E4M3FN>) {\n"
          "  kvq.make_cache data(%d : memref<?x1x1x16xf8E4M3FN>)\n"
          "      : !kvq.cache<key, 1x1x16, fp8, NHD>\n"
          "  return\n}"),
      str("c.mlir"), report, &errors);
  printf("parsed: %d\n", !mlirModuleIsNull(module));
  // CHECK: error at 'c.mlir' 2:3: 'kvq.make_cache' op needs global_scale
  // CHECK: parsed: 0

  // A pass that fails reports through the callback, notes included.
  module = kvqModuleParse(
      context,
      str("func.func @f(%k: !kvq.cache<key, 1x1x16, fp8, NHD>)\n"
          "    -> !kvq.cache<key, 1x1x16, fp8, NHD> {\n"
          "  return %k : !kvq.cache<key, 1x1x16, fp8, NHD>\n"
          "}"),
      str("d.mlir"), report, &errors);
  printf("verified handles: %d\n",
         mlirLogicalResultIsSuccess(kvqModuleRunPipeline(
             module, str("kvq-verify-handles"), report, &errors)));
  // CHECK: error at 'd.mlir' 3:3: {{.*}} returns a handle
  // CHECK-NEXT: note at 'd.mlir' 1:14: the handle is defined here
  // CHECK-NEXT: error at 'd.mlir' 1:1: result #0 is a handle
  // CHECK: verified handles: 0

  // Without a callback errors are silent, and still errors.
  printf("silent: %d\n", mlirLogicalResultIsSuccess(kvqModuleRunPipeline(
                             module, str("kvq-verify-handles"), NULL, NULL)));
  // CHECK-NEXT: silent: 0
  mlirModuleDestroy(module);

  // Null handles are errors.
  MlirModule nullModule = {NULL};
  MlirContext nullContext = {NULL};
  printf("null: %d %d %d\n",
         mlirLogicalResultIsSuccess(
             kvqModuleRunPipeline(nullModule, str("cse"), report, NULL)),
         mlirLogicalResultIsSuccess(kvqModuleVerify(nullModule, report, NULL)),
         !mlirModuleIsNull(kvqModuleParse(nullContext, str(source),
                                          str("e.mlir"), report, NULL)));
  // CHECK: error at '' 0:0: the {{module|context}} is null
  // CHECK: null: 0 0 0
  mlirContextDestroy(context);
  return 0;
}
