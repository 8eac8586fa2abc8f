#pragma once

#include <napi.h>

namespace framelift::native {

Napi::Value Devices(const Napi::CallbackInfo& info);
Napi::Value Version(const Napi::CallbackInfo& info);

}  // namespace framelift::native
