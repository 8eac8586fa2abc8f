/** What a person may do in an account; src/http/console/permissions.ts applies it to the operations. */
export const roles = ['admin', 'member'] as const;
export type Role = (typeof roles)[number];
