/** Column types that several tables have. */
import { bigint, customType, timestamp } from 'drizzle-orm/pg-core';

export const bytea = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' });
export const timestamptz = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });
export const bigintNumber = (name: string) => bigint(name, { mode: 'number' });
