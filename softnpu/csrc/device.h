/* How many devices there are, and which one a thread has set. */
#ifndef SOFTNPU_DEVICE_H
#define SOFTNPU_DEVICE_H

enum { SOFTNPU_MAX_DEVICES = 16 };

int softnpu_device_count(void);
int softnpu_current_device(void); /* of this thread, or -1; the default one is set where it is used */
void softnpu_set_default_device(int device); /* -1: there is none */
void softnpu_leave_device(void);  /* this thread has set none from here on */

#endif
