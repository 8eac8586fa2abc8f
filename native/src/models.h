#pragma once

#include <napi.h>

namespace framelift::native {

Napi::Value CheckModel(const Napi::CallbackInfo& info);
Napi::Value CompileModel(const Napi::CallbackInfo& info);

}  // namespace framelift::native
