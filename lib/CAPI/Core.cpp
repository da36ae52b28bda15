//===- Core.cpp - Version of the C API ------------------------------------===//

#include "kvq-c/Core.h"
#include "kvq/Support/Version.h"
#include "mlir/CAPI/Support.h"

MlirStringRef kvqGetVersion() { return wrap(kvq::getVersion()); }
