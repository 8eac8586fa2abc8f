import { describe, expect, it } from 'vitest';
import { operations } from '../../src/site/reference/contract.ts';
import { describeModels, installedModels } from '../../src/media/models.ts';
import { installed, makeApi } from '../helpers/http.ts';

interface Model {
  name: string;
  scales: number[];
}

describe('GET /v1/models', () => {
  it('200 with what the manifests say of the installed networks, by name', async () => {
    const api = makeApi({ options: { models: describeModels(installedModels()) } });
    const response = await api.request('/v1/models');
    expect(response.status).toBe(200);
    const { data } = (await response.json()) as { data: Model[] };
    expect(data.map(({ name }) => name)).toEqual(['detail', 'detail-best', 'detail-large', 'fast', 'quality']);
    expect(data[3]).toEqual({
      name: 'fast',
      title: 'Fast ×2 for CPUs',
      description: 'For sources in fair condition, where speed matters.',
      scales: [2, 1],
      relative_cost: 1,
      license: 'Apache-2.0',
    });
  });

  it('200 as in the example of the description, which names the networks that come with the service', async () => {
    const api = makeApi({ options: { models: describeModels(installedModels()) } });
    const [, response] = operations.find(({ id }) => id === 'listModels')!.responses.find(([status]) => status === '200')!;
    const example = response.content!['application/json']!.examples!['shipped']!.value;
    expect(example).toEqual(await (await api.request('/v1/models')).json());
  });

  it('200 with null for what a manifest does not say, and each name is taken by a job', async () => {
    const api = makeApi({ options: { models: [installed('mine')] } });
    const { data } = (await (await api.request('/v1/models')).json()) as { data: Model[] };
    expect(data).toEqual([{ name: 'mine', title: '', description: null, scales: [2], relative_cost: null, license: null }]);
    const json = { video_url: 'https://media.example.com/a.mp4', resolution: '1080p', model: data[0]!.name };
    expect((await api.request('/v1/jobs', { method: 'POST', key: api.keys.test, json })).status).toBe(201);
  });

  it('200 with nothing where nothing is installed', async () => {
    expect(await (await makeApi().request('/v1/models')).json()).toEqual({ data: [] });
  });
});
