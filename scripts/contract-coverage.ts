/**
 * Fails if the tests did not produce every status that openapi.yaml lists. Prints the missing ones. Runs after the tests, whose
 * response checks (test/helpers/http-contract.ts) record each status.
 */
import { operations } from '../test/helpers/http-contract.ts';
import { allStatuses } from '../test/helpers/seen-statuses.ts';

const seen = allStatuses();
const listed = operations.flatMap(({ id, statuses }) => statuses.map((status) => `${id} ${status}`));
const missing = listed.filter((pair) => !seen.has(pair));
for (const pair of missing) console.error(`No test produced: ${pair}`);
console.log(`${listed.length - missing.length} of ${listed.length} documented statuses were produced by tests`);
process.exitCode = missing.length === 0 ? 0 : 1;
