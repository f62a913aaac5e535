import Foundation

func many(_ few: Int, _ all: Int) -> Int { ProcessInfo.processInfo.environment["LONG"] == "1" ? all : few }
