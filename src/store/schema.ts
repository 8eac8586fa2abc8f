/** The tables as Drizzle sees them, one file per subject. The migrations define them, with every constraint; a test compares both. */
export * from './schema/accounts.ts';
export * from './schema/evidence.ts';
export * from './schema/jobs.ts';
export * from './schema/ledger.ts';
export * from './schema/people.ts';
export * from './schema/uploads.ts';
export * from './schema/webhooks.ts';
export * from './schema/workers.ts';
