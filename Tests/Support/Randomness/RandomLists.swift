// Random identities and entries.

package import AccessControl

extension Identity {
  package static func random(using dice: inout Dice) -> Identity {
    switch dice.below(8) {
    case 0: .everyone
    case 1: .owner
    case 2: .owningGroup
    case 3: .nobody
    case 4: .user(.random(in: 0...3, using: &dice))
    case 5: .group(.random(in: 0...17, using: &dice))
    case 6: .user(.random(in: 0...UInt32.max, using: &dice))
    default: .group(.random(in: 0...UInt32.max, using: &dice))
    }
  }
}

extension AccessEntry {
  package static func random(
    rights: Rights, inheritance: Inheritance, kinds: [Kind] = [.allow, .deny], using dice: inout Dice
  ) -> AccessEntry {
    AccessEntry(
      dice.pick(kinds), .random(using: &dice),
      Rights(rawValue: .random(in: 0...UInt32.max, using: &dice)).intersection(rights),
      Inheritance(rawValue: .random(in: 0...UInt16.max, using: &dice)).intersection(inheritance))
  }
}
