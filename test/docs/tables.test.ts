/** Tables of the documents that state what other files state too: neither may say more or less than the other. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { defaultQuotas } from '../../src/http/middleware/rate-limit.ts';
import { statusByCode } from '../../src/http/problem.ts';
import { codeOf, readMarkdown, root } from './markdown.ts';

const reference = z.looseObject({ $ref: z.string().optional(), description: z.string().optional() });
const contract = z
  .object({
    paths: z.record(z.string(), z.record(z.string(), z.unknown())),
    components: z.object({
      responses: z.record(z.string(), reference),
      schemas: z.object({
        ErrorDetail: z.object({ properties: z.object({ code: z.object({ enum: z.array(z.string()) }) }) }),
        JobError: z.object({ properties: z.object({ code: z.object({ enum: z.array(z.string()) }) }) }),
      }),
    }),
  })
  .parse(parse(readFileSync(join(root, 'openapi.yaml'), 'utf8')));
const codes = contract.components.schemas.ErrorDetail.properties.code.enum;

/** code → statuses under which some operation documents it, by the descriptions of the responses */
function documentedStatuses(): Map<string, Set<number>> {
  const found = new Map<string, Set<number>>();
  const operations = Object.values(contract.paths).flatMap((path) => Object.values(path));
  const responses = operations.flatMap((operation) => {
    const parsed = z.object({ responses: z.record(z.string(), reference) }).safeParse(operation);
    return parsed.success ? Object.entries(parsed.data.responses) : [];
  });
  for (const [status, response] of responses) {
    const name = response.$ref?.split('/').at(-1);
    const text = (name === undefined ? response : contract.components.responses[name])?.description ?? '';
    for (const [, code] of text.matchAll(/`([a-z_]+)`/g)) {
      if (Number(status) >= 400 && codes.includes(code!)) found.set(code!, (found.get(code!) ?? new Set()).add(Number(status)));
    }
  }
  return found;
}

describe('docs/errors.md', () => {
  const { rows } = readMarkdown('docs/errors.md');
  const { create, read, other } = defaultQuotas;
  const table = rows.filter((row) => codeOf(row[0]) !== null && /^\d{3}$/.test(row[1] ?? ''));

  it('has every code of the contract once', () => {
    expect(table.map((row) => codeOf(row[0])).toSorted()).toEqual(codes.toSorted());
  });

  it('has the status that the service answers with, and no operation documents another', () => {
    expect(Object.fromEntries(table.map((row) => [codeOf(row[0]), Number(row[1])]))).toEqual(statusByCode);
    for (const [code, statuses] of documentedStatuses()) {
      expect([...statuses], code).toEqual([Number(table.find((row) => codeOf(row[0]) === code)![1])]);
    }
  });

  it('has every code of a failed job', () => {
    const jobCodes = contract.components.schemas.JobError.properties.code.enum;
    const shown = rows.filter((row) => row.length === 2).flatMap((row) => codeOf(row[0]) ?? []);
    expect(shown.toSorted()).toEqual(jobCodes.toSorted());
  });

  it('has the default rate limits', () => {
    const shown = rows.flatMap((row) => (/^\d+$/.test(row[2] ?? '') ? [[codeOf(row[0]), Number(row[2])]] : []));
    expect(Object.fromEntries(shown)).toEqual({ create, read, other });
  });
});
