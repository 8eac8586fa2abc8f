# cmake -DSOURCE=FOLDER -DLIST=FILE -DTOOLS=TEXT -DOUTPUT=FILE -P WriteIdentity.cmake
# Writes a C++ header with the first half of a SHA-256 of TOOLS and of the files that LIST names, relative to SOURCE. Only names
# and contents count, not where the folder is, in which order the files are listed, or when they were written.
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
