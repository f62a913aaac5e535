// What encryption costs a file that is not encrypted.

import LinuxFiles
import Testing

@testable import LayeredVolume

@Suite("Files that are not encrypted") struct UnencryptedFileTests {
  private final class Content: EncryptedContent {
    var head: KnownHead? { nil }
    var isAtRest: Bool { true }
  }

  /// With a lock this would wait for itself.
  @Test("Nobody takes a lock to see that a file is not encrypted", .timeLimit(.minutes(1))) func noLock() {
    let attachment = Attachment()
    let content = Content()
    let made = attachment.encrypted {
      #expect(attachment.encrypted == nil)
      return content
    }
    #expect(made === content && attachment.encrypted === content)
    attachment.forgetEncrypted()
    #expect(attachment.encrypted == nil)
  }
}
