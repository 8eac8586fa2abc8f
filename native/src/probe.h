#pragma once

#include <napi.h>

namespace framelift::native {

Napi::Value Probe(const Napi::CallbackInfo& info);

}  // namespace framelift::native
