#pragma once

#include <napi.h>

namespace framelift::native {

Napi::Value LimitProcessorTime(const Napi::CallbackInfo& info);

}  // namespace framelift::native
