/** `models compile` without TensorRT: the child is stood in for. */
import { expect, it, vi } from 'vitest';
import type { ChildCall } from '../../src/media/child-session.ts';
import { failureFromChild } from '../../src/media/failures.ts';
import { runCommand } from '../helpers/command.ts';
import { temporaryFolder } from './folder.ts';

const sentence = 'Model “faces”: The model must have one input and one output to run on a GPU.';
let refusal = { code: 'invalid_argument', message: sentence };
const compiled: string[] = [];
vi.mock('../../src/media/child-session.ts', async (original) => ({
  ...(await original<object>()),
  runChild: ({ message }: ChildCall<unknown>) => {
    if (message.op !== 'compile-model') return Promise.resolve('hello');
    if (message.model.layout === 'face') return Promise.reject(failureFromChild(refusal));
    compiled.push(message.model.name);
    return Promise.resolve([]);
  },
}));

const root = temporaryFolder();
const compile = (...names: string[]) => runCommand(['models', 'compile', ...names, '--out', root.path, '--size', '64x64'], { env: { PATH: process.env['PATH']! } });

it('a network for faces that GPUs cannot run is named, and the others get their engines', async () => {
  expect(await compile()).toEqual({ status: 0, stdout: '', stderr: `faces ×1 fp32: runs on the CPU only: ${sentence}\n` });
  expect(new Set(compiled)).toEqual(new Set(['detail', 'detail-best', 'detail-large', 'fast', 'quality']));
});

it('one that is asked for by name is an error, and so is a machine that builds no engines', async () => {
  expect(await compile('faces')).toEqual({ status: 1, stdout: '', stderr: `reelmend: ${sentence}\n` });
  refusal = { code: 'unavailable', message: 'TensorRT is not on this machine.' };
  expect(await compile()).toEqual({ status: 1, stdout: '', stderr: 'reelmend: TensorRT is not on this machine.\n' });
});
