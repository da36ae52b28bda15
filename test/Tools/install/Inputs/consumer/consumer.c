/* Prints the size of a page. */

#include "kvq-c/KVQ.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const char *text = "!kvq.cache<key, 16x8x128, nvfp4, NHD, linear>";
  MlirContext context = kvqContextCreate();
  MlirType type = kvqTypeParse(
      context, mlirStringRefCreate(text, strlen(text)), NULL, NULL);
  printf("%" PRId64 " bytes per page\n", kvqCacheTypeGetBytesPerPage(type));
  mlirContextDestroy(context);
  return 0;
}
