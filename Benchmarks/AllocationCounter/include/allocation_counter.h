#ifndef LV_ALLOCATION_COUNTER_H
#define LV_ALLOCATION_COUNTER_H

/* How often this thread asked for memory since it started. */
unsigned long lv_allocation_count(void);

#endif
