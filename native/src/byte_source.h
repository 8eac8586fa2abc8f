// Adapts a JavaScript ByteSource to the engine's interface. The engine's thread requests a read, waits for the promise and
// copies the bytes.
#pragma once

#include <napi.h>

#include <memory>

#include "args.h"
#include "reelmend/probe.h"
#include "task.h"

namespace reelmend::native {

/// Created and destroyed on the JavaScript thread; `Read` runs on one thread of the task at a time.
class ScriptByteSource : public ByteSource {
 public:
  /// Throws a TypeError if `source` has no usable `size` and `read`.
  explicit ScriptByteSource(const Options& source);
  /// The task whose queue and cancellation are used; set before the first read.
  void Attach(Task& task) { task_ = &task; }

  std::int64_t size() const override { return size_; }
  std::size_t Read(std::int64_t offset, std::uint8_t* destination, std::size_t length) override;

 private:
  struct Request;
  void Ask(Napi::Env env, const std::shared_ptr<Request>& request);
  void Await(Napi::Env env, const std::shared_ptr<Request>& request, Napi::Value answer);

  std::int64_t size_ = 0;
  Napi::ObjectReference source_;
  Task* task_ = nullptr;
  bool failed_ = false;  ///< task's thread: no reads after a rejection
};

}  // namespace reelmend::native
