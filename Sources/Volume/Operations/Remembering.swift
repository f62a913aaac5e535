// What the kernel may remember of an answer, and for how long.
//
// `Engines/Decisions/PublicAnswers.swift` says which answers are the same for everybody.

import Decisions
import LinuxFiles
import Synchronization

extension Volume {
  /// How long the kernel may remember the names in a directory.
  ///
  /// Only where the answer is the same for everybody: a walk by a remembered name never asks us again. And
  /// only if there is a way to make the kernel forget before a tightening change is answered. And while names change behind
  /// the mount every walk asks anew, as what it finds is held (``UnsettledNames``).
  func nameValidity(in parent: Facts) -> Validity {
    guard parent.item.isSearchableByAnyone, link?.canExpireNames ?? false,
      mountsInside == 0, !resolver.unsettled.areChanging
    else {
      return .none
    }
    return validity
  }

  /// How long the kernel may remember the attributes of an object.
  private func attributeValidity(of node: Node, _ found: BriefFacts) -> Validity {
    guard found.isVisibleToAnyone, !options.rules.ignoresOwnership,
      !(node.existingAttachment?.marks.isWrittenUnseen.load(ordering: .acquiring) ?? false)
    else { return .none }
    if mayBeCutElsewhere(node, found) { return .none }
    return validity
  }

  private var validity: Validity {
    switch options.cache {
    case .exclusive: .unlimited
    case .shared: .seconds(1)
    case .none: .none
    }
  }

  /// Notes that a view is about to tell the kernel of a name, before what bears it is looked for.
  func willTell(_ name: borrowing FileName, in directory: Node) {
    guard options.cache != .none, mountsInside == 0, link?.canExpireNames ?? false else { return }
    toldNames.note(name, in: directory.id)
  }

  /// A name was given or taken: no view leads by it to what bore it before, or shows what the directory was like.
  ///
  /// While something is mounted inside, the kernel is told no times, and a new epoch would unmount it.
  func nameChanged(_ name: borrowing FileName, in directory: Node) {
    toldAttributes.expire(stripe: directory.stripe)
    guard toldNames.mayInclude(name, in: directory.id), mountsInside == 0, let link else { return }
    let began = Clock.monotonicNanoseconds
    link.expireNames()
    toldNames.forget(before: began)
  }

  func answer(_ node: Node, _ found: BriefFacts, for caller: Caller) -> AttributeAnswer {
    AttributeAnswer(attributes: attributes(found, for: caller), validity: attributeValidity(of: node, found))
  }

  private func attributes(_ found: BriefFacts, for caller: Caller) -> Attributes {
    Attributes(found, ignoringOwnershipFor: options.rules.ignoresOwnership ? caller : nil)
  }

  /// The answer that shows an object under a name.
  ///
  /// The node's reference is the kernel's already.
  func entry(_ node: Node, _ found: BriefFacts, in parent: Facts, for caller: Caller) -> Entry {
    // FIFOs and sockets are opened without us being asked: the lookup is the only place to refuse.
    let isSpecial = ItemKind(found.status.kind) == .special
    return Entry(
      node: node.id, attributes: attributes(found, for: caller),
      nameValidity: isSpecial ? .none : nameValidity(in: parent),
      attributeValidity: attributeValidity(of: node, found))
  }
}
