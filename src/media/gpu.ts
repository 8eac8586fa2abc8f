/** What the isolation of a child lets in when it may use a GPU: device files, libraries, environment. */
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The device files that CUDA opens (`uvm` is its unified memory). None without an NVIDIA driver, or in a container
 * without the GPU. The files of display (modeset) and of MIG management are left out: computing does not need them. A MIG instance
 * has files of its own (capabilities), of which this process can open some.
 */
export function findGpuFiles(folder = '/dev'): string[] {
  const names = namesIn(folder);
  const wanted = names.filter((name) => /^nvidia(\d+|ctl|-uvm|-uvm-tools)$/.test(name)).sort();
  const cards = wanted.filter((name) => /^nvidia\d+$/.test(name));
  const found = cards.length > 0 && wanted.includes('nvidiactl') ? [...wanted, ...capabilitiesIn(folder)] : [];
  return found.map((name) => join(folder, name));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Without those that configure and monitor MIG (1 and 2). */
const capabilitiesIn = (folder: string): string[] =>
  namesIn(join(folder, 'nvidia-caps'))
    .filter((name) => /^nvidia-cap\d+$/.test(name) && !/^nvidia-cap[12]$/.test(name))
    .map((name) => join('nvidia-caps', name))
    .filter((name) => isReadable(join(folder, name)))
    .sort();

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Where some containers have the driver's libraries; the dynamic loader may not search there. */
const driverFolder = '/usr/local/nvidia';

/** Variables that choose and number GPUs; children get them, so that cuda:N is the same GPU for worker and child. */
const gpuVariables = ['CUDA_VISIBLE_DEVICES', 'CUDA_DEVICE_ORDER'] as const;

/** The environment of a child that may use a GPU. Other children have an empty one. */
export function gpuEnvironment(
  files: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  hasDriverFolder = existsSync(driverFolder),
): Record<string, string> {
  if (files.length === 0) return {};
  const chosen = gpuVariables.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  const libraries = hasDriverFolder ? [['LD_LIBRARY_PATH', `${driverFolder}/lib64:${driverFolder}/lib`] as const] : [];
  return Object.fromEntries([...chosen, ...libraries]);
}

/** Bubblewrap's arguments that give a child these device files; they must follow `--dev /dev`. */
export function gpuArguments(files: readonly string[]): string[] {
  if (files.length === 0) return [];
  return [
    ...files.flatMap((file) => ['--dev-bind', file, file]),
    // The driver reads the GPU's bus address and its NUMA node.
    ...['/sys/bus/pci', '/sys/devices', '/sys/module/nvidia'].flatMap((folder) => ['--ro-bind-try', folder, folder]),
    ...['--ro-bind-try', driverFolder, driverFolder],
    ...Object.entries(gpuEnvironment(files)).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}
