#pragma once

#include <napi.h>

namespace reelmend::native {

Napi::Value Devices(const Napi::CallbackInfo& info);
Napi::Value Version(const Napi::CallbackInfo& info);

}  // namespace reelmend::native
