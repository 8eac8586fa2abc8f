# cmake -DSOURCE=FOLDER -DLIST=FILE -DTOOLS=TEXT -DOUTPUT=FILE -P WriteIdentity.cmake
# Writes a C++ header with the first half of a SHA-256 of TOOLS and of the files in LIST, which are relative to SOURCE. The hash
# depends on file names and contents only, not on the folder's path, the order of the list or modification times.
file(STRINGS "${LIST}" files)
list(SORT files COMPARE STRING)
set(parts "${TOOLS}\n")
foreach(file IN LISTS files)
  file(SHA256 "${SOURCE}/${file}" hash)
  string(APPEND parts "${file} ${hash}\n")
endforeach()
string(SHA256 identity "${parts}")
string(SUBSTRING "${identity}" 0 32 identity)
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
#pragma once

namespace reelmend {
constexpr const char* kEngineIdentity = "@identity@";
}
]])
