/** Delivers one webhook: makes one attempt per run and schedules the next one by its outcome. */
import { ReelmendError } from '../domain/errors.ts';
import { nextAttemptInS, parseRetryAfter, testEventJobId, webhookBody, webhookHeaders } from '../domain/webhooks.ts';
import { NetFailure, type PostResponse } from '../net/index.ts';
import type { DeliveryAttempt, DeliveryOutcome, DueDelivery, SigningSecrets } from '../store/index.ts';
import { deliveryIdOf } from './payload.ts';
import type { WorkerContext } from './worker-context.ts';

/** bytes of a response that are read, and that are kept */
const maxResponseBytes = 65_536;
const keptResponseBytes = 2048;

/** Throws only when no attempt was made. The task then runs again. */
export const webhookTask =
  (worker: WorkerContext) =>
  async (payload: unknown): Promise<void> => {
    const id = deliveryIdOf(payload);
    const delivery = await worker.store.deliveries.begin(id);
    if (!delivery) return;
    const start = performance.now();
    const answer = await post(worker, delivery).catch(async (error: unknown) => {
      await worker.store.deliveries.release(id);
      throw error;
    });
    const attempt = { at: delivery.begunAt, durationMs: Math.round(performance.now() - start), ...describe(answer) };
    const outcome = decide(worker, delivery, attempt, answer);
    await worker.store.deliveries.settle(delivery, attempt, outcome);
    worker.metrics.webhookAttempted(outcome.state);
    const { status, failure } = attempt;
    worker.logger.info({ job: delivery.jobId, endpoint: delivery.endpointId, delivery: id, status, failure, outcome: outcome.state }, 'webhook attempted');
  };

/** A response, or the sentence that says why there was none. */
type Answer = PostResponse | string;

async function post(worker: WorkerContext, delivery: DueDelivery): Promise<Answer> {
  const { id, jobId, event, url, begunAt: at } = delivery;
  const body = webhookBody(event, jobId ?? testEventJobId);
  const headers = webhookHeaders({ id, at, body, ...(await secretsOf(worker, delivery)) });
  const { timeoutMs } = worker.tuning.webhooks;
  try {
    return await worker.net.post(url, { headers, body, timeoutMs, maxResponseBytes, signal: worker.stopping });
  } catch (error) {
    if (error instanceof NetFailure) return `${error.message}.`;
    if (error instanceof ReelmendError && error.code === 'url_not_allowed') return 'the URL is not allowed.';
    throw error;
  }
}

async function secretsOf({ store }: WorkerContext, { accountId, endpointId }: DueDelivery): Promise<SigningSecrets> {
  const { webhookSecrets } = store;
  const secrets = await (endpointId === null ? webhookSecrets.signing(accountId) : webhookSecrets.signingOfEndpoint({ accountId, endpointId }));
  // Deleting the endpoint, or the jobs of the closed account, stops the delivery: a later run finds nothing to do.
  if (secrets === null) throw new Error(endpointId === null ? `The account ${accountId} is closed.` : `The webhook endpoint ${endpointId} was deleted.`);
  return secrets;
}

function describe(answer: Answer): Pick<DeliveryAttempt, 'status' | 'failure' | 'responseBody'> {
  if (typeof answer === 'string') return { status: null, failure: answer, responseBody: null };
  const { status } = answer;
  const failure = isSuccess(status) ? null : `the server answered with status ${status}.`;
  return { status, failure, responseBody: excerpt(answer.body) };
}

const isSuccess = (status: number) => status >= 200 && status <= 299;

/** The kept part of a body, as text that PostgreSQL accepts. A character cut in two becomes U+FFFD. */
function excerpt(body: Uint8Array): string {
  return new TextDecoder().decode(body.subarray(0, keptResponseBytes)).replaceAll('\0', '\uFFFD');
}

function decide(
  worker: WorkerContext,
  delivery: DueDelivery,
  attempt: DeliveryAttempt,
  answer: Answer,
): DeliveryOutcome {
  if (attempt.failure === null) return { state: 'delivered' };
  if (attempt.status === 410) return { state: 'stopped' };
  const header = typeof answer === 'string' ? undefined : answer.headers['retry-after'];
  const inS = nextAttemptInS({
    failed: delivery.failedAttempts + 1,
    retryAfterS: parseRetryAfter(header, new Date(attempt.at.getTime() + attempt.durationMs)),
    scheduleS: worker.tuning.webhooks.scheduleS,
    random: Math.random(),
  });
  return inS === null ? { state: 'dead' } : { state: 'pending', inS };
}
