#include "segments.h"

#include <string>
#include <utility>
#include <vector>

#include "args.h"
#include "reelmend/segments.h"
#include "results.h"
#include "task.h"

namespace reelmend::native {

/// planSegments(inputPath: string, options: PlanSegmentsOptions): Promise<SegmentPlan>
Napi::Value PlanSegments(const Napi::CallbackInfo& info) {
  const std::string input = PathArgument(info[0], "inputPath");
  const Options options(info[1], "options");
  const SegmentLengths lengths = ToSegmentLengths(options);
  return Task::Start(info.Env(), options, [input, lengths, plain = ToEnhanceOptions(options)](Task& task) {
    SegmentPlan plan = reelmend::PlanSegments(input, plain, lengths, task.Callbacks());
    return [plan = std::move(plan)](Napi::Env env) -> Napi::Value { return ToJs(env, plan); };
  });
}

/// joinSegments(sourcePath: string, plan: string, pieces: string[], outputPath: string, options?: JoinOptions): Promise<JoinResult>
Napi::Value JoinSegments(const Napi::CallbackInfo& info) {
  const std::string source = PathArgument(info[0], "sourcePath");
  const std::string plan = PathArgument(info[1], "plan");
  const std::vector<std::string> pieces = PathArguments(info[2], "pieces");
  const std::string output = PathArgument(info[3], "outputPath");
  const Options options(info[4], "options");
  return Task::Start(info.Env(), options, [source, plan, pieces, output, limits = ToProbeOptions(options).limits](Task& task) {
    const JoinResult result = reelmend::JoinSegments(source, plan, pieces, output, limits, task.Callbacks());
    return [result](Napi::Env env) -> Napi::Value { return ToJs(env, result); };
  });
}

}  // namespace reelmend::native
