/* count.h: how many elements an array has.
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_SUPPORT_COUNT_H
#define TESTS_SUPPORT_COUNT_H

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
