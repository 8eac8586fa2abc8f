// Parts of the engine in shared libraries of their own, opened on first use.
#pragma once

#include <string>

namespace reelmend::inference {

/// Path of `file` (FOLDER/NAME.so), beside the program or the addon, or one folder above it; empty if it is in none.
std::string FindModule(const std::string& file);

/// Opens `file` (FOLDER/NAME.so), beside the program or the addon, or one folder above it, for the life of the process. Null
/// if there is none. Throws Error{kUnavailable} if `what` exists and cannot be loaded.
void* OpenModule(const std::string& file, const std::string& what);

/// Null if the module has no such symbol.
void* FindSymbol(void* module, const char* name);

}  // namespace reelmend::inference
