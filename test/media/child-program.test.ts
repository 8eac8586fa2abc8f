import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { builtChild, childProgram, childSources, isChildBuilt } from '../../src/media/child-program.ts';
import { temporaryFolder } from './folder.ts';

const root = join(import.meta.dirname, '../..');

describe('the program of the media child', () => {
  it('is the one that the set-up has built', () => {
    expect(childProgram()).toBe(builtChild);
  });

  it.each(childSources)('has all that %s loads', (source) => {
    const code = readFileSync(join(root, source), 'utf8');
    const loaded = [...code.matchAll(/^import (?!type )[^;]*? from '(\.[^']+)';$/gm)].map(([, path]) => join(dirname(source), path!));
    expect(childSources).toEqual(expect.arrayContaining(loaded));
  });

  describe('in a folder of its own', () => {
    const folder = temporaryFolder();
    const write = (file: string, second: number) => {
      const path = join(folder.path, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, '');
      utimesSync(path, second, second);
    };
    beforeEach(() => childSources.forEach((source) => write(source, 1000)));
    afterAll(() => folder.remove());

    it('is not current if it has not been built', () => {
      expect(isChildBuilt(`${folder.path}/`)).toBe(false);
    });

    it.each([
      { what: 'newer than its sources', second: 1001, current: true },
      { what: 'as old as its sources', second: 1000, current: false },
      { what: 'older than its sources', second: 999, current: false },
    ])('is current if it is $what: $current', ({ second, current }) => {
      write(builtChild, second);
      expect(isChildBuilt(`${folder.path}/`)).toBe(current);
    });
  });
});
