#include "models.h"

#include "args.h"
#include "reelmend/model.h"
#include "results.h"
#include "task.h"

namespace reelmend::native {

/// checkModel(model: ModelFile, trial?: ModelTrial): Promise<ModelReport>
Napi::Value CheckModel(const Napi::CallbackInfo& info) {
  const ModelFile model = ToModelFile(Options(info[0], "model"));
  const Options options(info[1], "options");
  return Task::Start(info.Env(), options, [model, trial = ToModelTrial(options)](Task&) {
    const ModelReport report = reelmend::CheckModel(model, trial);
    return [report](Napi::Env env) -> Napi::Value { return ToJs(env, report); };
  });
}

/// compileModel(model: ModelFile, request: CompileRequest): Promise<CompiledEngine[]>
Napi::Value CompileModel(const Napi::CallbackInfo& info) {
  const ModelFile model = ToModelFile(Options(info[0], "model"));
  const Options options(info[1], "request");
  return Task::Start(info.Env(), options, [model, request = ToCompileRequest(options)](Task&) {
    const auto engines = reelmend::CompileModel(model, request);
    return [engines](Napi::Env env) -> Napi::Value {
      auto array = Napi::Array::New(env, engines.size());
      for (std::uint32_t i = 0; i < engines.size(); ++i) array.Set(i, ToJs(env, engines[i]));
      return array;
    };
  });
}

}  // namespace reelmend::native
