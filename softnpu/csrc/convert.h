/* The arguments of an operator as Python objects. */
#ifndef SOFTNPU_CONVERT_H
#define SOFTNPU_CONVERT_H

#include <stdbool.h>

#include "python.h"
#include "signature.h"

/* Finds torch's importer of DLPack capsules; false and a Python error where that fails. */
bool softnpu_convert_start(object *bridge);

/* An argument by the letter of its kind; NULL and a Python error where that fails. */
object *softnpu_as_argument(softnpu_slot slot, char kind);

#endif
