/** Thrown instead of fetching work from the queue, so nothing was fetched and nothing can be lost. The queue's slot tries again at its next poll. */
export class NotFetching extends Error {
  override readonly name: string = 'NotFetching';
}
