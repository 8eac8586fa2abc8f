#pragma once

#include <napi.h>

namespace reelmend::native {

Napi::Value PlanSegments(const Napi::CallbackInfo& info);
Napi::Value JoinSegments(const Napi::CallbackInfo& info);

}  // namespace reelmend::native
