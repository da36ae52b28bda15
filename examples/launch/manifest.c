/* A reader of kvq's launch manifests: JSON and formulas. */
#include "manifest.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 * JSON
 */

enum { MAX_DEPTH = 64 };

static char *skip_spaces(char *at) {
  while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
    ++at;
  return at;
}

/* Reads a string behind its quotation mark and decodes it in place. */
static char *read_string(char *at, const char **string) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  char *end = at;
  *string = at;
  for (; *at != '"'; ++at) {
    if ((unsigned char)*at < ' ')
      return NULL; /* the end of the text, too */
    if (*at != '\\') {
      *end++ = *at;
      continue;
    }
    const char *found = *++at ? strchr(from, *at) : NULL;
    if (!found)
      return NULL;
    *end++ = to[found - from];
  }
  *end = '\0';
  return at + 1;
}

static char *read_value(char *at, Json *value, int depth);

/* Reads the members of an array or object behind its bracket. */
static char *read_members(char *at, Json *list, int depth) {
  char close = list->kind == JSON_OBJECT ? '}' : ']';
  Json **tail = &list->first;
  at = skip_spaces(at);
  if (*at == close)
    return at + 1;
  for (;;) {
    Json *member = calloc(1, sizeof *member);
    if (!member)
      return NULL;
    *tail = member;
    tail = &member->next;
    if (list->kind == JSON_OBJECT) {
      at = skip_spaces(at);
      if (*at != '"' || !(at = read_string(at + 1, &member->name)))
        return NULL;
      at = skip_spaces(at);
      if (*at++ != ':')
        return NULL;
    }
    if (!(at = read_value(at, member, depth + 1)))
      return NULL;
    at = skip_spaces(at);
    if (*at == close)
      return at + 1;
    if (*at++ != ',')
      return NULL;
  }
}

static char *read_value(char *at, Json *value, int depth) {
  static const struct {
    const char *word;
    JsonKind kind;
  } words[] = {{"null", JSON_NULL}, {"false", JSON_FALSE}, {"true", JSON_TRUE}};
  if (depth > MAX_DEPTH)
    return NULL;
  at = skip_spaces(at);
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    size_t length = strlen(words[i].word);
    if (strncmp(at, words[i].word, length) == 0) {
      value->kind = words[i].kind;
      return at + length;
    }
  }
  if (*at == '"') {
    value->kind = JSON_STRING;
    return read_string(at + 1, &value->string);
  }
  if (*at == '[' || *at == '{') {
    value->kind = *at == '{' ? JSON_OBJECT : JSON_ARRAY;
    return read_members(at + 1, value, depth);
  }
  if (*at != '-' && !isdigit((unsigned char)*at))
    return NULL;
  char *end;
  value->kind = JSON_NUMBER;
  value->number = strtod(at, &end);
  return end == at ? NULL : end;
}

Json *json_parse(char *text) {
  Json *value = calloc(1, sizeof *value);
  char *end = value ? read_value(text, value, 0) : NULL;
  return end && *skip_spaces(end) == '\0' ? value : NULL;
}

const Json *json_get(const Json *object, const char *name) {
  if (!object || object->kind != JSON_OBJECT)
    return NULL;
  for (const Json *member = object->first; member; member = member->next)
    if (strcmp(member->name, name) == 0)
      return member;
  return NULL;
}

int64_t json_number(const Json *object, const char *name, int64_t otherwise) {
  const Json *member = json_get(object, name);
  return member && member->kind == JSON_NUMBER ? (int64_t)member->number
                                               : otherwise;
}

const char *json_string(const Json *object, const char *name) {
  const Json *member = json_get(object, name);
  return member && member->kind == JSON_STRING ? member->string : "";
}

int json_is_true(const Json *object, const char *name) {
  const Json *member = json_get(object, name);
  return member && member->kind == JSON_TRUE;
}

/*
 * Formulas
 *
 *   sum     = product (('+' | '-') product)*
 *   product = factor (('*' | 'ceildiv' | 'floordiv' | 'mod') factor)*
 *   factor  = digits | name | '(' sum ')'
 */

typedef struct Formula {
  const char *at;
  const Size *sizes;
  size_t num_sizes;
  int depth;
  int failed;
} Formula;

static int is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Goes behind a word or sign if it comes next. */
static int take(Formula *f, const char *word) {
  while (*f->at == ' ')
    ++f->at;
  size_t length = strlen(word);
  if (strncmp(f->at, word, length) != 0)
    return 0;
  if (is_name(*word) && is_name(f->at[length]))
    return 0;
  f->at += length;
  return 1;
}

static int64_t fail(Formula *f) {
  f->failed = 1;
  return 1;
}

static int64_t read_sum(Formula *f);

static int64_t read_factor(Formula *f) {
  if (take(f, "(")) {
    if (++f->depth > MAX_DEPTH)
      return fail(f);
    int64_t value = read_sum(f);
    --f->depth;
    return take(f, ")") ? value : fail(f);
  }
  if (isdigit((unsigned char)*f->at)) {
    char *end;
    int64_t value = strtoll(f->at, &end, 10);
    f->at = end;
    return value;
  }
  for (size_t i = 0; i < f->num_sizes; ++i)
    if (take(f, f->sizes[i].name))
      return f->sizes[i].value;
  return fail(f);
}

static int64_t read_product(Formula *f) {
  int64_t value = read_factor(f);
  while (!f->failed) {
    int is_times = take(f, "*"), is_ceil = !is_times && take(f, "ceildiv");
    int is_floor = !is_times && !is_ceil && take(f, "floordiv");
    if (!is_times && !is_ceil && !is_floor && !take(f, "mod"))
      break;
    int64_t right = read_factor(f);
    if (is_times) {
      value *= right;
      continue;
    }
    if (right <= 0)
      return fail(f);
    /* C rounds to zero. */
    int64_t rest = value % right, quotient = value / right;
    if (rest < 0) {
      rest += right;
      --quotient;
    }
    value = is_floor ? quotient : is_ceil ? quotient + (rest != 0) : rest;
  }
  return value;
}

static int64_t read_sum(Formula *f) {
  int64_t value = read_product(f);
  while (!f->failed) {
    if (take(f, "+"))
      value += read_product(f);
    else if (take(f, "-"))
      value -= read_product(f);
    else
      break;
  }
  return value;
}

int evaluate_formula(const char *formula, const Size *sizes, size_t num_sizes,
                     int64_t *result) {
  Formula f = {formula, sizes, num_sizes, 0, 0};
  *result = read_sum(&f);
  return f.failed || *f.at != '\0' ? -1 : 0;
}
