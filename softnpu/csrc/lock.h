/* One lock for handles, memory and streams: each is held for moments, and a fork must find them all
 * in order. Nobody waits for Python while holding it. */
#ifndef SOFTNPU_LOCK_H
#define SOFTNPU_LOCK_H

void softnpu_lock(void);
void softnpu_unlock(void);
void softnpu_wait(void); /* with the lock: until softnpu_notify() */
void softnpu_notify(void);

#endif
