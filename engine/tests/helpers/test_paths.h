#pragma once

#include <string>

/// Folders that tests read. Only one small file contains their paths, so all other objects are the same in every checkout and
/// a compiler cache can share them.
namespace reelmend::test_paths {

std::string SourceDir();       ///< engine/
std::string SharedMediaDir();  ///< sample files beside the checkout; may not exist

}  // namespace reelmend::test_paths
