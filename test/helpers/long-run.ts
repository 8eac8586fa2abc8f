/** Whether this is `npm run test:long`: the tests of `npm test` with more crashes, jobs and random examples. */
export const isLongRun = process.env['REELMEND_TEST_LONG'] === '1';
