/**
 * Which of the statuses that openapi.yaml lists did no test produce? The checks of responses in the tests
 * (test/helpers/http-contract.ts) write what they saw; this runs after them, prints what is missing and fails on it.
 */
import { readFileSync } from 'node:fs';
import { operations, statusesFile } from '../test/helpers/http-contract.ts';

function seenStatuses(): Set<string> {
  try {
    return new Set(readFileSync(statusesFile, 'utf8').split('\n'));
  } catch {
    return new Set();
  }
}

const seen = seenStatuses();
const listed = operations.flatMap(({ id, statuses }) => statuses.map((status) => `${id} ${status}`));
const missing = listed.filter((pair) => !seen.has(pair));
for (const pair of missing) console.error(`No test produced: ${pair}`);
console.log(`${listed.length - missing.length} of ${listed.length} documented statuses were produced by tests`);
process.exitCode = missing.length === 0 ? 0 : 1;
