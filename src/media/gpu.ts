/** A GPU and the children that use it: what the sandbox lets in, and what happens when the GPU fails. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isDeviceFault } from './failures.ts';

/**
 * Device files that CUDA opens; `uvm` holds its address space. None where there is no NVIDIA driver (or where the
 * container was not given the GPU). The files of display (modeset) and of MIG management are not for computing.
 */
export function findGpuFiles(folder = '/dev'): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  const wanted = names.filter((name) => /^nvidia(\d+|ctl|-uvm|-uvm-tools)$/.test(name)).sort();
  const cards = wanted.filter((name) => /^nvidia\d+$/.test(name));
  return cards.length > 0 && wanted.includes('nvidiactl') ? wanted.map((name) => join(folder, name)) : [];
}

/** Where containers put the driver's libraries when not among the system's; the loader may not know the folders. */
const driverFolder = '/usr/local/nvidia';

/** Which GPUs the operator lets the worker see, and how they are numbered: cuda:N means the same in its children. */
const choices = ['CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER'] as const;

/** The environment of a child that may use a GPU; all others have none. */
export function gpuEnvironment(
  files: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  hasDriverFolder = existsSync(driverFolder),
): Record<string, string> {
  if (files.length === 0) return {};
  const chosen = choices.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const libraries = hasDriverFolder ? [['LD_LIBRARY_PATH', `${driverFolder}/lib64:${driverFolder}/lib`] as const] : [];
  return Object.fromEntries([...chosen, ...libraries]);
}

/** Bubblewrap's arguments that let a child reach these device files, after `--dev /dev`. */
export function gpuArguments(files: readonly string[]): string[] {
  if (files.length === 0) return [];
  return [
    ...files.flatMap((file) => ['--dev-bind', file, file]),
    // The driver looks up the card's place on the bus and the memory nodes next to it.
    ...['/sys/bus/pci', '/sys/devices', '/sys/module/nvidia'].flatMap((folder) => ['--ro-bind-try', folder, folder]),
    ...['--ro-bind-try', driverFolder, driverFolder],
    ...Object.entries(gpuEnvironment(files)).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}

export interface DeviceRun<T> {
  /** as configured: auto, cpu or cuda:N */
  device: string;
  /** whether a GPU can be reached at all; without one `auto` is the CPU already */
  hasGpu: boolean;
  run: (device: string) => Promise<T>;
  signal?: AbortSignal | undefined;
  onFallback?: (error: unknown) => void;
}

/**
 * Runs a child on the device asked for. When the GPU fails (lost, out of memory, no session, a crash of the child) and
 * the choice was left to us, a new child does all of it again on the CPU; a device that was named is kept to, and its
 * failure is the result.
 */
export async function onAnyDevice<T>({ device, hasGpu, run, signal, onFallback }: DeviceRun<T>): Promise<T> {
  try {
    return await run(device);
  } catch (error) {
    if (device !== 'auto' || !hasGpu || signal?.aborted === true || !isDeviceFault(error)) throw error;
    onFallback?.(error);
    return run('cpu');
  }
}
