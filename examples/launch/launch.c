/*
 * Launches a kernel of kvq from its manifest, through the CUDA driver API. The
 * driver is loaded at run time: this compiles without CUDA and says so where
 * there is no GPU, with status 77.
 *
 *   kvq-compile dequantize.mlir --target=sm_90 --emit=ptx -o k.ptx \
 *       --manifest=k.json
 *   cc -std=c11 launch.c manifest.c -o launch -ldl
 *   ./launch k.json k.ptx 1000
 *
 * Everything but the values is generic: buffers, arguments and the grid follow
 * from the manifest. The values are those of kvq.dequantize from NVFP4 to f32.
 */
#define _POSIX_C_SOURCE 200809L
#include "manifest.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_GPU = 77, MAX_PARAMETERS = 64 };

/* From CUDA's documentation of the driver API. */
enum { MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };

static struct {
  int (*cuInit)(unsigned flags);
  int (*cuDeviceGet)(int *device, int ordinal);
  int (*cuDevicePrimaryCtxRetain)(void **context, int device);
  int (*cuCtxSetCurrent)(void *context);
  int (*cuModuleLoadData)(void **module, const void *image);
  int (*cuModuleGetFunction)(void **function, void *module, const char *name);
  int (*cuFuncSetAttribute)(void *function, int attribute, int value);
  int (*cuMemAlloc_v2)(uint64_t *pointer, size_t bytes);
  int (*cuMemFree_v2)(uint64_t pointer);
  int (*cuMemsetD8_v2)(uint64_t pointer, unsigned char value, size_t count);
  int (*cuMemcpyHtoD_v2)(uint64_t to, const void *from, size_t bytes);
  int (*cuMemcpyDtoH_v2)(void *to, uint64_t from, size_t bytes);
  int (*cuLaunchKernel)(void *function, unsigned grid_x, unsigned grid_y,
                        unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned shared_bytes, void *stream,
                        void **arguments, void **extra);
  int (*cuCtxSynchronize)(void);
} cuda;

static void die(const char *what, const char *which) {
  fprintf(stderr, "error: %s%s%s\n", what, *which ? ": " : "", which);
  exit(1);
}

static void check(int status, const char *call) {
  if (status == 0)
    return;
  fprintf(stderr, "error: %s: CUDA error %d\n", call, status);
  exit(1);
}

#define CUDA(call) check(cuda.call, #call)

/* Returns whether there is a driver with all functions that are used. */
static int load_driver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    printf("no GPU: there is no libcuda.so.1\n");
    return 0;
  }
#define LOAD(name)                                                             \
  do {                                                                         \
    void *symbol = dlsym(library, #name);                                      \
    if (!symbol) {                                                             \
      printf("no GPU: libcuda.so.1 has no " #name "\n");                       \
      return 0;                                                                \
    }                                                                          \
    memcpy(&cuda.name, &symbol, sizeof symbol);                                \
  } while (0)
  LOAD(cuInit);
  LOAD(cuDeviceGet);
  LOAD(cuDevicePrimaryCtxRetain);
  LOAD(cuCtxSetCurrent);
  LOAD(cuModuleLoadData);
  LOAD(cuModuleGetFunction);
  LOAD(cuFuncSetAttribute);
  LOAD(cuMemAlloc_v2);
  LOAD(cuMemFree_v2);
  LOAD(cuMemsetD8_v2);
  LOAD(cuMemcpyHtoD_v2);
  LOAD(cuMemcpyDtoH_v2);
  LOAD(cuLaunchKernel);
  LOAD(cuCtxSynchronize);
  int device;
  if (cuda.cuInit(0) != 0 || cuda.cuDeviceGet(&device, 0) != 0) {
    printf("no GPU: the driver finds none\n");
    return 0;
  }
  void *context;
  CUDA(cuDevicePrimaryCtxRetain(&context, device));
  CUDA(cuCtxSetCurrent(context));
  return 1;
}

/* Reads a file with a zero behind it. */
static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    die("cannot read", path);
  char *text = NULL;
  size_t size = 0, capacity = 0;
  do {
    if (size + 1 >= capacity) {
      capacity = capacity ? 2 * capacity : 65536;
      text = realloc(text, capacity);
      if (!text)
        die("out of memory", path);
    }
    size += fread(text + size, 1, capacity - 1 - size, file);
  } while (!feof(file) && !ferror(file));
  if (ferror(file))
    die("cannot read", path);
  fclose(file);
  text[size] = '\0';
  return text;
}

/* An argument of the launch and the memory behind a pointer. */
typedef struct Argument {
  const Json *parameter;
  union {
    uint64_t address;
    int64_t stride;
    int32_t size;
    float scalar;
  } value;
  unsigned char *host;
  size_t bytes;
} Argument;

static Argument arguments[MAX_PARAMETERS];
static size_t num_arguments;

static Argument *find(const char *name) {
  for (size_t i = 0; i < num_arguments; ++i)
    if (strcmp(json_string(arguments[i].parameter, "name"), name) == 0)
      return &arguments[i];
  die("the kernel has no parameter", name);
  return NULL;
}

/* The size of a dimension; those that the manifest leaves open are `rows`. */
static int64_t get_size(const Json *pointer, int64_t dimension, int64_t rows) {
  const Json *shape = json_get(pointer, "shape");
  const Json *size = shape ? shape->first : NULL;
  for (int64_t i = 0; size && i < dimension; ++i)
    size = size->next;
  if (!size)
    die("no such dimension", json_string(pointer, "name"));
  return size->kind == JSON_NUMBER ? (int64_t)size->number : rows;
}

static int64_t get_rank(const Json *pointer) {
  const Json *shape = json_get(pointer, "shape");
  int64_t rank = 0;
  for (const Json *size = shape ? shape->first : NULL; size; size = size->next)
    ++rank;
  return rank;
}

/* Bytes of the dimensions from one on, of a dense array. */
static int64_t get_bytes(const Json *pointer, int64_t dimension, int64_t rows) {
  int64_t elements = 1, rank = get_rank(pointer);
  for (int64_t i = dimension; i < rank; ++i)
    elements *= get_size(pointer, i, rows);
  return elements * json_number(pointer, "element_bits", 8) / 8;
}

static void allocate(Argument *argument, size_t bytes) {
  argument->bytes = bytes;
  argument->host = calloc(bytes ? bytes : 1, 1);
  if (!argument->host)
    die("out of memory", json_string(argument->parameter, "name"));
  CUDA(cuMemAlloc_v2(&argument->value.address, bytes ? bytes : 1));
}

/* Gives every parameter but the workspace and scalars a value. */
static void make_arguments(const Json *kernel, const Json *error_word,
                           int64_t rows) {
  const Json *parameters = json_get(kernel, "parameters");
  for (const Json *p = parameters ? parameters->first : NULL; p; p = p->next) {
    if (num_arguments == MAX_PARAMETERS)
      die("too many parameters", json_string(kernel, "name"));
    Argument *argument = &arguments[num_arguments++];
    const char *kind = json_string(p, "kind");
    int64_t dimension = json_number(p, "dimension", 0);
    argument->parameter = p;
    if (strcmp(kind, "pointer") == 0)
      allocate(argument, (size_t)get_bytes(p, 0, rows));
    else if (strcmp(kind, "error_word") == 0)
      allocate(argument, (size_t)json_number(error_word, "bytes", 0));
    else if (strcmp(kind, "stride") == 0)
      argument->value.stride =
          get_bytes(find(json_string(p, "of"))->parameter, dimension + 1, rows);
    else if (strcmp(kind, "size") == 0)
      argument->value.size = (int32_t)get_size(
          find(json_string(p, "of"))->parameter, dimension, rows);
    else if (strcmp(kind, "workspace") != 0 && strcmp(kind, "scalar") != 0)
      die("a parameter of a kind that this program does not know", kind);
  }
}

static void launch(void *module, const Json *kernel) {
  Size sizes[MAX_PARAMETERS];
  size_t num_sizes = 0;
  for (size_t i = 0; i < num_arguments; ++i)
    if (strcmp(json_string(arguments[i].parameter, "kind"), "size") == 0) {
      sizes[num_sizes].name = json_string(arguments[i].parameter, "name");
      sizes[num_sizes++].value = arguments[i].value.size;
    }

  const Json *workspace = json_get(kernel, "workspace");
  if (workspace) {
    int64_t bytes;
    const char *formula = json_string(workspace, "bytes");
    if (evaluate_formula(formula, sizes, num_sizes, &bytes) != 0)
      die("not a formula", formula);
    allocate(find("workspace"), (size_t)bytes);
    if (json_is_true(workspace, "zeroed"))
      CUDA(cuMemsetD8_v2(find("workspace")->value.address, 0, (size_t)bytes));
  }

  unsigned dims[6] = {1, 1, 1, 1, 1, 1};
  const Json *grid = json_get(kernel, "grid"),
             *block = json_get(kernel, "block");
  size_t count = 0;
  for (const Json *g = grid ? grid->first : NULL; g && count < 3; g = g->next) {
    int64_t blocks = 0;
    if (g->kind != JSON_STRING ||
        evaluate_formula(g->string, sizes, num_sizes, &blocks) != 0)
      die("not a formula", g->kind == JSON_STRING ? g->string : "grid");
    dims[count++] = blocks < 1 ? 1 : (unsigned)blocks;
  }
  count = 3;
  for (const Json *b = block ? block->first : NULL; b && count < 6; b = b->next)
    dims[count++] = (unsigned)b->number;

  void *function, *values[MAX_PARAMETERS];
  CUDA(cuModuleGetFunction(&function, module, json_string(kernel, "name")));
  for (size_t i = 0; i < num_arguments; ++i) {
    values[i] = &arguments[i].value;
    if (arguments[i].bytes &&
        strcmp(json_string(arguments[i].parameter, "kind"), "workspace") != 0)
      CUDA(cuMemcpyHtoD_v2(arguments[i].value.address, arguments[i].host,
                           arguments[i].bytes));
  }
  int shared = (int)json_number(kernel, "shared_bytes", 0);
  if (shared > 48 * 1024)
    CUDA(cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, shared));
  CUDA(cuLaunchKernel(function, dims[0], dims[1], dims[2], dims[3], dims[4],
                      dims[5], (unsigned)shared, NULL, values, NULL));
  CUDA(cuCtxSynchronize());
  for (size_t i = 0; i < num_arguments; ++i)
    if (json_is_true(arguments[i].parameter, "written") && arguments[i].bytes)
      CUDA(cuMemcpyDtoH_v2(arguments[i].host, arguments[i].value.address,
                           arguments[i].bytes));
}

/* Compares with x = sign * e2m1 * scale * g; all numbers here are exact. */
static int count_errors(int64_t rows) {
  static const float e2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  Argument *data = find("data"), *output = find("output");
  int64_t columns = get_size(output->parameter, 1, rows);
  int errors = 0;
  for (int64_t i = 0; i < rows * columns; ++i) {
    unsigned code = data->host[i / 2] >> (i % 2 * 4) & 0xF;
    float scale = i / 16 % 2 ? 2 : 1, value;
    float expected = e2m1[code & 7] * (code & 8 ? -1 : 1) * scale * 0.5f;
    memcpy(&value, output->host + 4 * i, sizeof value);
    errors += value != expected;
  }
  return errors;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: launch M.json K.ptx ROWS\n");
    return 1;
  }
  int64_t rows = strtoll(argv[3], NULL, 10);
  if (rows < 0 || rows > 1 << 20)
    die("expected 0 to 1048576 rows, found", argv[3]);
  const Json *manifest = json_parse(read_file(argv[1]));
  if (!manifest || json_number(manifest, "schema", 0) != 1)
    die("no manifest of schema 1", argv[1]);
  const Json *kernels = json_get(manifest, "kernels");
  const Json *kernel = kernels ? kernels->first : NULL;
  while (kernel &&
         strcmp(json_string(kernel, "operation"), "kvq.dequantize") != 0)
    kernel = kernel->next;
  if (!kernel)
    die("the manifest has no kernel of kvq.dequantize", argv[1]);
  char *ptx = read_file(argv[2]);
  if (!load_driver())
    return NO_GPU;

  void *module;
  CUDA(cuModuleLoadData(&module, ptx));
  make_arguments(kernel, json_get(manifest, "error_word"), rows);
  find("global_scale")->value.scalar = 0.5f;
  Argument *data = find("data"), *scales = find("scales");
  if (strcmp(json_string(data->parameter, "element"), "f4E2M1FN") != 0 ||
      strcmp(json_string(find("output")->parameter, "element"), "f32") != 0)
    die("expected a kernel from NVFP4 to f32", json_string(kernel, "name"));
  for (size_t i = 0; i < data->bytes; ++i)
    data->host[i] = (unsigned char)(i * 37);
  /* 1 and 2 in E4M3. */
  for (size_t i = 0; i < scales->bytes; ++i)
    scales->host[i] = i % 2 ? 0x40 : 0x38;
  launch(module, kernel);

  int64_t word[4];
  memcpy(word, find("error_word")->host, sizeof word);
  int errors = word[0] ? 1 : count_errors(rows);
  printf("%s on %s: %lld rows, error word %lld, %d differences\n",
         json_string(kernel, "name"), json_string(manifest, "chip"),
         (long long)rows, (long long)word[0], errors);
  for (size_t i = 0; i < num_arguments; ++i)
    if (arguments[i].host)
      CUDA(cuMemFree_v2(arguments[i].value.address));
  return errors != 0;
}
