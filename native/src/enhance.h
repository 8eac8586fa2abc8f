#pragma once

#include <napi.h>

namespace reelmend::native {

Napi::Value Enhance(const Napi::CallbackInfo& info);
Napi::Value Prepare(const Napi::CallbackInfo& info);
Napi::Value Plan(const Napi::CallbackInfo& info);

}  // namespace reelmend::native
