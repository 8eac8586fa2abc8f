/** Differences between runtimes: Node, Deno and Bun have a `process`, browsers and edge workers may have none. */

interface Process {
  env?: Record<string, string | undefined>;
  /** Node ≥ 20.16, Deno and Bun */
  getBuiltinModule?: (name: string) => unknown;
}

const found = (): Process | undefined => (globalThis as { process?: Process }).process;

/** A variable of the environment; undefined if it is unset or empty, or if there is no environment. */
export function variable(name: string): string | undefined {
  try {
    return found()?.env?.[name] || undefined;
  } catch {
    return undefined; // Deno without the permission
  }
}

/**
 * A module of Node, or undefined in other runtimes. Not an `import`: bundlers for browsers would try to resolve it, and
 * fail.
 */
export function nodeModule<T>(name: string): T | undefined {
  return found()?.getBuiltinModule?.(name) as T | undefined;
}
