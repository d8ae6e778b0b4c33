/* Says what happened when host code reaches into NPU memory directly, and ends the process.
 *
 * On a chip the same program would end with a bare segmentation fault, or worse. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "blocks.h"
#include "guard.h"
#include "operator.h"

static struct sigaction before;

static void *instruction(const ucontext_t *context) {
#if defined(__x86_64__)
    return (void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)context->uc_mcontext.pc;
#else
    return (void)context, NULL;
#endif
}

static void report(const siginfo_t *fault, const ucontext_t *context, int device) {
    static char text[1024]; /* the process ends here: nobody needs it twice */
    Dl_info code = {0};
    dladdr(instruction(context), &code);
    const char *operator= softnpu_last_operator();
    int length = snprintf(text, sizeof text,
                          "softnpu: host code reached directly into the memory of NPU %d, at %p.\n"
                          "softnpu: the code is in %s, near %s; the thread's last NPU operator was "
                          "%s.\n"
                          "softnpu: a chip's memory is not there for the host: copy the tensor with "
                          ".cpu() first.\n",
                          device, fault->si_addr, code.dli_fname ? code.dli_fname : "(unknown)",
                          code.dli_sname ? code.dli_sname : "(no name)",
                          operator? operator: "(none)");
    if (write(STDERR_FILENO, text, (size_t)length) < 0) {
        return;
    }
}

/* What was there before goes on: Python's faulthandler shows the line of the program. */
static void on_fault(int number, siginfo_t *fault, void *context) {
    int device = softnpu_reach(fault->si_addr, 0).device;
    if (device >= 0) {
        report(fault, context, device);
    }
    sigaction(number, &before, NULL); /* and the instruction faults again */
}

void softnpu_guard(void) {
    static bool set;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    if (!set) {
        set = sigaction(SIGSEGV, &action, &before) == 0;
    }
}
