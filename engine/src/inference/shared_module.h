// Parts of the engine in shared libraries of their own, opened on first use.
#pragma once

#include <string>

namespace reelmend::inference {

/// Where `file` (FOLDER/NAME.so) lies: beside the program or the addon, or one folder above it; empty when nowhere.
std::string FindModule(const std::string& file);

/// Opens `file` (FOLDER/NAME.so), which lies beside the program or the addon, or one folder above it; it stays open for the life of
/// the process. Null when there is none. Throws Error{kUnavailable} when `what` is there and cannot be loaded.
void* OpenModule(const std::string& file, const std::string& what);

/// Null when the module has no such symbol.
void* FindSymbol(void* module, const char* name);

}  // namespace reelmend::inference
