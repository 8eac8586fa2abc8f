// The addon's exports; see ../index.d.ts for what each does.
#include <napi.h>

#include "devices.h"
#include "enhance.h"
#include "models.h"
#include "probe.h"
#include "processor_time.h"
#include "segments.h"

namespace {

Napi::Object Init(Napi::Env env, Napi::Object exports) {
  exports.Set("probe", Napi::Function::New(env, reelmend::native::Probe, "probe"));
  exports.Set("enhance", Napi::Function::New(env, reelmend::native::Enhance, "enhance"));
  exports.Set("prepare", Napi::Function::New(env, reelmend::native::Prepare, "prepare"));
  exports.Set("limitProcessorTime", Napi::Function::New(env, reelmend::native::LimitProcessorTime, "limitProcessorTime"));
  exports.Set("plan", Napi::Function::New(env, reelmend::native::Plan, "plan"));
  exports.Set("planSegments", Napi::Function::New(env, reelmend::native::PlanSegments, "planSegments"));
  exports.Set("joinSegments", Napi::Function::New(env, reelmend::native::JoinSegments, "joinSegments"));
  exports.Set("checkModel", Napi::Function::New(env, reelmend::native::CheckModel, "checkModel"));
  exports.Set("compileModel", Napi::Function::New(env, reelmend::native::CompileModel, "compileModel"));
  exports.Set("devices", Napi::Function::New(env, reelmend::native::Devices, "devices"));
  exports.Set("version", Napi::Function::New(env, reelmend::native::Version, "version"));
  return exports;
}

}  // namespace

NODE_API_MODULE(reelmend, Init)
