import Glibc

// The spoken names of error numbers. A doc comment stands where the number means more than its word.

extension Errno {
  /// `EPERM`: an owner rule or a flag forbids it.
  package static let notPermitted = Errno(rawValue: EPERM)
  /// `ENOENT`.
  package static let noSuchFile = Errno(rawValue: ENOENT)
  /// `ESRCH`.
  package static let noSuchProcess = Errno(rawValue: ESRCH)
  /// `EINTR`.
  package static let interrupted = Errno(rawValue: EINTR)
  /// `EIO`.
  package static let inputOutput = Errno(rawValue: EIO)
  /// `ENXIO`: also: no data or hole after this offset.
  package static let noDevice = Errno(rawValue: ENXIO)
  /// `E2BIG`.
  package static let tooBig = Errno(rawValue: E2BIG)
  /// `EBADF`.
  package static let badDescriptor = Errno(rawValue: EBADF)
  /// `EAGAIN`: the same number as EWOULDBLOCK.
  package static let again = Errno(rawValue: EAGAIN)
  /// `ENOMEM`.
  package static let noMemory = Errno(rawValue: ENOMEM)
  /// `EACCES`: a right is missing.
  package static let accessDenied = Errno(rawValue: EACCES)
  /// `EFAULT`.
  package static let badAddress = Errno(rawValue: EFAULT)
  /// `ENOTBLK`.
  package static let notBlockDevice = Errno(rawValue: ENOTBLK)
  /// `EBUSY`.
  package static let busy = Errno(rawValue: EBUSY)
  /// `EEXIST`.
  package static let exists = Errno(rawValue: EEXIST)
  /// `EXDEV`: also: a mount point is in the way.
  package static let crossDevice = Errno(rawValue: EXDEV)
  /// `ENODEV`.
  package static let noSuchDevice = Errno(rawValue: ENODEV)
  /// `ENOTDIR`.
  package static let notDirectory = Errno(rawValue: ENOTDIR)
  /// `EISDIR`.
  package static let isDirectory = Errno(rawValue: EISDIR)
  /// `EINVAL`.
  package static let invalid = Errno(rawValue: EINVAL)
  /// `ENFILE`: the system's table.
  package static let fileTableFull = Errno(rawValue: ENFILE)
  /// `EMFILE`: this process's table.
  package static let tooManyOpenFiles = Errno(rawValue: EMFILE)
  /// `ENOTTY`: also: the file system does not know this ioctl.
  package static let notTerminal = Errno(rawValue: ENOTTY)
  /// `ETXTBSY`.
  package static let textBusy = Errno(rawValue: ETXTBSY)
  /// `EFBIG`.
  package static let fileTooBig = Errno(rawValue: EFBIG)
  /// `ENOSPC`.
  package static let noSpace = Errno(rawValue: ENOSPC)
  /// `ESPIPE`.
  package static let illegalSeek = Errno(rawValue: ESPIPE)
  /// `EROFS`.
  package static let readOnly = Errno(rawValue: EROFS)
  /// `EMLINK`.
  package static let tooManyLinks = Errno(rawValue: EMLINK)
  /// `ENOPROTOOPT`: a socket does not know this option.
  package static let noProtocolOption = Errno(rawValue: ENOPROTOOPT)
  /// `EPIPE`.
  package static let brokenPipe = Errno(rawValue: EPIPE)
  /// `EDOM`.
  package static let domain = Errno(rawValue: EDOM)
  /// `ERANGE`: also: the buffer for an attribute is too small.
  package static let range = Errno(rawValue: ERANGE)
  /// `EDEADLK`.
  package static let deadlock = Errno(rawValue: EDEADLK)
  /// `ENAMETOOLONG`.
  package static let nameTooLong = Errno(rawValue: ENAMETOOLONG)
  /// `ENOLCK`.
  package static let noLocks = Errno(rawValue: ENOLCK)
  /// `ENOSYS`.
  package static let notImplemented = Errno(rawValue: ENOSYS)
  /// `ENOTEMPTY`.
  package static let notEmpty = Errno(rawValue: ENOTEMPTY)
  /// `ELOOP`: also: a symbolic link where none is followed.
  package static let tooManySymbolicLinks = Errno(rawValue: ELOOP)
  /// `ENOMSG`.
  package static let noMessage = Errno(rawValue: ENOMSG)
  /// `ENODATA`: the attribute is absent.
  package static let noData = Errno(rawValue: ENODATA)
  /// `ETIME`.
  package static let timerExpired = Errno(rawValue: ETIME)
  /// `ENOTCONN`: the daemon behind a mount is gone.
  package static let notConnected = Errno(rawValue: ENOTCONN)
  /// `EBADMSG`.
  package static let badMessage = Errno(rawValue: EBADMSG)
  /// `EOVERFLOW`.
  package static let overflow = Errno(rawValue: EOVERFLOW)
  /// `EILSEQ`.
  package static let illegalSequence = Errno(rawValue: EILSEQ)
  /// `EUSERS`.
  package static let tooManyUsers = Errno(rawValue: EUSERS)
  /// `EOPNOTSUPP`: the same number as ENOTSUP.
  package static let unsupported = Errno(rawValue: EOPNOTSUPP)
  /// `ECONNABORTED`.
  package static let connectionAborted = Errno(rawValue: ECONNABORTED)
  /// `ECONNRESET`.
  package static let connectionReset = Errno(rawValue: ECONNRESET)
  /// `ETIMEDOUT`.
  package static let timedOut = Errno(rawValue: ETIMEDOUT)
  /// `ECONNREFUSED`: nobody listens there.
  package static let connectionRefused = Errno(rawValue: ECONNREFUSED)
  /// `EMSGSIZE`.
  package static let messageTooLong = Errno(rawValue: EMSGSIZE)
  /// `EALREADY`.
  package static let alreadyInProgress = Errno(rawValue: EALREADY)
  /// `EINPROGRESS`.
  package static let inProgress = Errno(rawValue: EINPROGRESS)
  /// `ESTALE`.
  package static let stale = Errno(rawValue: ESTALE)
  /// `EUCLEAN`: the file system found damage.
  package static let needsCleaning = Errno(rawValue: EUCLEAN)
  /// `EREMOTEIO`.
  package static let remoteInputOutput = Errno(rawValue: EREMOTEIO)
  /// `EDQUOT`.
  package static let quotaExceeded = Errno(rawValue: EDQUOT)
  /// `ENOMEDIUM`.
  package static let noMedium = Errno(rawValue: ENOMEDIUM)
  /// `EMEDIUMTYPE`.
  package static let wrongMedium = Errno(rawValue: EMEDIUMTYPE)
  /// `ECANCELED`.
  package static let canceled = Errno(rawValue: ECANCELED)
  /// `ENOKEY`.
  package static let noKey = Errno(rawValue: ENOKEY)
  /// `EKEYEXPIRED`.
  package static let keyExpired = Errno(rawValue: EKEYEXPIRED)
  /// `EKEYREVOKED`.
  package static let keyRevoked = Errno(rawValue: EKEYREVOKED)
  /// `EKEYREJECTED`.
  package static let keyRejected = Errno(rawValue: EKEYREJECTED)
}
