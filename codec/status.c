/* status.c: statuses in words, and the version.
 * SPDX-License-Identifier: MIT */
#include "mxgold.h"

const char *mxg_strerror(mxg_status status) {
  switch (status) {
    case MXG_OK: return "success";
    case MXG_ERR_NULL: return "a required pointer is NULL";
    case MXG_ERR_SHAPE: return "the rows, columns, strides or counts do not fit together";
    case MXG_ERR_SIZE: return "a size in bytes does not fit size_t";
    case MXG_ERR_CAPACITY: return "a buffer is smaller than the layout needs";
    case MXG_ERR_OVERLAP: return "an output overlaps an input or another output";
    case MXG_ERR_RECIPE: return "the recipe is not valid";
    case MXG_ERR_LAYOUT: return "the layout or its options are not valid here";
    case MXG_ERR_TYPE: return "the data type of the values is unknown";
    case MXG_ERR_RESERVED: return "a reserved word is not 0";
    case MXG_ERR_ISA: return "the instruction set is unknown or this CPU lacks it";
    case MXG_ERR_FENV:
      return "the floating-point environment is not the default: rounding is not to nearest, or "
             "FTZ or DAZ is on";
    case MXG_ERR_PRESET: return "no preset has this name";
    case MXG_ERR_KEY_UNKNOWN: return "no recipe field has this name";
    case MXG_ERR_KEY_DUPLICATE: return "a recipe field is given twice";
    case MXG_ERR_KEY_INAPPLICABLE: return "the recipe field does not apply to this kind of scale";
    case MXG_ERR_KEY_MISSING: return "a recipe field that this kind of scale needs is missing";
    case MXG_ERR_VALUE: return "the recipe field has no such value";
    case MXG_ERR_SYNTAX: return "the recipe text is not \"preset,key=value,...\"";
    case MXG_ERR_NO_DEVICE: return "there is no such device";
    case MXG_ERR_ARCH: return "the device lacks the instructions that the chosen path needs";
    case MXG_ERR_DEVICE: return "the device runtime reported an error";
  }
  return "unknown status";
}

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *mxg_version(void) {
  return VERSION(MXG_VERSION_MAJOR, MXG_VERSION_MINOR, MXG_VERSION_PATCH);
}
