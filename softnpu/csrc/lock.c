/* The lock of the library, and what wakes those who wait for a change. */
#include <pthread.h>

#include "lock.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void softnpu_lock(void) { pthread_mutex_lock(&lock); }
void softnpu_unlock(void) { pthread_mutex_unlock(&lock); }
void softnpu_wait(void) { pthread_cond_wait(&changed, &lock); }
void softnpu_notify(void) { pthread_cond_broadcast(&changed); }
