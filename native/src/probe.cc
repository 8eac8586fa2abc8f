#include "probe.h"

#include <memory>
#include <string>

#include "args.h"
#include "byte_source.h"
#include "reelmend/probe.h"
#include "results.h"
#include "task.h"

namespace reelmend::native {
namespace {

Task::MakeValue ReturnProbe(ProbeResult result) {
  return [result = std::move(result)](Napi::Env env) { return ToJs(env, result); };
}

}  // namespace

/// probe(source: string | ByteSource, options?: ProbeOptions): Promise<ProbeResult>
Napi::Value Probe(const Napi::CallbackInfo& info) {
  const Options options(info[1], "options");
  const ProbeOptions plain = ToProbeOptions(options);
  const auto with_cancel = [plain](Task& task) {
    ProbeOptions result = plain;
    result.is_cancelled = [&task] { return task.is_cancelled(); };
    return result;
  };
  if (info[0].IsString()) {
    const std::string path = PathArgument(info[0], "source");
    return Task::Start(info.Env(), options, [path, with_cancel](Task& task) {
      return ReturnProbe(ProbeFile(path, with_cancel(task)));
    });
  }
  if (!info[0].IsObject()) throw WrongArgument("a path or a byte source", "source", info[0]);
  const auto source = std::make_shared<ScriptByteSource>(Options(info[0], "source"));
  return Task::Start(info.Env(), options, [source, with_cancel](Task& task) {
    source->Attach(task);
    return ReturnProbe(reelmend::Probe(*source, with_cancel(task)));
  });
}

}  // namespace reelmend::native
