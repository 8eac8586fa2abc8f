/** `reelmend job`: one job of any account, for operators. */
import { Command } from 'commander';
import { show } from './table.ts';
import { terminal } from './terminal.ts';
import { known, withStore } from './with-store.ts';

export function inspectCommand(): Command {
  return new Command('job')
    .description('show one job or preview of any account: state, worker, attempts, error, segments, files and events; no URLs of customers')
    .argument('<job>', 'id, job_… or prv_…')
    .option('--json', 'print JSON; the default if the output is not a terminal')
    .action(async (id: string, { json = false }: { json?: boolean }) => {
      terminal().json = json;
      await withStore(async ({ store }) => show(known(await store.operations.job(id), 'job', id)));
    });
}
