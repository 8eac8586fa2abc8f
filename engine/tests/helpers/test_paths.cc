#include "helpers/test_paths.h"

namespace reelmend::test_paths {

std::string SourceDir() { return REELMEND_SOURCE_DIR; }
std::string SharedMediaDir() { return REELMEND_SHARED_MEDIA; }

}  // namespace reelmend::test_paths
