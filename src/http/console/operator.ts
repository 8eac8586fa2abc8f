/** Operations for operators: accounts, grants, queue, workers, failures. */
import type { Context } from 'hono';
import { ReelmendError } from '../../domain/errors.ts';
import { omitUndefined } from '../../domain/omit-undefined.ts';
import type { CreditMovement } from '../../store/index.ts';
import type { WithConsole } from '../deps.ts';
import type { AppEnv } from '../env.ts';
import type { ConsoleHandlers } from '../register.ts';
import { pageOf } from '../paging.ts';
import { serializeOperatorAccount, serializeWorker } from './serialize.ts';

type OperatorHandlers = Pick<
  ConsoleHandlers,
  | 'operatorGetOverview'
  | 'operatorGetHistory'
  | 'operatorListAccounts'
  | 'operatorDecide'
  | 'operatorGrant'
  | 'operatorWithdraw'
  | 'operatorSetPlan'
  | 'operatorSetQuotas'
  | 'operatorCloseAccount'
  | 'operatorListWorkers'
  | 'operatorListFailures'
>;

export function operatorHandlers(deps: WithConsole): OperatorHandlers {
  return { ...serviceHandlers(deps), ...accountHandlers(deps) };
}

type ServiceHandlers = Pick<OperatorHandlers, 'operatorGetOverview' | 'operatorGetHistory' | 'operatorListWorkers' | 'operatorListFailures'>;

function serviceHandlers({ console: { store } }: WithConsole): ServiceHandlers {
  return {
    operatorGetOverview: async (c) => {
      const { queue, jobs, webhooks, workersAlive, accountsPending } = await store.operations.overview();
      const { queued, running, oldestQueuedSeconds, failedLastDay } = jobs;
      return c.json(
        {
          queue: queue.map(({ task, waiting, later, running: started, oldestSeconds }) => ({ task, waiting, later, running: started, oldest_seconds: oldestSeconds })),
          jobs: { queued, running, oldest_queued_seconds: oldestQueuedSeconds, failed_last_day: failedLastDay },
          webhooks,
          workers_alive: workersAlive,
          accounts_pending: accountsPending,
        },
        200,
      );
    },

    operatorGetHistory: async (c) => {
      const { period } = c.req.valid('query');
      const { steps, devices, failures } = await store.operations.history(period);
      const history = {
        period,
        steps: steps.map(({ from, ...step }) => ({ from: from.toISOString(), ...step })),
        devices: devices.map(({ device, videoSeconds }) => ({ device, video_seconds: videoSeconds })),
        failures,
      };
      return c.json(history, 200);
    },

    operatorListWorkers: async (c) => {
      const { limit, starting_after } = c.req.valid('query');
      const rows = await store.operations.workers({ limit: limit + 1, startingAfter: starting_after });
      return c.json(pageOf(rows, limit, { serialize: serializeWorker, cursor: ({ id }) => id }), 200);
    },

    operatorListFailures: async (c) => {
      const { limit, starting_after } = c.req.valid('query');
      const rows = await store.operations.failures({ limit: limit + 1, startingAfter: starting_after });
      const page = pageOf(rows, limit, {
        cursor: ({ jobId }) => jobId,
        serialize: ({ jobId, accountId, durationSeconds, finishedAt, ...failure }) => ({
          ...failure,
          job_id: jobId,
          account_id: accountId,
          duration_seconds: durationSeconds,
          finished_at: finishedAt.toISOString(),
        }),
      });
      return c.json(page, 200);
    },
  };
}

type RequestedMovement = Omit<CreditMovement, 'idempotencyKey' | 'note'> & { note?: string | undefined };

function accountHandlers(deps: WithConsole): Omit<OperatorHandlers, keyof ServiceHandlers> {
  const { store } = deps.console;
  /** Throws ReelmendError `not_found`. */
  const accountAfter = async (changed: Promise<object | null>, accountId: string) => {
    const account = (await changed) === null ? null : await store.operations.account(accountId);
    if (account === null) throw new ReelmendError('not_found', 'There is no such account.');
    return serializeOperatorAccount(deps, account);
  };
  /** Throws ReelmendError `not_found`, `insufficient_credits` or `idempotency_key_reused`. */
  const moveCredits = async (c: Context<AppEnv>, { note = '', ...movement }: RequestedMovement, idempotencyKey: string | undefined) => {
    const actor = { operator_id: c.get('session').user.id };
    const moved = await store.accounts.moveCredits({ ...movement, note, idempotencyKey }, actor);
    if (moved?.replayed === true) c.header('Idempotent-Replayed', 'true');
    return accountAfter(Promise.resolve(moved), movement.accountId);
  };
  return {
    operatorListAccounts: async (c) => {
      const { limit, starting_after, state, q } = c.req.valid('query');
      const rows = await store.operations.accounts({ limit: limit + 1, startingAfter: starting_after, state, text: q });
      return c.json(pageOf(rows, limit, { serialize: (account) => serializeOperatorAccount(deps, account), cursor: ({ id }) => id }), 200);
    },

    operatorDecide: async (c) => {
      const { id } = c.req.valid('param');
      const actor = { operator_id: c.get('session').user.id };
      const changed = store.accounts.setApproval(id, c.req.valid('json').decision, actor);
      return c.json(await accountAfter(changed, id), 200);
    },

    operatorGrant: async (c) => {
      const movement = { kind: 'grant', accountId: c.req.valid('param').id, ...c.req.valid('json') } as const;
      return c.json(await moveCredits(c, movement, c.req.valid('header')['Idempotency-Key']), 201);
    },

    operatorWithdraw: async (c) => {
      const movement = { kind: 'withdrawal', accountId: c.req.valid('param').id, ...c.req.valid('json') } as const;
      return c.json(await moveCredits(c, movement, c.req.valid('header')['Idempotency-Key']), 201);
    },

    operatorSetPlan: async (c) => {
      const { id } = c.req.valid('param');
      const actor = { operator_id: c.get('session').user.id };
      return c.json(await accountAfter(store.accounts.setPlan(id, c.req.valid('json').plan, actor), id), 200);
    },

    operatorSetQuotas: async (c) => {
      const { id } = c.req.valid('param');
      const actor = { operator_id: c.get('session').user.id };
      return c.json(await accountAfter(store.accounts.setQuotas(id, omitUndefined(c.req.valid('json')), actor), id), 200);
    },

    operatorCloseAccount: async (c) => {
      const { id } = c.req.valid('param');
      const account = await store.accounts.get(id);
      if (account === null || account.closedAt !== null) throw new ReelmendError('not_found', 'There is no such account.');
      if (c.req.valid('json').name !== account.name) {
        throw new ReelmendError('invalid_request', 'The field "name" must be the name of the account.', { param: '/name' });
      }
      // A scheduled task deletes its jobs, uploads and webhook endpoints (src/jobs/scheduled-tasks.ts).
      await store.accounts.close(id, { operator_id: c.get('session').user.id });
      return c.json({ closed: true as const }, 200);
    },
  };
}
