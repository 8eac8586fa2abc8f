#include <gtest/gtest.h>

#include <algorithm>

#include "inference/backend.h"
#include "reelmend/error.h"

namespace reelmend::inference {
namespace {

TEST(Backends, OneThatWasNotBuiltIsRefusedInOneSentence) {
  const std::vector<std::string> available = AvailableBackends();
  for (const auto& [name, title] : {std::pair{"openvino", "OpenVINO"}}) {
    if (std::find(available.begin(), available.end(), name) != available.end()) continue;
    try {
      CreateBackend(name);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
      const std::string text = error.what();
      EXPECT_NE(text.find(title), std::string::npos) << text;
      EXPECT_EQ(std::count(text.begin(), text.end(), '.'), 1) << text;
    }
  }
}

TEST(Backends, AnUnknownNameIsAnInvalidArgument) {
  try {
    CreateBackend("abacus");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("abacus"), std::string::npos);
  }
}

TEST(Backends, EveryAvailableOneCanBeCreated) {
  for (const std::string& name : AvailableBackends()) EXPECT_EQ(CreateBackend(name)->name(), name);
}

}  // namespace
}  // namespace reelmend::inference
