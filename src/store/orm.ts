/** Drizzle's operators. The store imports them from here alone. */
export * from 'drizzle-orm';
