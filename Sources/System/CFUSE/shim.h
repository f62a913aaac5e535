// libfuse's low-level session API and the kernel's request formats, for Swift.
#ifndef VARVE_CFUSE_SHIM_H
#define VARVE_CFUSE_SHIM_H
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include "protocol.h"
#include "calls.h"
#endif
