// A fixture that makes clips in its own folder.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "helpers/clips.h"

namespace reelmend::testing {

class ClipTest : public ::testing::Test {
 protected:
  /// Makes a clip with these ffmpeg arguments and returns its path.
  std::string Clip(const std::string& name, const std::string& arguments) {
    Ffmpeg(arguments + " '" + folder_.File(name) + "'");
    return folder_.File(name);
  }
  TemporaryFolder folder_;
  std::string output_ = folder_.File("out.mp4");
};

}  // namespace reelmend::testing
