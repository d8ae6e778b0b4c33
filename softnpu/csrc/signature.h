/* One operator: its parameters, what they accept, and what a call gives them. */
#ifndef SOFTNPU_SIGNATURE_H
#define SOFTNPU_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

/* What an operator accepts, as limits.py writes it; a bit for each dtype, rank or format that
 * passes. */
enum { SOFTNPU_PRODUCTS = 3 };
typedef struct {
    const char *parameter;
    uint64_t dtypes[SOFTNPU_PRODUCTS]; /* 0: any */
    uint64_t ranks;                    /* 0: nothing is known of this parameter */
    uint64_t formats;                  /* private ones */
} softnpu_limit;

typedef struct {
    const char *document;
    int products;                    /* a bit for each product */
    bool first_required;             /* the first parameter must not be null */
    const softnpu_limit *parameters; /* one for each of the operator */
} softnpu_limits;

/* The table of these is generated from operators.tsv together with the trampolines. */
typedef struct {
    const char *name;
    const char *kinds;            /* one letter per parameter, see operators.py */
    const softnpu_limits *limits; /* NULL: none are known */
} softnpu_operator;

/* The kinds of parameters that are handles. */
#define SOFTNPU_HANDLE_KINDS "TSLZIBF"

typedef union {
    void *pointer;
    int64_t integer;
    double real;
} softnpu_slot;

#endif
