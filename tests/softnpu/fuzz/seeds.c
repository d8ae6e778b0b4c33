/* Runs the fuzzer without libFuzzer: over seeds (`seeds FIRST COUNT`) or files (`seeds FILE...`,
 * which is also how AFL calls it). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

enum { INPUT_BYTES = 1024 };

static unsigned long long current;

/* The sanitizers' hook: says which input it was, so that it can be run alone. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* A size that no memory holds is an answer of malloc, not an error of the test; whatever ends
 * the process goes through the hook. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1:handle_abort=1"; }
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "print_stacktrace=1:abort_on_error=1"; }

static void say_which(void) { fprintf(stderr, "the input was seed %llu\n", current); }

/* xorshift64*: the same numbers on every machine. */
static uint64_t next_number(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

static void run_seed(unsigned long long seed) {
    uint8_t input[INPUT_BYTES];
    uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    size_t size = 64 + next_number(&state) % (INPUT_BYTES - 64);
    for (size_t i = 0; i < size; i++) {
        input[i] = (uint8_t)(next_number(&state) >> 56);
    }
    LLVMFuzzerTestOneInput(input, size);
}

static int run_file(const char *name) {
    uint8_t input[INPUT_BYTES];
    FILE *file = fopen(name, "rb");
    if (!file) {
        perror(name);
        return 2;
    }
    size_t size = fread(input, 1, sizeof input, file);
    fclose(file);
    LLVMFuzzerTestOneInput(input, size);
    return 0;
}

int main(int count, char **words) {
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(say_which);
    }
    char *rest = "";
    unsigned long long first = count == 3 ? strtoull(words[1], &rest, 10) : 0;
    if (count == 3 && *rest == '\0') {
        unsigned long long inputs = strtoull(words[2], NULL, 10);
        for (current = first; current < first + inputs; current++) {
            run_seed(current);
        }
        printf("%llu inputs\n", inputs);
        return 0;
    }
    int code = 0;
    for (int i = 1; i < count; i++) {
        code |= run_file(words[i]);
    }
    return code;
}
