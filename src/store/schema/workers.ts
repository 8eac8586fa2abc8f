/** Workers and their devices. */
import { integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { timestamptz } from './columns.ts';

export const deviceClasses = ['cpu', 'cuda'] as const;
export type DeviceClass = (typeof deviceClasses)[number];

export const workers = pgTable('workers', {
  id: text('id').primaryKey(),
  pools: text('pools').array().notNull().default([]),
  startedAt: timestamptz('started_at').notNull().defaultNow(),
  heartbeatAt: timestamptz('heartbeat_at').notNull().defaultNow(),
  host: text('host'),
  concurrency: integer('concurrency'),
  devices: jsonb('devices').$type<WorkerDevice[]>().notNull().default([]),
  deviceClasses: text('device_classes').array().$type<DeviceClass[]>().notNull().default([]),
  /** null: of an older version, or not described yet */
  engine: text('engine'),
});

/** A processor as the engine describes it. */
export interface WorkerDevice {
  /** `cpu`, `cuda:0` … */
  id: string;
  name: string;
  usable: boolean;
  /** why it is not usable; empty if it is */
  reason: string;
  threads: number;
  simd: string;
  encoder: string;
  inference: string[];
}
