// Engine structs → JavaScript objects, member by member as in index.d.ts.
#pragma once

#include <napi.h>

#include "reelmend/device.h"
#include "reelmend/enhance.h"
#include "reelmend/model.h"
#include "reelmend/probe.h"
#include "reelmend/segments.h"

namespace reelmend::native {

Napi::Object ToJs(Napi::Env env, const ProbeResult& result);
Napi::Object ToJs(Napi::Env env, const EnhanceResult& result);
Napi::Object ToJs(Napi::Env env, const EnhancePlan& plan);
Napi::Object ToJs(Napi::Env env, const SegmentPlan& plan);
Napi::Object ToJs(Napi::Env env, const JoinResult& result);
Napi::Object ToJs(Napi::Env env, const Progress& progress);
Napi::Object ToJs(Napi::Env env, const ModelReport& report);
Napi::Object ToJs(Napi::Env env, const CompiledEngine& engine);
Napi::Object ToJs(Napi::Env env, const DeviceInfo& device);

}  // namespace reelmend::native
