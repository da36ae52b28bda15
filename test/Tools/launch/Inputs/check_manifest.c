/* Tests of examples/launch/manifest.c. */
#include "manifest.h"
#include <stdio.h>
#include <string.h>

static int failures;

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      printf("line %d: %s\n", __LINE__, #condition);                           \
      ++failures;                                                              \
    }                                                                          \
  } while (0)

static const Json *parse(const char *text) {
  static char copies[64][512];
  static size_t used;
  char *copy = copies[used++];
  strcpy(copy, text);
  return json_parse(copy);
}

static void check_json(void) {
  const Json *v = parse(" {\"a\": [1, -2.5e1, null], \"b\\n\": \"x\\\"\\\\\","
                        " \"t\": true, \"e\": {}, \"f\": false, \"l\": []}\n");
  EXPECT(v);
  if (!v)
    return;
  const Json *a = json_get(v, "a");
  EXPECT(a && a->kind == JSON_ARRAY && a->first->number == 1);
  EXPECT(a->first->next->number == -25);
  EXPECT(a->first->next->next->kind == JSON_NULL);
  EXPECT(!a->first->next->next->next);
  EXPECT(strcmp(json_string(v, "b\n"), "x\"\\") == 0);
  EXPECT(json_is_true(v, "t") && !json_is_true(v, "f"));
  EXPECT(!json_get(v, "e")->first && !json_get(v, "l")->first);
  EXPECT(!json_get(v, "z") && !json_get(NULL, "z") && !json_get(a, "a"));
  EXPECT(json_number(v, "z", 7) == 7 && json_number(v, "t", 8) == 8);
  EXPECT(strcmp(json_string(v, "a"), "") == 0);

  const char *wrong[] = {"",         "{",      "[1,]",        "{\"a\"}",
                         "{\"a\":}", "[1 2]",  "\"a",         "nul",
                         "1 2",      "{a: 1}", "\"\\u0061\"", "\"\n\"",
                         "[1}",      "-",      "\"\\"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
    if (parse(wrong[i])) {
      printf("is no JSON: %s\n", wrong[i]);
      ++failures;
    }
  char deep[201];
  memset(deep, '[', 100);
  memset(deep + 100, ']', 100);
  deep[200] = '\0';
  EXPECT(!parse(deep));
}

static void check_formulas(void) {
  const Size sizes[] = {{"n", 7}, {"n2", 300}, {"_m", 2}, {"modulus", 5}};
  const struct {
    const char *formula;
    int64_t value;
  } good[] = {{"1", 1},
              {"n", 7},
              {"n2 ceildiv 256", 2},
              {"n2 floordiv 256", 1},
              {"n2 mod 256", 44},
              {"2 + 3 * 4 - 5", 9},
              {"(2 + 3) * (4 - 5)", -5},
              {"10 - 3 - 2", 5},
              {"n ceildiv 2 ceildiv 2", 2},
              {"n*_m", 14},
              {" ( n ) ", 7},
              {"(0 - n) floordiv 2", -4},
              {"(0 - n) ceildiv 2", -3},
              {"(0 - n) mod 2", 1},
              {"modulus mod modulus", 0}};
  for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
    int64_t value = 0;
    if (evaluate_formula(good[i].formula, sizes, 4, &value) != 0 ||
        value != good[i].value) {
      printf("%s: %lld\n", good[i].formula, (long long)value);
      ++failures;
    }
  }
  const char *wrong[] = {
      "",    "n3",           "1 +",      "(1",
      "1)",  "n n",          "n mod 0",  "1 / 2",
      "* 2", "2 ceildiv -1", "n ceil 2", "n floordiv (2 - 2)"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    int64_t value;
    if (evaluate_formula(wrong[i], sizes, 4, &value) == 0) {
      printf("is no formula: %s\n", wrong[i]);
      ++failures;
    }
  }
}

int main(void) {
  check_json();
  check_formulas();
  printf("%d failures\n", failures);
  return failures != 0;
}
