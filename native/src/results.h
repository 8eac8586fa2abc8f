// Engine structs → JavaScript objects, member by member as in index.d.ts.
#pragma once

#include <napi.h>

#include "framelift/device.h"
#include "framelift/enhance.h"
#include "framelift/model.h"
#include "framelift/probe.h"

namespace framelift::native {

Napi::Object ToJs(Napi::Env env, const ProbeResult& result);
Napi::Object ToJs(Napi::Env env, const EnhanceResult& result);
Napi::Object ToJs(Napi::Env env, const EnhancePlan& plan);
Napi::Object ToJs(Napi::Env env, const Progress& progress);
Napi::Object ToJs(Napi::Env env, const ModelReport& report);
Napi::Object ToJs(Napi::Env env, const CompiledEngine& engine);
Napi::Object ToJs(Napi::Env env, const DeviceInfo& device);

}  // namespace framelift::native
