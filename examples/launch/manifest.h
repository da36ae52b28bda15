/* A reader of kvq's launch manifests, docs/kernels.md: JSON and formulas. */
#ifndef KVQ_EXAMPLES_LAUNCH_MANIFEST_H
#define KVQ_EXAMPLES_LAUNCH_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

typedef enum JsonKind {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_NUMBER,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT
} JsonKind;

/* A value; arrays and objects are lists of their members. */
typedef struct Json {
  JsonKind kind;
  const char *name;   /* of a member of an object */
  const char *string; /* of a string */
  double number;      /* of a number */
  struct Json *first; /* of an array or object */
  struct Json *next;  /* in an array or object */
} Json;

/* Parses a text, which is overwritten and must outlive the value. Returns null
 * where the text is no JSON or memory is short. Values are not freed: a program
 * reads one manifest. Escapes of characters beyond ASCII are refused. */
Json *json_parse(char *text);

/* The member of an object, null if there is none or `object` is null. */
const Json *json_get(const Json *object, const char *name);

/* The number, string or truth of a member, and otherwise what is given. */
int64_t json_number(const Json *object, const char *name, int64_t otherwise);
const char *json_string(const Json *object, const char *name);
int json_is_true(const Json *object, const char *name);

/* A size parameter of a kernel. */
typedef struct Size {
  const char *name;
  int64_t value;
} Size;

/* Evaluates a formula of a manifest. Returns 0, or -1 for what is no formula of
 * these sizes. */
int evaluate_formula(const char *formula, const Size *sizes, size_t num_sizes,
                     int64_t *result);

#endif /* KVQ_EXAMPLES_LAUNCH_MANIFEST_H */
