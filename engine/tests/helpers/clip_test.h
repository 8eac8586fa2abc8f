// A test that makes clips in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "helpers/clips.h"

namespace reelmend::testing {

class ClipTest : public ::testing::Test {
 protected:
  /// The path of a clip that ffmpeg makes with these arguments.
  std::string Clip(const std::string& name, const std::string& arguments) {
    Ffmpeg(arguments + " '" + folder_.File(name) + "'");
    return folder_.File(name);
  }
  TemporaryFolder folder_;
  std::string output_ = folder_.File("out.mp4");
};

}  // namespace reelmend::testing
