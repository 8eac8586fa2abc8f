// One engine call on a thread of its own, settled as a promise on the JavaScript thread.
#pragma once

#include <napi.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "args.h"
#include "reelmend/enhance.h"
#include "reelmend/error.h"

namespace reelmend::native {

/// Keeps one JavaScript value alive. A reference holds objects only, but any value can be thrown, so an object wraps it.
class KeptValue {
 public:
  bool IsEmpty() const { return holder_.IsEmpty(); }
  void Keep(Napi::Value value) {
    auto holder = Napi::Object::New(value.Env());
    holder.Set("value", value);
    holder_ = Napi::Persistent(holder);
  }
  Napi::Value Get() const { return holder_.Value().Get("value"); }

 private:
  Napi::ObjectReference holder_;
};

/// State that belongs to the JavaScript thread. Continuations of promises may outlive the task, so they refer to it weakly;
/// the task owns it.
struct ScriptState {
  KeptValue thrown;   ///< thrown by the progress callback: the promise rejects with it
  KeptValue failure;  ///< rejection of ByteSource.read: becomes the cause of an `io` error
};

/// Note [A thread per call]
/// Each call has its own thread instead of one of libuv's pool. An enhancement would block a pool thread for minutes. A
/// probe waits for reads that JavaScript may serve from the pool, so both could deadlock.
class Task {
 public:
  /// Makes the promise's value, on the JavaScript thread.
  using MakeValue = std::function<Napi::Value(Napi::Env)>;
  /// Runs on the task's thread; errors are thrown. Destroyed on the JavaScript thread.
  using Work = std::function<MakeValue(Task&)>;

  /// JavaScript thread. Reads `signal` and `onProgress` of the options, starts `work`, returns the promise.
  static Napi::Value Start(Napi::Env env, const Options& options, Work work);

  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// Any thread: true once the signal fired, the progress callback threw, or the environment is being destroyed.
  bool is_cancelled() const { return cancelled_->load(std::memory_order_relaxed); }
  /// Task's thread. Queues `call` for the JavaScript thread and never blocks; false if that thread has ended.
  bool Post(std::function<void(Napi::Env)> call);
  /// Any thread of the engine. If JavaScript is busy, only the newest value is delivered.
  void Report(const Progress& progress);

  /// Progress and cancellation of this task, for the calls of the engine that take both. They refer to the task.
  EnhanceCallbacks Callbacks();

  std::weak_ptr<ScriptState> script() const { return script_; }

 private:
  struct Outcome {
    MakeValue value;  ///< empty: failed
    ErrorCode code = ErrorCode::kInternal;
    std::string message;
  };

  static void CallJs(Napi::Env env, Napi::Function, Task* task, std::function<void(Napi::Env)>* call);
  using Queue = Napi::TypedThreadSafeFunction<Task, std::function<void(Napi::Env)>, CallJs>;

  Task(Napi::Env env, const Options& options, Work work);
  void ListenTo(Napi::Value signal, const std::string& name);
  void StopListening();
  void Run();
  Outcome Attempt() noexcept;
  void DeliverProgress(Napi::Env env);
  /// Settles the promise in any case.
  void Settle(Napi::Env env, const Outcome& outcome);
  void SettleAs(Napi::Env env, const Outcome& outcome);
  Napi::Value MakeError(Napi::Env env, const Outcome& outcome);

  // JavaScript thread.
  Work work_;
  Napi::Promise::Deferred deferred_;
  Napi::ObjectReference error_;  ///< created at the call, so that it has the caller's stack
  Napi::FunctionReference on_progress_;
  Napi::ObjectReference signal_;
  Napi::FunctionReference listener_;
  std::shared_ptr<ScriptState> script_ = std::make_shared<ScriptState>();

  // Shared.
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  const bool wants_progress_;
  std::mutex mutex_;  ///< guards the next four members
  Progress latest_;
  bool progress_is_queued_ = false;
  bool queue_is_closed_ = false;
  Queue queue_;
  std::thread thread_;
};

}  // namespace reelmend::native
