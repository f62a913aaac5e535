// Names of accounts for requests: asked by threads of their own, user by user, while the request is delayed.
//
// For volumes that several users share: 64 lists full of names leave another user a third of their rate (SEMANTICS 7.12).

import AccessControl
import LinuxFiles
import Synchronization

/// The user database for requests, none of which waits for it with a thread.
///
/// Each user who asks has two threads at most, a queue behind them, and answers of their own: who asks for many
/// names, or for names of a server that hangs, holds up themselves. A question is asked once for all requests of
/// its user that need it.
final class NameService: Sendable {
  enum Query: Hashable, Sendable {
    case user(String)
    case group(String)
    case userName(UInt32)
    case groupName(UInt32)
    /// The groups of an account; the answer goes to ``Accounts/groups``.
    case groups(UInt32)

    fileprivate var isAboutGroups: Bool {
      if case .groups = self { return true }
      return false
    }
  }

  enum Answer: Sendable {
    case number(UInt32?)
    case name(String?)
    case groups
    /// It did not come in time.
    case late
  }

  private struct Asked {
    /// Nil while there is none.
    var answer: Answer?
    /// When it came, and before that, when it was asked for.
    var at: UInt64
  }

  private struct Asker {
    var asked: [Query: Asked] = [:]
    var queue: [Query] = []
    var threads = 0
  }

  private struct State {
    var askers: [UInt32: Asker] = [:]
    var threads = 0
    var whenAnswered: (@Sendable () -> Void)?
  }

  private static let threadsOfOne = 2
  private static let mostThreads = 32
  private static let mostAnswers = 4_096
  private static let mostQuestions = 1_024
  private static let mostAskers = 256
  /// How long an answer is awaited.
  private static let patience: UInt64 = 2_000_000_000
  /// How long it is good for: until the request that needs it has run again.
  private static let lifetime: UInt64 = 5_000_000_000

  private let state = Mutex(State())
  private let ask: @Sendable (Query) -> Answer

  init(_ ask: @escaping @Sendable (Query) -> Answer = NameService.askSystem) {
    self.ask = ask
  }

  /// `call` is called when questions have been answered.
  func whenAnswered(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.whenAnswered = call }
  }

  /// The answer for a user, if it is there or did not come in time; nil if it has to be asked for or awaited.
  func answer(to question: Query, for user: UInt32) -> Answer? {
    let now = Clock.monotonicNanoseconds
    return state.withLock { state in
      guard let asked = state.askers[user]?.asked[question] else { return nil }
      // Another thread may have written down a later time than `now`.
      if let answer = asked.answer { return now < asked.at &+ NameService.lifetime ? answer : nil }
      return now < asked.at &+ NameService.patience ? nil : .late
    }
  }

  /// Asks what has not been asked yet.
  func ask(_ questions: [Query], for user: UInt32) {
    let now = Clock.monotonicNanoseconds
    let threads = state.withLock { state -> Int in
      if state.askers.count >= NameService.mostAskers {
        state.askers = state.askers.filter { $0.value.threads > 0 || !$0.value.queue.isEmpty }
      }
      var asker = state.askers[user] ?? Asker()
      if asker.asked.count >= NameService.mostAnswers {
        asker.asked = asker.asked.filter { $0.value.answer == nil }
      }
      // What finds no room is asked for when the request runs again.
      for question in questions where asker.queue.count < NameService.mostQuestions || question.isAboutGroups
      {
        if let asked = asker.asked[question],
          asked.answer == nil || now < asked.at &+ NameService.lifetime
        {
          continue
        }
        asker.asked[question] = Asked(answer: nil, at: now)
        // Decisions wait for groups, whatever names the same user has asked for.
        asker.queue.insert(question, at: question.isAboutGroups ? 0 : asker.queue.count)
      }
      let wanted = min(
        asker.queue.count, NameService.threadsOfOne - asker.threads,
        NameService.mostThreads - state.threads)
      asker.threads += max(0, wanted)
      state.threads += max(0, wanted)
      state.askers[user] = asker
      return max(0, wanted)
    }
    for _ in 0..<threads { start(for: user) }
  }

  private func start(for user: UInt32) {
    do throws(Errno) {
      _ = try PlainThread(name: "varve-names") { self.work(for: user) }
    } catch {
      // Without a thread no answer comes: the questions are given up after their time.
      state.withLock { state in
        state.askers[user]?.threads -= 1
        state.threads -= 1
      }
    }
  }

  /// Answers the questions of a user, then those of users who have no thread yet.
  private func work(for first: UInt32) {
    // The thread has begun as the worker that started it, who may act for the user. What cannot be had is not needed.
    if CurrentProcess.isRoot { try? ThreadIdentity.become(user: 0, group: 0) }
    var user = first
    while true {
      guard let question = nextQuestion(of: &user) else { return }
      let answer = ask(question)
      let (isLast, call) = state.withLock { state in
        state.askers[user]?.asked[question] = Asked(answer: answer, at: Clock.monotonicNanoseconds)
        return (state.askers[user]?.queue.isEmpty ?? true, state.whenAnswered)
      }
      if isLast { call?() }
    }
  }

  private func nextQuestion(of user: inout UInt32) -> Query? {
    let now = Clock.monotonicNanoseconds
    var current = user
    let question = state.withLock { state -> Query? in
      if let question = NameService.pop(&state.askers[current], at: now) { return question }
      state.askers[current]?.threads -= 1
      // Who waits because there were too many threads.
      if let (other, _) = state.askers.first(where: { $0.value.threads == 0 && !$0.value.queue.isEmpty }),
        let question = NameService.pop(&state.askers[other], at: now)
      {
        state.askers[other]?.threads += 1
        current = other
        return question
      }
      state.threads -= 1
      return nil
    }
    user = current
    return question
  }

  /// The next question whose answer is still awaited.
  private static func pop(_ asker: inout Asker?, at now: UInt64) -> Query? {
    while let question = asker?.queue.first {
      asker?.queue.removeFirst()
      guard let asked = asker?.asked[question], asked.answer == nil else { continue }
      guard now >= asked.at &+ patience else { return question }
      asker?.asked[question] = Asked(answer: .late, at: now)
    }
    return nil
  }

  @Sendable private static func askSystem(_ question: Query) -> Answer {
    switch question {
    case .user(let name): return .number(UserDatabase.user(named: name))
    case .group(let name): return .number(UserDatabase.group(named: name))
    case .userName(let number):
      let name = UserDatabase.userName(number)
      Accounts.userNames.learn(name, of: number)
      return .name(name)
    case .groupName(let number):
      let name = UserDatabase.groupName(number)
      Accounts.groupNames.learn(name, of: number)
      return .name(name)
    case .groups(let number):
      Accounts.groups.learn(UserDatabase.groups(ofUser: number), of: number)
      return .groups
    }
  }
}

/// The names one attempt of a request needs: those that are known, and those that are missing.
final class RequestNames: Sendable {
  private let service: NameService
  private let user: UInt32
  private let asked = Mutex<[NameService.Query]>([])

  init(_ service: NameService, for user: UInt32) {
    self.service = service
    self.user = user
  }

  var missing: [NameService.Query] { asked.withLock { $0 } }

  /// Answers what is known, and anything to what is missing: the attempt is not carried out then.
  var book: NameBook {
    NameBook(
      user: { self.number(.user($0)) }, group: { self.number(.group($0)) },
      userName: { self.name(.userName($0), Accounts.userNames.known($0)) },
      groupName: { self.name(.groupName($0), Accounts.groupNames.known($0)) })
  }

  private func number(_ question: NameService.Query) -> UInt32? {
    switch service.answer(to: question, for: user) {
    case .number(let number): return number
    case .name, .groups, .late: return nil
    case nil:
      asked.withLock { $0.append(question) }
      return 0
    }
  }

  private func name(_ question: NameService.Query, _ known: String??) -> String? {
    if let known { return known }
    switch service.answer(to: question, for: user) {
    case .name(let name): return name
    case .number, .groups, .late: return nil
    case nil:
      asked.withLock { $0.append(question) }
      return nil
    }
  }
}

extension Volume {
  /// Calls `use` with the names of the user database; delayed while one of them has to be asked for.
  ///
  /// `mayAsk` is called before anything is asked, with what `use` made of names that are not known yet.
  func withNames<R>(
    for caller: Caller, mayAsk: (R) throws(Errno) -> Void = { (_: R) throws(Errno) in },
    _ use: (NameBook) throws(Errno) -> R
  ) throws(Errno) -> R {
    let attempt = RequestNames(names, for: caller.user)
    let made = try use(attempt.book)
    let missing = attempt.missing
    guard !missing.isEmpty else { return made }
    try mayAsk(made)
    names.ask(missing, for: caller.user)
    throw .delayed(.names)
  }

  /// Whether the caller's groups are known, if decisions need those of their account; if not, they are asked for.
  package func knowsGroups(of user: UInt32) -> Bool {
    guard options.groups == .nss, Accounts.groups.known(user) == nil else { return true }
    if names.answer(to: .groups(user), for: user) != nil { return true }
    names.ask([.groups(user)], for: user)
    return false
  }
}
