/** The installed networks. */
import type { HttpDeps } from '../deps.ts';
import type { Handlers } from '../register.ts';
import { serializeModel } from '../serialize.ts';

export function modelHandlers({ options }: HttpDeps): Pick<Handlers, 'listModels'> {
  const data = (options?.models ?? []).map(serializeModel);
  return { listModels: (c) => c.json({ data }, 200) };
}
