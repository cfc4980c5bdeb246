/* check.h: the part of Check that most tests use, for machines that have no Check built for them (an
 * emulated one, say) and for checkers that must see every instruction (MSan). Tests run in one
 * process; the first failure ends it.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_PLAIN_CHECK_H
#define TESTS_PLAIN_CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct TTest {
  const char *name;
  void (*run)(int);
} TTest;

#define START_TEST(test)                                 \
  static void test##_run(int);                           \
  static const TTest test##_entry = {#test, test##_run}; \
  static const TTest *const test = &test##_entry;        \
  static void test##_run(int loop) {                     \
    (void)loop;
#define END_TEST }

#define ck_abort_msg(...)                          \
  do {                                             \
    printf("%s:%d: FAILED: ", __FILE__, __LINE__); \
    printf(__VA_ARGS__);                           \
    printf("\n");                                  \
    exit(EXIT_FAILURE);                            \
  } while (0)
#define ck_assert_msg(holds, ...)            \
  do {                                       \
    if (!(holds)) ck_abort_msg(__VA_ARGS__); \
  } while (0)
#define ck_assert(holds) ck_assert_msg(holds, "not so: %s", #holds)

#define PLAIN_COMPARE(type, format, a, op, b)                                                    \
  do {                                                                                           \
    const type plain_a = (a), plain_b = (b);                                                     \
    ck_assert_msg(plain_a op plain_b, "not so: %s %s %s: %" format " and %" format, #a, #op, #b, \
                  plain_a, plain_b);                                                             \
  } while (0)
#define ck_assert_int_eq(a, b) PLAIN_COMPARE(intmax_t, PRIdMAX, a, ==, b)
#define ck_assert_uint_eq(a, b) PLAIN_COMPARE(uintmax_t, PRIuMAX, a, ==, b)
#define ck_assert_uint_gt(a, b) PLAIN_COMPARE(uintmax_t, PRIuMAX, a, >, b)
#define ck_assert_uint_ge(a, b) PLAIN_COMPARE(uintmax_t, PRIuMAX, a, >=, b)
#define ck_assert_uint_lt(a, b) PLAIN_COMPARE(uintmax_t, PRIuMAX, a, <, b)
#define ck_assert_ptr_eq(a, b) ck_assert((a) == (b))
#define ck_assert_ptr_nonnull(a) ck_assert((a) != NULL)
#define ck_assert_str_eq(a, b) ck_assert(strcmp(a, b) == 0)
#define ck_assert_str_ne(a, b) ck_assert(strcmp(a, b) != 0)

enum { CK_NORMAL, PLAIN_TESTS_MAX = 64 };

typedef struct Suite {
  const TTest *tests[PLAIN_TESTS_MAX];
  size_t count;
} Suite, TCase, SRunner;

static inline Suite *suite_create(const char *name) {
  (void)name;
  return calloc(1, sizeof(Suite));
}
static inline TCase *tcase_create(const char *name) {
  (void)name;
  return calloc(1, sizeof(TCase));
}
static inline void tcase_set_timeout(TCase *test_case, double seconds) {
  (void)test_case, (void)seconds;
}
static inline void tcase_add_test(TCase *test_case, const TTest *test) {
  test_case->tests[0] = test;
}
static inline void suite_add_tcase(Suite *suite, TCase *test_case) {
  if (suite->count < PLAIN_TESTS_MAX) suite->tests[suite->count++] = test_case->tests[0];
  free(test_case);
}
static inline SRunner *srunner_create(Suite *suite) {
  return suite;
}
static inline void srunner_run_all(SRunner *runner, int mode) {
  (void)mode;
  for (size_t i = 0; i < runner->count; i++) runner->tests[i]->run(0);
}
static inline int srunner_ntests_failed(SRunner *runner) {
  (void)runner;
  return 0;
}
static inline void srunner_free(SRunner *runner) {
  free(runner);
}

#endif
