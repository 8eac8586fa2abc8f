/** Gauges of the file systems that a process writes to, read at each scrape. */
import { Gauge, type Registry } from 'prom-client';
import { readDiskUsage } from '../storage/disk.ts';

export interface DiskMetricsOptions {
  registry: Registry;
  /** label → folder, e.g. `scratch` */
  folders: Readonly<Record<string, string>>;
}

/**
 * Registers `reelmend_disk_free_bytes` {folder}, which the process may still write, and `reelmend_disk_size_bytes` {folder}.
 * A folder that cannot be read has no sample.
 */
export function registerDiskMetrics({ registry, folders }: DiskMetricsOptions): void {
  const gauge = (name: string, help: string, key: 'freeBytes' | 'sizeBytes') =>
    new Gauge({
      ...{ name: `reelmend_disk_${name}_bytes`, help, labelNames: ['folder'], registers: [registry] },
      async collect() {
        this.reset();
        for (const [folder, path] of Object.entries(folders)) {
          const usage = await readDiskUsage(path).catch(() => undefined);
          if (usage !== undefined) this.set({ folder }, usage[key]);
        }
      },
    });
  gauge('free', 'Bytes that a process may still write to the folder\'s file system.', 'freeBytes');
  gauge('size', 'Size of the folder\'s file system in bytes.', 'sizeBytes');
}
