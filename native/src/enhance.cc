#include "enhance.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "args.h"
#include "byte_source.h"
#include "reelmend/enhance.h"
#include "results.h"
#include "task.h"

namespace reelmend::native {
namespace {

/// Replaces the result of `prepare`, which the next `enhance` of this process uses, and returns the previous one. Never
/// destroyed when the process exits, because the libraries that it uses may be unloaded by then.
std::unique_ptr<Preparation> Exchange(std::unique_ptr<Preparation> next) {
  static auto& mutex = *new std::mutex;
  static auto& prepared = *new std::unique_ptr<Preparation>;
  const std::lock_guard lock(mutex);
  return std::exchange(prepared, std::move(next));
}

}  // namespace

/// enhance(source: string | ByteSource, outputPath: string, options: EnhanceOptions): Promise<EnhanceResult>
Napi::Value Enhance(const Napi::CallbackInfo& info) {
  const bool is_file = !info[0].IsObject();
  const std::string input = is_file ? PathArgument(info[0], "source") : "";
  const auto bytes = is_file ? nullptr : std::make_shared<ScriptByteSource>(Options(info[0], "source"));
  const std::string output = PathArgument(info[1], "outputPath");
  const Options options(info[2], "options");
  return Task::Start(info.Env(), options, [input, bytes, output, plain = ToEnhanceOptions(options)](Task& task) {
    if (bytes) bytes->Attach(task);
    EnhanceResult result = bytes ? reelmend::Enhance(*bytes, output, plain, task.Callbacks(), Exchange(nullptr))
                                 : reelmend::Enhance(input, output, plain, task.Callbacks(), Exchange(nullptr));
    return [result = std::move(result)](Napi::Env env) -> Napi::Value { return ToJs(env, result); };
  });
}

/// prepare(options: EnhanceOptions, expectation: Expectation): Promise<void>
Napi::Value Prepare(const Napi::CallbackInfo& info) {
  const Options options(info[0], "options");
  const Expectation expectation = ToExpectation(Options(info[1], "expectation"));
  return Task::Start(info.Env(), options, [plain = ToEnhanceOptions(options), expectation](Task&) {
    Exchange(nullptr);  // frees the previous one's memory first
    Exchange(reelmend::Prepare(plain, expectation));
    return [](Napi::Env env) -> Napi::Value { return env.Undefined(); };
  });
}

/// plan(inputPath: string, options: EnhanceOptions): Promise<EnhancePlan>
Napi::Value Plan(const Napi::CallbackInfo& info) {
  const std::string input = PathArgument(info[0], "inputPath");
  const Options options(info[1], "options");
  return Task::Start(info.Env(), options, [input, plain = ToEnhanceOptions(options)](Task& task) {
    EnhancePlan plan = reelmend::PlanEnhance(input, plain, task.Callbacks());
    return [plan = std::move(plan)](Napi::Env env) -> Napi::Value { return ToJs(env, plan); };
  });
}

}  // namespace reelmend::native
