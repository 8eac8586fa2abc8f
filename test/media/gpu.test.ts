import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { ReelmendError } from '../../src/domain/errors.ts';
import { type ChildPlan, childCommand, findProgram } from '../../src/media/isolation.ts';
import { DevicePool } from '../../src/media/device-pool.ts';
import { crashed, failureFromChild, isDeviceFault, misbehaved, outOfMemory, timedOut } from '../../src/media/failures.ts';
import { findGpuFiles, gpuArguments, gpuEnvironment } from '../../src/media/gpu.ts';
import { createMedia } from '../../src/media/index.ts';
import { seccompProgram } from '../../src/media/seccomp.ts';
import type { DeviceInfo } from '../../src/media/types.ts';
import { temporaryFolder } from './folder.ts';
import { hangMs } from '../helpers/wait.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

function devFolder(name: string, files: string[]): string {
  const path = join(folder.path, name);
  mkdirSync(path);
  for (const file of files) closeSync(openSync(join(path, file), 'w'));
  return path;
}

const lost = () =>
  failureFromChild({ code: 'unavailable', message: 'The GPU stopped working while it processed the video (cudaErrorLaunchFailure).' });

const healthy: DeviceInfo = { id: 'cuda:0', name: 'made up', usable: true, reason: '', threads: 0, simd: 'sm_90', encoder: 'libx264', inference: [] };
const poolOf = (device: string, hasGpu: boolean, warnings: unknown[] = []) =>
  new DevicePool({ device, hasGpu, poll: async () => [healthy], warn: (details) => warnings.push((details as { error: unknown }).error) });

describe('device files of GPUs', () => {
  const cases: { name: string; present: string[]; found: string[] }[] = [
    { name: 'none', present: ['null', 'zero'], found: [] },
    { name: 'a driver without a card', present: ['nvidiactl', 'nvidia-uvm'], found: [] },
    { name: 'a card without its control file', present: ['nvidia0'], found: [] },
    {
      name: 'two cards',
      present: ['nvidia0', 'nvidia1', 'nvidiactl', 'nvidia-uvm', 'nvidia-uvm-tools', 'nvidia-modeset', 'nvidia-caps', 'null'],
      found: ['nvidia-uvm', 'nvidia-uvm-tools', 'nvidia0', 'nvidia1', 'nvidiactl'],
    },
  ];
  it.each(cases)('are found: $name', ({ name, present, found }) => {
    const path = devFolder(name.replaceAll(' ', '-'), present);
    expect(findGpuFiles(path)).toEqual(found.map((file) => join(path, file)));
  });

  it('include the capabilities of MIG instances, without those of its management', () => {
    const path = devFolder('mig', ['nvidia0', 'nvidiactl']);
    mkdirSync(join(path, 'nvidia-caps'));
    for (const name of ['nvidia-cap1', 'nvidia-cap2', 'nvidia-cap21', 'nvidia-cap30', 'other']) closeSync(openSync(join(path, 'nvidia-caps', name), 'w'));
    const found = ['nvidia0', 'nvidiactl', 'nvidia-caps/nvidia-cap21', 'nvidia-caps/nvidia-cap30'];
    expect(findGpuFiles(path)).toEqual(found.map((file) => join(path, file)));
  });

  it('are none where there is no such folder', () => {
    expect(findGpuFiles(join(folder.path, 'absent'))).toEqual([]);
  });
});

describe('the command line of a child', () => {
  const plan = (gpuFiles?: string[]): ChildPlan => ({
    kind: findProgram('bwrap') === undefined ? 'none' : 'bubblewrap',
    mounts: [],
    limits: { memoryBytes: 1024 ** 3, outputBytes: 1024 ** 2, timeoutMs: 1000 },
    ...(gpuFiles === undefined ? {} : { gpuFiles }),
  });
  const files = ['/dev/nvidia0', '/dev/nvidia-uvm', '/dev/nvidiactl'];

  it('names nothing of a GPU without one', () => {
    for (const without of [plan(), plan([])]) {
      const { args, filter } = childCommand(without);
      expect(args.join(' ')).not.toMatch(/nvidia|\/sys/);
      const bound = args.flatMap((arg, index) => (arg === '--dev-bind' ? [args.slice(index + 1, index + 3)] : []));
      expect(bound).toEqual(without.kind === 'bubblewrap' ? [['/dev/null', '/dev/zero']] : []);
      expect(args).toContain('--nofile=256');
      if (without.kind === 'bubblewrap') expect(filter).toEqual(seccompProgram(process.arch));
    }
  });

  it('lets exactly the device files in, after /dev was made', () => {
    if (findProgram('bwrap') === undefined) return console.warn('bubblewrap is not installed: not tested');
    const { args, filter } = childCommand(plan(files));
    const bound = args.flatMap((arg, index) => (arg === '--dev-bind' ? [args[index + 1]] : []));
    expect(bound).toEqual(files);
    expect(args.indexOf('--dev-bind')).toBeGreaterThan(args.indexOf('--dev'));
    const closed = args.flatMap((arg, index) => (arg === '--remount-ro' && args[index + 1] === '/dev' ? [index] : []));
    expect(closed).toHaveLength(1);
    expect(closed[0]).toBeGreaterThan(args.lastIndexOf('--dev-bind'));
    const readable = args.flatMap((arg, index) => (arg === '--ro-bind-try' && args[index + 1]!.startsWith('/sys') ? [args[index + 1]] : []));
    expect(readable).toEqual(['/sys/bus/pci', '/sys/devices', '/sys/module/nvidia']);
    expect(filter).toEqual(seccompProgram(process.arch, { gpu: true }));
    expect(args.join(' ')).not.toMatch(/--(share|unshare)-net|--cap-add CAP_(?!SET(UID|GID|PCAP)\b)/);
  });

  it('allows the driver more memory and files, and no more time or output', () => {
    const [with_, without] = [childCommand(plan(files)), childCommand(plan())];
    const limits = (args: string[]) => args.filter((arg) => /^--(data|fsize|cpu|nofile|core)=/.test(arg));
    const changed = limits(with_.args).filter((arg) => !without.args.includes(arg));
    expect(changed.map((arg) => arg.split('=')[0])).toEqual(['--data', '--nofile']);
  });

  it('passes on which GPUs the operator lets us see, and where a container keeps the driver', () => {
    const env = { CUDA_VISIBLE_DEVICES: '1', CUDA_DEVICE_ORDER: 'PCI_BUS_ID', SECRET: 'x', LD_LIBRARY_PATH: '/elsewhere' };
    const chosen = { CUDA_VISIBLE_DEVICES: '1', CUDA_DEVICE_ORDER: 'PCI_BUS_ID' };
    expect(gpuEnvironment(files, env, false)).toEqual(chosen);
    expect(gpuEnvironment(files, env, true)).toEqual({ ...chosen, LD_LIBRARY_PATH: '/usr/local/nvidia/lib64:/usr/local/nvidia/lib' });
    expect(gpuEnvironment([], env, true)).toEqual({});
    vi.stubEnv('CUDA_VISIBLE_DEVICES', '1');
    try {
      for (const kind of ['bubblewrap', 'none'] as const) {
        if (kind === 'bubblewrap' && findProgram('bwrap') === undefined) continue;
        const [with_, without] = [childCommand({ ...plan(files), kind }), childCommand({ ...plan(), kind })];
        const at = with_.args.indexOf('CUDA_VISIBLE_DEVICES');
        if (kind === 'bubblewrap') expect(with_.args.slice(at - 1, at + 2)).toEqual(['--setenv', 'CUDA_VISIBLE_DEVICES', '1']);
        expect(with_.env).toEqual(kind === 'none' ? gpuEnvironment(files) : {});
        expect(without.env).toEqual({});
        expect(without.args).not.toContain('--setenv');
      }
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('runs: a child with other device files in their place answers', async () => {
    const media = await createMedia({ gpuFiles: ['/dev/null', '/dev/zero'] });
    const [cpu, gpu] = await media.devices();
    expect(cpu).toMatchObject({ id: 'cpu', usable: true });
    expect(gpu!.id).toMatch(/^cuda/);
    expect(gpu!.reason === '').toBe(gpu!.usable);
  });

  it('ends a job in one sentence where several GPUs are asked for and none can be used', async () => {
    const notes: string[] = [];
    const logger = { info() {}, warn: (details: object, message: string) => notes.push(`${(details as { device?: string }).device}: ${message}`) };
    const media = await createMedia({ gpuFiles: [], logger });
    const input = join(folder.path, 'in.mp4');
    closeSync(openSync(input, 'w'));
    const job = (device: string) =>
      media.enhance({ input, outputDir: folder.path, outputName: 'out.mp4', options: { target: '1080p', device }, timeoutMs: hangMs });
    for (const device of ['cuda:all', 'cuda:7,cuda:8']) {
      await expect(job(device)).rejects.toMatchObject({ code: 'service_unavailable', message: 'No GPU of this worker can be used.' });
    }
    expect(notes.slice(-2)).toEqual(['cuda:7: a GPU cannot be used and gets no jobs', 'cuda:8: a GPU cannot be used and gets no jobs']);
  });

  it('has no arguments for no files', () => {
    expect(gpuArguments([])).toEqual([]);
  });
});

/** Runs a classic BPF program over struct seccomp_data, as the kernel does. */
function runFilter(program: Buffer, arch: number, number: number, firstArgument: number, fourthArgument = 0): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(arch, 4);
  data.writeUInt32LE(firstArgument, 16);
  data.writeUInt32LE(fourthArgument, 40);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const [ifTrue, ifFalse] = [program.readUInt8(at * 8 + 2), program.readUInt8(at * 8 + 3)];
    const value = program.readUInt32LE(at * 8 + 4);
    const jump = (condition: boolean) => (at += condition ? ifTrue : ifFalse);
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x15) jump(accumulator === value);
    else if (code === 0x35) jump(accumulator >= value);
    else if (code === 0x45) jump((accumulator & value) !== 0);
    else if (code === 0x54) accumulator = (accumulator & value) >>> 0;
    else if (code === 0x06) return value;
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('the program ends without an answer');
}

describe('the system-call filter with a GPU', () => {
  const tables = [
    { arch: 'x64', audit: 0xc000003e, socket: 41, bind: 49, listen: 50, memfd: 319, mmap: 9, denied: [29, 64, 68, 447, 42, 43, 288, 57, 101, 165, 272, 321] },
    { arch: 'arm64', audit: 0xc00000b7, socket: 198, bind: 200, listen: 201, memfd: 279, mmap: 222, denied: [194, 190, 186, 447, 203, 202, 242, 117, 40, 97, 280] },
  ];
  const allow = 0x7fff0000;
  const notPermitted = 0x00050001;
  it.each(tables)('differs by Unix sockets of its own, and files and shared pages in memory alone: $arch', ({ arch, audit, socket, bind, listen, memfd, mmap, denied }) => {
    const plain = seccompProgram(arch)!;
    const gpu = seccompProgram(arch, { gpu: true })!;
    for (const family of [1, 2, 10, 16, 17]) {
      expect(runFilter(plain, audit, socket, family)).toBe(notPermitted);
      expect(runFilter(gpu, audit, socket, family)).toBe(family === 1 ? allow : notPermitted);
    }
    for (let number = 0; number < 470; number += 1) {
      if ([socket, bind, listen, memfd].includes(number)) continue;
      expect(runFilter(gpu, audit, number, 0), `call ${number}`).toBe(runFilter(plain, audit, number, 0));
    }
    for (const number of [bind, listen, memfd]) {
      expect(runFilter(plain, audit, number, 0)).toBe(notPermitted);
      expect(runFilter(gpu, audit, number, 0)).toBe(allow);
    }
    for (const number of denied) expect(runFilter(gpu, audit, number, 0)).toBe(notPermitted);
    // private pages, a shared file, a private one: only pages that are both shared and of no file differ
    for (const flags of [0x22, 0x01, 0x02, 0x20, 0x21]) {
      expect(runFilter(plain, audit, mmap, 0, flags)).toBe(flags === 0x21 ? notPermitted : allow);
      expect(runFilter(gpu, audit, mmap, 0, flags)).toBe(allow);
    }
  });
});

describe('a fault of the GPU', () => {
  const faults: [name: string, error: unknown, isFault: boolean][] = [
    ['lost', lost(), true],
    ['out of memory', failureFromChild({ code: 'unavailable', message: 'The GPU has too little free memory for this video.' }), true],
    ['a crash of the child', crashed({ code: null, signal: 'SIGSEGV' }, ''), true],
    ['an unreadable video', failureFromChild({ code: 'unreadable_video', message: 'No frame of the video can be decoded.' }), false],
    ['a fault of the engine', failureFromChild({ code: 'internal', message: 'The encoder failed.' }), false],
    ['the time limit', timedOut(1000), false],
    ['the memory limit', outOfMemory(2, 1), false],
    ['misbehaviour of the child', misbehaved(new Error('x')), false],
    ['anything else', new Error('x'), false],
  ];
  it.each(faults)('is distinguished from other failures: %s', (_name, error, isFault) => {
    expect(isDeviceFault(error)).toBe(isFault);
  });

  it.each(faults)('makes the job run on the CPU when the device is `auto`: %s', async (_name, error, isFault) => {
    const tried: string[] = [];
    const warnings: unknown[] = [];
    const run = (device: string) => {
      tried.push(device);
      return device === 'cpu' ? Promise.resolve('done') : Promise.reject(error);
    };
    const result = poolOf('auto', true, warnings).run(run);
    if (isFault) await expect(result).resolves.toBe('done');
    else await expect(result).rejects.toBe(error);
    expect(tried).toEqual(isFault ? ['auto', 'cpu'] : ['auto']);
    expect(warnings).toEqual(isFault ? [error] : []);
  });

  it.each([
    { name: 'the device was named', device: 'cuda:0', hasGpu: true },
    { name: 'the CPU was named', device: 'cpu', hasGpu: true },
    { name: 'there is no GPU', device: 'auto', hasGpu: false },
    { name: 'the work was cancelled', device: 'auto', hasGpu: true, signal: AbortSignal.abort() },
  ])('is the result when $name', async ({ device, hasGpu, signal }) => {
    const error = lost();
    let runs = 0;
    await expect(poolOf(device, hasGpu).run(() => ((runs += 1), Promise.reject(error)), signal)).rejects.toBe(error);
    expect(runs).toBe(1);
  });

  it('is reported once, in a sentence for the user, when the CPU fails as well', async () => {
    const error = await poolOf('auto', true).run(() => Promise.reject(lost())).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ReelmendError);
    expect((error as ReelmendError).message).toBe('The GPU stopped working while it processed the video (cudaErrorLaunchFailure).');
  });
});
