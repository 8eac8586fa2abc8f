import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, so that none of them is left to a single worker at the end. */
const longest = [
  ...['test/docs/guides', 'test/docs/operating', 'test/browser/', 'test/deploy/image', 'test/faults/killed-worker'],
  ...['test/service/first-start', 'test/service/enhance', 'test/media/media', 'test/media/models', 'test/faults/worker-crash'],
];

/** Vitest's own order knows how long each file took only where it has run before, which a fresh clone has not. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => longest.some((name) => moduleId.includes(`/${name}`));
    const { long = [], short = [] } = Object.groupBy(await super.sort(files), (file) => (isLong(file) ? 'long' : 'short'));
    return [...long, ...short];
  }
}
