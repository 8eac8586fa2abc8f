import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest test files. They start first, so that none of them runs alone at the end, when a core would have nothing to do. */
const longest = [
  // These mostly wait.
  ...['test/jobs/webhook', 'test/jobs/growth', 'test/jobs/disk-reservation', 'test/faults/half-open', 'test/faults/storage-outage', 'test/faults/storage-cuts'],
  ...['test/docs/guides', 'test/docs/operating', 'test/browser/', 'test/faults/killed-worker', 'test/faults/segment-outages'],
  ...['test/deploy/image', 'test/service/enhance', 'test/media/warm-pool', 'test/media/models', 'test/faults/worker-crash'],
];

/** Needed because Vitest's own order uses the times of earlier runs, which a fresh clone does not have. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => longest.some((name) => moduleId.includes(`/${name}`));
    const { long = [], short = [] } = Object.groupBy(await super.sort(files), (file) => (isLong(file) ? 'long' : 'short'));
    return [...long, ...short];
  }
}
