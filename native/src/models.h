#pragma once

#include <napi.h>

namespace reelmend::native {

Napi::Value CheckModel(const Napi::CallbackInfo& info);
Napi::Value CompileModel(const Napi::CallbackInfo& info);

}  // namespace reelmend::native
