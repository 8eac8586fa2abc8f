/**
 * Drizzle's operators. Imported by this one name because Node parses the 180 kB of the package's manifest anew for each
 * import that names the package (patches/README.md).
 */
export * from 'drizzle-orm';
