import Glibc

// The spoken names of the error numbers that code asks about. A doc comment stands where the number means more than
// its word.

extension Errno {
  /// `EPERM`: an owner rule or a flag forbids it.
  package static let notPermitted = Errno(rawValue: EPERM)
  package static let noSuchFile = Errno(rawValue: ENOENT)
  package static let noSuchProcess = Errno(rawValue: ESRCH)
  package static let interrupted = Errno(rawValue: EINTR)
  package static let inputOutput = Errno(rawValue: EIO)
  /// `ENXIO`: also: no data or hole after this offset.
  package static let noDevice = Errno(rawValue: ENXIO)
  package static let tooBig = Errno(rawValue: E2BIG)
  package static let badDescriptor = Errno(rawValue: EBADF)
  /// `EAGAIN`: the same number as EWOULDBLOCK.
  package static let again = Errno(rawValue: EAGAIN)
  package static let noMemory = Errno(rawValue: ENOMEM)
  /// `EACCES`: a right is missing.
  package static let accessDenied = Errno(rawValue: EACCES)
  package static let busy = Errno(rawValue: EBUSY)
  package static let exists = Errno(rawValue: EEXIST)
  /// `EXDEV`: also: a mount point is in the way.
  package static let crossDevice = Errno(rawValue: EXDEV)
  package static let noSuchDevice = Errno(rawValue: ENODEV)
  package static let notDirectory = Errno(rawValue: ENOTDIR)
  package static let isDirectory = Errno(rawValue: EISDIR)
  package static let invalid = Errno(rawValue: EINVAL)
  /// `ENFILE`: the system's table.
  package static let fileTableFull = Errno(rawValue: ENFILE)
  /// `EMFILE`: this process's table.
  package static let tooManyOpenFiles = Errno(rawValue: EMFILE)
  /// `ENOTTY`: also: the file system does not know this ioctl.
  package static let notTerminal = Errno(rawValue: ENOTTY)
  /// `ETXTBSY`: a program runs from the file.
  package static let textBusy = Errno(rawValue: ETXTBSY)
  package static let fileTooBig = Errno(rawValue: EFBIG)
  package static let noSpace = Errno(rawValue: ENOSPC)
  package static let readOnly = Errno(rawValue: EROFS)
  /// `ENOPROTOOPT`: a socket does not know this option.
  package static let noProtocolOption = Errno(rawValue: ENOPROTOOPT)
  package static let tooManyLinks = Errno(rawValue: EMLINK)
  package static let brokenPipe = Errno(rawValue: EPIPE)
  /// `ERANGE`: also: the buffer for an attribute is too small.
  package static let range = Errno(rawValue: ERANGE)
  package static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
  package static let notImplemented = Errno(rawValue: ENOSYS)
  package static let notEmpty = Errno(rawValue: ENOTEMPTY)
  /// `ELOOP`: also: a symbolic link where none is followed.
  package static let tooManySymbolicLinks = Errno(rawValue: ELOOP)
  /// `ENODATA`: the attribute is absent.
  package static let noData = Errno(rawValue: ENODATA)
  /// `ENOTCONN`: the daemon behind a mount is gone.
  package static let notConnected = Errno(rawValue: ENOTCONN)
  /// `ESHUTDOWN`: the other end of a connection is closed.
  package static let shutDown = Errno(rawValue: ESHUTDOWN)
  package static let badMessage = Errno(rawValue: EBADMSG)
  package static let overflow = Errno(rawValue: EOVERFLOW)
  /// `EOPNOTSUPP`: the same number as ENOTSUP.
  package static let unsupported = Errno(rawValue: EOPNOTSUPP)
  package static let connectionAborted = Errno(rawValue: ECONNABORTED)
  package static let connectionReset = Errno(rawValue: ECONNRESET)
  package static let timedOut = Errno(rawValue: ETIMEDOUT)
  package static let messageTooLong = Errno(rawValue: EMSGSIZE)
  package static let stale = Errno(rawValue: ESTALE)
  package static let quotaExceeded = Errno(rawValue: EDQUOT)
  package static let canceled = Errno(rawValue: ECANCELED)
  package static let noKey = Errno(rawValue: ENOKEY)
  package static let keyRejected = Errno(rawValue: EKEYREJECTED)
}
