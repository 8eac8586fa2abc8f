/** The hash that tells one engine from another: engine/cmake/WriteIdentity.cmake. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from './folder.ts';

const script = fileURLToPath(new URL('../../engine/cmake/WriteIdentity.cmake', import.meta.url));
const folder = temporaryFolder();
afterAll(() => folder.remove());

let count = 0;
let source: string;
beforeEach(() => {
  source = newSource();
});

function newSource(): string {
  const path = join(folder.path, `engine ${count++}`);
  mkdirSync(join(path, 'src'), { recursive: true });
  writeFileSync(join(path, 'src/a.cc'), 'int a;\n');
  writeFileSync(join(path, 'network.onnx'), Buffer.from([0, 1, 2, 59, 10]));
  return path;
}

const names = ['src/a.cc', 'network.onnx'];

function identity({ from = source, files = names, tools = 'GNU 12' } = {}): string {
  const list = join(folder.path, 'list.txt');
  const output = join(folder.path, 'identity.h');
  writeFileSync(list, files.join('\n'));
  execFileSync('cmake', [`-DSOURCE=${from}`, `-DLIST=${list}`, `-DTOOLS=${tools}`, `-DOUTPUT=${output}`, '-P', script]);
  return /"([0-9a-f]{32})"/.exec(readFileSync(output, 'utf8'))![1]!;
}

describe('the identity of an engine', () => {
  it('is the same in every folder, at every time and in every order of its files', () => {
    const first = identity();
    expect(identity({ from: newSource() })).toBe(first);
    expect(identity({ files: names.toReversed() })).toBe(first);
  });

  it('changes with a byte of a source or a network, with a name, and with the compiler', () => {
    const all = new Set([identity(), identity({ tools: 'GNU 13' })]);
    writeFileSync(join(source, 'src/a.cc'), 'int b;\n');
    all.add(identity());
    writeFileSync(join(source, 'network.onnx'), Buffer.from([0, 1, 3, 59, 10]));
    all.add(identity());
    renameSync(join(source, 'src/a.cc'), join(source, 'src/b.cc'));
    all.add(identity({ files: ['src/b.cc', 'network.onnx'] }));
    expect(all.size).toBe(5);
  });
});
