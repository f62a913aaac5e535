import AccessControl
import Testing

@Suite("Groups in groups") struct NestedGroupTests {
  @Test("A member of a member is a member, however deep") func deep() {
    let nesting = GroupNesting(members: [10: [20], 20: [30], 30: [40]])
    #expect(Set(nesting.expanded([40])) == [40, 30, 20, 10])
    #expect(Set(nesting.expanded([20])) == [20, 10])
  }

  @Test("Containment does not go the other way") func notDownwards() {
    #expect(GroupNesting(members: [10: [20]]).expanded([10]) == [10])
  }

  @Test("A circle ends") func circle() {
    let nesting = GroupNesting(members: [1: [2], 2: [3], 3: [1]])
    #expect(Set(nesting.expanded([2])) == [1, 2, 3])
  }

  @Test("Without nesting nothing changes, doubles included") func none() {
    #expect(GroupNesting().expanded([5, 5, 7]) == [5, 5, 7])
  }
}
