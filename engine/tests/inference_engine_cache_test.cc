// The cache of built engines: files are found by their key only, and damaged or foreign files are rejected.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "inference/engine_cache.h"
#include "shipped_files.h"

namespace reelmend::inference {
namespace {

namespace fs = std::filesystem;
using reelmend::testing::Has;
using reelmend::testing::ReadBytes;
using reelmend::testing::TemporaryFolder;

EngineKey SomeKey() { return {std::string(64, 'a'), "tensorrt-rtx", "1.7.1.116", {8, 9}, "", {2, 540, 960}, "fp16"}; }

TEST(EngineCache, AnEngineIsFoundUnderItsKeyAndNoOther) {
  const TemporaryFolder folder;
  const EngineCache cache(folder.path());
  const std::string engine("engine\0bytes\n", 13);
  EXPECT_FALSE(cache.Find(SomeKey()));
  cache.Keep(SomeKey(), engine);
  EXPECT_EQ(cache.Find(SomeKey()), engine);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << "the cache left another file behind";
  std::vector<EngineKey> others(8, SomeKey());
  others[0].model_sha256[63] = 'b';
  others[1].backend_version = "1.7.2.0";
  others[2].target = {12, 0};
  others[3].device = "NVIDIA L4";
  others[4].input.width = 962;
  others[5].precision = "int8";
  others[6].backend = "tensorrt";
  others[7].batch = 2;
  for (const EngineKey& other : others) {
    EXPECT_FALSE(cache.Find(other)) << other.text();
    EXPECT_NE(other.file_name(), SomeKey().file_name());
  }
}

TEST(EngineCache, DamagedForeignAndStaleFilesAreReportedInOneSentenceAndReplaced) {
  const TemporaryFolder folder;
  std::vector<std::string> messages;
  const EngineCache cache(folder.path(), true, [&](const std::string& sentence) { messages.push_back(sentence); });
  const fs::path file = folder.path() / SomeKey().file_name();
  cache.Keep(SomeKey(), "the engine");
  const std::string good = ReadBytes(file);
  EngineKey other = SomeKey();
  other.input.height = 542;
  cache.Keep(other, "the other engine");
  const struct {
    std::string bytes;
    const char* says;
  } cases[] = {
      {good.substr(0, good.size() - 1), "damaged"},
      {good.substr(0, 20), "something else"},
      {good + "x", "damaged"},
      {"", "no file of this engine"},
      {"\x7F""ELF foreign", "no file of this engine"},
      {"reelmend engine 0\n" + good.substr(19), "another version"},
      {ReadBytes(folder.path() / other.file_name()), "something else"},
  };
  for (const auto& [bytes, says] : cases) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    messages.clear();
    EXPECT_FALSE(cache.Find(SomeKey()));
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_TRUE(Has(messages[0], says)) << messages[0];
    EXPECT_TRUE(messages[0].ends_with(".")) << messages[0];
    cache.Keep(SomeKey(), "the engine");
    EXPECT_EQ(cache.Find(SomeKey()), "the engine");
  }
}

TEST(EngineCache, ReadersFindAWholeFileOrNoneWhileManyWrite) {
  const TemporaryFolder folder;
  const EngineCache cache(folder.path(), true, [](const std::string& sentence) { ADD_FAILURE() << sentence; });
  const std::string engine(300'000, 'e');
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        cache.Keep(SomeKey(), engine);
        EXPECT_EQ(cache.Find(SomeKey()), engine);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

TEST(EngineCache, FilesThatAKilledWriterLeftAreNoObstacle) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / SomeKey().file_name();
  for (int i = 0; i < 300; ++i) std::ofstream(path.string() + "." + std::to_string(getpid()) + "-" + std::to_string(i) + ".new") << "half of";
  const EngineCache cache(folder.path());
  EXPECT_EQ(cache.Keep(SomeKey(), "engine"), "");
  EXPECT_EQ(cache.Find(SomeKey()), "engine");
}

TEST(EngineCache, WithoutAFolderOrPermissionToWriteNothingIsKept) {
  const TemporaryFolder folder;
  EngineCache().Keep(SomeKey(), "engine");
  const EngineCache reader(folder.path(), false);
  reader.Keep(SomeKey(), "engine");
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EngineCache(folder.path()).Keep(SomeKey(), "engine");
  EXPECT_EQ(reader.Find(SomeKey()), "engine");
  std::string message;
  EXPECT_NE(EngineCache("/proc/no/folder", true, [&](const std::string& sentence) { message = sentence; }).Keep(SomeKey(), "engine"), "");
  EXPECT_TRUE(Has(message, "cannot be written")) << message;
}

TEST(EngineCache, ConcurrenciesAreKeptForEachGpuAndInvalidOnesAreNotUsed) {
  const TemporaryFolder folder;
  const EngineCache cache(folder.path());
  EXPECT_FALSE(cache.FindConcurrency(SomeKey(), "NVIDIA L4"));
  cache.KeepConcurrency(SomeKey(), "NVIDIA L4", {3, 2});
  EXPECT_EQ(cache.FindConcurrency(SomeKey(), "NVIDIA L4"), (Concurrency{3, 2}));
  EXPECT_FALSE(cache.FindConcurrency(SomeKey(), "NVIDIA T4"));
  EngineKey other = SomeKey();
  other.backend_version = "1.7.2.0";
  EXPECT_FALSE(cache.FindConcurrency(other, "NVIDIA L4"));
  cache.KeepConcurrency(SomeKey(), "NVIDIA L4", {0, 1});
  EXPECT_FALSE(cache.FindConcurrency(SomeKey(), "NVIDIA L4"));
}

}  // namespace
}  // namespace reelmend::inference
