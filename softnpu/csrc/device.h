/* How many devices there are, and which one a thread has set. */
#ifndef SOFTNPU_DEVICE_H
#define SOFTNPU_DEVICE_H

enum { SOFTNPU_MAX_DEVICES = 16 };

int softnpu_device_count(void);
int softnpu_current_device(void); /* of this thread, or -1 */
void softnpu_leave_device(void);  /* this thread has set none from here on */

#endif
