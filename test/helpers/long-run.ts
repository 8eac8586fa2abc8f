/** `npm run test:long`: more deaths, jobs and random examples of what `npm test` proves with a few. */
export const isLongRun = process.env['REELMEND_TEST_LONG'] === '1';
