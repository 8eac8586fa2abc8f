#include "enhance.h"

#include <string>

#include "args.h"
#include "framelift/enhance.h"
#include "results.h"
#include "task.h"

namespace framelift::native {

/// enhance(inputPath: string, outputPath: string, options: EnhanceOptions): Promise<EnhanceResult>
Napi::Value Enhance(const Napi::CallbackInfo& info) {
  const std::string input = PathArgument(info[0], "inputPath");
  const std::string output = PathArgument(info[1], "outputPath");
  const Options options(info[2], "options");
  return Task::Start(info.Env(), options, [input, output, plain = ToEnhanceOptions(options)](Task& task) {
    const EnhanceCallbacks callbacks{
        .on_progress = [&task](const Progress& progress) { task.Report(progress); },
        .is_cancelled = [&task] { return task.is_cancelled(); },
    };
    EnhanceResult result = framelift::Enhance(input, output, plain, callbacks);
    return [result = std::move(result)](Napi::Env env) -> Napi::Value { return ToJs(env, result); };
  });
}

/// plan(inputPath: string, options: EnhanceOptions): Promise<EnhancePlan>
Napi::Value Plan(const Napi::CallbackInfo& info) {
  const std::string input = PathArgument(info[0], "inputPath");
  const Options options(info[1], "options");
  return Task::Start(info.Env(), options, [input, plain = ToEnhanceOptions(options)](Task& task) {
    const EnhanceCallbacks callbacks{.on_progress = {}, .is_cancelled = [&task] { return task.is_cancelled(); }};
    EnhancePlan plan = framelift::PlanEnhance(input, plain, callbacks);
    return [plan = std::move(plan)](Napi::Env env) -> Napi::Value { return ToJs(env, plan); };
  });
}

}  // namespace framelift::native
