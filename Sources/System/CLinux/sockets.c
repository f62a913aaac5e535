// Stream sockets of one machine: a server that knows who asks, and its client.
//
// A socket is named by a directory and a name in it, through /proc: the address has room for 107 bytes only, and no
// link can lead elsewhere.

#include "internal.h"

#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

static long address(struct sockaddr_un *out, int directory, const char *name) {
  memset(out, 0, sizeof *out);
  out->sun_family = AF_UNIX;
  int length = snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/%s", directory, name);
  return length < 0 || (size_t)length >= sizeof out->sun_path ? -ENAMETOOLONG : 0;
}

long lv_socket_listen(int directory, const char *name, uint32_t mode) {
  struct sockaddr_un place;
  long failure = address(&place, directory, name);
  if (failure < 0) return failure;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  if (bind(fd, (struct sockaddr *)&place, sizeof place) < 0 || fchmodat(directory, name, mode, 0) < 0 ||
      listen(fd, 16) < 0) {
    failure = -errno;
    close(fd);
    return failure;
  }
  return fd;
}

long lv_socket_accept(int fd) { return LV_RESULT(accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)); }

long lv_socket_connect(int directory, const char *name, uint32_t patience_seconds) {
  struct sockaddr_un place;
  long failure = address(&place, directory, name);
  if (failure < 0) return failure;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  // A server that accepts nobody would keep us here for ever.
  struct timeval patience = {patience_seconds, 0};
  if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0 ||
      connect(fd, (struct sockaddr *)&place, sizeof place) < 0) {
    failure = -errno;
    close(fd);
    return failure;
  }
  return fd;
}

long lv_socket_peer(int fd, uint32_t *user, uint32_t *group, int32_t *process) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return -errno;
  *user = peer.uid;
  *group = peer.gid;
  *process = peer.pid;
  return 0;
}

long lv_socket_peer_process(int fd) {
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
  int process = -1;
  socklen_t size = sizeof process;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &size) < 0) return -errno;
  return process;
}

long lv_socket_peer_groups(int fd, uint32_t *groups, size_t count) {
  _Static_assert(sizeof(gid_t) == sizeof(uint32_t), "a group is a word");
  socklen_t size = (socklen_t)(count * sizeof(gid_t));
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0) return -errno;
  return (long)(size / sizeof(gid_t));
}

long lv_socket_wait(int fd, int for_writing, int milliseconds) {
  struct pollfd question = {fd, for_writing ? POLLOUT : POLLIN, 0};
  return LV_RESULT(poll(&question, 1, milliseconds));
}

long lv_socket_receive(int fd, void *into, size_t count) {
  return LV_RESULT(recv(fd, into, count, MSG_DONTWAIT));
}

long lv_socket_receive_line(int fd, void *into, size_t count) {
  // What follows the line may be secret, so nothing of it is left where it was looked at.
  char seen[4096];
  if (count > sizeof seen) count = sizeof seen;
  ssize_t there = recv(fd, seen, count, MSG_DONTWAIT | MSG_PEEK);
  int error = errno;
  const char *end = there > 0 ? memchr(seen, '\n', (size_t)there) : NULL;
  size_t wanted = end ? (size_t)(end - seen) + 1 : (size_t)(there > 0 ? there : 0);
  explicit_bzero(seen, sizeof seen);
  if (there <= 0) return there < 0 ? -(long)error : 0;
  return LV_RESULT(recv(fd, into, wanted, MSG_DONTWAIT));
}

long lv_socket_waiting(int fd) {
  int count = 0;
  long result = LV_RESULT(ioctl(fd, FIONREAD, &count));
  return result < 0 ? result : count;
}

long lv_socket_send(int fd, const void *from, size_t count) {
  return LV_RESULT(send(fd, from, count, MSG_DONTWAIT | MSG_NOSIGNAL));
}

long lv_datagram(const char *path, size_t length, const void *from, size_t count) {
  struct sockaddr_un place;
  memset(&place, 0, sizeof place);
  place.sun_family = AF_UNIX;
  if (length < 2 || length >= sizeof place.sun_path) return -EINVAL;
  memcpy(place.sun_path, path, length);
  // An abstract name begins with a NUL, which people write as @.
  if (place.sun_path[0] == '@') place.sun_path[0] = 0;
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  long result = LV_RESULT(sendto(fd, from, count, MSG_NOSIGNAL, (struct sockaddr *)&place, size));
  close(fd);
  return result;
}
