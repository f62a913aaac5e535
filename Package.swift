// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target is held to.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  // Else most of what is generic in one module is not made for the types of another: a twentieth of each request.
  .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
]

/// Tests call the C library as programs do; what ships is held to more.
let forTests: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// Tests that only make calls and compare answers: to optimize them takes longer than to run them.
let unoptimized: [SwiftSetting] = forTests + [.unsafeFlags(["-Onone"], .when(configuration: .release))]

/// Lets tests see what no other module may use, in the very build that ships.
let opened: [SwiftSetting] = [.unsafeFlags(["-enable-testing"])]

/// A target of this package: its module name, its folder and what it may call.
func module(
  _ name: String, _ path: String, _ dependencies: [Target.Dependency] = [], settings: [SwiftSetting] = strict
) -> Target {
  .target(name: name, dependencies: dependencies, path: "Sources/\(path)", swiftSettings: settings)
}

func tool(_ name: String, _ path: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Sources/\(path)", swiftSettings: strict)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], settings: [SwiftSetting] = forTests
) -> Target {
  .testTarget(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: settings)
}

/// What several test targets share; Foundation is welcome here.
func support(
  _ name: String, _ path: String, _ dependencies: [Target.Dependency] = [],
  settings: [SwiftSetting] = forTests
) -> Target {
  .target(name: name, dependencies: dependencies, path: "Tests/Support/\(path)", swiftSettings: settings)
}

func benchmark(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Benchmarks/\(name)", swiftSettings: strict)
}

let package = Package(
  name: "varve",
  products: [
    .executable(name: "varve", targets: ["varve"]),
    .executable(name: "varved", targets: ["varved"]),
    // For tests alone: what LD_PRELOAD puts before the C library of a daemon.
    .library(name: "VarveFaults", type: .dynamic, targets: ["CFaults"]),
  ],
  targets: [
    // Engines: pure rules. They import each other and the standard library, nothing else.
    module("AccessControl", "Engines/AccessControl"),
    module("FlagRules", "Engines/FileFlags", ["AccessControl"]),
    module("DirectoryModes", "Engines/DirectoryModes", ["AccessControl"]),
    module(
      "Decisions", "Engines/Decisions", ["AccessControl", "FlagRules", "DirectoryModes"],
      settings: strict + opened),
    module("RecordFormat", "Engines/MetadataRecord", ["AccessControl", "FlagRules"]),
    module("JSONForm", "Engines/JSONForm"),
    module("SealedFormat", "Engines/SealedFormat"),
    module("PropertyLists", "Engines/PropertyLists"),
    module("ItemKinds", "Engines/ItemKinds"),
    module(
      "DisplayNames", "Engines/DisplayNames", ["PropertyLists", "ItemKinds"], settings: strict + opened),
    module("LayerRules", "Engines/Layering", ["RecordFormat"]),
    module("CompressedFormat", "Engines/CompressedFormat"),

    // System: the only safe face of Linux. `unsafe` lives here and at the door's wire.
    .target(name: "CLinux", path: "Sources/System/CLinux"),
    .systemLibrary(
      name: "CFUSE", path: "Sources/System/CFUSE", pkgConfig: "fuse3",
      providers: [.apt(["libfuse3-dev"])]),
    module("LinuxFiles", "System/LinuxFiles", ["CLinux"], settings: strict + opened),
    // Declarations of libcrypto only: it is loaded when the first key is needed.
    .target(name: "CCrypto", path: "Sources/System/CCrypto"),
    module("Ciphers", "System/Ciphers", ["CCrypto", "LinuxFiles"], settings: strict + opened),
    .target(name: "CPrograms", path: "Sources/System/CPrograms"),
    module("LinuxPrograms", "System/LinuxPrograms", ["LinuxFiles", "CPrograms", "CLinux"]),

    // Declarations of ICU only: it is loaded when the first name is sorted or normalised.
    .target(name: "CUnicodeText", path: "Sources/System/CUnicodeText"),
    module("UnicodeText", "System/UnicodeText", ["CUnicodeText"]),

    // Declarations of libzstd only: it is loaded when the first frame is made or expanded.
    .target(name: "CZstandard", path: "Sources/System/CZstandard"),
    module("Zstandard", "System/Zstandard", ["CZstandard"], settings: strict + opened),

    // Volume: where the product happens.
    module(
      "LayeredVolume", "Volume",
      [
        "AccessControl", "FlagRules", "DirectoryModes", "Decisions", "RecordFormat", "SealedFormat",
        "LayerRules", "JSONForm", "LinuxFiles", "Ciphers", "PropertyLists", "ItemKinds", "DisplayNames",
        "UnicodeText", "CompressedFormat", "Zstandard",
      ],
      settings: strict + opened),

    // Doors: translate, one call, one reply.
    module(
      "FUSEDoor", "Doors/FUSEDoor", ["CFUSE", "CLinux", "LinuxFiles", "LayeredVolume", "AccessControl"],
      settings: strict + opened),

    module("ControlDoor", "Doors/ControlDoor", ["LinuxFiles"], settings: strict + opened),

    // Tools.
    module("Arguments", "Tools/CommandLine"),
    module("TextForms", "Tools/TextForms", ["JSONForm"]),
    module("AccessForms", "Tools/AccessForms", ["AccessControl", "JSONForm", "TextForms"]),
    tool(
      "varve", "Tools/AdministrationTool",
      [
        "Arguments", "TextForms", "AccessForms", "AccessControl", "FlagRules", "RecordFormat",
        "SealedFormat", "JSONForm", "LayeredVolume", "Ciphers", "LinuxFiles", "LinuxPrograms",
        "DisplayNames", "ItemKinds", "LayerRules", "PropertyLists", "UnicodeText", "Zstandard",
      ]),
    tool(
      "varved", "Tools/Daemon",
      [
        "Arguments", "TextForms", "AccessControl", "FlagRules", "DirectoryModes", "Decisions", "LayerRules",
        "SealedFormat", "JSONForm", "FUSEDoor", "ControlDoor", "LayeredVolume", "Ciphers", "LinuxFiles",
        "LinuxPrograms", "DisplayNames",
      ]),

    // Tests: one target per engine, milliseconds each.
    tests("AccessListFormTests", ["Randomness", "AccessControl"]),
    tests("FlagRulesTests", ["FlagRules", "AccessControl"]),
    tests("RecordFormatTests", ["Randomness", "RecordFormat", "AccessControl", "FlagRules"]),
    support("CrashDisk", "CrashDisk", ["Randomness"]),
    tests("SealedFormatTests", ["Randomness", "SealedFormat", "CrashDisk"]),
    tests("LayerRulesTests", ["Randomness", "LayerRules", "RecordFormat"]),
    tests("CompressedFormatTests", ["Randomness", "CompressedFormat"]),
    tests("ZstandardTests", ["Randomness", "Zstandard", "CompressedFormat"]),
    tests(
      "SealedContentTests",
      [
        "KeyFixture", "KeyringFixture", "Randomness", "LayeredVolume", "Ciphers", "SealedFormat",
        "LinuxFiles", "CrashDisk", "Faults", "MountSupport",
      ]),
    tests(
      "ReplacementTests",
      [
        "KeyFixture", "KeyringFixture", "Randomness", "Faults", "LayeredVolume", "Ciphers", "SealedFormat",
        "RecordFormat",
        "AccessControl", "FlagRules", "LinuxFiles",
      ]),
    tests("PropertyListTests", ["PropertyLists", "Randomness", "MountSupport", "Stopwatch"]),
    tests("ItemKindTests", ["ItemKinds", "Randomness", "CAllocationCounter"]),
    tests(
      "DisplayNameTests",
      [
        "NameVectors", "DisplayNames", "ItemKinds", "PropertyLists", "UnicodeText", "Randomness",
        "CAllocationCounter",
      ]),
    support("NameVectors", "NameVectors", ["DisplayNames", "ItemKinds", "PropertyLists", "UnicodeText"]),
    tests("UnicodeTextTests", ["UnicodeText", "Randomness", "NameVectors", "Stopwatch"]),
    support("Stopwatch", "Stopwatch"),
    support("VectorFixture", "Vectors"),
    support("Randomness", "Randomness", ["AccessControl"]),
    tests(
      "DecisionTests",
      ["Randomness", "AccessControl", "FlagRules", "DirectoryModes", "Decisions", "VectorFixture"]),
    tests(
      "DoorTests",
      ["Randomness", "FUSEDoor", "LayeredVolume", "LinuxFiles", "CFUSE", "CAllocationCounter", "Arguments"]),

    .target(name: "CFaults", path: "Tests/Support/CFaults"),
    support("Faults", "Faults", ["CFaults", "LinuxFiles"]),
    tests(
      "ControlDoorTests", ["ControlDoor", "Ciphers", "LinuxFiles", "MountSupport"], settings: unoptimized),
    tests("CiphersTests", ["Ciphers", "LinuxFiles", "MountSupport", "Randomness", "CAllocationCounter"]),
    tests("LinuxFilesTests", ["LinuxFiles", "CMountSupport", "Faults"], settings: unoptimized),
    tests(
      "LayeredVolumeTests",
      [
        "Randomness", "LayeredVolume", "LinuxFiles", "AccessControl", "FlagRules", "RecordFormat",
        "Decisions", "DirectoryModes", "Faults", "KeyFixture", "KeyringFixture", "Ciphers", "SealedFormat",
        "JSONForm", "CompressedFormat", "DisplayNames", "LayerRules",
      ],
      settings: unoptimized),
    support("KeyFixture", "KeyFixture"),
    support(
      "KeyringFixture", "KeyringFixture",
      ["KeyFixture", "LayeredVolume", "Ciphers", "SealedFormat", "LinuxFiles"],
      settings: forTests + opened),
    tests(
      "KeyringTests",
      ["KeyFixture", "Randomness", "LayeredVolume", "LinuxFiles", "Ciphers", "SealedFormat", "Faults"],
      settings: unoptimized),
    .target(name: "CMountSupport", path: "Tests/Support/CMountSupport"),
    support("MountSupport", "MountSupport", ["LinuxFiles", "CMountSupport", "KeyFixture"]),
    tests(
      "MountTests",
      [
        "MountSupport", "CMountSupport", "LinuxFiles", "VectorFixture", "KeyFixture", "AccessControl",
        "FlagRules",
        "RecordFormat", "JSONForm", "Randomness", "TextForms", "NameVectors", "DisplayNames", "ItemKinds",
      ], settings: unoptimized),

    tests(
      "FrontTests", ["MountSupport", "CMountSupport", "LinuxFiles", "Faults", "Randomness"],
      settings: unoptimized),

    .target(name: "CModelSupport", path: "Tests/Support/CModelSupport"),
    tests(
      "ModelTests",
      [
        "Randomness",
        "MountSupport", "CMountSupport", "CModelSupport", "LinuxFiles", "AccessControl", "FlagRules",
        "DirectoryModes", "Decisions",
      ]),

    // Benchmarks. The counter stands in front of malloc in tests, too.
    .target(name: "CAllocationCounter", path: "Benchmarks/AllocationCounter"),
    benchmark(
      "EngineBenchmark",
      ["AccessControl", "FlagRules", "DirectoryModes", "Decisions", "CAllocationCounter"]),
    benchmark("NameBenchmark", ["DisplayNames", "ItemKinds", "PropertyLists", "UnicodeText"]),
    // The hot loops are a C program, so that nothing but the volume is measured.
    .executableTarget(name: "VolumeLoad", path: "Benchmarks/VolumeLoad"),
    .target(
      name: "BenchmarkReport", dependencies: ["JSONForm"], path: "Benchmarks/Report",
      swiftSettings: strict),
    benchmark("VolumeBenchmark", ["BenchmarkReport", "LinuxFiles", "LinuxPrograms"]),
    tests("BenchmarkReportTests", ["BenchmarkReport", "JSONForm"]),

    // Tests of the tools.
    tests("ArgumentsTests", ["Arguments"], settings: unoptimized),
    tests("ToolTests", ["JSONForm", "TextForms", "Arguments"], settings: unoptimized),
    tests("AccessFormsTests", ["Randomness", "AccessForms", "AccessControl", "JSONForm", "TextForms"]),
    tests(
      "CommandTests", ["MountSupport", "KeyFixture", "Randomness", "Arguments"], settings: unoptimized),
  ]
)
