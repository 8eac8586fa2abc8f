/** What becomes of a job whose GPU has no engine of its network; the child itself is stood in for. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Enhancer } from '../../src/media/enhancer.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import { Speeds } from '../../src/media/speeds.ts';
import { temporaryFolder } from './folder.ts';

const { runChild } = vi.hoisted(() => ({ runChild: vi.fn() }));
vi.mock('../../src/media/child-session.ts', async (original) => ({ ...(await original<object>()), runChild }));

interface Call {
  message: { output: string; options: { device: string; engineFolder?: string; mayWriteEngines?: boolean } };
}

const folder = temporaryFolder();
const input = join(folder.path, 'in.mp4');
const outputDir = join(folder.path, 'out');
mkdirSync(outputDir);
writeFileSync(input, 'video');
afterAll(() => folder.remove());

let warnings: string[] = [];
const logger = { info() {}, warn: (_: object, message: string) => warnings.push(message) };
const cards = [0, 1].map((index) => ({ id: `cuda:${index}`, usable: true, reason: '' }));
const enhancer = (enginesDir?: string) =>
  new Enhancer({
    options: { logger, enginesDir },
    kind: 'none',
    gpuFiles: ['/dev/nvidia0'],
    devices: () => Promise.resolve(cards as never),
    speeds: new Speeds({ options: undefined, hasGpu: false, models: [], checkModel: () => Promise.reject(new Error()), enhance: () => Promise.reject(new Error()), logger }),
  });
const job = { input, outputDir, outputName: 'out.mp4', timeoutMs: 1000 };
const noEngine = failureFromChild({ code: 'no_engine', message: 'There is no engine of the model “fast”.' });

beforeEach(() => {
  warnings = [];
  runChild.mockReset().mockImplementation(({ message }: Call) => {
    if (message.options.device !== 'cpu') return Promise.reject(noEngine);
    writeFileSync(message.output, 'result');
    return Promise.resolve({ sizeBytes: 6, device: 'cpu', startSeconds: 0 });
  });
});

describe('a job whose GPU has no engine of its network', () => {
  it.each(['auto', 'cuda:0', 'cuda:all'])('is done on the CPU at once, and the log says how to build it: %s', async (device) => {
    const result = await enhancer().enhance({ ...job, options: { target: '1080p', device } });
    expect(result.device).toBe('cpu');
    expect(runChild).toHaveBeenCalledTimes(2);
    expect(warnings).toEqual([expect.stringContaining('reelmend models compile')]);
  });

  it('reports the progress of the run that counts: what an earlier one did is lost', async () => {
    const { getMockImplementation } = runChild;
    const run = getMockImplementation()!;
    runChild.mockImplementation((call: Call & { onProgress: (progress: object) => void }) => {
      const fraction = call.message.options.device === 'cpu' ? 0.1 : 0.9;
      call.onProgress({ fraction, framesDone: 1, framesPerSecond: 1, etaS: 1 });
      return run(call);
    });
    const seen: number[] = [];
    await enhancer().enhance({ ...job, options: { target: '1080p', device: 'cuda:0' }, onProgress: ({ fraction }) => seen.push(fraction) });
    expect(seen).toEqual([0.9, 0, 0.1]);
  });

  it.each([undefined, join(folder.path, 'engines')])('builds none in the child that sees the video: folder %s', async (enginesDir) => {
    await enhancer(enginesDir).enhance({ ...job, options: { target: '1080p', device: 'cuda:0' } });
    const [first] = runChild.mock.calls.map(([call]) => call as Call);
    expect(first!.message.options.mayWriteEngines).toBe(false);
    expect(first!.message.options.engineFolder).toBe(enginesDir);
  });
});
