#pragma once

#include <napi.h>

namespace framelift::native {

Napi::Value Enhance(const Napi::CallbackInfo& info);
Napi::Value Prepare(const Napi::CallbackInfo& info);
Napi::Value Plan(const Napi::CallbackInfo& info);

}  // namespace framelift::native
