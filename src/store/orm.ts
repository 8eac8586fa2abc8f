/** Drizzle's operators. The store imports them only from here. */
export * from 'drizzle-orm';
